//! AskUser: a question of an agent to a person. The agent's chart waits for the answer, durably, before the tool runs; the
//! tool only returns it to the model.

use super::outcome::ToolOutcome;
use super::toolbox::Clearance;

/// The name of the tool, for those who build the request.
pub const ASK_USER: &str = "AskUser";

/// Returns the answer of the person.
pub(super) fn answered(clearance: Clearance<'_>) -> ToolOutcome {
    match (clearance.approved, clearance.answer) {
        (true, Some(answer)) => ToolOutcome::ok(format!("The person answered: {answer}")),
        (true, None) => ToolOutcome::ok("The person agreed, without further words."),
        (false, _) => ToolOutcome::failed("no person was asked; decide yourself and note the assumption"),
    }
}
