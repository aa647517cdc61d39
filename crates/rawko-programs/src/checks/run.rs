//! Runs checks one after the other and combines their results.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use rawko_settings::Environment;
use tokio::process::Command;

use super::definition::{Check, Format};
use super::formats::{Counted, Output, count, without_report};
use super::lsp;
use super::process::{self, Ending};
use super::report::{CheckFinding, CheckReport, CheckResult};

/// Placeholder for the report path in arguments.
const REPORT: &str = "{report}";
/// A larger report is not read.
const REPORT_BYTES_MAX: u64 = 32 * 1024 * 1024;
/// Variables that compilers and test runners need. Excludes keys of model services.
const PASSED: [&str; 34] = [
    "PATH",
    "HOME",
    "USER",
    "SHELL",
    "LANG",
    "LC_ALL",
    "TZ",
    "TMPDIR",
    "XDG_CACHE_HOME",
    "XDG_RUNTIME_DIR",
    "CARGO_HOME",
    "CARGO_TARGET_DIR",
    "CARGO_NET_OFFLINE",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "RUSTFLAGS",
    "GOPATH",
    "GOROOT",
    "GOCACHE",
    "GOMODCACHE",
    "GOFLAGS",
    "GOPROXY",
    "NODE_PATH",
    "NVM_DIR",
    "VOLTA_HOME",
    "PYENV_ROOT",
    "PYTHONPATH",
    "VIRTUAL_ENV",
    "JAVA_HOME",
    "SSL_CERT_FILE",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "CI",
];

/// Runs all checks in the project. A check that cannot start counts as an error; none is skipped.
pub async fn run_all(checks: &[Check], project_root: &Path, environment: &Environment) -> CheckReport {
    let mut results = Vec::new();
    for check in checks {
        let counted = run(check, project_root, environment).await.unwrap_or_else(|why| not_run(&why));
        results.push(CheckResult {
            name: check.name.clone(),
            command: shown(&check.command),
            ok: counted.errors == 0,
            errors: counted.errors,
            summary: counted.summary,
            findings: counted.findings,
        });
    }
    CheckReport::of(results)
}

/// Returns the displayed command; a shell command is shown as written.
pub(super) fn shown(command: &[String]) -> String {
    match command {
        [shell, option, text] if shell == "sh" && option == "-c" => text.clone(),
        words => words.join(" "),
    }
}

fn not_run(why: &str) -> Counted {
    let finding = CheckFinding::new(None, None, why);
    Counted { errors: 1, summary: finding.message.clone(), findings: vec![finding] }
}

async fn run(check: &Check, root: &Path, environment: &Environment) -> Result<Counted, String> {
    let cwd = directory(root, &check.cwd)?;
    let folder =
        Folder::for_reports(check).map_err(|error| format!("there is no place for its report: {error}"))?;
    let mut command = command(check, folder.as_ref(), environment)?;
    command.current_dir(&cwd);
    if let Format::Lsp { files } = &check.format {
        return lsp::ask(command, &cwd, files, check.timeout).await;
    }
    let report =
        folder.as_ref().map(Folder::report).or_else(|| check.report.as_ref().map(|path| root.join(path)));
    let before = report.as_deref().and_then(stamp);
    let ending = process::run(command, check.timeout).await.map_err(|error| not_started(check, &error))?;
    match ending {
        Ending::Exited { status, stdout, stderr } => {
            // Ignore a report left by an earlier run.
            let written = report.as_deref().filter(|path| stamp(path) != before).and_then(read_report);
            let output = Output { exit_code: status.code(), stdout, stderr, report: written };
            let is_missing = report.is_some() && output.report.is_none();
            Ok(if is_missing { without_report(&output) } else { count(&check.format, &output) })
        }
        Ending::TimedOut => Err(format!("it took longer than {:?} and was ended", check.timeout)),
        Ending::TooMuchOutput => Err("it printed too much and was ended".to_owned()),
    }
}

/// Returns the modification time and length of a file.
fn stamp(path: &Path) -> Option<(SystemTime, u64)> {
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

fn command(check: &Check, folder: Option<&Folder>, environment: &Environment) -> Result<Command, String> {
    let (program, args) = check.command.split_first().ok_or("it names no program")?;
    let mut command = Command::new(program);
    command.env_clear().env("NO_COLOR", "1");
    for arg in args {
        match folder {
            Some(folder) => command.arg(arg.replace(REPORT, &folder.report().display().to_string())),
            None => command.arg(arg),
        };
    }
    let names = PASSED.into_iter().chain(check.pass_env.iter().map(String::as_str));
    command.envs(names.filter_map(|name| Some((name, environment.get(name)?))));
    Ok(command)
}

/// Resolves a directory of the project; a link must not lead outside.
fn directory(root: &Path, cwd: &Path) -> Result<PathBuf, String> {
    let real = |path: PathBuf| {
        path.canonicalize().map_err(|error| format!("it cannot run in {}: {error}", cwd.display()))
    };
    let (root, cwd) = (real(root.to_owned())?, real(root.join(cwd))?);
    if cwd.starts_with(&root) { Ok(cwd) } else { Err(format!("{} is not in the project", cwd.display())) }
}

fn not_started(check: &Check, error: &io::Error) -> String {
    let program = check.command.first().map_or("", String::as_str);
    match error.kind() {
        io::ErrorKind::NotFound => format!("there is no program `{program}`"),
        _ => format!("`{program}` could not be started: {error}"),
    }
}

fn read_report(path: &Path) -> Option<String> {
    let length = std::fs::metadata(path).ok()?.len();
    let bytes = (length <= REPORT_BYTES_MAX).then(|| std::fs::read(path).ok()).flatten()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// A folder for one report, removed after reading.
struct Folder(PathBuf);

impl Folder {
    /// Creates a folder only if the check uses `{report}`.
    fn for_reports(check: &Check) -> io::Result<Option<Self>> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        if !check.command.iter().any(|arg| arg.contains(REPORT)) {
            return Ok(None);
        }
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("rawko-check-{}-{number}", std::process::id()));
        // Left behind by a killed process with the same id.
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir(&path)?;
        Ok(Some(Self(path)))
    }

    fn report(&self) -> PathBuf {
        self.0.join("report")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
