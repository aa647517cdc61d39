//! Repeated calls: cycles of one to five calls with the same arguments *and* the same results. A changed result is
//! progress; a polling call in the cycle means that the agent waits.

use rawko_core::Value;

use super::canonical::{canonical_call, canonical_result, canonical_subject, fingerprint};
use super::memory::{CallFingerprint, LoopMemory};
use super::polling::is_polling;
use super::settings::LoopSettings;
use super::{Detector, LoopVerdict};

/// The outcome of a call.
#[derive(Clone, Copy, Debug)]
pub enum CallObservation<'a> {
    /// It ran, or a rule refused it: the agent has read this result.
    Returned {
        /// Tool name.
        name: &'a str,
        /// Arguments of the call.
        input: &'a Value,
        /// Text of the result.
        content: &'a str,
        /// True if the result reports an error.
        is_error: bool,
    },
    /// `check_before` blocked it, and it was not run.
    Blocked {
        /// Tool name.
        name: &'a str,
        /// Arguments of the call.
        input: &'a Value,
    },
}

/// A cycle of calls at the end of the memory.
struct CallCycle {
    /// Number of calls per round.
    length: usize,
    /// Number of consecutive calls that belong to it, over all rounds.
    calls: usize,
}

impl CallCycle {
    fn rounds(&self) -> u32 {
        u32::try_from(self.calls / self.length).unwrap_or(u32::MAX)
    }

    /// Returns the calls of the cycle, each once.
    fn members<'m>(&self, memory: &'m LoopMemory) -> Vec<&'m str> {
        let start = memory.recent.len() - self.length;
        let mut members: Vec<&str> =
            memory.recent.iter().skip(start).map(|seen| seen.call.as_str()).collect();
        members.sort_unstable();
        members.dedup();
        members
    }

    /// Returns true if a round has just been completed.
    fn is_round(&self) -> bool {
        self.calls.is_multiple_of(self.length)
    }
}

/// Checks before a call if it would only repeat a cycle. Any call of the cycle is blocked, not only the expected next
/// one: otherwise a cycle of two would continue with its other half.
pub fn check_before(memory: &LoopMemory, name: &str, input: &Value, settings: &LoopSettings) -> LoopVerdict {
    let Some(circle) = worst(memory, settings).filter(|circle| circle.rounds() >= settings.block_after)
    else {
        return LoopVerdict::Fine;
    };
    let call = fingerprint(&canonical_call(name, input));
    let members = circle.members(memory);
    if !members.contains(&call.as_str()) {
        return LoopVerdict::Fine;
    }
    let tried: u32 = members.iter().map(|call| memory.times_blocked(call)).sum();
    match tried.saturating_add(1) >= settings.blocked_max {
        true => doom(memory, &circle),
        false => LoopVerdict::Block { text: block_text(memory, &circle) },
    }
}

/// Records a call and returns the verdict.
pub fn observe(
    memory: LoopMemory,
    observation: CallObservation<'_>,
    settings: &LoopSettings,
) -> (LoopMemory, LoopVerdict) {
    match observation {
        CallObservation::Returned { name, input, content, is_error } => {
            observe_fingerprint(memory, fingerprint_of(name, input, (content, is_error), settings), settings)
        }
        CallObservation::Blocked { name, input } => {
            let verdict = check_before(&memory, name, input, settings);
            (blocked(memory, name, input), verdict)
        }
    }
}

/// Returns the fingerprint of a call with its result, for [`observe_fingerprint`].
pub fn fingerprint_of(
    name: &str,
    input: &Value,
    (content, is_error): (&str, bool),
    settings: &LoopSettings,
) -> CallFingerprint {
    let (call, subject) = (canonical_call(name, input), canonical_subject(name, input));
    CallFingerprint {
        name: name.to_owned(),
        call: fingerprint(&call),
        subject: if subject == call { String::new() } else { fingerprint(&subject) },
        result: fingerprint(&canonical_result(content, is_error)),
        is_polling: is_polling(name, input, settings),
    }
}

