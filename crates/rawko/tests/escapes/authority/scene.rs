//! A project whose instance waits for a person, a host that serves it, and the table of attempts.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use rawko_settings::{Environment, StateDir};
use tempfile::TempDir;

pub(crate) const RAWKO: &str = env!("CARGO_BIN_EXE_rawko");

const ORDER: &str = "\
statechart:
  id: order
  version: \"1.0.0\"
  initial: asking
  context: {by: null}
  states:
    asking:
      invoke:
        id: approval
        src: human
        input: {title: \"'Pay?'\"}
        onDone:
          - {target: paid, guard: event.data.approved, actions: [remember]}
          - {target: rejected}
      on: {WITHDRAWN: rejected}
    paid: {type: final, output: {by: context.by}}
    rejected: {type: final}
  actions:
    remember: {type: assign, context_updates: {by: event.data.by}}
";

/// `Err`: what happened instead.
pub(crate) type Outcome = Result<(), String>;

/// Attempts that were held, and those that were not.
#[derive(Default)]
pub(crate) struct Table {
    held: usize,
    escaped: Vec<String>,
}

impl Table {
    /// Notes attempts by the same means. They count as held only if the control shows that the means work.
    pub(crate) fn group(&mut self, means: &str, control: Outcome, attempts: Vec<(String, Outcome)>) {
        for (name, outcome) in attempts {
            match control.clone().map_err(|why| format!("the control failed: {why}")).and(outcome) {
                Ok(()) => self.held += 1,
                Err(why) => self.escaped.push(format!("{means}: {name}: {why}")),
            }
        }
    }

    pub(crate) fn finish(self, part: &str) {
        let all = self.held + self.escaped.len();
        println!("{part}: {} of {all} held", self.held);
        assert!(self.escaped.is_empty(), "{}", self.escaped.join("\n"));
    }
}

/// Holds if the condition does; `detail` is for the report.
pub(crate) fn ensure(holds: bool, detail: impl Into<String>) -> Outcome {
    if holds { Ok(()) } else { Err(detail.into()) }
}

/// A project, with the state of its user elsewhere.
pub(crate) struct Scene {
    pub(crate) project: TempDir,
    pub(crate) home: TempDir,
}

impl Scene {
    pub(crate) fn new(files: &[(&str, &str)]) -> Scene {
        let scene = Scene { project: tempfile::tempdir().unwrap(), home: tempfile::tempdir().unwrap() };
        scene.write(".rawko/charts/order.yaml", ORDER);
        scene.write(".rawko/config.yaml", "");
        files.iter().for_each(|(name, text)| scene.write(name, text));
        scene
    }

    /// With an instance for each id that waits for an approval.
    pub(crate) fn asking(ids: &[&str]) -> Scene {
        let scene = Scene::new(&[]);
        for id in ids {
            let ran = scene.run(&["run", "order", "--id", id, "--patience", "0s"]);
            assert_eq!(ran.status.code(), Some(55), "{}", said(&ran));
        }
        scene
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.project.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.home.path().join(".local/state/rawko")
    }

    pub(crate) fn store(&self) -> PathBuf {
        let home = [("HOME", self.home.path().to_str().unwrap())];
        let state = StateDir::of(&home.into_iter().collect::<Environment>()).unwrap();
        state.store(self.project.path())
    }

    pub(crate) fn token(&self) -> String {
        fs::read_to_string(self.state().join("operator.token")).unwrap().trim().to_owned()
    }

    /// The socket of the running host.
    pub(crate) fn socket(&self) -> PathBuf {
        let mut all = fs::read_dir(self.state().join("run")).unwrap();
        all.next().unwrap().unwrap().path()
    }

    /// A command of the operator.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(RAWKO);
        command.args(args).current_dir(self.project.path()).stdin(Stdio::null());
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", self.home.path());
        // The files of the scene are the operator's own.
        command.env("USER", "mallory").env("NO_COLOR", "1").env("RAWKO_TRUST", "all");
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// Returns true if an instance still waits for its approval.
    pub(crate) fn is_asking(&self, id: &str) -> Outcome {
        let shown = said(&self.run(&["show", id]));
        ensure(shown.contains("[asking]"), shown)
    }

    pub(crate) fn serve(&self, change: impl FnOnce(&mut Command)) -> Host {
        let mut command = self.command(&["serve", "--listen", "127.0.0.1:0"]);
        change(&mut command);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let address = lines.next().unwrap().unwrap().trim_start_matches("http://").to_owned();
        let link = lines.next().unwrap().unwrap();
        Host { child, address, link }
    }
}

/// A running `rawko serve`.
pub(crate) struct Host {
    child: Child,
    pub(crate) address: String,
    pub(crate) link: String,
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn said(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{:?} {}{}", output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// The name that the credential proves.
pub(crate) fn operator() -> String {
    let output = Command::new("id").arg("-un").output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

pub(crate) fn mode(path: &Path) -> u32 {
    std::os::unix::fs::PermissionsExt::mode(&fs::metadata(path).unwrap().permissions()) & 0o777
}
