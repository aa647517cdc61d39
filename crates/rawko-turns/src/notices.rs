//! Texts that the channel itself posts, with the wording of the specification.

use crate::names::AgentId;

pub(crate) fn disconnected(agent: &AgentId) -> String {
    format!("⚠️ {agent} disconnected, skipping turn")
}

pub(crate) fn timed_out(agent: &AgentId) -> String {
    format!("⏱️ {agent} turn timed out")
}

pub(crate) const NOBODY: &str = "⚠️ No agents available in this channel";

pub(crate) fn unattended(turns: u32) -> String {
    format!("⏸️ {turns} turns without a person; the channel rests until somebody posts")
}

/// Written to the log, not to the channel.
pub(crate) const NO_COMPLETE: &str = "Agent completed response without TURN_COMPLETE";