/// Records a call that has not run, as if it returned the same as the last time: loop detection is at its strictest then.
pub fn expect_repeat(
    memory: LoopMemory,
    name: &str,
    input: &Value,
    settings: &LoopSettings,
) -> (LoopMemory, LoopVerdict) {
    let mut seen = fingerprint_of(name, input, ("", false), settings);
    if let Some(last) = memory.last_result(&seen.call) {
        last.clone_into(&mut seen.result);
    }
    observe_fingerprint(memory, seen, settings)
}

/// Records a call that ran beside others, in the order of the calls, not of their results.
pub fn observe_fingerprint(
    mut memory: LoopMemory,
    seen: CallFingerprint,
    settings: &LoopSettings,
) -> (LoopMemory, LoopVerdict) {
    let is_progress = memory.last_result(&seen.call).is_some_and(|last| last != seen.result);
    if is_progress {
        memory.set_blocked(&seen.call, 0);
    }
    memory.push(seen);
    let verdict = judge(&memory, settings);
    (memory, verdict)
}

fn blocked(mut memory: LoopMemory, name: &str, input: &Value) -> LoopMemory {
    let call = fingerprint(&canonical_call(name, input));
    let times = memory.times_blocked(&call).saturating_add(1);
    memory.set_blocked(&call, times);
    memory
}

fn judge(memory: &LoopMemory, settings: &LoopSettings) -> LoopVerdict {
    match worst(memory, settings) {
        Some(circle) if circle.rounds() >= settings.doom_after => doom(memory, &circle),
        // Once per round: a notice after every call of a long cycle would be noise itself.
        Some(circle) if circle.rounds() >= settings.notice_after && circle.is_round() => {
            LoopVerdict::Notice { text: notice_text(memory, &circle) }
        }
        Some(_) | None => LoopVerdict::Fine,
    }
}

/// Returns the cycle with the most rounds; among equals the shortest.
fn worst(memory: &LoopMemory, settings: &LoopSettings) -> Option<CallCycle> {
    let longest = usize::try_from(settings.cycle_max).unwrap_or(usize::MAX);
    let circles = (1..=longest.min(memory.recent.len())).filter_map(|length| circle(memory, length));
    circles.fold(None, |worst: Option<CallCycle>, circle| match worst {
        Some(worst) if worst.rounds() >= circle.rounds() => Some(worst),
        Some(_) | None => Some(circle),
    })
}

fn circle(memory: &LoopMemory, length: usize) -> Option<CallCycle> {
    let recent = &memory.recent;
    let is_waiting = recent.iter().rev().take(length).any(|seen| seen.is_polling);
    if is_waiting {
        return None;
    }
    let is_same = |index: &usize| {
        let (one, other) = (&recent[recent.len() - 1 - index], &recent[recent.len() - 1 - index - length]);
        one.call == other.call && one.result == other.result
    };
    let same = (0..recent.len() - length).take_while(is_same).count();
    Some(CallCycle { length, calls: length + same })
}

fn doom(memory: &LoopMemory, circle: &CallCycle) -> LoopVerdict {
    let text = format!("{} {} times with the same results", names(memory, circle), circle.rounds());
    LoopVerdict::Doom { detector: Detector::RepeatedCalls, text }
}

fn notice_text(memory: &LoopMemory, circle: &CallCycle) -> String {
    format!(
        "You have called {} {} times in a row with the same arguments, and the results were the same each time. \
         Calling again will not change them. Use what you know, try something else, or say what you are missing.",
        names(memory, circle),
        circle.rounds()
    )
}

fn block_text(memory: &LoopMemory, circle: &CallCycle) -> String {
    format!(
        "This call was not run: {} came back with the same results {} times in a row (`loop.block_after` in \
         .rawko/config.yaml). Do something else. If this is tried again and again, the work is stopped.",
        names(memory, circle),
        circle.rounds()
    )
}

/// Returns `` `Read`, `Grep` `` in the order of the cycle.
fn names(memory: &LoopMemory, circle: &CallCycle) -> String {
    let start = memory.recent.len() - circle.length;
    let names = memory.recent.iter().skip(start).map(|seen| format!("`{}`", seen.name));
    names.collect::<Vec<_>>().join(", ")
}
