//! Files of the project that try to widen or weaken the confinement of the next program.

use std::fs;
use std::path::Path;
use std::process::Command;

use rawko_process::{Confinement, Profile};

use super::Yard;

pub(super) fn git(at: &Path, args: &[&str]) -> String {
    let known = ["-c", "safe.directory=*", "-c", "user.name=a", "-c", "user.email=a@b"];
    let done = Command::new("git").args(known).args(args).current_dir(at).output().unwrap();
    String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned()
}

/// A program leaves something behind; the next one must not do more than before.
#[tokio::test]
async fn what_a_program_leaves_does_not_weaken_the_next() {
    for (name, before) in [
        (
            "a link among submodules",
            "mkdir -p .git/modules evil; touch evil/HEAD evil/config; ln -s $PWD/evil .git/modules/x",
        ),
        ("a link to the root", "mkdir -p .git/modules; ln -s /proc/self/root .git/modules/r"),
        ("submodules as a link", "mkdir -p e/x; touch e/x/HEAD e/x/config; ln -s ../e .git/modules"),
        ("a pipe", "mkdir -p .git/modules/y; touch .git/modules/y/HEAD; mkfifo .git/modules/y/config"),
        ("a pipe as a repository", "mkdir near; mkfifo near/.git"),
        (
            "no rights",
            "mkdir -p .git/modules/y/hooks; touch .git/modules/y/HEAD .git/modules/y/config; chmod 0 .git/modules/y/*",
        ),
        (
            "a name that is not UTF-8",
            "mkdir -p $'.git/modules/\\xff'; touch $'.git/modules/\\xff/HEAD' $'.git/modules/\\xff/config'",
        ),
        (
            "a name with a line break",
            "mkdir -p $'.git/modules/a\\nb'; touch $'.git/modules/a\\nb/HEAD' $'.git/modules/a\\nb/config'",
        ),
        (
            "many submodules",
            "for i in $(seq 1200); do mkdir -p .git/modules/m$i/hooks; : > .git/modules/m$i/HEAD; : > .git/modules/m$i/config; done",
        ),
    ] {
        let yard = Yard::new();
        git(&yard.root, &["init", "-q"]);
        yard.write(".rawko/config.yaml", "x\n");
        let (text, _) = yard.run(Profile::Workspace, before).await;
        assert_eq!(text, "", "{name}");
        let script = "echo evil >> .rawko/config.yaml; echo evil >> .git/config; git status > /dev/null && touch made && echo WORKS";
        let (text, _) = yard.run(Profile::Workspace, script).await;
        assert!(text.ends_with("WORKS"), "{name}: {text}");
        assert_eq!(fs::read_to_string(yard.root.join(".rawko/config.yaml")).unwrap(), "x\n", "{name}");
    }
}

