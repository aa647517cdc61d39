//! `ProjectCheck`: one command and the format of its result, from `phases.validate.checks`.

use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use rawko_chart::codes::settings::MISSING_KEY;
use rawko_chart::{DocumentData, Finding, SpannedValue, nearest};
use rawko_settings::{SectionSource, SettingsReader};
use serde::{Deserialize, Serialize};

/// A check of the project.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProjectCheck {
    /// The name in reports.
    pub name: String,
    /// The program and its arguments; `{report}` is replaced by the path of the report.
    pub command: Vec<String>,
    /// The format of the output.
    pub format: CheckFormat,
    /// Time limit of a run.
    pub timeout: Duration,
    /// Relative to the project.
    pub cwd: PathBuf,
    /// A report file written by the command, relative to the project. `None` uses the output, or `{report}`.
    pub report: Option<PathBuf>,
    /// Environment variables passed in addition to the defaults.
    pub pass_env: Vec<String>,
    /// The reason for running it.
    pub reason: String,
    /// False for advice: its errors are shown to agents, and do not keep a task from being complete.
    #[serde(default = "super::report::decides")]
    pub decides: bool,
    /// Patterns of files that agents may change although the command names them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
}

/// The format that errors are counted in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CheckFormat {
    /// One error unless the exit code is 0.
    Exit,
    /// A number, or the length of a list, at this JSON pointer.
    Json {
        /// The JSON pointer.
        pointer: String,
    },
    /// The Test Anything Protocol; also `node --test --test-reporter=tap`.
    Tap,
    /// JUnit XML.
    Junit,
    /// SARIF JSON.
    Sarif,
    /// `cargo … --message-format=json`, mixed with test output.
    Cargo,
    /// Python's `unittest`.
    Unittest,
    /// `go test -json`.
    Go,
    /// The command is a language server; counts its diagnostics for these files (patterns).
    Lsp {
        /// Patterns of the files.
        files: Vec<String>,
    },
}

const FORMATS: [&str; 10] =
    ["exit", "json", "tap", "node-test", "junit", "sarif", "cargo", "unittest", "go", "lsp"];
const KEYS: [&str; 11] = [
    "name", "command", "format", "timeout", "cwd", "report", "pointer", "files", "pass_env", "decides",
    "sources",
];
pub(super) const TIMEOUT: Duration = Duration::from_secs(600);
const REASON: &str = "`phases.validate.checks` in the settings";

/// Problems, grouped by file.
pub type CheckProblems = Vec<(String, Vec<Finding>)>;

/// Returns the checks of the nearest settings file that defines any, `None` if none does, and all problems by file.
pub fn of_settings(settings: &dyn SectionSource) -> (Option<Vec<ProjectCheck>>, CheckProblems) {
    for section in settings.sections_of("phases") {
        let checks = section.document.get("validate").and_then(|validate| validate.get("checks"));
        if let Some(checks) = checks {
            let mut reader = SettingsReader::new(settings.environment_of());
            let checks = read_all(&mut reader, checks);
            let problems = (!reader.findings.is_empty()).then(|| (section.file.to_string(), reader.findings));
            return (Some(checks), problems.into_iter().collect());
        }
    }
    (None, Vec::new())
}

fn read_all(reader: &mut SettingsReader<'_>, at: &SpannedValue) -> Vec<ProjectCheck> {
    if at.items().is_none() {
        reader.wrong_type(at, "`checks`", "a list");
    }
    let mut checks: Vec<ProjectCheck> = Vec::new();
    for item in at.items().unwrap_or_default() {
        let Some(check) = read(reader, item) else { continue };
        if checks.iter().any(|other| other.name == check.name) {
            reader.invalid(
                item.span,
                format!("there is already a check `{}`", check.name),
                "give it another `name`",
            );
        }
        checks.push(check);
    }
    checks
}

fn read(reader: &mut SettingsReader<'_>, at: &SpannedValue) -> Option<ProjectCheck> {
    reader.record(at, "a check", &KEYS);
    at.entries()?;
    let command = command(reader, at);
    let name = at.get("name").and_then(|at| reader.text(at, "`name` of a check")).map(str::to_owned);
    let format = format(reader, at);
    let timeout = at.get("timeout").and_then(|at| reader.duration(at, "`timeout` of a check"));
    let cwd = at.get("cwd").and_then(|at| inside(reader, at, "`cwd` of a check"));
    let report = at.get("report").and_then(|at| inside(reader, at, "`report` of a check"));
    let pass_env = at.get("pass_env").map(|at| reader.texts(at, "`pass_env` of a check")).unwrap_or_default();
    let decides = at.get("decides").and_then(|at| reader.flag(at, "`decides` of a check"));
    let sources = at.get("sources").map(|at| reader.texts(at, "`sources` of a check")).unwrap_or_default();
    let sources: Vec<(String, rawko_chart::Span)> =
        sources.into_iter().map(|(pattern, span)| (pattern.to_owned(), span)).collect();
    for (pattern, span) in &sources {
        if let Err(error) = globset::Glob::new(pattern) {
            let message = format!("`{pattern}` is not a pattern: {}", error.kind());
            reader.invalid(*span, message, "write for example `src/**`");
        }
    }
    let command = command?;
    Some(ProjectCheck {
        name: name.unwrap_or_else(|| command.join(" ")),
        command,
        format: format?,
        timeout: timeout.unwrap_or(TIMEOUT),
        cwd: cwd.unwrap_or_else(|| PathBuf::from(".")),
        report,
        pass_env: pass_env.into_iter().map(|(name, _)| name.to_owned()).collect(),
        reason: REASON.to_owned(),
        decides: decides.unwrap_or(true),
        sources: sources.into_iter().map(|(pattern, _)| pattern).collect(),
    })
}

