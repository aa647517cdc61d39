//! A project with one program of each kind, a home with credentials beside it, and servers of the host.

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::json;
use tempfile::TempDir;

use super::calls::CALLS;
use super::classes::{self, CLASSES};
use super::table::{Attempt, TABLE};

const NOBODY: &str = "65534";
/// Every kind of program that an agent can influence.
pub(crate) const KINDS: [&str; 6] = ["bash", "check", "mcp", "process", "acp", "service"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum User {
    /// The user of the test, which may be root.
    Own,
    /// An unprivileged user, if the test runs as root.
    Nobody,
}

impl User {
    pub(crate) fn all() -> Vec<User> {
        let is_root = rustix::process::geteuid().is_root();
        if is_root { vec![User::Own, User::Nobody] } else { vec![User::Own] }
    }

    pub(crate) fn command(self, program: &str) -> Command {
        match self {
            User::Own => Command::new(program),
            User::Nobody => {
                let mut command = Command::new("setpriv");
                command.args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", program]);
                command
            }
        }
    }
}

const CHART: &str = "
statechart:
  id: tries
  initial: bash
  states:
    bash: {invoke: {src: agent:dev, input: {prompt: \"'Work.'\"}, onDone: check, onError: check}}
    check: {invoke: {src: checks:project, onDone: process, onError: process}}
    process: {invoke: {src: agent:prog, input: {prompt: \"'Work.'\"}, onDone: acp, onError: acp}}
    acp: {invoke: {src: agent:coder, input: {prompt: \"'Work.'\"}, onDone: service, onError: service}}
    service: {invoke: {src: tries, onDone: over, onError: over}}
    over: {type: final}
";

const SETTINGS: &str = "
governance: {allow: ['agent:*', 'checks:*', tries, reads]}
providers:
  default: demo/scripted
  demo: {kind: scripted, file: .rawko/script.json}
  corp: {kind: openai, base_url: 'http://127.0.0.1:9/v1', api_key: '${CORP_LLM}'}
phases: {validate: {checks: [{name: tries, command: [bash, tries.sh, check]}]}}
services:
  tries: {command: [bash, tries.sh, service]}
";

pub(crate) struct Scene {
    user: User,
    _directory: TempDir,
    pub(crate) root: PathBuf,
    home: PathBuf,
    out: PathBuf,
    state: PathBuf,
    _listeners: (TcpListener, UnixListener, UnixListener),
    port: u16,
    host: Child,
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = self.host.kill();
        let _ = self.host.wait();
    }
}

impl Scene {
    pub(crate) fn new(user: User) -> Self {
        let directory = TempDir::new().unwrap();
        let at = directory.path().canonicalize().unwrap();
        fs::set_permissions(&at, fs::Permissions::from_mode(0o755)).unwrap();
        let path = |name: &str| at.join(name);
        let (root, home, out, state) = (path("project"), path("home"), path("out"), path("state"));
        for directory in [&root, &home, &out, &state] {
            fs::create_dir(directory).unwrap();
        }
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = tcp.local_addr().unwrap().port();
        let beside = UnixListener::bind(out.join("host.sock")).unwrap();
        let inside = UnixListener::bind(root.join("host.sock")).unwrap();
        let host = Command::new("sleep").arg("600").spawn().unwrap();
        let listeners = (tcp, beside, inside);
        let scene =
            Self { user, _directory: directory, root, home, out, state, _listeners: listeners, port, host };
        scene.fill();
        scene
    }

    fn fill(&self) {
        for name in [
            ".ssh/id",
            ".aws/credentials",
            ".cargo/credentials.toml",
            ".claude/.credentials.json",
            ".codex/auth.json",
            ".vault-token",
            ".config/gh/hosts.yml",
            ".netrc",
            ".npmrc",
            "notes/private.txt",
            ".mozilla/firefox/key4.db",
        ] {
            write(&self.home.join(name), "KEY\n");
        }
        write(&self.home.join(".cargo/registry/index/x"), "index\n");
        write(&self.home.join(".bashrc"), "");
        write(&self.out.join("moved/secring"), "KEY\n");
        symlink(self.out.join("moved"), self.home.join(".gnupg")).unwrap();
        write(&self.state.join("operator"), "KEY\n");
        self.write("keys/id", "KEY\n");
        symlink(self.home.join(".ssh/id"), self.root.join("link")).unwrap();
        symlink("keys/id", self.root.join("inner-link")).unwrap();
        self.write("AGENTS.md", "Be brief.\n");
        self.write(".claude/settings.json", "{}\n");
        self.write("tries.yaml", CHART);
        self.write(".rawko/config.yaml", SETTINGS);
        let agent = |name: &str, more: &str| {
            let text = format!("---\nname: {name}\nwhenToUse: always\n{more}---\nYou work.\n");
            self.write(&format!(".rawko/agents/{name}.md"), &text);
        };
        agent("dev", "");
        agent("prog", "kind: process\ncommand: [bash, tries.sh, process]\n");
        agent("coder", "kind: acp\ncommand: [bash, tries.sh, acp]\n");
        let line = |command: &str| json!({"tool_calls": [{"name": "Bash", "input": {"command": command, "timeout_ms": 300_000}}]});
        let steps = json!([line("bash tries.sh bash"), {"text": "done"}]);
        self.write(".rawko/script.json", &json!([{"agent": "dev", "steps": steps}]).to_string());
        let server = json!({"mcpServers": {"tries": {"command": "bash", "args": ["tries.sh", "mcp"]}}});
        self.write(".mcp.json", &server.to_string());
        self.write("tries.sh", &self.script());
        self.write("results/.keep", "");
        let git = |args: &[&str]| {
            assert!(
                Command::new("git").args(args).current_dir(&self.root).output().unwrap().status.success()
            );
        };
        git(&["init", "-q"]);
        git(&["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "first"]);
        self.own();
    }

    /// Gives everything to the user.
    pub(crate) fn own(&self) {
        if self.user == User::Nobody {
            let owner = format!("{NOBODY}:{NOBODY}");
            let at = self.root.parent().unwrap();
            assert!(Command::new("chown").args(["-R", &owner]).arg(at).status().unwrap().success());
        }
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        write(&self.root.join(name), text);
    }

    /// Variables of the table, and `try`.
    pub(crate) fn prelude(&self) -> String {
        let path = |path: &Path| path.display().to_string();
        let mut script = format!(
            "export REAL='{}' UP='/{}' OUT='{}' STATE='{}' PORT={} HOST={}\n",
            path(&self.home),
            self.home.file_name().unwrap().display(),
            path(&self.out),
            path(&self.state),
            self.port,
            self.host.id()
        );
        script.push_str(
            "cat > ~/try.py <<'END'\n\
             import sys, os, socket, ctypes\n\
             libc = ctypes.CDLL(None, use_errno=True)\n\
             def call(*a): return libc.syscall(*[ctypes.c_long(x) if isinstance(x, int) else x for x in a])\n\
             exec(sys.argv[1])\n\
             END\n\
             try() { /usr/bin/python3 ~/try.py \"$1\"; }\n\
             export -f try\n",
        );
        script
    }

    /// Runs every attempt and every control, each with a time limit, and writes what they print to a file of its kind.
    fn script(&self) -> String {
        let mut script = self.prelude();
        script.push_str(
            "into=results/$1\n\
             : > $into\n",
        );
        for (number, row) in TABLE.iter().chain(CLASSES).chain(CALLS).enumerate() {
            if number == TABLE.len() {
                let kinds = classes::KINDS.join("|");
                script.push_str(&format!("case $1 in {kinds}) ;; *) echo '== end' >> $into; exit;; esac\n"));
            }
            for (what, line) in [("attempt", row.attempt), ("control", row.control)] {
                let quoted = line.replace('\'', r"'\''");
                script.push_str(&format!(
                    "export MARK=mark-$1-{number}\n\
                     echo \"== {number} {what}\" >> $into\n\
                     timeout -k 1 10 bash -c '{quoted}' >> $into 2>&1 < /dev/null\n"
                ));
            }
        }
        script.push_str("echo '== end' >> $into\n");
        script
    }

    pub(crate) fn rawko(&self, args: &[&str]) -> Output {
        self.prepared(args).output().unwrap()
    }

    pub(crate) fn prepared(&self, args: &[&str]) -> Command {
        let mut command = self.user.command(env!("CARGO_BIN_EXE_rawko"));
        command.args(args).current_dir(&self.root).stdin(Stdio::null());
        command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", &self.home);
        command.env("RAWKO_STATE_DIR", &self.state).env("CORP_LLM", "s3cret").env("RAWKO_TOKEN", "s3cret");
        command
            .env("OPENAI_API_KEY", "s3cret")
            .env("GIT_CONFIG_COUNT", "0")
            .env("SSH_AUTH_SOCK", "/tmp/agent");
        command.env("NODE_OPTIONS", "--no-warnings").env("PYTHONSTARTUP", "/nowhere");
        command
    }

    /// Trusts the project, in builds that ask for it; others do not have the command.
    pub(crate) fn trusted(&self) {
        let _ = self.rawko(&["trust", "--yes"]);
    }

    /// The same command with a controlling terminal, as a person runs it.
    fn on_terminal(&self, args: &[&str]) -> Command {
        let plain = self.prepared(args);
        let words = std::iter::once(plain.get_program()).chain(plain.get_args());
        let line: Vec<String> = words.map(|word| format!("'{}'", word.display())).collect();
        let mut command = Command::new("script");
        command.args(["-qec", &line.join(" "), "/dev/null"]).current_dir(&self.root).env_clear();
        command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?)))).stdin(Stdio::null());
        command
    }

    /// Returns held, tried and what went wrong.
    pub(crate) fn run_table(&self) -> (usize, usize, Vec<String>) {
        let before = self.authority();
        self.trusted();
        let done = self.on_terminal(&["run", "tries.yaml", "--id", "t"]).output().unwrap();
        let said = String::from_utf8_lossy(&done.stdout).into_owned();
        let (mut held, mut tried, mut wrong) = (0, 0, Vec::new());
        for kind in KINDS {
            let text = fs::read_to_string(self.root.join("results").join(kind)).unwrap_or_default();
            let results = parse(&text);
            if !text.contains("== end") {
                wrong.push(format!("{kind} as {:?} did not run to its end: {said}{text}", self.user));
            }
            for (number, row) in attempts(kind).enumerate() {
                tried += 1;
                let of = |what: &str| results.get(&format!("{number} {what}")).cloned().unwrap_or_default();
                let (attempt, control) = (of("attempt"), of("control"));
                let mark = format!("mark-{kind}-{number}");
                let is_marked = self.is_on_host(&mark);
                if attempt.contains("ESCAPED") || is_marked {
                    wrong.push(format!("{kind} as {:?}: {} escaped: {attempt}", self.user, row.name));
                } else if control.contains("WORKS") {
                    held += 1;
                } else {
                    wrong.push(format!("{kind} as {:?}: control of {}: {control}", self.user, row.name));
                }
            }
        }
        if self.authority() != before {
            wrong.push(format!("as {:?}: files of authority changed", self.user));
        }
        (held, tried, wrong)
    }

    fn is_on_host(&self, mark: &str) -> bool {
        let cache = self.home.join(".cargo/registry");
        let shared = ["/tmp", "/var/tmp", "/dev/shm"].map(PathBuf::from);
        let places = [&self.home, &self.out, &cache].into_iter().chain(&shared);
        let files: Vec<PathBuf> = places.map(|directory| directory.join(mark)).collect();
        let obeyed = ["AGENTS.md", ".vscode"].map(|name| self.root.join(format!("sub-{mark}")).join(name));
        let files: Vec<PathBuf> = files.into_iter().chain(obeyed).collect();
        let start = fs::read_to_string(self.home.join(".bashrc")).unwrap_or_default();
        files.iter().any(|file| file.symlink_metadata().is_ok()) || start.contains(mark)
    }

    /// The content of the files of authority. Git changes its own index and refs.
    fn authority(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        for name in [
            ".rawko/config.yaml",
            ".rawko/agents",
            ".mcp.json",
            ".claude",
            "AGENTS.md",
            ".git/config",
            ".git/hooks",
        ] {
            collect(&self.root.join(name), &mut found);
        }
        found
    }
}

/// The attempts that a kind of program makes.
fn attempts(kind: &str) -> impl Iterator<Item = &'static Attempt> {
    let (more, calls) = if classes::KINDS.contains(&kind) { (CLASSES, CALLS) } else { (&[][..], &[][..]) };
    TABLE.iter().chain(more).chain(calls)
}

fn collect(path: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            collect(&entry.unwrap().path(), found);
        }
    } else {
        found.insert(path.to_owned(), fs::read(path).unwrap_or_default());
    }
}

pub(crate) fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Output of each line, by `number attempt` or `number control`.
fn parse(text: &str) -> BTreeMap<String, String> {
    let mut results: BTreeMap<String, String> = BTreeMap::new();
    let mut current = String::new();
    for line in text.lines() {
        match line.strip_prefix("== ") {
            Some(name) => current = name.to_owned(),
            None => results.entry(current.clone()).or_default().push_str(&format!("{line}\n")),
        }
    }
    results
}
