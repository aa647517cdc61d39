//! Validates the input of a call against the tool's schema before the call runs.

use std::sync::OnceLock;

use jsonschema::Validator;
use rawko_core::Value;

use super::builtin::Builtin;

/// Limit of reported problems.
const COMPLAINTS_MAX: usize = 8;

/// Validators by tool, compiled on first use.
#[derive(Default)]
pub(super) struct InputValidators([OnceLock<Option<Validator>>; Builtin::ALL.len()]);

impl InputValidators {
    /// Validates an input and lists all problems in a form for the model.
    pub(super) fn check(&self, tool: Builtin, input: &Value) -> Result<(), String> {
        let at = Builtin::ALL.iter().position(|other| *other == tool).unwrap_or_default();
        let validator = self.0[at].get_or_init(|| jsonschema::validator_for(&tool.schema()).ok());
        let Some(validator) = validator else { return Ok(()) };
        let input = input.to_json();
        let complaints: Vec<String> =
            validator.iter_errors(&input).take(COMPLAINTS_MAX).map(|e| complaint(&e)).collect();
        if complaints.is_empty() {
            return Ok(());
        }
        Err(format!("the input of `{}` is wrong: {}. {}", tool.name(), complaints.join("; "), expected(tool)))
    }
}

fn complaint(error: &jsonschema::ValidationError<'_>) -> String {
    let place = error.instance_path().to_string();
    if place.is_empty() { error.to_string() } else { format!("{place}: {error}") }
}

/// Describes the expected input: `It takes path, offset (optional), limit (optional).`
fn expected(tool: Builtin) -> String {
    let schema = tool.schema();
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let keys = schema["properties"].as_object().into_iter().flat_map(|map| map.keys());
    let shown = |key: &String| {
        if required.iter().any(|name| name == key.as_str()) {
            key.clone()
        } else {
            format!("{key} (optional)")
        }
    };
    let keys: Vec<String> = keys.map(shown).collect();
    if keys.is_empty() { "It takes nothing.".into() } else { format!("It takes {}.", keys.join(", ")) }
}

/// Returns a text field of a validated input.
pub(super) fn text<'v>(input: &'v Value, key: &str) -> &'v str {
    input.get(key).as_str().unwrap_or_default()
}

pub(super) fn whole(input: &Value, key: &str) -> Option<u64> {
    let number = input.get(key);
    number
        .as_i64()
        .or_else(|| number.as_f64().map(|number| number as i64))
        .and_then(|n| u64::try_from(n).ok())
}

pub(super) fn flag(input: &Value, key: &str) -> bool {
    input.get(key).as_bool().unwrap_or_default()
}
