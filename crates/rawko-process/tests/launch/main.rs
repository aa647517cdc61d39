//! What a profile lets a program do: each line is a shell script, run with the profile, and what it prints.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "tests")]

mod fence;
mod lasting;
mod staged;

use std::fs;
use std::path::PathBuf;
use std::process::ExitStatus;

use rawko_process::{Confinement, Launch, Profile, ProgramStdin, ProgramStdout, ProjectAccess};
use tokio::io::AsyncReadExt;

struct Yard {
    _directory: tempfile::TempDir,
    root: PathBuf,
    home: PathBuf,
}

impl Yard {
    fn new() -> Self {
        rawko_process::set_helper(env!("CARGO_BIN_EXE_rawko-launch"));
        let directory = tempfile::tempdir().unwrap();
        let at = directory.path().canonicalize().unwrap();
        let (root, home) = (at.join("project"), at.join("home"));
        for path in [&root, &home] {
            fs::create_dir(path).unwrap();
        }
        fs::write(root.join("file"), "text\n").unwrap();
        Self { _directory: directory, root, home }
    }

    fn write(&self, name: &str, text: &str) {
        let at = self.root.join(name);
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        fs::write(at, text).unwrap();
    }

    fn confinement(&self) -> Confinement {
        Confinement { home: Some(self.home.clone()), ..Confinement::of_project(&self.root) }
    }

    async fn run(&self, profile: Profile, script: &str) -> (String, ExitStatus) {
        self.run_in(self.confinement(), profile, script).await
    }

    async fn run_in(&self, confinement: Confinement, profile: Profile, script: &str) -> (String, ExitStatus) {
        output(self.launch(confinement, profile, script).start().await.unwrap()).await
    }

    fn launch(&self, confinement: Confinement, profile: Profile, script: &str) -> Launch {
        Launch {
            args: vec!["-c".into(), script.into()],
            inherited: std::env::vars().collect(),
            input: ProgramStdin::Null,
            output: ProgramStdout::Merged,
            ..Launch::new("bash", profile, confinement)
        }
    }
}

/// Waits for a program whose output is merged, and ends its call.
async fn output(mut launched: rawko_process::Launched) -> (String, ExitStatus) {
    let ended = ended(&mut launched).await;
    launched.authority.restore();
    ended
}

/// Waits for a program, and leaves what it made.
async fn ended(launched: &mut rawko_process::Launched) -> (String, ExitStatus) {
    let mut text = String::new();
    launched.child.stdout.take().unwrap().read_to_string(&mut text).await.unwrap();
    let status = launched.child.wait().await.unwrap();
    launched.processes.kill_all().await;
    (text.trim().to_owned(), status)
}

/// Starts under load: a helper that is interrupted or slow is not an error.
#[tokio::test(flavor = "multi_thread")]
async fn many_at_once() {
    let yard = std::sync::Arc::new(Yard::new());
    let tasks = (0..60).map(|number| {
        let yard = std::sync::Arc::clone(&yard);
        tokio::spawn(async move { yard.run(Profile::Workspace, &format!("echo {number}; exit 3")).await })
    });
    for (number, task) in tasks.collect::<Vec<_>>().into_iter().enumerate() {
        let (text, status) = task.await.unwrap();
        assert_eq!((text, status.code()), (number.to_string(), Some(3)));
    }
}

/// What a profile allows: scripts that print `yes`, and scripts that must not.
#[tokio::test]
async fn profiles_differ() {
    let yard = Yard::new();
    yard.write(".rawko/config.yaml", "x\n");
    let (read, write) = (Profile::Program(ProjectAccess::Read), Profile::Program(ProjectAccess::Write));
    let all = [Profile::ReadOnly, read, Profile::Workspace, write];
    for (script, allowed) in [
        ("cat file", &all[..]),
        ("touch /tmp/x ~/x", &all[..]),
        ("touch made && rm made", &all[2..]),
        ("/usr/bin/python3 -c 'import socket; socket.socket()'", &all[1..]),
        ("echo x >> .rawko/config.yaml", &[]),
        ("mv .rawko moved", &[]),
        ("touch /usr/x", &[]),
        ("/usr/bin/python3 -c 'import socket; socket.socket(socket.AF_UNIX)'", &[]),
    ] {
        for profile in all {
            let (text, _) = yard.run(profile, &format!("{{ {script}; }} && echo yes")).await;
            assert_eq!(text.ends_with("yes"), allowed.contains(&profile), "{profile}: {script}: {text}");
        }
    }
}

/// The child ends as the program ended, with the helper between them.
#[tokio::test]
async fn endings_are_those_of_the_program() {
    use std::os::unix::process::ExitStatusExt;
    let yard = Yard::new();
    for (script, code, signal) in [
        ("exit 0", Some(0), None),
        ("exit 255", Some(255), None),
        ("kill -KILL $$", None, Some(9)),
        ("kill -TERM $$", None, Some(15)),
        ("kill -SEGV $$", None, Some(11)),
    ] {
        for profile in [Profile::Workspace, Profile::Trusted] {
            let (_, status) = yard.run(profile, script).await;
            assert_eq!((status.code(), status.signal()), (code, signal), "{profile}: {script}");
        }
    }
}

