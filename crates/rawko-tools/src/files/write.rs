//! Write: a whole file.

use rawko_core::Value;

use crate::confine::{PlaceCheck, ProjectRoot, WriteResult};
use crate::input::text;
use crate::outcome::{ToolFailure, ToolOutcome};

pub(crate) fn write(
    project: &ProjectRoot,
    input: &Value,
    check: PlaceCheck<'_>,
) -> Result<ToolOutcome, ToolFailure> {
    let written = project.replace(text(input, "path"), text(input, "content").as_bytes(), check)?;
    let verb = if written.created { "Created" } else { "Replaced" };
    let content = format!("{verb} `{}`: {} bytes.", written.path.display(), written.bytes);
    Ok(ToolOutcome::ok(content).with_data(changed(&written, [])))
}

/// Returns the changes as data, for accounting.
pub(super) fn changed(written: &WriteResult, more: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    let facts = [
        ("path", Value::from(written.path.display().to_string())),
        ("bytes", Value::Int(written.bytes as i64)),
        ("created", Value::Bool(written.created)),
    ];
    Value::map(facts.into_iter().chain(more))
}
