//! What a profile lets a program do: each line is a shell script, run with the profile, and what it prints.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use rawko_process::{Confinement, Input, Launch, Output, Profile, ProjectAccess};
use tokio::io::AsyncReadExt;

struct Yard {
    _directory: tempfile::TempDir,
    root: PathBuf,
    home: PathBuf,
    outside: PathBuf,
}

impl Yard {
    fn new() -> Self {
        rawko_process::set_helper(env!("CARGO_BIN_EXE_rawko-launch"));
        let directory = tempfile::tempdir().unwrap();
        let at = directory.path().canonicalize().unwrap();
        let (root, home, outside) = (at.join("project"), at.join("home"), at.join("outside"));
        for path in [&root, &home, &outside] {
            fs::create_dir(path).unwrap();
        }
        fs::write(root.join("file"), "text\n").unwrap();
        Self { _directory: directory, root, home, outside }
    }

    fn write(&self, at: &Path, text: &str) {
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        fs::write(at, text).unwrap();
    }

    fn confinement(&self) -> Confinement {
        Confinement { home: Some(self.home.clone()), ..Confinement::of_project(&self.root) }
    }

    async fn run(&self, profile: Profile, script: &str) -> (String, ExitStatus) {
        let launch = Launch {
            args: vec!["-c".into(), script.into()],
            inherited: std::env::vars().collect(),
            input: Input::Null,
            output: Output::Merged,
            ..Launch::new("bash", profile, self.confinement())
        };
        let mut launched = launch.start().await.unwrap();
        let mut text = String::new();
        launched.child.stdout.take().unwrap().read_to_string(&mut text).await.unwrap();
        let status = launched.child.wait().await.unwrap();
        launched.processes.kill_all().await;
        (text.trim().to_owned(), status)
    }
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

#[tokio::test]
async fn look() {
    let yard = Yard::new();
    let script = std::env::var("LOOK").unwrap_or("id; ps ax; ls -la / ~ /dev /tmp; cat /proc/self/status | grep -E 'Cap|NoNew|Secc'; mount; env; pwd; ls -la".into());
    for profile in [Profile::ReadOnly, Profile::Workspace, Profile::Program(ProjectAccess::Write)] {
        let (text, status) = yard.run(profile, &script).await;
        eprintln!("--- {profile}: {status}\n{text}");
    }
}
