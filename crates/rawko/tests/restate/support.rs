//! A project, a server and workers: what every test here begins with.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rawko_testkit::{Guarded, RestateOptions, RestateServer, Spawn};
use tempfile::TempDir;

pub(crate) const RAWKO: &str = env!("CARGO_BIN_EXE_rawko");
/// A loaded machine may take long.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// The repository, where examples are.
pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// A directory with these files in it, gone after the test.
pub(crate) fn directory(files: &[(&str, &str)]) -> TempDir {
    let dir = TempDir::new().unwrap();
    for (name, text) in files {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    dir
}

/// A server and a project that works with it.
pub(crate) struct Site {
    pub(crate) server: RestateServer,
    pub(crate) project: PathBuf,
}

impl Site {
    pub(crate) fn new(project: &Path, options: &RestateOptions) -> Site {
        Site { server: RestateServer::start(options).unwrap(), project: project.to_owned() }
    }

    /// What commands need to find the server.
    fn environment(&self) -> Vec<(String, String)> {
        [
            ("RAWKO_HOST", "restate".to_owned()),
            ("RAWKO_RESTATE", self.server.ingress()),
            ("RAWKO_RESTATE_ADMIN", self.server.admin()),
            ("HOME", self.project.display().to_string()),
            ("USER", "ada".to_owned()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .to_vec()
    }

    /// A worker at an address that others may share.
    pub(crate) fn worker(&self, address: &str, name: &str) -> Guarded {
        let spawn = Spawn {
            program: RAWKO.into(),
            arguments: ["worker", "--listen", address].map(str::to_owned).to_vec(),
            environment: self.environment(),
            folder: self.project.clone(),
            log: self.project.join(format!("{name}.log")),
        };
        Guarded::start(&spawn).unwrap()
    }

    /// The same, registered.
    pub(crate) fn ready_worker(&self, address: &str, name: &str) -> Guarded {
        let worker = self.worker(address, name);
        worker.says("registered", 0, PATIENCE).unwrap();
        worker
    }

    /// Runs a command as a person does; its words are split at spaces.
    pub(crate) fn run(&self, command: &str) -> Ran {
        let output = Command::new(RAWKO)
            .args(command.split(' '))
            .envs(self.environment())
            .env("NO_COLOR", "1")
            .current_dir(&self.project)
            .output()
            .unwrap();
        Ran {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// What a command left behind.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}