#[tokio::test]
async fn a_program_that_is_not_there_is_an_error_of_its_kind() {
    let yard = Yard::new();
    yard.write("data", "not a program\n");
    for (program, kind) in [
        ("no-such-program", std::io::ErrorKind::NotFound),
        ("./missing", std::io::ErrorKind::NotFound),
        ("./data", std::io::ErrorKind::PermissionDenied),
    ] {
        let launch = Launch::new(program, Profile::Workspace, yard.confinement());
        match launch.start().await {
            Err(rawko_process::LaunchError::Program(error)) => assert_eq!(error.kind(), kind, "{program}"),
            other => panic!("{program}: {other:?}"),
        }
    }
}

/// Asked to end, a program can clean up; one that does not is killed.
#[tokio::test]
async fn programs_are_asked_before_they_are_killed() {
    let yard = Yard::new();
    for (script, cleans_up) in [
        ("trap 'touch cleaned; exit' TERM; touch begun; while :; do sleep 0.05; done", true),
        ("trap '' TERM; touch begun; while :; do sleep 0.05; done", false),
    ] {
        let _ = fs::remove_file(yard.root.join("begun"));
        let _ = fs::remove_file(yard.root.join("cleaned"));
        let launch = Launch {
            args: vec!["-c".into(), script.into()],
            inherited: std::env::vars().collect(),
            ..Launch::new("bash", Profile::Workspace, yard.confinement())
        };
        let launched = launch.start().await.unwrap();
        while !yard.root.join("begun").exists() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        launched.processes.end(std::time::Duration::from_millis(800)).await;
        assert_eq!(yard.root.join("cleaned").exists(), cleans_up, "{script}");
    }
}

/// The proxy reaches listed hosts, and nothing else.
#[tokio::test]
async fn egress_is_by_list() {
    use tokio::io::AsyncWriteExt;
    let server = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = server.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = server.accept().await {
            let mut request = [0; 4096];
            let _ = client.read(&mut request).await;
            let _ = client
                .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello")
                .await;
        }
    });
    let yard = Yard::new();
    let fetch = |address: &str| {
        format!(
            "/usr/bin/python3 -c 'import os, urllib.request as u; os.environ[\"no_proxy\"] = \"\"; os.environ[\"NO_PROXY\"] = \"\"; \
             print(u.urlopen(\"{address}\", timeout=5).read().decode())' 2>&1 | tail -1"
        )
    };
    let with = |hosts: &[&str], private: &[String]| Confinement {
        egress: Some(rawko_process::Egress {
            hosts: Some(hosts.iter().map(|host| (*host).to_owned()).collect()),
            private: private.to_vec(),
            ..rawko_process::Egress::default()
        }),
        ..yard.confinement()
    };
    let address = format!("http://127.0.0.1:{port}/");
    for (confinement, profile, expected) in [
        (with(&[], &[format!("127.0.0.1:{port}")]), Profile::Workspace, "hello"),
        (with(&["127.0.0.1"], &[]), Profile::Workspace, "403"),
        (with(&["example.com"], &[]), Profile::Workspace, "403"),
        (with(&[], &[format!("127.0.0.1:{port}")]), Profile::ReadOnly, "rror"),
        (yard.confinement(), Profile::Workspace, "refused"),
    ] {
        let (text, _) = yard.run_in(confinement.clone(), profile, &fetch(&address)).await;
        assert!(text.contains(expected), "{:?} {profile}: {text}", confinement.egress);
    }
}

/// Tool chains of this machine, with its own home.
#[tokio::test]
async fn tool_chains_work_inside() {
    let yard = Yard::new();
    // Installed by `cargo xtask tools`, with pytest.
    let python = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/tools/api");
    let python = python.canonicalize().expect("run `cargo xtask tools`");
    let confinement =
        Confinement { home: std::env::home_dir(), extra_read: vec![python.clone()], ..yard.confinement() };
    let package = |name: &str, more: &str| {
        format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n{more}")
    };
    yard.write("made/Cargo.toml", &package("made", "[dependencies]\nnear = { path = \"../near\" }\n"));
    yard.write("made/src/lib.rs", "#[test]\nfn fine() {\n    assert_eq!(near::answer(), 42);\n}\n");
    yard.write("near/Cargo.toml", &package("near", ""));
    yard.write("near/src/lib.rs", "pub fn answer() -> u8 {\n    42\n}\n");
    yard.write("node/package.json", r#"{"name": "made", "version": "1.0.0", "scripts": {"test": "node -e 'console.log(require(`near`))'"}, "dependencies": {"near": "file:./near"}}"#);
    yard.write("node/near/package.json", r#"{"name": "near", "version": "1.0.0"}"#);
    yard.write("node/near/index.js", "module.exports = 'installed'\n");
    yard.write(
        "py/test_made.py",
        "import pytest\n\n@pytest.mark.parametrize('number', [1, 2])\ndef test_fine(number, tmp_path):\n    (tmp_path / 'x').write_text('x')\n",
    );
    let pytest = format!("cd py && {}/bin/python -m pytest -q 2>&1", python.display());
    for (name, script, expected) in [
        (
            "git",
            "git init -q r && cd r && touch x && git add x && git -c user.name=a -c user.email=a@b commit -qm made && git log --format=%s",
            "made",
        ),
        ("cargo", "cd made && cargo test 2>&1", "1 passed"),
        ("npm", "cd node && npm install --no-audit --no-fund 2>&1 && npm test 2>&1", "installed"),
        ("pytest", &pytest, "2 passed"),
    ] {
        let (text, _) = yard.run_in(confinement.clone(), Profile::Workspace, script).await;
        assert!(text.contains(expected), "{name}: {text}");
    }
}
