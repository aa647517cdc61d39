//! `LoopMemory`: the record of recent calls. Small, plain data that is stored in a snapshot and passed from agent to
//! agent.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

/// Limit of stored calls: a cycle of five calls, fifty times.
const RECENT_MAX: usize = 256;
/// Limit of calls remembered as blocked.
const BLOCKED_MAX: usize = 32;
/// Length limit of a name, which is for display only.
const NAME_CHARS_MAX: usize = 64;

/// The recent calls with their results.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LoopMemory {
    pub(super) recent: VecDeque<CallFingerprint>,
    pub(super) blocked: VecDeque<BlockedCall>,
    /// Total number of calls.
    pub(super) count: u64,
    /// Value of `count` when this memory was handed over.
    pub(super) handed_over_at: u64,
}

/// One call and its result, as fingerprints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallFingerprint {
    pub(super) name: String,
    pub(super) call: String,
    pub(super) result: String,
    /// The call without numbers such as a line; empty if it has none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) subject: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_polling: bool,
}

impl CallFingerprint {
    fn subject(&self) -> &str {
        if self.subject.is_empty() { &self.call } else { &self.subject }
    }
}

/// Number of attempts at a blocked call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct BlockedCall {
    pub(super) call: String,
    pub(super) times: u32,
}

impl LoopMemory {
    /// Returns the memory for a child agent or the next turn, so that earlier calls still count.
    #[must_use]
    pub fn hand_over(&self) -> LoopMemory {
        LoopMemory { handed_over_at: self.count, ..self.clone() }
    }

    /// Appends the calls a child made since the hand-over of this memory (or an earlier state of it) to the calls made
    /// here since.
    #[must_use]
    pub fn merge(mut self, child: &LoopMemory) -> LoopMemory {
        let new = usize::try_from(child.count.saturating_sub(child.handed_over_at)).unwrap_or(usize::MAX);
        let kept = child.recent.len().saturating_sub(new);
        for seen in child.recent.iter().skip(kept) {
            self.push(seen.clone());
        }
        for blocked in &child.blocked {
            let times = self.times_blocked(&blocked.call).max(blocked.times);
            self.set_blocked(&blocked.call, times);
        }
        self
    }

    /// Returns the calls that a child made after it was given a copy of this memory.
    pub fn calls_since<'c>(
        &self,
        child: &'c LoopMemory,
    ) -> impl Iterator<Item = &'c CallFingerprint> + use<'c> {
        let new = usize::try_from(child.count.saturating_sub(self.count)).unwrap_or(usize::MAX);
        child.recent.iter().skip(child.recent.len().saturating_sub(new))
    }

    /// Returns the total number of calls.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns true if a call after the first `count` ones gave a result that no earlier one gave, and is not an earlier
    /// call with other numbers: the next line of the same file is no news. Tools whose name begins with `without` are left
    /// out.
    pub fn has_news_since(&self, count: u64, without: &str) -> bool {
        let new = usize::try_from(self.count.saturating_sub(count)).unwrap_or(usize::MAX);
        let start = self.recent.len().saturating_sub(new);
        let is_same = |one: &CallFingerprint, other: &CallFingerprint| {
            one.result == other.result || !one.subject.is_empty() && one.subject() == other.subject()
        };
        let is_known = |seen: &CallFingerprint, at: usize| {
            self.recent.iter().take(at).any(|earlier| is_same(seen, earlier))
        };
        let mut news = self.recent.iter().enumerate().skip(start);
        news.any(|(at, seen)| !seen.name.starts_with(without) && !is_known(seen, at))
    }

    /// Appends the calls of children that ran at the same time, each with a copy of this memory, in the order given.
    /// The same calls of two of them count once: neither could know of the other's.
    #[must_use]
    pub fn merge_all(self, children: &[LoopMemory]) -> LoopMemory {
        let mut known: Vec<Vec<&CallFingerprint>> = Vec::new();
        let mut merged = self.clone();
        for child in children {
            let calls: Vec<&CallFingerprint> = self.calls_since(child).collect();
            if known.contains(&calls) {
                continue;
            }
            let child_alone = LoopMemory { handed_over_at: self.count, ..child.clone() };
            merged = merged.merge(&child_alone);
            known.push(calls);
        }
        merged
    }

    /// Returns the number of stored calls, which is bounded.
    pub fn len(&self) -> usize {
        self.recent.len()
    }

    /// Returns true if no call has been recorded.
    pub fn is_empty(&self) -> bool {
        self.recent.is_empty()
    }

    pub(super) fn push(&mut self, mut seen: CallFingerprint) {
        if let Some((at, _)) = seen.name.char_indices().nth(NAME_CHARS_MAX) {
            seen.name.truncate(at);
        }
        self.count = self.count.saturating_add(1);
        self.recent.push_back(seen);
        while self.recent.len() > RECENT_MAX {
            self.recent.pop_front();
        }
    }

    pub(super) fn times_blocked(&self, call: &str) -> u32 {
        self.blocked.iter().find(|blocked| blocked.call == call).map_or(0, |blocked| blocked.times)
    }

    pub(super) fn set_blocked(&mut self, call: &str, times: u32) {
        self.blocked.retain(|blocked| blocked.call != call);
        if times > 0 {
            self.blocked.push_back(BlockedCall { call: call.to_owned(), times });
        }
        while self.blocked.len() > BLOCKED_MAX {
            self.blocked.pop_front();
        }
    }

    /// Returns the last stored result of a call.
    pub(super) fn last_result(&self, call: &str) -> Option<&str> {
        self.recent.iter().rev().find(|seen| seen.call == call).map(|seen| seen.result.as_str())
    }
}
