//! Refuses to act within a call of another rawko: what an agent starts has no authority of its own. The mark explains
//! and prevents accidents; it is no boundary, because a process can remove it. The boundary is the sandbox, which hides
//! the state directory.

use rawko_process::CALL_VARIABLE;

use crate::failure::CommandFailure;

/// Returns true if this process was started by a call of another rawko.
pub(super) fn is_within_call() -> bool {
    std::env::var_os(CALL_VARIABLE).is_some_and(|mark| !mark.is_empty())
}

/// Fails within a call of another rawko.
pub(super) fn refuse() -> Result<(), CommandFailure> {
    if !is_within_call() {
        return Ok(());
    }
    Err(CommandFailure::Credentials(
        "refusing to act on instances: this process was started by a call of another rawko, so it has no operator \
         credential; agents and services cannot start, answer or control instances"
            .to_owned(),
    ))
}