/// No link or file that a program can write decides about mounts.
#[tokio::test]
async fn what_a_program_leaves_does_not_widen_the_view() {
    let yard = Yard::new();
    let beside = yard.root.parent().unwrap().join("beside");
    fs::create_dir_all(beside.join("objects")).unwrap();
    fs::create_dir_all(beside.join("bin")).unwrap();
    fs::write(beside.join("secret"), "KEY\n").unwrap();
    git(&yard.root, &["init", "-q"]);
    git(&yard.root, &["commit", "-q", "--allow-empty", "-m", "first"]);
    let tree = yard.root.parent().unwrap().join("tree");
    git(&yard.root, &["worktree", "add", "-q", tree.to_str().unwrap()]);
    let of_tree = Confinement { root: tree.clone(), ..yard.confinement() };
    let at = |path: &Path| path.display().to_string();
    let look = format!("cat {0}/secret; touch {0}/made; git status --short && echo WORKS", at(&beside));
    let lead = format!("echo {} > {}/.git/worktrees/tree/commondir", at(&beside), at(&yard.root));
    let away = format!(
        "cd {}/.git && mv worktrees w2 && mkdir worktrees && cp -r w2/tree worktrees/",
        at(&yard.root)
    );
    for line in [&lead, &away] {
        yard.run_in(of_tree.clone(), Profile::Workspace, line).await;
        let (text, _) = yard.run_in(of_tree.clone(), Profile::Workspace, &look).await;
        assert!(!text.contains("KEY") && text.ends_with("WORKS") && !beside.join("made").exists(), "{text}");
    }
    // A directory of PATH that became a link.
    let (text, _) = yard.run(Profile::Workspace, &format!("ln -s {} .venv && echo WORKS", at(&beside))).await;
    assert_eq!(text, "WORKS");
    let launch = |path: String| rawko_process::Launch {
        args: vec!["-c".into(), format!("cat {}/secret; echo WORKS", at(&beside))],
        inherited: vec![("PATH".into(), format!("{path}:/usr/bin:/bin"))],
        input: rawko_process::ProgramStdin::Null,
        output: rawko_process::ProgramStdout::Merged,
        ..rawko_process::Launch::new("bash", Profile::Workspace, yard.confinement())
    };
    for (path, is_seen) in [(at(&yard.root.join(".venv/bin")), false), (at(&beside.join("bin")), true)] {
        let text = super::output(launch(path).start().await.unwrap()).await.0;
        assert_eq!((text.contains("KEY"), text.ends_with("WORKS")), (is_seen, true), "{text}");
    }
}

/// Worktrees of agents come and go.
#[tokio::test]
async fn worktrees_inside_the_project_work() {
    let yard = Yard::new();
    git(&yard.root, &["init", "-q"]);
    git(&yard.root, &["commit", "-q", "--allow-empty", "-m", "first"]);
    for line in [
        "git worktree add -q w && cd w && touch x && git add x && git -c user.name=a -c user.email=a@b commit -qm second",
        "cd w && git log --format=%s | grep second && git status",
        "git worktree remove w && git worktree list",
    ] {
        let (text, status) = yard.run(Profile::Workspace, line).await;
        assert!(status.success(), "{line}: {text}");
    }
}

/// Each line runs in a profile and prints `HELD` or what it did.
#[tokio::test]
async fn system_calls_that_reach_out_are_refused() {
    let yard = Yard::new();
    let host = std::os::unix::net::UnixDatagram::bind(yard.root.join("host.sock")).unwrap();
    host.set_nonblocking(true).unwrap();
    let python =
        |line: &str| format!("/usr/bin/python3 -c 'import os, socket, ctypes\n{line}' 2>&1 | tail -1");
    for (name, line, expected) in [
        ("a pair", "socket.socketpair(); print(\"fine\")", "fine"),
        ("packets", "socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET); print(\"fine\")", "fine"),
        (
            "datagrams",
            "a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM); a.sendto(b\"x\", \"host.sock\")",
            "not permitted",
        ),
        ("raw", "socket.socketpair(socket.AF_UNIX, socket.SOCK_RAW | socket.SOCK_CLOEXEC)", "not permitted"),
        (
            "a mode",
            "os.close(os.open(\"f\", os.O_CREAT | os.O_WRONLY, 0o755)); os.chmod(\"f\", 0o700); print(\"fine\")",
            "fine",
        ),
        ("a directory", "os.mkdir(\"d\", 0o777); os.chmod(\"d\", 0o1777); print(\"fine\")", "fine"),
        ("chmod", "os.chmod(\"f\", 0o4755)", "not permitted"),
        ("fchmod", "os.fchmod(os.open(\"f\", os.O_RDONLY), 0o4755)", "not permitted"),
        ("open", "os.open(\"g\", os.O_CREAT | os.O_WRONLY, 0o4755)", "not permitted"),
        ("a file without a name", "os.open(\".\", os.O_TMPFILE | os.O_WRONLY, 0o4755)", "not permitted"),
        ("mknod", "os.mknod(\"h\", 0o104755)", "not permitted"),
        ("fchmodat2", "print(ctypes.CDLL(None).syscall(452, -100, b\"f\", 0o4755, 0))", "-1"),
        (
            "openat2",
            "print(ctypes.CDLL(None).syscall(437, -100, b\"f\", (ctypes.c_uint64 * 3)(0, 0, 0), 24))",
            "-1",
        ),
    ] {
        let (text, _) = yard.run(Profile::Workspace, &python(line)).await;
        assert!(text.contains(expected), "{name}: {text}");
    }
    assert!(host.recv(&mut [0; 8]).is_err());
    let (text, _) =
        yard.run(Profile::ReadOnly, &python("socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)")).await;
    assert!(text.contains("not permitted"), "{text}");
}

