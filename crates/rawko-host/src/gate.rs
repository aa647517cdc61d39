//! The governance gate: default deny. Every call to a service passes here before it happens, and what was decided is
//! in the audit first.

use rawko_core::Value;

/// What the gate is asked.
#[derive(Clone, Debug)]
pub struct Question<'a> {
    /// The service, handler or endpoint, as the chart names it.
    pub name: &'a str,
    pub instance: &'a str,
    pub chart: &'a str,
    /// Calls this instance has made before.
    pub calls_so_far: u64,
    /// What the invoking state allows; null when nothing was said.
    pub policy: &'a Value,
}

/// What the gate decided, and the rule that says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    Allowed { rule: String },
    /// `limit`: a budget is used up, rather than the name being refused.
    Refused { rule: String, limit: bool },
}
