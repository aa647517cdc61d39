//! Files written by redirection or through `tee`: allowed if the grant allows writing, and within the project.

use super::reading::LineReading;
use super::verdict::SOURCE;
use super::word::Word;
use crate::confine::ProjectRoot;
use crate::grant::Grant;
use crate::outcome::RefusedCall;

/// Devices that discard or print their input.
const DEVICES: [&str; 6] = ["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/full", "/dev/zero"];

pub(crate) fn is_device(word: &Word) -> bool {
    word.known().is_some_and(|text| DEVICES.contains(&text) || is_descriptor(text))
}

fn is_descriptor(text: &str) -> bool {
    let number = text.strip_prefix("/dev/fd/");
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

pub(super) fn check(
    reading: &LineReading,
    grant: &Grant,
    project: &ProjectRoot,
    is_filtered: bool,
) -> Result<(), RefusedCall> {
    if let Some(word) = reading.reads.iter().chain(&reading.writes).find(|word| is_network(word)) {
        let why = format!("`{}` opens a connection", word.shown);
        return Err(RefusedCall::new("path_outside", SOURCE, why));
    }
    // Bash itself opens a connection for `/dev/tcp/…`, also behind a variable.
    let is_open = |word: &&Word| {
        let device = "/dev/tcp/";
        word.known().is_none() && (word.prefix.is_empty() || device.starts_with(word.prefix.as_str()))
    };
    let unknown = reading.reads.iter().find(|word| is_open(word) && !reading.is_loop_variable(word));
    if let Some(word) = unknown.filter(|_| is_filtered) {
        let why = format!("`{}` is opened, and what that is cannot be known", word.shown);
        return Err(RefusedCall::new("path_outside", SOURCE, why));
    }
    let directories = directories(reading);
    for word in reading.writes.iter().filter(|word| !is_device(word)) {
        // A directory of the call itself: the kernel keeps everything else from being written.
        let is_made = word.prefix.is_empty() && word.known().is_none() && makes_temporary(reading);
        if (is_temporary(word) && !is_in_project(word, project)) || (is_made && grant.is_read_only()) {
            continue;
        }
        writable(word, grant)?;
        match word.known() {
            Some(path) => within(path, directories.as_deref(), project, is_filtered)?,
            None if is_in_temporary(word) => {}
            None if is_filtered => {
                let why = format!("`{}` is written, and where that is cannot be known", word.shown);
                return Err(RefusedCall::new("path_outside", SOURCE, why));
            }
            // Unknown until it runs; the sandbox enforces it.
            None => {}
        }
    }
    Ok(())
}

fn is_network(word: &Word) -> bool {
    ["/dev/tcp/", "/dev/udp/"].iter().any(|device| word.prefix.starts_with(device))
}

/// Requires Write in every layer.
fn writable(word: &Word, grant: &Grant) -> Result<(), RefusedCall> {
    grant.check("Write").map_err(|refused| RefusedCall {
        rule: "command_writes",
        why: format!("the command writes `{}`, and {}", word.shown, refused.why),
        source: refused.source,
    })
}

/// Returns true for a file in the private `/tmp` or below `$TMPDIR`.
pub(crate) fn is_temporary(word: &Word) -> bool {
    let is_below = |path: &str| {
        let rest = path.strip_prefix("/tmp/").or_else(|| path.strip_prefix("/var/tmp/"));
        rest.is_some_and(|rest| !rest.is_empty() && !rest.split('/').any(|part| part == ".."))
    };
    match word.known() {
        Some(path) => is_below(path),
        None => {
            is_in_temporary(word) || (is_below(&format!("{}x", word.prefix)) && !word.shown.contains(".."))
        }
    }
}

/// Returns true if the line makes a temporary file, whose name is in a variable then.
fn makes_temporary(reading: &LineReading) -> bool {
    reading.commands.iter().any(|simple| simple.name() == "mktemp")
        && !reading.values.iter().any(|value| value.starts_with("/dev/"))
}

fn is_in_project(word: &Word, project: &ProjectRoot) -> bool {
    let root = project.root();
    std::path::Path::new(&word.prefix).starts_with(root) || root == std::path::Path::new("/tmp")
}

/// `$TMPDIR` is the toolbox's own directory.
fn is_in_temporary(word: &Word) -> bool {
    let rest = word.shown.trim_matches('"');
    let rest = rest.strip_prefix("$TMPDIR/").or_else(|| rest.strip_prefix("${TMPDIR}/"));
    rest.is_some_and(|rest| !rest.contains("..") && !rest.contains(['$', '`']))
}

fn within(
    path: &str,
    directories: Option<&[String]>,
    project: &ProjectRoot,
    is_filtered: bool,
) -> Result<(), RefusedCall> {
    if path.starts_with('/') {
        return project.check_writable(path);
    }
    match directories {
        Some(directories) => directories
            .iter()
            .map(
                |directory| {
                    if directory.is_empty() { path.to_owned() } else { format!("{directory}/{path}") }
                },
            )
            .try_for_each(|path| project.check_writable(&path)),
        None if is_filtered => {
            let why = format!("`{path}` is written after a change of directory that cannot be known");
            Err(RefusedCall::new("path_outside", SOURCE, why))
        }
        None => project.check_writable(path),
    }
}

/// Returns the possible working directories of a write: the root and each directory the line changes to; `None` if
/// unknown.
fn directories(reading: &LineReading) -> Option<Vec<String>> {
    let mut all = vec![String::new()];
    for simple in reading.commands.iter().filter(|simple| ["cd", "pushd", "popd"].contains(&simple.name())) {
        let target = simple.args().iter().find(|arg| !arg.prefix.starts_with('-') || arg.is("-"));
        let target = target.and_then(Word::known).filter(|target| *target != "-")?;
        let from = all.last().cloned().unwrap_or_default();
        let is_anew = target.starts_with('/') || from.is_empty();
        let reached = if is_anew { target.to_owned() } else { format!("{from}/{target}") };
        all.push(target.to_owned());
        all.push(reached);
    }
    Some(all)
}