/// A private home is not all of the machine's memory.
#[tokio::test]
async fn private_places_are_bounded() {
    let yard = Yard::new();
    let (text, _) = yard
        .run(Profile::Workspace, "for at in ~ /dev/shm; do df --output=size -m $at | tail -1; done")
        .await;
    let sizes: Vec<u64> = text.split_whitespace().map(|size| size.parse().unwrap()).collect();
    assert!(sizes.len() == 2 && sizes.iter().all(|size| (1..=512).contains(size)), "{text}");
}

/// What the person's own git, editor or rawko would start later: each line runs alone, then the person's git. Without
/// the sandbox each of them gets through.
#[tokio::test]
async fn nothing_is_left_that_the_person_would_start() {
    let evil = "printf '[core]\\n\\tfsmonitor = touch PWNED; false\\n'";
    for (name, lines) in [
        (
            "another common directory",
            &[
                "mkdir evil; cp -r .git/objects .git/refs evil/; EVIL > evil/config; echo ../evil > .git/commondir",
            ][..],
        ),
        (
            "a submodule of its own",
            &[
                "git init -q sub && cd sub && git commit -q --allow-empty -m x && EVIL >> .git/config && cd .. && git add sub",
            ],
        ),
        (
            "a submodule that is led astray",
            &[
                "git init -q sub && cd sub && git commit -q --allow-empty -m x && cd .. && git add sub",
                "mkdir e; cp -r sub/.git/* e/; EVIL >> e/config; mv sub/.git sub/old; echo 'gitdir: ../e' > sub/.git",
            ],
        ),
        (
            "a known submodule",
            &[
                "git init -q sub && cd sub && git commit -q --allow-empty -m x && cd .. && git add sub",
                "EVIL >> sub/.git/config",
                "mv sub s2; cp -r s2 sub; EVIL >> sub/.git/config",
            ],
        ),
        (
            "a hook of the configured directory",
            &[
                "mkdir -p hk; echo 'touch PWNED' >> hk/pre-commit",
                "mv hk h2; mkdir hk; cp h2/* hk/; echo 'touch PWNED' >> hk/pre-commit",
            ],
        ),
        ("a program of the configuration", &["echo 'touch PWNED' >> tools/monitor"]),
        ("hooks through a link", &["echo 'touch PWNED' >> tools/hooks/pre-commit"]),
        (
            "moved submodules",
            &["mv .git/modules .git/m2", "EVIL >> .git/m2/x/config; mv .git/m2 .git/modules"],
        ),
        (
            "files that others obey",
            &[
                "echo evil > .envrc; mkdir -p .vscode .husky; echo evil > .vscode/tasks.json; echo evil > .pre-commit-config.yaml; echo evil >> .idea/x.xml",
            ],
        ),
        ("instructions through a link", &["echo evil >> docs/words.md; echo evil >> conf/c.json"]),
    ] {
        let lines: Vec<String> = lines.iter().map(|line| line.replace("EVIL", evil)).collect();
        assert_eq!(starts(name, &lines, Profile::Workspace).await, None, "{name}");
        assert!(starts(name, &lines, Profile::Trusted).await.is_some(), "control of {name}");
    }
}