/// Reads a command: a list is run directly, a text by a shell.
fn command(reader: &mut SettingsReader<'_>, at: &SpannedValue) -> Option<Vec<String>> {
    let Some(command) = at.get("command") else {
        let message = "a check has no `command`";
        reader.say(&MISSING_KEY, at.span, message, "add `command: [program, argument]`");
        return None;
    };
    let words: Vec<String> = match &command.data {
        DocumentData::Str(text) if !text.trim().is_empty() => vec!["sh".into(), "-c".into(), text.clone()],
        DocumentData::Str(_) => Vec::new(),
        DocumentData::Null
        | DocumentData::Bool(_)
        | DocumentData::Int(_)
        | DocumentData::Float(_)
        | DocumentData::List(_)
        | DocumentData::Map(_) => {
            let words = reader.texts(command, "`command` of a check");
            words.into_iter().map(|(word, _)| word.to_owned()).collect()
        }
    };
    let is_named = words.first().is_some_and(|program| !program.is_empty());
    if !is_named && (command.items().is_some() || command.text().is_some()) {
        reader.invalid(
            command.span,
            "`command` of a check has no program",
            "write for example `[cargo, test]`",
        );
    }
    is_named.then_some(words)
}

fn format(reader: &mut SettingsReader<'_>, check: &SpannedValue) -> Option<CheckFormat> {
    let Some(at) = check.get("format") else { return Some(CheckFormat::Exit) };
    Some(match reader.text(at, "`format` of a check")? {
        "exit" => CheckFormat::Exit,
        "json" => CheckFormat::Json { pointer: pointer(reader, at, check)? },
        "tap" | "node-test" => CheckFormat::Tap,
        "junit" => CheckFormat::Junit,
        "sarif" => CheckFormat::Sarif,
        "cargo" => CheckFormat::Cargo,
        "unittest" => CheckFormat::Unittest,
        "go" => CheckFormat::Go,
        "lsp" => CheckFormat::Lsp { files: files(reader, at, check)? },
        other => {
            let help = nearest(other, FORMATS).map_or_else(
                || format!("the formats are {}", FORMATS.map(|format| format!("`{format}`")).join(", ")),
                |near| format!("did you mean `{near}`?"),
            );
            reader.invalid(at.span, format!("there is no format `{other}`"), help);
            return None;
        }
    })
}

fn pointer(reader: &mut SettingsReader<'_>, format: &SpannedValue, check: &SpannedValue) -> Option<String> {
    let Some(at) = check.get("pointer") else {
        let message = "the format `json` needs a `pointer`";
        reader.say(&MISSING_KEY, format.span, message, "add `pointer: /summary/errors`: a number or a list");
        return None;
    };
    let text = reader.text(at, "`pointer` of a check")?;
    let is_pointer = text.is_empty() || text.starts_with('/');
    if !is_pointer {
        reader.invalid(
            at.span,
            format!("`{text}` is not a JSON pointer"),
            format!("did you mean `/{text}`?"),
        );
    }
    is_pointer.then(|| text.to_owned())
}

fn files(
    reader: &mut SettingsReader<'_>,
    format: &SpannedValue,
    check: &SpannedValue,
) -> Option<Vec<String>> {
    let Some(at) = check.get("files") else {
        let message = "the format `lsp` needs `files`";
        reader.say(
            &MISSING_KEY,
            format.span,
            message,
            "add `files: [\"src/**/*.py\"]`: the files that the server checks",
        );
        return None;
    };
    let files = reader.texts(at, "`files` of a check");
    for (pattern, span) in &files {
        if let Err(error) = globset::Glob::new(pattern) {
            reader.invalid(
                *span,
                format!("`{pattern}` is not a pattern: {}", error.kind()),
                "write for example `src/**/*.py`",
            );
        }
    }
    Some(files.into_iter().map(|(pattern, _)| pattern.to_owned()).collect())
}

fn inside(reader: &mut SettingsReader<'_>, at: &SpannedValue, what: &str) -> Option<PathBuf> {
    let path = Path::new(reader.text(at, what)?);
    let is_inside = path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if !is_inside {
        reader.invalid(
            at.span,
            format!("{what} is outside the project"),
            "write a path inside the project, without `..`",
        );
    }
    is_inside.then(|| path.to_owned())
}
