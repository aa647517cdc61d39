//! A small YAML tree and its writer. Separate from the reader's tree because this one has no locations, and because its
//! output is for people: order kept, short values on one line, quotes only where necessary.

use std::fmt::Write as _;

/// Limit of a mapping or list on one line, including its indentation.
const LINE_MAX: usize = 110;

/// Keys whose values always get their own lines.
const ROOMY: [&str; 8] = ["statechart", "states", "on", "context", "actions", "guards", "after", "initial"];

/// A YAML value to write.
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

    /// Adds an entry to a mapping; ignores other values.
    pub(crate) fn push(&mut self, key: &str, value: Yaml) {
        if let Yaml::Map(entries) = self {
            entries.push((key.to_owned(), value));
        }
    }

    /// Adds an entry to a mapping if there is a value.
    pub(crate) fn push_some(&mut self, key: &str, value: Option<Yaml>) {
        if let Some(value) = value {
            self.push(key, value);
        }
    }

    /// Adds entries to the mapping under a key, which may exist.
    pub(crate) fn push_all(&mut self, key: &str, more: Vec<(String, Yaml)>) {
        let Yaml::Map(entries) = self else { return };
        match entries.iter_mut().find(|(known, _)| known == key) {
            Some((_, Yaml::Map(known))) => known.extend(more),
            Some((_, known)) => *known = Yaml::Map(more),
            None => entries.push((key.to_owned(), Yaml::Map(more))),
        }
    }

    /// Adds an entry to a mapping, or its items to those of an entry that exists.
    pub(crate) fn push_or_join(&mut self, key: &str, value: Yaml) {
        let Yaml::Map(entries) = self else { return };
        match entries.iter_mut().find(|(known, _)| known == key) {
            Some((_, known)) => known.join(value),
            None => entries.push((key.to_owned(), value)),
        }
    }

    /// Appends the items of another value, each value being one item or a list of them.
    pub(crate) fn join(&mut self, more: Yaml) {
        let listed = |value: Yaml| match value {
            Yaml::List(items) => items,
            one => vec![one],
        };
        let mut items = listed(std::mem::replace(self, Yaml::Null));
        items.extend(listed(more));
        *self = Yaml::List(items);
    }

    /// Returns the entries of a mapping.
    pub(crate) fn into_entries(self) -> Vec<(String, Yaml)> {
        if let Yaml::Map(entries) = self { entries } else { Vec::new() }
    }

    /// Writes a whole document.
    pub(crate) fn write(&self) -> String {
        let mut out = String::new();
        match self {
            Yaml::Map(entries) if !entries.is_empty() => write_entries(&mut out, "", entries, 0),
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

    /// Returns true if it may be on one line: nothing in it is nested twice.
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

    /// Returns it on one line after `before` characters, if it is plain and short enough.
    fn on_a_line(&self, before: usize) -> Option<String> {
        let line = self.is_shallow().then(|| self.inline())?;
        (before + line.len() <= LINE_MAX).then_some(line)
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

/// Writes the mapping under the key `within`.
fn write_entries(out: &mut String, within: &str, entries: &[(String, Yaml)], indent: usize) {
    for (index, (key, value)) in entries.iter().enumerate() {
        // The first entry of a mapping in a list follows the dash, where the indentation is already written.
        if index > 0 || out.is_empty() || out.ends_with('\n') {
            let _ = write!(out, "{:indent$}", "");
        }
        out.push_str(&quoted(key));
        out.push(':');
        write_value(out, within, key, value, indent);
    }
}

/// Writes the value after `key:`.
fn write_value(out: &mut String, within: &str, key: &str, value: &Yaml, indent: usize) {
    if value.is_scalar() {
        let _ = writeln!(out, " {}", value.inline());
        return;
    }
    let roomy = match within {
        "states" => !value.is_flat_map(),
        _ => !matches!(value, Yaml::List(_)) && ROOMY.contains(&key),
    };
    if !roomy && let Some(line) = value.on_a_line(indent + key.len() + 2) {
        let _ = writeln!(out, " {line}");
        return;
    }
    out.push('\n');
    match value {
        Yaml::Map(entries) => write_entries(out, key, entries, indent + 2),
        Yaml::List(items) => write_items(out, items, indent + 2),
        Yaml::Null | Yaml::Bool(_) | Yaml::Number(_) | Yaml::Text(_) => {}
    }
}

fn write_items(out: &mut String, items: &[Yaml], indent: usize) {
    for item in items {
        let _ = write!(out, "{:indent$}- ", "");
        match item {
            Yaml::Map(entries) if !item.is_scalar() => match item.on_a_line(indent + 2) {
                Some(line) => _ = writeln!(out, "{line}"),
                None => write_entries(out, "", entries, indent + 2),
            },
            Yaml::Map(_) | Yaml::List(_) | Yaml::Null | Yaml::Bool(_) | Yaml::Number(_) | Yaml::Text(_) => {
                let _ = writeln!(out, "{}", item.inline());
            }
        }
    }
}

/// Quotes a string as a YAML scalar that reads back as that string, in block and in flow style.
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

/// Words and dotted names need no quotes; anything that YAML could read differently does.
fn is_plain(text: &str) -> bool {
    let Some(first) = text.chars().next() else { return false };
    let starts_well = first.is_alphabetic()
        || matches!(first, '_' | '/' | '$')
        || (first == '.' && text.len() > 1)
        || is_counted(text);
    let inside = |c: char| {
        c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '*' | '/' | '$' | ' ' | '+' | ';' | '(' | ')')
    };
    // A colon is allowed inside a word (`statechart:x`), not before a space.
    let colons = text
        .char_indices()
        .all(|(at, c)| c != ':' || text[at + 1..].chars().next().is_some_and(|next| !next.is_whitespace()));
    starts_well
        && colons
        && !text.ends_with([' ', ':'])
        && text.chars().all(|c| inside(c) || c == ':')
        && !looks_like_something_else(text)
}

/// Starts with a digit and is not a number in any interpretation: `1.0.0`, `30s`.
fn is_counted(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
        && !text.contains(['_', ':'])
        && !text[1..].starts_with(['x', 'o', 'b', 'X', 'O', 'B'])
}

fn looks_like_something_else(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    matches!(
        lower.as_str(),
        "null" | "true" | "false" | "yes" | "no" | "y" | "n" | "off" | "~" | ".nan" | ".inf"
    ) || (text != "on" && lower == "on")
        || text.parse::<f64>().is_ok()
        || text.strip_prefix('.').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
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
                          actions: [x, 'y']
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

    /// Words, signs and numbers that YAML readers tend to read differently.
    const TEXTS: [&str; 40] = [
        "",
        " ",
        "a",
        "a b",
        " a",
        "a ",
        "- a",
        "-",
        "--- ",
        "...",
        "?",
        ": ",
        "a: b",
        "a:",
        ":a",
        "#",
        "a #b",
        "a#b",
        "&a",
        "*a",
        "!a",
        "|",
        ">",
        "%",
        "@",
        "`",
        "{",
        "[a]",
        "'",
        "\"",
        "a'b\"c\\",
        "\n",
        "a\tb",
        "null",
        "~",
        "on",
        "Yes",
        "0o17",
        "1_000",
        "2026-01-01",
    ];

    fn any_json() -> impl proptest::strategy::Strategy<Value = serde_json::Value> {
        use proptest::prelude::*;
        let text =
            prop_oneof![(0..TEXTS.len()).prop_map(|at| TEXTS[at].to_owned()), "[ -~\u{e9}\u{2028}\r]{0,12}"];
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            (-1e6..1e6f64).prop_map(Into::into),
            text.clone().prop_map(Into::into),
        ];
        leaf.prop_recursive(4, 24, 4, move |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::Array),
                proptest::collection::vec((text.clone(), inner), 0..4)
                    .prop_map(|pairs| pairs.into_iter().collect()),
            ]
        })
    }

    proptest::proptest! {
        #[test]
        fn our_reader_reads_what_is_written(json in any_json()) {
            let yaml = Yaml::from_json(&serde_json::json!({"root": json})).write();
            let read = rawko_chart::SpannedValue::read(&yaml).map_err(|findings| format!("{yaml}\n{findings:?}"));
            let read = read.unwrap().to_json();
            proptest::prop_assert_eq!(&read["root"], &json, "{}", yaml);
        }
    }
}