/// What the lines brought about that the person did not want.
async fn starts(name: &str, lines: &[String], profile: Profile) -> Option<String> {
    let yard = Yard::new();
    for (file, text) in [
        ("hk/pre-commit", "#!/bin/sh\n"),
        ("tools/monitor", "#!/bin/sh\n"),
        ("tools/hooks/pre-commit", "#!/bin/sh\n"),
        ("docs/words.md", "x"),
        ("conf/c.json", "x"),
        (".idea/x.xml", "x"),
    ] {
        yard.write(file, text);
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(yard.root.join(file), fs::Permissions::from_mode(0o755)).unwrap();
    }
    git(&yard.root, &["init", "-q"]);
    git(&yard.root, &["commit", "-q", "--allow-empty", "-m", "first"]);
    if name.contains("configured") {
        git(&yard.root, &["config", "core.hooksPath", "hk"]);
    } else if name.contains("program") {
        git(&yard.root, &["config", "core.fsmonitor", "tools/monitor"]);
    } else if name.contains("hooks through") {
        fs::remove_dir_all(yard.root.join(".git/hooks")).unwrap();
        std::os::unix::fs::symlink("../tools/hooks", yard.root.join(".git/hooks")).unwrap();
    }
    std::os::unix::fs::symlink("docs/words.md", yard.root.join("AGENTS.md")).unwrap();
    std::os::unix::fs::symlink("conf", yard.root.join(".claude")).unwrap();
    yard.write(".git/modules/x/HEAD", "ref: refs/heads/main\n");
    yard.write(".git/modules/x/config", "[core]\n\tbare = false\n");
    let identity =
        "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b; ";
    for line in lines {
        let launch = yard.launch(yard.confinement(), profile, &format!("{identity}{line}; echo WORKS"));
        let mut launched = launch.start().await.unwrap();
        let (text, _) = super::ended(&mut launched).await;
        if profile != Profile::Trusted {
            launched.authority.restore();
        }
        assert!(text.ends_with("WORKS"), "{name}: {text}");
    }
    git(&yard.root, &["status"]);
    let said = git(&yard.root, &["commit", "--allow-empty", "-m", "mine"]);
    assert!(said.contains("mine"), "{name}: {said}");
    let made = ["PWNED", "sub/PWNED", ".envrc", ".vscode", ".husky", ".pre-commit-config.yaml"];
    let made = made.into_iter().find(|file| yard.root.join(file).exists());
    let text = |file: &str| fs::read_to_string(yard.root.join(file)).unwrap_or_default();
    let changed = ["docs/words.md", "conf/c.json", ".idea/x.xml"].into_iter().find(|file| text(file) != "x");
    let hooks = yard.root.join(".git/hooks");
    assert_eq!(hooks.is_symlink(), name.contains("hooks through"), "{name}");
    let module = Some(".git/modules/x/config").filter(|file| text(file).contains("PWNED"));
    made.or(changed).or(module).map(str::to_owned)
}

/// A project without a repository gets one, and agents work with repositories of their own.
#[tokio::test]
async fn repositories_of_agents_work() {
    let yard = Yard::new();
    for line in [
        "git init -q . && git add file && git -c user.name=a -c user.email=a@b commit -qm first",
        "git log --format=%s | grep first && git init -q near && cd near && git config user.name a && touch x && git add x",
        "git clone -q . copy && cd copy && git log --format=%s | grep first",
        "rm -rf near copy && git status --short",
        "git init -q s && git -C s -c user.name=a -c user.email=a@b commit -q --allow-empty -m sub && git -c protocol.file.allow=always submodule add -q ./s lib/s 2>&1",
        "git -C lib/s log --format=%s | grep sub && git submodule status",
    ] {
        let (text, status) = yard.run(Profile::Workspace, line).await;
        assert!(status.success(), "{line}: {text}");
    }
    assert_eq!(git(&yard.root, &["log", "--format=%s"]).trim(), "first");
}

