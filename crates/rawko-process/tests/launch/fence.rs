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

/// No link or file that a program can write decides what is mounted.
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
        input: rawko_process::Input::Null,
        output: rawko_process::Output::Merged,
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
