//! Edit: replaces exact text. If the text is missing or ambiguous, the error explains how to fix the call.

use std::io::Read;

use rawko_core::Value;

use super::write::changed;
use crate::confine::{PlaceCheck, ProjectRoot};
use crate::input::{flag, text};
use crate::outcome::{ToolFailure, ToolOutcome};

const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Limit of locations listed for an ambiguous match.
const PLACES_MAX: usize = 10;

pub(crate) fn edit(
    project: &ProjectRoot,
    input: &Value,
    check: PlaceCheck<'_>,
) -> Result<ToolOutcome, ToolFailure> {
    let (path, old, new) = (text(input, "path"), text(input, "old_string"), text(input, "new_string"));
    if old.is_empty() {
        return Err("`old_string` is empty: to write a whole file use Write".to_owned().into());
    }
    if old == new {
        return Err("`old_string` and `new_string` are the same".to_owned().into());
    }
    let before = content(project, path, check)?;
    // A model sees no carriage returns: in a file with CRLF its text is converted.
    let is_foreign = before.contains("\r\n") && !old.contains('\r') && !before.contains(old);
    let (old, new) = if is_foreign { (crlf(old), crlf(new)) } else { (old.to_owned(), new.to_owned()) };
    if is_done(&before, &old, &new) {
        let said = format!(
            "`{path}` already contains `new_string`, and `old_string` nowhere else; nothing was changed."
        );
        return Ok(ToolOutcome::ok(said).with_data(Value::map([("replacements", Value::Int(0))])));
    }
    let count = before.matches(&old).count();
    match count {
        0 => return Err(not_found(path, &before, &old).into()),
        1 => {}
        _ if flag(input, "replace_all") => {}
        _ => return Err(not_unique(path, &before, &old, count).into()),
    }
    let written = project.replace(path, before.replace(&old, &new).as_bytes(), check)?;
    let line = line_of(&before, before.find(&old).unwrap_or_default());
    let said = match count {
        1 => format!("Edited `{}` at line {line}.", written.path.display()),
        _ => format!("Edited `{}`: {count} occurrences replaced.", written.path.display()),
    };
    let facts = [("replacements", Value::Int(count as i64))];
    Ok(ToolOutcome::ok(said).with_data(changed(&written, facts)))
}

/// Returns true if the edit was already made: the new text is present, and the old one only as a part of it. This makes
/// an edit safe to repeat when the host died before its result was recorded.
fn is_done(before: &str, old: &str, new: &str) -> bool {
    if new.is_empty() || !before.contains(new) {
        return false;
    }
    let made: Vec<usize> = before.match_indices(new).map(|(at, _)| at).collect();
    let within = |at: usize| made.iter().any(|start| *start <= at && at + old.len() <= start + new.len());
    before.match_indices(old).all(|(at, _)| within(at))
}

fn content(project: &ProjectRoot, path: &str, check: PlaceCheck<'_>) -> Result<String, ToolFailure> {
    let (file, _) = project.open_file(path, check)?;
    let said = |error: std::io::Error| ToolFailure::Said(format!("`{path}` could not be read: {error}"));
    let about = file.metadata().map_err(said)?;
    if !about.is_file() {
        return Err(format!("`{path}` is not a regular file").into());
    }
    if about.len() > FILE_BYTES_MAX {
        return Err(
            format!("`{path}` has {} bytes; files up to {FILE_BYTES_MAX} are edited", about.len()).into()
        );
    }
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX).read_to_end(&mut bytes).map_err(said)?;
    String::from_utf8(bytes).map_err(|_| ToolFailure::Said(format!("`{path}` is not UTF-8 text")))
}

fn crlf(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\n', "\r\n")
}

fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

fn not_unique(path: &str, before: &str, old: &str, count: usize) -> String {
    let places = before.match_indices(old).take(PLACES_MAX).map(|(at, _)| line_of(before, at).to_string());
    let places = places.collect::<Vec<_>>().join(", ");
    format!(
        "`old_string` occurs {count} times in `{path}` (lines {places}): give more of the text around the one you \
         mean, or set replace_all"
    )
}

/// Points to a similar passage, because the cause is usually whitespace.
fn not_found(path: &str, before: &str, old: &str) -> String {
    let said = format!("`old_string` does not stand in `{path}`");
    let wanted = old.lines().map(str::trim).find(|line| !line.is_empty());
    let similar =
        before.lines().enumerate().find(|(_, line)| wanted.is_some_and(|wanted| line.trim() == wanted));
    match similar {
        Some((at, line)) => format!(
            "{said}: its first line is like line {}, but not all of it is the same, whitespace included. That line is \
             `{line}`. Read the file again and copy the text exactly, without line numbers",
            at + 1
        ),
        None => format!("{said}, nor any line like it: read the file again"),
    }
}
