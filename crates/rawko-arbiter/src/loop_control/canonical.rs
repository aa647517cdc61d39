//! Canonical forms of calls and results, so that they compare by meaning rather than spelling.

use rawko_core::Value;

use super::noise::without_noise;

/// Of a longer result only both ends and the length are compared.
const RESULT_BYTES_MAX: usize = 256 * 1024;
/// Arguments that contain paths.
const PATH_KEYS: [&str; 8] =
    ["path", "file_path", "filePath", "file", "cwd", "directory", "dir", "notebook_path"];

/// Returns the canonical form of a call: keys sorted, absent equal to null, `./src//a.rs` as `src/a.rs`, `1.0` and
/// `"1"` as `1`.
pub fn canonical_call(name: &str, input: &Value) -> String {
    let mut out = String::from(name);
    out.push(' ');
    write(&mut out, "", input);
    out
}

/// Returns the canonical form of a call without the numbers of lines: equal for two parts of the same file.
pub(super) fn canonical_subject(name: &str, input: &Value) -> String {
    canonical_call(name, &without_numbers("", input))
}

fn without_numbers(key: &str, value: &Value) -> Value {
    let is_number = |value: &Value| match value {
        Value::Int(_) | Value::Float(_) => true,
        Value::Str(text) => text.trim().parse::<f64>().is_ok(),
        _ => false,
    };
    match value {
        Value::Map(entries) => {
            let kept = entries.iter().filter(|(key, value)| !(is_place(key) && is_number(value)));
            Value::map(kept.map(|(key, value)| (key.clone(), without_numbers(key, value))))
        }
        Value::Str(text) if ["command", "cmd"].contains(&key) => Value::from(without_lines(text)),
        other => other.clone(),
    }
}

/// Returns true for an argument that selects a part of a file. Other numbers name the thing: `{number: 12}`.
fn is_place(key: &str) -> bool {
    ["offset", "limit", "line", "lines"].contains(&key) || key.starts_with("start") || key.starts_with("end")
}

/// Removes digits from the arguments of programs that print a part of a file, except in paths.
fn without_lines(command: &str) -> String {
    let is_path = |word: &str| word.contains('/') || word.contains('.');
    let (mut is_part, mut is_quoted) = (false, false);
    let word = |word: &str| {
        let is_end = !is_quoted && ["|", "||", "&&", "&", ";"].contains(&word);
        is_part = !is_end && (is_part || ["sed", "head", "tail", "awk"].contains(&word));
        let text = match is_part && !is_path(word) {
            true => word.split(|letter: char| letter.is_ascii_digit()).collect(),
            false => word.to_owned(),
        };
        is_quoted ^= word.matches(['\'', '"']).count() % 2 == 1;
        is_part &= is_quoted || !word.ends_with(';');
        text
    };
    command.split_whitespace().map(word).collect::<Vec<String>>().join(" ")
}

fn write(out: &mut String, key: &str, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Value::Int(number) => out.push_str(&number.to_string()),
        Value::Float(number) => out.push_str(&number.to_string()),
        Value::Str(text) => out.push_str(&canonical_text(key, text)),
        Value::List(items) => {
            out.push('[');
            for item in items.iter() {
                write(out, key, item);
                out.push(',');
            }
            out.push(']');
        }
        Value::Map(entries) => {
            let mut entries: Vec<_> = entries.iter().filter(|(_, value)| !value.is_null()).collect();
            entries.sort_by(|a, b| a.0.cmp(b.0));
            out.push('{');
            for (key, value) in entries {
                out.push_str(&format!("{key:?}:"));
                write(out, key, value);
                out.push(',');
            }
            out.push('}');
        }
    }
}

fn canonical_text(key: &str, text: &str) -> String {
    let trimmed = text.trim();
    if trimmed.parse::<i64>().is_ok_and(|number| number.to_string() == trimmed) {
        return trimmed.to_owned();
    }
    match key {
        key if PATH_KEYS.contains(&key) => format!("{:?}", canonical_path(trimmed)),
        "command" | "cmd" => format!("{:?}", trimmed.split_whitespace().collect::<Vec<_>>().join(" ")),
        // Whitespace may be significant elsewhere, for example in the text of a file.
        _ => format!("{text:?}"),
    }
}

fn canonical_path(path: &str) -> String {
    let is_absolute = path.starts_with('/');
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    let joined = parts.join("/");
    if is_absolute { format!("/{joined}") } else { joined }
}

/// Removes everything that varies between runs: times, durations, process ids, temporary paths, addresses.
pub fn canonical_result(content: &str, is_error: bool) -> String {
    let kept = ends(content);
    format!("{}{} {}", if is_error { "error " } else { "" }, without_noise(&kept), length_of_cut(content))
}

fn length_of_cut(content: &str) -> String {
    if content.len() > RESULT_BYTES_MAX { content.len().to_string() } else { String::new() }
}

fn ends(content: &str) -> String {
    if content.len() <= RESULT_BYTES_MAX {
        return content.to_owned();
    }
    let half = RESULT_BYTES_MAX / 2;
    let head = content.floor_char_boundary(half);
    let tail = content.ceil_char_boundary(content.len() - half);
    format!("{}…{}", &content[..head], &content[tail..])
}

/// Short enough for a snapshot, long enough to avoid collisions.
pub(super) fn fingerprint(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex()[..16].to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;

    #[test]
    fn the_subject_of_a_call_has_no_numbers() {
        let subject = |input: &Json| canonical_subject("T", &Value::from_json(input.clone()));
        let same = [
            (json!({"path": "a.md", "offset": 1}), json!({"path": "a.md", "offset": 2, "limit": "3"})),
            (json!({"command": "sed -n 3p a.md"}), json!({"command": "sed -n 14p a.md"})),
            (json!({"path": "a.md", "start_line": 1}), json!({"path": "a.md", "end_line": 9})),
            (
                json!({"command": "cat a | awk 'NR > 3 && NR < 5'"}),
                json!({"command": "cat a | awk 'NR > 5 && NR < 9'"}),
            ),
        ];
        for (one, other) in same {
            assert_eq!(subject(&one), subject(&other));
        }
        let different = [
            (json!({"path": "src/1.txt"}), json!({"path": "src/2.txt"})),
            (json!({"command": "cat src/1.txt"}), json!({"command": "cat src/2.txt"})),
            (json!({"number": 12}), json!({"number": 13})),
            (json!({"command": "gh issue view 12"}), json!({"command": "gh issue view 13"})),
            (
                json!({"command": "head -n 3 a; gh pr view 1"}),
                json!({"command": "head -n 3 a; gh pr view 2"}),
            ),
        ];
        for (one, other) in different {
            assert_ne!(subject(&one), subject(&other));
        }
    }
}
