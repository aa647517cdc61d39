//! The body of a webhook as a value: JSON, or a form as Slack and GitHub send it.

use rawko_core::Value;
use rawko_core::expr::check_size;

/// Deeper bodies are refused.
const DEPTH_MAX: usize = 64;
const FIELDS_MAX: usize = 1_000;

/// The reason why a body is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PayloadError {
    /// Invalid JSON.
    #[error("the body is not valid JSON: {0}")]
    Json(String),
    /// Invalid form encoding.
    #[error("the body is not a valid form")]
    Form,
    /// Over the limits on depth, fields or size.
    #[error("the body is too deep or too large")]
    TooLarge,
}

/// Reads a body. A form becomes a map; its field `payload` is read as JSON, as Slack and GitHub use it. An empty body is
/// null.
pub fn read_payload(content_type: &str, body: &[u8]) -> Result<Value, PayloadError> {
    let kind = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let value = match kind.as_str() {
        _ if body.is_empty() => Value::Null,
        "application/x-www-form-urlencoded" => of_form(body)?,
        _ => of_json(body)?,
    };
    match check_size(&value) {
        Ok(()) => Ok(value),
        Err(_) => Err(PayloadError::TooLarge),
    }
}

fn of_json(body: &[u8]) -> Result<Value, PayloadError> {
    let json: serde_json::Value =
        serde_json::from_slice(body).map_err(|error| PayloadError::Json(error.to_string()))?;
    match depth(&json) <= DEPTH_MAX {
        true => Ok(Value::from_json(json)),
        false => Err(PayloadError::TooLarge),
    }
}

/// `serde_json` refuses more than 128 levels, so this recursion is bounded.
fn depth(json: &serde_json::Value) -> usize {
    match json {
        serde_json::Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or_default(),
        serde_json::Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or_default(),
        serde_json::Value::Null
        | serde_json::Value::Bool(_)
        | serde_json::Value::Number(_)
        | serde_json::Value::String(_) => 0,
    }
}

fn of_form(body: &[u8]) -> Result<Value, PayloadError> {
    let fields: Vec<(String, String)> = serde_html_form::from_bytes(body).map_err(|_| PayloadError::Form)?;
    if fields.len() > FIELDS_MAX {
        return Err(PayloadError::TooLarge);
    }
    if let Some((_, json)) = fields.iter().find(|(name, _)| name == "payload") {
        return of_json(json.as_bytes());
    }
    Ok(Value::map(fields.iter().map(|(name, text)| (name.as_str(), Value::str(text)))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_forms_and_mistakes() {
        let json =
            |kind, body: &str| read_payload(kind, body.as_bytes()).map(|value| value.to_json().to_string());
        let form = "application/x-www-form-urlencoded; charset=utf-8";
        assert_eq!(json("application/json", r#"{"a": [1]}"#).as_deref(), Ok(r#"{"a":[1]}"#));
        assert_eq!(json("", "").as_deref(), Ok("null"));
        assert_eq!(json(form, "command=%2Fgo&text=a+b").as_deref(), Ok(r#"{"command":"/go","text":"a b"}"#));
        assert_eq!(json(form, "payload=%7B%22a%22%3A1%7D").as_deref(), Ok(r#"{"a":1}"#));
        assert!(matches!(json("application/json", "{"), Err(PayloadError::Json(_))));
        let deep = format!("{}{}", "[".repeat(100), "]".repeat(100));
        assert_eq!(json("", &deep), Err(PayloadError::TooLarge));
        let deeper = "[".repeat(1_000_000);
        assert!(matches!(json("", &deeper), Err(PayloadError::Json(_))));
    }
}
