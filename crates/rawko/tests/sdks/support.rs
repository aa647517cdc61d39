//! A served project on a port of its own, and clean environments with the packages installed.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use tempfile::TempDir;

/// The token of the operator, and that of programs which provide services.
pub(crate) const TOKEN: &str = "the-token-of-the-operator";
pub(crate) const SERVICE_TOKEN: &str = "the-token-of-the-services";

/// A language whose package is tested.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    Python,
    Node,
}

impl Language {
    /// Returns a command that runs a script where nothing but the package is installed.
    pub(crate) fn script(self, script: &Path) -> Command {
        let home = self.environment();
        match self {
            Language::Python => {
                let mut command = Command::new(home.join("bin/python"));
                // Isolated: neither the folder of the script nor the user's packages are importable.
                command.arg("-I").arg(script);
                command
            }
            Language::Node => {
                // Packages are found from the folder of the script.
                let copy = home.join(script.file_name().unwrap());
                fs::copy(script, &copy).unwrap();
                let mut command = Command::new("node");
                command.arg(copy);
                command
            }
        }
    }

    /// Returns the folder of an environment with nothing but the package.
    pub(crate) fn environment(self) -> &'static Path {
        environment(self)
    }

    pub(crate) fn of_tests(self, name: &str) -> PathBuf {
        let ending = match self {
            Language::Python => "py",
            Language::Node => "mjs",
        };
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/sdks/{name}.{ending}"))
    }
}

pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the folder with the tarball and the wheel.
fn packages() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sdk-packages");
        let _ = fs::remove_dir_all(&out);
        finish(Command::new("python3").arg(repository().join("packaging/sdks.py")).arg("--out").arg(&out));
        out
    })
}

fn package(ending: &str) -> PathBuf {
    let mut all = fs::read_dir(packages()).unwrap().map(|entry| entry.unwrap().path());
    all.find(|path| path.to_str().unwrap().ends_with(ending)).unwrap()
}

/// Returns a new environment with the package, made once per test program.
fn environment(language: Language) -> &'static Path {
    static PYTHON: OnceLock<PathBuf> = OnceLock::new();
    static NODE: OnceLock<PathBuf> = OnceLock::new();
    let tmp = Path::new(env!("CARGO_TARGET_TMPDIR"));
    match language {
        Language::Python => PYTHON.get_or_init(|| {
            let home = tmp.join("sdk-python");
            finish(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&home));
            let pip = ["-m", "pip", "install", "--quiet", "--no-index", "--disable-pip-version-check"];
            finish(Command::new(home.join("bin/python")).args(pip).arg(package(".whl")));
            home
        }),
        Language::Node => NODE.get_or_init(|| {
            let home = tmp.join("sdk-node");
            let _ = fs::remove_dir_all(&home);
            fs::create_dir_all(&home).unwrap();
            fs::write(home.join("package.json"), "{\"private\": true}").unwrap();
            let install = ["install", "--offline", "--no-audit", "--no-fund", "--ignore-scripts"];
            finish(Command::new("npm").args(install).arg(package(".tgz")).current_dir(&home));
            home
        }),
    }
}

/// Runs a command to its end and returns its output; panics if it fails.
pub(crate) fn finish(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{command:?}\n{stdout}{}", String::from_utf8_lossy(&output.stderr));
    stdout
}

/// A process that does not outlive the test.
pub(crate) struct Process(pub(crate) Child);

impl Process {
    pub(crate) fn start(command: &mut Command) -> Process {
        Process(command.spawn().unwrap())
    }

    /// Ends it without warning.
    pub(crate) fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A project that can be served again and again on the same address.
pub(crate) struct Served {
    pub(crate) folder: TempDir,
    pub(crate) url: String,
}

impl Served {
    pub(crate) fn new(files: &[(&str, &str)]) -> Served {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        // Free now; a server that is killed gets it again.
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        Served { folder, url: format!("http://{address}") }
    }

    pub(crate) fn rawko(&self, args: &[&str]) -> Command {
        let dir = self.folder.path();
        let mut command = Command::new(env!("CARGO_BIN_EXE_rawko"));
        command.args(args).current_dir(dir).env_remove("RAWKO_CALL").env("RAWKO_TOKEN", TOKEN);
        command.env("RAWKO_STATE_DIR", dir.join(".state")).env("XDG_CONFIG_HOME", dir.join(".home"));
        command.env("SERVICE_TOKEN", SERVICE_TOKEN);
        command
    }

    /// Starts the server and waits until it listens.
    pub(crate) fn serve(&self) -> Process {
        let listen = self.url.strip_prefix("http://").unwrap();
        let log = fs::File::options().create(true).append(true).open(self.folder.path().join("serve.log"));
        let mut command = self.rawko(&["serve", "--listen", listen]);
        let mut process = Process::start(command.stdout(Stdio::piped()).stderr(log.unwrap()));
        let mut line = String::new();
        BufReader::new(process.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let log = || fs::read_to_string(self.folder.path().join("serve.log")).unwrap();
        assert_eq!(line.trim(), self.url, "{}", log());
        process
    }

    /// Returns a script with the address and a token in its environment.
    pub(crate) fn script(&self, language: Language, script: &Path, token: &str) -> Command {
        let mut command = language.script(script);
        command.env("RAWKO_URL", &self.url).env("RAWKO_TOKEN", token).current_dir(self.folder.path());
        command
    }
}
