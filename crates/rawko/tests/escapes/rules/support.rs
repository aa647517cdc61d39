//! A project with a user of its own, and the table of attempts.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

const RAWKO: &str = env!("CARGO_BIN_EXE_rawko");
/// A command that should have stopped is ended after this time.
const PATIENCE: Duration = Duration::from_secs(30);

/// The result of a command.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) code: Option<i32>,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

impl Run {
    pub(super) fn says(&self, text: &str) -> bool {
        self.stdout.contains(text) || self.stderr.contains(text)
    }
}

/// A project and the home of its user, which are apart.
pub(super) struct Yard {
    dir: TempDir,
    /// Variables of the user's environment.
    pub(super) env: Vec<(&'static str, String)>,
}

/// A chart that runs the agent `worker` once.
pub(super) const CHART: &str = "\
statechart:
  id: probe
  initial: working
  states:
    working:
      invoke: {id: work, src: 'agent:worker', input: {prompt: \"'Go'\"}, onDone: done, onError: failed}
    done: {type: final}
    failed: {type: final}
";
pub(super) const SETTINGS: &str = "\
governance: {allow: ['*']}
providers: {default: demo/x, demo: {kind: scripted, file: .rawko/script.yaml}}
memories: {remember: false}
";
pub(super) const WORKER: &str = "---\nname: worker\ndescription: Works.\n---\nYou work.\n";

impl Yard {
    pub(super) fn new(files: &[(&str, &str)]) -> Yard {
        let yard = Yard { dir: TempDir::new().unwrap(), env: Vec::new() };
        fs::create_dir_all(yard.root()).unwrap();
        fs::create_dir_all(yard.home()).unwrap();
        files.iter().for_each(|(path, text)| yard.write(path, text));
        yard
    }

    /// A project with an agent, which makes these calls: `{name: Bash, input: {command: ls}}`.
    pub(super) fn with_calls(calls: &[String], more: &[(&str, &str)]) -> Yard {
        let calls: String = calls.iter().map(|call| format!("        - {call}\n")).collect();
        let script = format!(
            "- agent: worker\n  steps:\n    - text: Trying.\n      tool_calls:\n{calls}    - text: Ended.\n"
        );
        let yard = Yard::new(&[
            ("probe.yaml", CHART),
            (".rawko/config.yaml", SETTINGS),
            (".rawko/agents/worker.md", WORKER),
            (".rawko/script.yaml", &script),
        ]);
        more.iter().for_each(|(path, text)| yard.write(path, text));
        yard
    }

    pub(super) fn root(&self) -> PathBuf {
        self.dir.path().join("project")
    }

    pub(super) fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    pub(super) fn write(&self, path: &str, text: &str) {
        write(&self.root().join(path), text);
    }

    pub(super) fn write_user(&self, text: &str) {
        write(&self.home().join(".config/rawko/config.yaml"), text);
    }

    pub(super) fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.root().join(path)).ok()
    }

    pub(super) fn has(&self, path: &str) -> bool {
        self.root().join(path).exists()
    }

    pub(super) fn trust(&self) -> &Self {
        let run = self.run(&["trust", "--yes"]);
        assert_eq!(run.code, Some(0), "{run:?}");
        self
    }

    pub(super) fn run(&self, args: &[&str]) -> Run {
        self.run_with(args, "")
    }

    /// Runs a command without a terminal, at most for a while.
    pub(super) fn run_with(&self, args: &[&str], stdin: &str) -> Run {
        let mut command = Command::new(RAWKO);
        command.args(args).current_dir(self.root()).env("HOME", self.home()).env("USER", "ada");
        for name in ["RAWKO_TRUST", "RAWKO_STATE_DIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "RAWKO_STORE"] {
            command.env_remove(name);
        }
        command.envs(self.env.iter().map(|(name, value)| (*name, value.as_str())));
        let (out, err) = (self.dir.path().join("stdout"), self.dir.path().join("stderr"));
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(fs::File::create(&out).unwrap())
            .stderr(fs::File::create(&err).unwrap())
            .spawn()
            .unwrap();
        let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
        let since = Instant::now();
        let code = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status.code();
            }
            // A server that printed its address runs, which is all a control needs.
            let is_up = fs::read_to_string(&out).is_ok_and(|text| text.starts_with("http://"));
            if since.elapsed() > PATIENCE || is_up {
                child.kill().unwrap();
                child.wait().unwrap();
                break None;
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        let text = |path: &Path| String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
        Run { code, stdout: text(&out), stderr: text(&err) }
    }

    /// Runs the probe and returns the audit of all calls of its agent.
    pub(super) fn probe(&self, id: &str) -> (Run, String) {
        let run = self.run(&["run", "probe.yaml", "--id", id]);
        let audit = self.run(&["logs", id, "--audit"]);
        (run, audit.stdout)
    }
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// The results of all attempts.
#[derive(Default)]
pub(super) struct Tally {
    held: usize,
    escaped: Vec<String>,
}

impl Tally {
    /// One attempt: whether it was held, and whether the same means works where it is allowed.
    pub(super) fn row(&mut self, name: impl Into<String>, held: bool, control: bool) {
        let name = name.into();
        match (held, control) {
            (true, true) => self.held += 1,
            (false, _) => self.escaped.push(format!("{name}: escaped")),
            (true, false) => self.escaped.push(format!("{name}: the control failed")),
        }
    }

    pub(super) fn report(&self, part: &str, least: usize) {
        let all = self.held + self.escaped.len();
        println!("{part}: {} of {all} held", self.held);
        assert!(self.escaped.is_empty(), "{}", self.escaped.join("\n"));
        assert!(all >= least, "only {all} attempts");
    }
}
