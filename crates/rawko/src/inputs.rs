//! Parses values on the command line: `key=value` pairs and JSON objects.

use std::path::Path;

use serde_json::{Map, Value as Json};

use crate::failure::CommandFailure;
use crate::files;

/// Merges texts that are JSON objects or `key=value`; later ones win.
pub(crate) fn object_from(option: &str, texts: &[String]) -> Result<Map<String, Json>, CommandFailure> {
    let mut all = Map::new();
    for text in texts {
        if text.trim_start().starts_with('{') {
            all.extend(json_object(option, text)?);
        } else {
            let (key, value) = pair(option, text)?;
            all.insert(key.to_owned(), value_from(value));
        }
    }
    Ok(all)
}

/// Like [`object_from`], where `key=@FILE` reads the value from a file and `@FILE` the whole object.
pub(crate) fn object_or_files(option: &str, texts: &[String]) -> Result<Map<String, Json>, CommandFailure> {
    let mut all = Map::new();
    for text in texts {
        if let Some(file) = text.strip_prefix('@') {
            all.extend(json_object(option, &files::read_text(Path::new(file))?)?);
        } else if let Some((key, file)) = text.split_once("=@").filter(|(key, _)| !key.contains(['{', '='])) {
            all.insert(key.to_owned(), value_from(&files::read_text(Path::new(file))?));
        } else {
            all.extend(object_from(option, std::slice::from_ref(text))?);
        }
    }
    Ok(all)
}

/// Parses `key=value` pairs whose values stay strings, as in an environment.
pub(crate) fn env_from(texts: &[String]) -> Result<Map<String, Json>, CommandFailure> {
    texts.iter().map(|text| pair("--env", text).map(|(key, value)| (key.to_owned(), value.into()))).collect()
}

/// Parses valid JSON (`3`, `true`, `[1]`, `"3"`), else returns the text itself.
fn value_from(text: &str) -> Json {
    serde_json::from_str(text).unwrap_or_else(|_| Json::String(text.to_owned()))
}

fn json_object(option: &str, text: &str) -> Result<Map<String, Json>, CommandFailure> {
    serde_json::from_str(text)
        .map_err(|error| CommandFailure::Usage(format!("invalid {option}: not a JSON object: {error}")))
}

fn pair<'a>(option: &str, text: &'a str) -> Result<(&'a str, &'a str), CommandFailure> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key, value)),
        _ => Err(CommandFailure::Usage(format!("invalid {option} `{text}`: expected KEY=VALUE"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(texts: &[&str]) -> Result<Json, String> {
        let texts: Vec<_> = texts.iter().map(|text| (*text).to_owned()).collect();
        object_from("--input", &texts).map(Json::Object).map_err(|failure| format!("{failure:?}"))
    }

    #[test]
    fn input_is_json_or_pairs() {
        assert_eq!(object(&[]), Ok(json!({})));
        assert_eq!(
            object(&["a=1", "b=x=y", "c=", "d=true", "e=\"7\""]),
            Ok(json!({"a":1,"b":"x=y","c":"","d":true,"e":"7"}))
        );
        assert_eq!(object(&[r#"{"a": [1], "b": 2}"#, "b=3"]), Ok(json!({"a":[1],"b":3})));
        assert_eq!(
            object(&["nonsense"]),
            Err("Usage(\"invalid --input `nonsense`: expected KEY=VALUE\")".into())
        );
        assert_eq!(
            object(&["{nonsense"]),
            Err("Usage(\"invalid --input: not a JSON object: key must be a string at line 1 column 2\")"
                .into())
        );
    }
}
