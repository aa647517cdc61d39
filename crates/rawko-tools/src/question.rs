//! AskUser: a question of an agent to a person. The agent's chart waits for the answer, durably, before the tool runs; the
//! tool only returns it to the model.

use rawko_core::Value;
use serde::Deserialize;

use super::outcome::ToolOutcome;
use super::toolbox::Clearance;

/// The name of the tool, for those who build the request.
pub const ASK_USER: &str = "AskUser";

/// The input of the tool, as a model wrote it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct UserQuestion {
    /// The question: a text.
    pub question: Value,
    /// Answers to choose from: a list of texts.
    pub options: Value,
}

/// Returns the answer of the person.
pub(super) fn answered(clearance: Clearance<'_>) -> ToolOutcome {
    match (clearance.approved, clearance.answer) {
        (true, Some(answer)) => ToolOutcome::ok(format!("The person answered: {answer}")),
        (true, None) => ToolOutcome::ok("The person agreed, without further words."),
        (false, _) => ToolOutcome::failed("no person was asked; decide yourself and note the assumption"),
    }
}

#[cfg(test)]
mod tests {
    use rawko_core::schema_of;

    use super::UserQuestion;
    use crate::builtin::Builtin;

    #[test]
    fn the_keys_are_those_that_models_see() {
        let own = schema_of::<UserQuestion>();
        let shown = Builtin::AskUser.spec().input_schema.to_json();
        let keys = |schema: &serde_json::Value| -> Vec<String> {
            schema["properties"].as_object().unwrap().keys().cloned().collect()
        };
        assert_eq!(keys(&own), keys(&shown));
    }
}
