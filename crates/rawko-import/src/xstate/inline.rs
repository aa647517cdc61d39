//! Code inside a document: visual editors export the text of a function or an expression as a string `{{…}}`. One that
//! is plain data becomes that data, every other has to be written again.

use serde_json::Value as Json;

use crate::Notes;
use crate::json::{JsonPath, PathLines};

/// Keys whose values are data, so that a string among them stands for itself or for code.
const DATA: [&str; 7] = ["context", "input", "params", "data", "output", "assignment", "event"];

/// Replaces code by the data it stands for, or by null with a note.
pub(super) fn replace_code(root: &mut Json, lines: &PathLines, notes: &mut Notes) {
    visit(root, false, &JsonPath::root(), lines, notes);
}

fn visit(json: &mut Json, is_data: bool, place: &JsonPath, lines: &PathLines, notes: &mut Notes) {
    match json {
        Json::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                visit(item, is_data, &place.at(index), lines, notes);
            }
        }
        Json::Object(entries) => {
            for (key, value) in entries {
                let is_data = is_data || DATA.contains(&key.as_str());
                visit(value, is_data, &place.at(key), lines, notes);
            }
        }
        Json::String(text) if is_data => {
            let Some(code) = code_of(text) else { return };
            *json = serde_json::from_str(code).unwrap_or_else(|_| {
                let shown: String =
                    code.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(60).collect();
                notes.unwritten(
                    lines.line(place),
                    format!("`{shown}` is code: it is null until you write it"),
                );
                Json::Null
            });
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
    }
}

fn code_of(text: &str) -> Option<&str> {
    text.trim().strip_prefix("{{")?.strip_suffix("}}").map(str::trim)
}
