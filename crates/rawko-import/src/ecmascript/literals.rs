//! Values and names in the notation of our expression language.

use serde_json::Value as Json;

pub(super) fn is_true(json: &Json) -> bool {
    match json {
        Json::Null => false,
        Json::Bool(value) => *value,
        Json::Number(number) => number.as_f64() != Some(0.0),
        Json::String(text) => !text.is_empty(),
        Json::Array(_) | Json::Object(_) => true,
    }
}

pub(super) fn plain(json: &Json) -> String {
    match json {
        Json::String(text) => text.clone(),
        other => other.to_string(),
    }
}

pub(super) fn number_json(number: f64) -> Json {
    if number.fract() == 0.0 && number.abs() < 9e15 { Json::from(number as i64) } else { Json::from(number) }
}

pub(super) fn is_identifier(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

pub(super) fn context_key(name: &str) -> String {
    if is_identifier(name) { format!("context.{name}") } else { format!("context[{}]", text_literal(name)) }
}

/// Returns a value as a literal of our expression language.
pub(crate) fn literal(json: &Json) -> String {
    match json {
        Json::Null => "null".to_owned(),
        Json::Bool(value) => value.to_string(),
        Json::Number(number) => number.to_string(),
        Json::String(text) => text_literal(text),
        Json::Array(items) => format!("[{}]", items.iter().map(literal).collect::<Vec<_>>().join(", ")),
        Json::Object(entries) => {
            let entries: Vec<_> = entries
                .iter()
                .map(|(key, value)| format!("{}: {}", text_literal(key), literal(value)))
                .collect();
            format!("{{{}}}", entries.join(", "))
        }
    }
}

pub(crate) fn text_literal(text: &str) -> String {
    let mut out = String::from("'");
    for c in text.chars() {
        match c {
            '\'' => out.push_str("\\'"),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c => out.push(c),
        }
    }
    out.push('\'');
    out
}
