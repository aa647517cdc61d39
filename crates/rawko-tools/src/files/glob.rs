//! Glob: paths that match a pattern.

use std::path::Path;

use rawko_core::Value;

use super::search::{FileSearch, pattern};
use crate::confine::ProjectRoot;
use crate::input::text;
use crate::outcome::{ToolFailure, ToolOutcome};

const RESULTS_MAX: usize = 1000;

pub(crate) fn glob(
    project: &ProjectRoot,
    input: &Value,
    is_hidden: &dyn Fn(&Path) -> bool,
) -> Result<ToolOutcome, ToolFailure> {
    let asked = text(input, "pattern");
    // A pattern may start with the project root.
    let below_root =
        asked.strip_prefix(&*project.root().to_string_lossy()).map(|rest| rest.trim_start_matches('/'));
    let matcher = pattern(below_root.unwrap_or(asked), false)?;
    let search = FileSearch::below(project, text(input, "path"), is_hidden)?;
    let base = if below_root.is_some() { project.root().to_owned() } else { search.base.clone() };
    let is_match =
        |file: &&std::path::PathBuf| file.strip_prefix(&base).is_ok_and(|path| matcher.is_match(path));
    let found: Vec<String> =
        search.files.iter().filter(is_match).map(|file| FileSearch::shown(project, file)).collect();
    let data = Value::map([("files", Value::Int(found.len() as i64))]);
    if found.is_empty() {
        return Ok(ToolOutcome::ok(format!("No file matches `{asked}`.")).with_data(data));
    }
    let mut content = found.iter().take(RESULTS_MAX).cloned().collect::<Vec<_>>().join("\n");
    if found.len() > RESULTS_MAX {
        content.push_str(&format!("\n[{} more: use a narrower pattern]", found.len() - RESULTS_MAX));
    }
    if search.is_cut {
        content.push_str("\n[not all files were looked at: give a path]");
    }
    Ok(ToolOutcome::ok(content).with_data(data))
}