/// A path that is hidden or protected cannot be moved away from its name.
#[tokio::test]
async fn denied_files_stay_where_they_are() {
    let yard = Yard::new();
    for (file, text) in [("a/secret/k", "KEY"), ("b/prot/f", "x"), (".env", "KEY"), ("free/f", "x")] {
        yard.write(file, text);
    }
    let at = |name: &str| yard.root.join(name);
    let confinement = Confinement {
        hidden: vec![at("a/secret/k"), at(".env")],
        protected: vec![at("b/prot/f")],
        ..yard.confinement()
    };
    let moves = "mv a a2; mv a/secret s2; mv .env e2; mv b b2; mv b/prot p2; ln .env e3; ln a/secret/k k2; mv free f2 && echo WORKS";
    let (text, _) = yard.run_in(confinement.clone(), Profile::Workspace, moves).await;
    assert!(text.ends_with("WORKS"), "{text}");
    let look = "grep -r KEY .; echo y >> b/prot/f; grep y b/prot/f; touch a/new a/secret/new b/prot/new && echo WORKS";
    let (text, _) = yard.run_in(confinement, Profile::Workspace, look).await;
    assert!(!text.contains("KEY") && !text.contains("y\n") && text.ends_with("WORKS"), "{text}");
    assert_eq!(fs::read_to_string(at("b/prot/f")).unwrap(), "x");
}

/// Of a home directory programs see what they need, not what lies beside it.
#[tokio::test]
async fn directories_of_programs_are_not_their_neighbours() {
    let yard = Yard::new();
    let files = [
        (".local/share/uv/credentials/c.toml", false),
        (".local/share/uv/python/p", true),
        (".rye/credentials", false),
        (".rye/shims/s", true),
        (".dotnet/corefx/key", false),
        (".dotnet/sdk/s", true),
        ("miniconda3/.condarc", false),
        ("miniconda3/lib/l", true),
        ("go/src/other/secret", false),
        ("go/pkg/p", true),
        (".fly/config.yml", false),
        (".fly/bin/fly", true),
        ("tools/notes", false),
        ("tools/bin/t", true),
        ("tools/lib/l", true),
    ];
    for (file, _) in files {
        let at = yard.home.join(file);
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        fs::write(at, "KEY").unwrap();
    }
    let home = yard.home.display();
    let path = format!("{home}/.fly/bin:{home}/tools/bin:/usr/bin:/bin");
    for (file, is_seen) in files {
        let mut launch = yard.launch(yard.confinement(), Profile::Workspace, &format!("cat {home}/{file}"));
        launch.inherited = vec![("PATH".into(), path.clone()), ("GOPATH".into(), format!("{home}/go"))];
        let (text, _) = super::output(launch.start().await.unwrap()).await;
        assert_eq!(text == "KEY", is_seen, "{file}: {text}");
    }
}

/// A call that is given up does not leave what it made; one that ended as it should is not looked at again.
#[tokio::test]
async fn files_of_authority_do_not_outlive_a_call_that_is_given_up() {
    for is_given_up in [true, false] {
        let yard = Yard::new();
        let line = "echo '{}' > .mcp.json; mkdir -p .claude; echo WORKS; sleep 30";
        let mut launched = yard.launch(yard.confinement(), Profile::Workspace, line).start().await.unwrap();
        launched.authority.guard();
        while !yard.root.join(".claude").exists() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        if is_given_up {
            drop(launched);
        } else {
            launched.processes.kill_all().await;
            assert_eq!(launched.authority.restore().len(), 2);
            yard.write("CLAUDE.md", "mine");
        }
        let begun = std::time::Instant::now();
        let is_left = || [".mcp.json", ".claude"].iter().any(|name| yard.root.join(name).exists());
        while is_left() && begun.elapsed().as_secs() < 30 {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        assert!(!is_left(), "given up: {is_given_up}");
        assert_eq!(yard.root.join("CLAUDE.md").exists(), !is_given_up);
    }
}
