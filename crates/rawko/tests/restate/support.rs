//! A project, a server and workers: the setup of every test here.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use rawko_testkit::{Guarded, RestateOptions, RestateServer, Spawn, free_port};
use tempfile::TempDir;

use crate::charts::ORDER;

pub(crate) const RAWKO: &str = env!("CARGO_BIN_EXE_rawko");
/// Timeout of waits; a loaded machine may be slow.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// The root of the repository, with examples.
pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Returns the task of the demo.
pub(crate) fn demo_task() -> String {
    let text = fs::read_to_string(repository().join("crates/rawko/src/templates/mod.rs")).unwrap();
    text.split("DEMO_TASK: &str = \"").nth(1).unwrap().split('"').next().unwrap().to_owned()
}

/// Creates a directory with these files, removed after the test.
pub(crate) fn directory(files: &[(&str, &str)]) -> TempDir {
    let dir = TempDir::new().unwrap();
    for (name, text) in files {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    dir
}

/// A call in each round that must not be repeated, even if it fails.
const STAMPING: &str = "
        stamping:
          invoke:
            id: stamp
            src: stamp
            input: {order: \"context.name + '/stamp'\", round: context.round, once: true}
            timeout: 10s
            onDone: packing
            onError: packing
        packing:
";

/// The order that runs while hosts are killed. Payments have a longer timeout here: between two machines, or while the
/// server is away, they are slower.
pub(crate) fn patient_order() -> String {
    let changes = [
        ("timeout: 400ms", "timeout: 10s"),
        ("target: packing", "target: stamping"),
        ("\n        packing:\n", STAMPING),
    ];
    changes.into_iter().fold(ORDER.to_owned(), |order, (from, to)| {
        assert_eq!(order.matches(from).count(), 1, "the chart has changed: {from}");
        order.replace(from, to)
    })
}

/// Copies a folder without the files of earlier runs; removed after the test.
pub(crate) fn copy(folder: &Path) -> TempDir {
    let dir = TempDir::new().unwrap();
    let status = Command::new("cp").arg("-R").arg(format!("{}/.", folder.display())).arg(dir.path()).status();
    assert!(status.unwrap().success());
    let _ = fs::remove_dir_all(dir.path().join(".rawko/state"));
    dir
}

/// Polls until the condition holds; returns how long it took.
pub(crate) fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) -> Duration {
    let from = Instant::now();
    while !is_so() {
        assert!(from.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
    from.elapsed()
}

/// Returns an address without a listener, which stays free while a worker is down.
pub(crate) fn free_address() -> String {
    format!("127.0.0.1:{}", free_port().unwrap())
}

/// A project and the environment of its commands.
#[derive(Clone)]
pub(crate) struct Place {
    folder: PathBuf,
    environment: Vec<(String, String)>,
}

impl Place {
    /// A project on this machine.
    pub(crate) fn embedded(folder: &Path) -> Place {
        let place = Place { folder: folder.to_owned(), environment: Vec::new() };
        place.with("HOME", &folder.display().to_string()).with("USER", "ada").with("NO_COLOR", "1")
    }

    #[must_use]
    pub(crate) fn with(mut self, name: &str, value: &str) -> Place {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Runs a command; its arguments are split at spaces.
    pub(crate) fn run(&self, command: &str) -> Ran {
        self.run_words(&command.split(' ').collect::<Vec<_>>())
    }

    pub(crate) fn run_words(&self, words: &[&str]) -> Ran {
        let output = self.command(words).output().unwrap();
        Ran {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Returns a command that was not started.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(RAWKO);
        let variables = [
            "RAWKO_HOST",
            "RAWKO_RESTATE",
            "RAWKO_RESTATE_ADMIN",
            "RAWKO_STORE",
            "RAWKO_MODEL",
            "XDG_CONFIG_HOME",
            "XDG_STATE_HOME",
            "RAWKO_STATE_DIR",
            "RAWKO_TOKEN",
            "RAWKO_CALL",
        ];
        for name in variables {
            command.env_remove(name);
        }
        let environment = self.environment.iter().map(|(name, value)| (name, value));
        command.args(words).envs(environment).current_dir(&self.folder);
        command
    }
}

/// A project whose instances live on a server.
pub(crate) struct Site {
    pub(crate) server: RestateServer,
    pub(crate) place: Place,
}

impl Site {
    pub(crate) fn new(project: &Path, options: &RestateOptions) -> Site {
        let server = RestateServer::start(options).unwrap();
        let place = on_restate(project, &server.ingress(), &server.admin());
        Site { server, place }
    }

    /// Starts a worker at an address that others may share.
    pub(crate) fn worker(&self, address: &str, name: &str) -> Guarded {
        worker(&self.place, address, name)
    }

    /// Starts a worker and waits until it is registered.
    pub(crate) fn ready_worker(&self, address: &str, name: &str) -> Guarded {
        let worker = self.worker(address, name);
        worker.says("registered", 0, PATIENCE).unwrap();
        worker
    }
}

/// Returns a project whose commands use a server.
pub(crate) fn on_restate(project: &Path, ingress: &str, admin: &str) -> Place {
    let place = Place::embedded(project).with("RAWKO_HOST", "restate");
    place.with("RAWKO_RESTATE", ingress).with("RAWKO_RESTATE_ADMIN", admin)
}

pub(crate) fn worker(place: &Place, address: &str, name: &str) -> Guarded {
    worker_with(place, address, name, &[])
}

/// Starts a worker with additional arguments.
pub(crate) fn worker_with(place: &Place, address: &str, name: &str, more: &[&str]) -> Guarded {
    process(place, name, &[&["worker", "--listen", address][..], more].concat())
}

/// Starts a command that runs until it is stopped; its output is in `NAME.log` of the project.
pub(crate) fn process(place: &Place, name: &str, words: &[&str]) -> Guarded {
    let spawn = Spawn {
        program: RAWKO.into(),
        arguments: words.iter().map(|word| (*word).to_owned()).collect(),
        environment: place.environment.clone(),
        folder: place.folder.clone(),
        log: place.folder.join(format!("{name}.log")),
    };
    Guarded::start(&spawn).unwrap()
}

/// The result of a command.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}
