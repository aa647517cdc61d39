//! Runs checks one after the other and combines their results.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use rawko_process::{Confinement, Launch, LaunchError, Profile, ProjectAccess};
use rawko_settings::Environment;

use super::bytecode;
use super::definition::{CheckFormat, ProjectCheck};
use super::formats::{CheckCount, CheckOutput, count, prints_tests, without_report};
use super::lsp::{self, LanguageServers};
use super::process::{self, CheckEnd};
use super::report::{CheckFinding, CheckReport, CheckResult};
use crate::checkpoints::Root;

/// Placeholder for the report path in arguments.
const REPORT: &str = "{report}";
/// A larger report is not read.
const REPORT_BYTES_MAX: u64 = 32 * 1024 * 1024;

/// Runs all checks in the project. A check that cannot start counts as an error; none is skipped. Language servers come
/// from `servers` and stay there for the next run.
pub async fn run_all(
    checks: &[ProjectCheck],
    project_root: &Path,
    environment: &Environment,
    confinement: &Confinement,
    servers: &LanguageServers,
) -> CheckReport {
    let mut results = Vec::new();
    for check in checks {
        let counted = run(check, project_root, environment, confinement, servers).await;
        let counted = counted.unwrap_or_else(|why| not_run(&why));
        results.push(CheckResult {
            name: check.name.clone(),
            command: shown(&check.command),
            ok: counted.errors == 0,
            decides: check.decides,
            errors: counted.errors,
            tests: counted.tests,
            summary: counted.summary,
            findings: counted.findings,
            names: counted.names,
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

fn not_run(why: &str) -> CheckCount {
    let finding = CheckFinding::new(None, None, why);
    let summary = finding.message.clone();
    CheckCount { errors: 1, summary, findings: vec![finding], ..CheckCount::default() }
}

async fn run(
    check: &ProjectCheck,
    root: &Path,
    environment: &Environment,
    confinement: &Confinement,
    servers: &LanguageServers,
) -> Result<CheckCount, String> {
    let cwd = directory(root, &check.cwd)?;
    let folder =
        Folder::for_reports(check).map_err(|error| format!("there is no place for its report: {error}"))?;
    let bytecode =
        Folder::for_bytecode(root, check).map_err(|error| format!("Python cannot compile: {error}"))?;
    let mut launch = launch(check, folder.as_ref(), bytecode.as_ref(), environment, confinement)?;
    launch.cwd.clone_from(&cwd);
    if let CheckFormat::Lsp { files } = &check.format {
        return lsp::ask(servers, launch, &cwd, files, check.timeout).await;
    }
    let report = match &folder {
        Some(folder) => Some((folder.0.as_path(), PathBuf::from(REPORT_FILE))),
        None => check.report.as_ref().map(|path| match (path.parent(), path.file_name()) {
            // Settings may name a place outside the project.
            (Some(above), Some(name)) if path.is_absolute() => (above, PathBuf::from(name)),
            _ => (root, path.clone()),
        }),
    };
    let before = report.as_ref().and_then(|(root, path)| stamp(&root.join(path)));
    let ending = process::run(launch, check.timeout).await.map_err(|error| not_started(check, &error))?;
    match ending {
        CheckEnd::Exited { status, stdout, stderr } => {
            // Ignore a report left by an earlier run.
            let written = report.as_ref().filter(|(root, path)| stamp(&root.join(path)) != before);
            let written = written.and_then(|(root, path)| read_report(root, path));
            let text = super::settings_of::whole_text(root, check);
            let (runs_cargo, prints_tests) = (text.to_lowercase().contains("cargo"), prints_tests(&text));
            let exit_code = status.code();
            let output = CheckOutput { exit_code, stdout, stderr, report: written, runs_cargo, prints_tests };
            let is_missing = report.is_some() && output.report.is_none();
            Ok(if is_missing { without_report(&output) } else { count(&check.format, &output) })
        }
        CheckEnd::TimedOut => Err(format!("it took longer than {:?} and was ended", check.timeout)),
        CheckEnd::TooMuchOutput => Err("it printed too much and was ended".to_owned()),
    }
}

/// Returns the modification time and length of a file.
fn stamp(path: &Path) -> Option<(SystemTime, u64)> {
    let metadata = std::fs::symlink_metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

/// Variables of every check. Python takes compiled code for current if the source has the time, to the second, and the
/// size of then. A check judges the source: it neither reads compiled code of the project nor leaves any.
const VARIABLES: [(&str, &str); 2] = [("NO_COLOR", "1"), ("PYTHONDONTWRITEBYTECODE", "1")];
/// Python looks for compiled code only there.
const BYTECODE: &str = "PYTHONPYCACHEPREFIX";

/// The report is written outside the project, to a folder of its own.
fn launch(
    check: &ProjectCheck,
    folder: Option<&Folder>,
    bytecode: Option<&Folder>,
    environment: &Environment,
    confinement: &Confinement,
) -> Result<Launch, String> {
    let (program, args) = check.command.split_first().ok_or("it names no program")?;
    // A language server reads. It runs on between checks, with plugins and settings of the project that agents write.
    let access = match &check.format {
        CheckFormat::Lsp { .. } => ProjectAccess::Read,
        _ => ProjectAccess::Write,
    };
    let profile = confinement.profile_of("checks", "", Profile::Program(access));
    let mut confinement = confinement.clone();
    confinement.extra_write.extend([folder, bytecode].into_iter().flatten().map(|folder| folder.0.clone()));
    let arg = |arg: &String| match folder {
        Some(folder) => arg.replace(REPORT, &folder.report().display().to_string()),
        None => arg.clone(),
    };
    let mut set = environment.named(check.pass_env.iter().map(String::as_str));
    set.extend(VARIABLES.map(|(name, value)| (name.to_owned(), value.to_owned())));
    let bytecode = bytecode.map(|folder| folder.0.clone()).or_else(|| {
        let installed = bytecode::directory(&check.command, environment, &confinement);
        confinement.extra_read.extend(installed.clone());
        installed
    });
    let bytecode = bytecode.unwrap_or_else(|| PathBuf::from("/dev/null"));
    set.push((BYTECODE.to_owned(), bytecode.display().to_string()));
    Ok(Launch {
        args: args.iter().map(arg).collect(),
        inherited: environment.all(),
        set,
        ..Launch::new(program, profile, confinement)
    })
}

/// Resolves a directory of the project; a link must not lead outside.
fn directory(root: &Path, cwd: &Path) -> Result<PathBuf, String> {
    let real = |path: PathBuf| {
        path.canonicalize().map_err(|error| format!("it cannot run in {}: {error}", cwd.display()))
    };
    let (root, cwd) = (real(root.to_owned())?, real(root.join(cwd))?);
    if cwd.starts_with(&root) { Ok(cwd) } else { Err(format!("{} is not in the project", cwd.display())) }
}

fn not_started(check: &ProjectCheck, error: &LaunchError) -> String {
    let program = check.command.first().map_or("", String::as_str);
    match error {
        LaunchError::Program(error) if error.kind() == io::ErrorKind::NotFound => {
            format!("there is no program `{program}`")
        }
        LaunchError::Program(_) | LaunchError::Confinement(_) => {
            format!("`{program}` could not be started: {error}")
        }
    }
}

/// Reads a report. The check may have made it a link to a file that only this process can read, or a pipe.
fn read_report(root: &Path, path: &Path) -> Option<String> {
    let inside = Root::open(root).ok()?;
    let file = inside.file(&inside.without_links(path).ok()?).ok()?;
    let found = file.metadata().ok().filter(|found| found.is_file() && found.len() <= REPORT_BYTES_MAX)?;
    let mut bytes = Vec::new();
    file.take(found.len()).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

const REPORT_FILE: &str = "report";

/// A folder for the files of one run, removed after it.
struct Folder(PathBuf);

impl Folder {
    /// Creates a folder only if the check uses `{report}`.
    fn for_reports(check: &ProjectCheck) -> io::Result<Option<Self>> {
        let is_used = check.command.iter().any(|arg| arg.contains(REPORT));
        is_used.then(Self::create).transpose()
    }

    /// Creates a folder only if compiling Python is what the check does: it fails if it cannot write.
    fn for_bytecode(root: &Path, check: &ProjectCheck) -> io::Result<Option<Self>> {
        let text = super::settings_of::whole_text(root, check);
        let is_compiler = text.contains("compileall") || text.contains("py_compile");
        is_compiler.then(Self::create).transpose()
    }

    fn create() -> io::Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("rawko-check-{}-{number}", std::process::id()));
        // Left behind by a killed process with the same id.
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir(&path)?;
        Ok(Self(path))
    }

    fn report(&self) -> PathBuf {
        self.0.join(REPORT_FILE)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
