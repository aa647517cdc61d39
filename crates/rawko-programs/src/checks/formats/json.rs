//! Parses JSON with a number or list of errors at a pointer.

use serde_json::Value;

use super::{CheckCount, Unreadable, as_count, many};
use crate::checks::report::CheckFinding;

pub(super) fn count(text: &str, pointer: &str) -> Result<CheckCount, Unreadable> {
    let json: Value = serde_json::from_str(text.trim()).map_err(|error| format!("no JSON: {error}"))?;
    let at = json.pointer(pointer).ok_or_else(|| format!("there is nothing at `{pointer}`"))?;
    let (errors, findings) = match at {
        Value::Number(number) => {
            (number.as_u64().ok_or_else(|| format!("`{pointer}` is {number}, not a count"))?, Vec::new())
        }
        Value::Array(items) => (as_count(items.len()), items.iter().map(finding).collect()),
        Value::Null | Value::Bool(_) | Value::String(_) | Value::Object(_) => {
            return Err(format!("`{pointer}` is neither a number nor a list"));
        }
    };
    let summary = if errors == 0 { String::new() } else { many(errors, "error") };
    Ok(CheckCount { errors, summary, findings, ..CheckCount::default() })
}

/// Reads a finding under the field names that most tools use.
fn finding(item: &Value) -> CheckFinding {
    let text = |keys: &[&str]| keys.iter().find_map(|key| item.get(key)?.as_str());
    let number = |keys: &[&str]| keys.iter().find_map(|key| item.get(key)?.as_u64());
    let whole = item.to_string();
    let message =
        item.as_str().or_else(|| text(&["message", "text", "title", "description"])).unwrap_or(&whole);
    CheckFinding::new(
        text(&["file", "path", "filename", "filePath"]),
        number(&["line", "row", "lineNumber"]),
        message,
    )
}
