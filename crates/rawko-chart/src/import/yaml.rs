//! A small tree of YAML and its writer. Apart from the reader's tree because this one has no places, and because what
//! an import writes is meant for people: order kept, short things on one line, quotes only where they are needed.

use std::fmt::Write as _;

/// How long a mapping or list on one line may become, its indentation included.
const LINE_MAX: usize = 110;

/// YAML to be written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Yaml {
    Null,
    Bool(bool),
    Number(serde_json::Number),
    Text(String),
    List(Vec<Yaml>),
    Map(Vec<(String, Yaml)>),
}

impl Yaml {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Yaml::Text(text.into())
    }

    pub(crate) fn map<const N: usize>(entries: [(&str, Yaml); N]) -> Self {
        Yaml::Map(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
    }

    pub(crate) fn from_json(json: &serde_json::Value) -> Self {
        match json {
            serde_json::Value::Null => Yaml::Null,
            serde_json::Value::Bool(value) => Yaml::Bool(*value),
            serde_json::Value::Number(number) => Yaml::Number(number.clone()),
            serde_json::Value::String(text) => Yaml::Text(text.clone()),
            serde_json::Value::Array(items) => Yaml::List(items.iter().map(Yaml::from_json).collect()),
            serde_json::Value::Object(entries) => {
                Yaml::Map(entries.iter().map(|(key, value)| (key.clone(), Yaml::from_json(value))).collect())
            }
        }
    }

    /// Adds an entry to a mapping; anything else stays as it is.
    pub(crate) fn push(&mut self, key: &str, value: Yaml) {
        if let Yaml::Map(entries) = self {
            entries.push((key.to_owned(), value));
        }
    }

    /// A whole document.
    pub(crate) fn write(&self) -> String {
        let mut out = String::new();
        match self {
            Yaml::Map(entries) if !entries.is_empty() => write_entries(&mut out, entries, 0),
            other => {
                out.push_str(&other.inline());
                out.push('\n');
            }
        }
        out
    }

    fn is_scalar(&self) -> bool {
        match self {
            Yaml::Null | Yaml::Bool(_) | Yaml::Number(_) | Yaml::Text(_) => true,
            Yaml::List(items) => items.is_empty(),
            Yaml::Map(entries) => entries.is_empty(),
        }
    }

    /// Whether it may stand on one line: nothing in it is nested twice.
    fn is_shallow(&self) -> bool {
        match self {
            Yaml::Null | Yaml::Bool(_) | Yaml::Number(_) | Yaml::Text(_) => true,
            Yaml::List(items) => items.iter().all(Yaml::is_scalar),
            Yaml::Map(entries) => entries.iter().all(|(_, value)| value.is_scalar() || value.is_flat_map()),
        }
    }

    fn is_flat_map(&self) -> bool {
        matches!(self, Yaml::Map(entries) if entries.iter().all(|(_, value)| value.is_scalar()))
    }

    fn inline(&self) -> String {
        match self {
            Yaml::Null => "null".to_owned(),
            Yaml::Bool(value) => value.to_string(),
            Yaml::Number(number) => number.to_string(),
            Yaml::Text(text) => quoted(text),
            Yaml::List(items) => {
                format!("[{}]", items.iter().map(Yaml::inline).collect::<Vec<_>>().join(", "))
            }
            Yaml::Map(entries) => {
                let entries: Vec<_> =
                    entries.iter().map(|(k, v)| format!("{}: {}", quoted(k), v.inline())).collect();
                format!("{{{}}}", entries.join(", "))
            }
        }
    }
}

fn write_entries(out: &mut String, entries: &[(String, Yaml)], indent: usize) {
    for (index, (key, value)) in entries.iter().enumerate() {
        // The first entry of a mapping in a list stands behind the dash, where the indentation is already written.
        if index > 0 || out.is_empty() || out.ends_with('\n') {
            let _ = write!(out, "{:indent$}", "");
        }
        out.push_str(&quoted(key));
        out.push(':');
        write_value(out, key, value, indent);
    }
}

/// Writes what follows `key:`. States and their parts always get lines of their own, however short.
fn write_value(out: &mut String, key: &str, value: &Yaml, indent: usize) {
    if value.is_scalar() {
        let _ = writeln!(out, " {}", value.inline());
        return;
    }
    let roomy = matches!(
        key,
        "statechart" | "states" | "on" | "context" | "actions" | "guards" | "after" | "entry" | "exit"
    );
    let fits = value.is_shallow() && (!roomy || matches!(value, Yaml::List(_)));
    let line = value.inline();
    if fits && indent + key.len() + 2 + line.len() <= LINE_MAX {
        let _ = writeln!(out, " {line}");
        return;
    }
    out.push('\n');
    match value {
        Yaml::Map(entries) => write_entries(out, entries, indent + 2),
        Yaml::List(items) => write_items(out, items, indent + 2),
        Yaml::Null | Yaml::Bool(_) | Yaml::Number(_) | Yaml::Text(_) => {}
    }
}

