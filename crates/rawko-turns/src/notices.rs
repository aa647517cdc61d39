//! Texts that the channel itself posts, with the wording of the specification.

use crate::names::AgentId;

pub(crate) fn disconnected(agent: &AgentId) -> String {
    format!("⚠️ {agent} disconnected, skipping turn")
}

pub(crate) fn timed_out(agent: &AgentId) -> String {
    format!("⏱️ {agent} turn timed out")
}

pub(crate) const NO_AGENTS: &str = "⚠️ No agents available in this channel";

pub(crate) fn unattended(turns: u32) -> String {
    format!("⏸️ {turns} turns without a person; the channel rests until a person posts")
}

pub(crate) fn no_progress(rounds: u32) -> String {
    format!("⚠️ {rounds} rounds without progress; take another way, or say what is missing")
}

pub(crate) fn stuck(rounds: u32) -> String {
    format!("⏸️ stuck: {rounds} rounds without progress; the channel rests until a person posts")
}

pub(crate) const LOOP: &str = "⏸️ stuck: the files and the failures are the same as some rounds ago; the channel rests until a person posts";

/// Written to the log, not to the channel.
pub(crate) const NO_COMPLETE: &str = "Agent completed response without TURN_COMPLETE";
