//! Extracts JSON from text: models wrap it in code fences, introduce it and add remarks.

use serde_json::Value;

/// At most this many possible starts of JSON are tried.
const BEGINNINGS_MAX: usize = 256;

/// Returns every piece of JSON in a text, likeliest first: the whole text, fenced blocks, then each object or list.
pub(super) fn candidates(text: &str) -> Vec<Value> {
    if let Ok(whole) = serde_json::from_str(text.trim()) {
        return vec![whole];
    }
    let fenced = fenced(text).filter_map(|inside| serde_json::from_str(inside.trim()).ok());
    fenced.chain(embedded(text)).collect()
}

/// Returns the contents of code fences, without the language tag.
fn fenced(text: &str) -> impl Iterator<Item = &str> {
    text.split("```").skip(1).step_by(2).map(|inside| {
        let (first, rest) = inside.split_once('\n').unwrap_or(("", inside));
        let is_language = first.trim().chars().all(|c| c.is_ascii_alphanumeric());
        if is_language { rest } else { inside }
    })
}

/// Returns the outermost objects and lists anywhere in the text.
fn embedded(text: &str) -> Vec<Value> {
    let (mut found, mut from) = (Vec::new(), 0);
    for _ in 0..BEGINNINGS_MAX {
        let Some(at) = text[from..].find(['{', '[']).map(|offset| from + offset) else { break };
        let mut values = serde_json::Deserializer::from_str(&text[at..]).into_iter::<Value>();
        from = match values.next() {
            Some(Ok(value)) => {
                found.push(value);
                at + values.byte_offset()
            }
            Some(Err(_)) | None => at + 1,
        };
    }
    found
}

#[cfg(test)]
mod tests {
    use super::candidates;

    #[test]
    fn json_is_found_wherever_it_stands() {
        let table = [
            ("bare", r#"{"a": 1}"#, &[r#"{"a":1}"#] as &[&str]),
            ("white space", " \n{\"a\": 1}\n", &[r#"{"a":1}"#]),
            ("a word", "\"yes\"", &["\"yes\""]),
            ("fence", "```json\n{\"a\": 1}\n```", &[r#"{"a":1}"#, r#"{"a":1}"#]),
            ("fence without a language", "Here:\n```\n[1]\n```\nDone.", &["[1]", "[1]"]),
            ("fence on one line", "```{\"a\": 1}```", &[r#"{"a":1}"#, r#"{"a":1}"#]),
            ("text around", "I say {\"a\": {\"b\": []}} and that is it", &[r#"{"a":{"b":[]}}"#]),
            ("a footnote before", "as in [1]: {\"a\": 2}", &["[1]", r#"{"a":2}"#]),
            ("braces in text", "use {x} or {\"a\": 3}", &[r#"{"a":3}"#]),
            ("cut short", "{\"a\": {\"b\": 1", &[]),
            ("none", "I would rather not", &[]),
            ("nothing", "", &[]),
        ];
        for (name, text, expected) in table {
            let found: Vec<String> = candidates(text).iter().map(ToString::to_string).collect();
            assert_eq!(found, expected, "{name}");
        }
    }

    #[test]
    fn many_beginnings_end() {
        assert!(candidates(&"{".repeat(100_000)).is_empty());
    }
}