fn write_items(out: &mut String, items: &[Yaml], indent: usize) {
    for item in items {
        let _ = write!(out, "{:indent$}- ", "");
        let line = item.inline();
        match item {
            _ if item.is_scalar() || (item.is_shallow() && indent + 2 + line.len() <= LINE_MAX) => {
                let _ = writeln!(out, "{line}");
            }
            Yaml::Map(entries) => write_entries(out, entries, indent + 2),
            Yaml::List(_) | Yaml::Null | Yaml::Bool(_) | Yaml::Number(_) | Yaml::Text(_) => {
                let _ = writeln!(out, "{line}");
            }
        }
    }
}

/// A string as a YAML scalar that reads back as that string, in block and in flow style alike.
fn quoted(text: &str) -> String {
    if is_plain(text) {
        return text.to_owned();
    }
    if text.chars().any(|c| c.is_control() || c == '\u{feff}' || c == '\u{2028}' || c == '\u{2029}') {
        return double_quoted(text);
    }
    if text.contains('\'') && !text.contains('"') && !text.contains('\\') {
        return format!("\"{text}\"");
    }
    format!("'{}'", text.replace('\'', "''"))
}

fn double_quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() || c == '\u{feff}' || c == '\u{2028}' || c == '\u{2029}' => {
                let _ = write!(out, "\\U{:08x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Words and dotted names need no quotes; whatever YAML could take for something else does.
fn is_plain(text: &str) -> bool {
    let Some(first) = text.chars().next() else { return false };
    let starts_well =
        first.is_alphabetic() || matches!(first, '_' | '/' | '$') || (first == '.' && text.len() > 1);
    let inside = |c: char| {
        c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '*' | '/' | '$' | ' ' | '+' | ';' | '(' | ')')
    };
    // A colon is fine inside a word (`statechart:x`), not before a space.
    let colons = text
        .char_indices()
        .all(|(at, c)| c != ':' || text[at + 1..].chars().next().is_some_and(|next| !next.is_whitespace()));
    starts_well
        && colons
        && !text.ends_with([' ', ':'])
        && text.chars().all(|c| inside(c) || c == ':')
        && !looks_like_something_else(text)
}

fn looks_like_something_else(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    matches!(
        lower.as_str(),
        "null" | "true" | "false" | "yes" | "no" | "y" | "n" | "off" | "~" | ".nan" | ".inf"
    ) || (text != "on" && lower == "on")
        || text.parse::<f64>().is_ok()
        || (first_is(text, '.') && text[1..].starts_with(|c: char| c.is_ascii_digit()))
}

fn first_is(text: &str, first: char) -> bool {
    text.starts_with(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(json: serde_json::Value, expected: Expect) {
        expected.assert_eq(&Yaml::from_json(&json).write());
    }

    #[test]
    fn short_things_stand_on_one_line() {
        check(
            serde_json::json!({
                "statechart": {"id": "a", "states": {"idle": {"on": {"GO": "busy", "*": {"actions": ["x", "y"]}}}}},
            }),
            expect![[r#"
                statechart:
                  id: a
                  states:
                    idle:
                      on:
                        GO: busy
                        '*':
                          actions: [x, y]
            "#]],
        );
    }

    #[test]
    fn a_list_of_mappings() {
        check(
            serde_json::json!({"entry": [
                {"type": "raise", "event": "foo"},
                {"type": "choose", "branches": [{"guard": "context.x == 'a'", "actions": [{"type": "log", "message": "hi"}]}]},
            ]}),
            expect![[r#"
                entry:
                  - {type: raise, event: foo}
                  - type: choose
                    branches:
                      - guard: "context.x == 'a'"
                        actions:
                          - {type: log, message: hi}
            "#]],
        );
    }

    #[test]
    fn what_yaml_would_take_for_something_else_is_quoted() {
        let texts = [
            "off",
            "null",
            "12",
            "1e3",
            "a: b",
            "a:b",
            "#x",
            ".child",
            ".5",
            "say \"it's\"",
            "",
            " a",
            "two\nlines",
            "-x",
            "a, b",
        ];
        let written: Vec<_> = texts.iter().map(|text| quoted(text)).collect();
        expect![[r##"'off' 'null' '12' '1e3' 'a: b' a:b '#x' .child '.5' 'say "it''s"' '' ' a' "two\nlines" '-x' 'a, b'"##]]
            .assert_eq(&written.join(" "));
    }
}
