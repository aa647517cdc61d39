//! Passes of the build loop: implement and validate alternate until there are no errors. Progress is judged from plain
//! data, with the time passed in.

use serde::{Deserialize, Serialize};

use super::settings::LoopSettings;
use super::{Detector, LoopVerdict};

const PASSES_MAX: usize = 128;
/// A notice is sent after four fifths of the time limit.
const NOTICE_NUMERATOR: u64 = 4;
const NOTICE_DENOMINATOR: u64 = 5;

/// The kind of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PassKind {
    /// An agent changes files.
    Implement,
    /// The checks run.
    Validate,
}

/// One pass. `validate` counts errors; `None` if nothing counts them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pass {
    /// Kind of the pass.
    pub kind: PassKind,
    /// Errors that the checks counted.
    #[serde(default)]
    pub errors: Option<u64>,
}

/// The passes since the build was entered, up to a fixed number of the latest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PassHistory {
    /// Time of entering the build, in milliseconds since the Unix epoch.
    pub started_ms: i64,
    /// The latest passes, oldest first.
    pub passes: Vec<Pass>,
}

impl PassHistory {
    /// Creates an empty history.
    pub fn new(started_ms: i64) -> Self {
        Self { started_ms, passes: Vec::new() }
    }

    /// Appends a pass and drops the oldest beyond the limit.
    #[must_use]
    pub fn with(mut self, pass: Pass) -> Self {
        self.passes.push(pass);
        let over = self.passes.len().saturating_sub(PASSES_MAX);
        self.passes.drain(..over);
        self
    }

    fn counts(&self) -> Vec<u64> {
        self.passes.iter().filter_map(|pass| pass.errors).collect()
    }
}

/// Returns the most severe verdict on the passes so far.
pub fn judge_passes(history: &PassHistory, now_ms: i64, settings: &LoopSettings) -> LoopVerdict {
    let verdicts =
        [time(history, now_ms, settings), errors(history, settings), oscillation(history, settings)];
    verdicts
        .into_iter()
        .fold(LoopVerdict::Fine, |worst, verdict| if rank(&verdict) > rank(&worst) { verdict } else { worst })
}

fn rank(verdict: &LoopVerdict) -> u8 {
    match verdict {
        LoopVerdict::Fine => 0,
        LoopVerdict::Notice { .. } => 1,
        LoopVerdict::Block { .. } => 2,
        LoopVerdict::Doom { .. } => 3,
    }
}

fn time(history: &PassHistory, now_ms: i64, settings: &LoopSettings) -> LoopVerdict {
    let spent = u64::try_from(now_ms.saturating_sub(history.started_ms)).unwrap_or(0);
    let most = settings.build_time_max_ms;
    let minutes = |ms: u64| ms / 60_000;
    if spent >= most {
        let text = format!("building has taken {} minutes, and may take {}", minutes(spent), minutes(most));
        return LoopVerdict::Doom { detector: Detector::TimeInBuild, text };
    }
    if spent >= most / NOTICE_DENOMINATOR * NOTICE_NUMERATOR && most > NOTICE_DENOMINATOR {
        let left = minutes(most - spent);
        return LoopVerdict::Notice {
            text: format!("About {left} minutes are left for building. Finish what is begun."),
        };
    }
    LoopVerdict::Fine
}

/// Detects an error count that does not fall: the last count is not below the first, and it never fell twice in a row.
fn errors(history: &PassHistory, settings: &LoopSettings) -> LoopVerdict {
    let counts = history.counts();
    let passes = usize::try_from(settings.stalled_passes).unwrap_or(usize::MAX);
    let is_stalled = |passes: usize| {
        let window = counts.len().checked_sub(passes.saturating_add(1)).map(|start| &counts[start..]);
        window.is_some_and(is_not_falling)
    };
    let list = |passes: usize| {
        let last = &counts[counts.len().saturating_sub(passes.saturating_add(1))..];
        last.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")
    };
    if is_stalled(passes) {
        let text = format!("errors do not fall: {}", list(passes));
        return LoopVerdict::Doom { detector: Detector::ErrorsNotFalling, text };
    }
    let early = passes.saturating_sub(1);
    if early > 0 && is_stalled(early) {
        let text = format!(
            "The number of errors does not fall: {}. Look for what they have in common.",
            list(early)
        );
        return LoopVerdict::Notice { text };
    }
    LoopVerdict::Fine
}

fn is_not_falling(window: &[u64]) -> bool {
    let (Some(first), Some(last)) = (window.first(), window.last()) else { return false };
    let falls_twice = window.windows(3).any(|three| three[0] > three[1] && three[1] > three[2]);
    *last > 0 && last >= first && !falls_twice
}

/// Counts alternations between implement and validate since the last progress.
fn oscillation(history: &PassHistory, settings: &LoopSettings) -> LoopVerdict {
    let turns = turns_without_progress(&history.passes);
    let text =
        |turns: u32| format!("implement and validate have taken turns {turns} times and nothing got better");
    if turns >= settings.alternations_max {
        return LoopVerdict::Doom { detector: Detector::Oscillation, text: text(turns) };
    }
    let is_half = settings.alternations_max > 1 && turns >= settings.alternations_max.div_ceil(2);
    match is_half {
        true => LoopVerdict::Notice { text: format!("Attention: {}. Take another way.", text(turns)) },
        false => LoopVerdict::Fine,
    }
}

fn turns_without_progress(passes: &[Pass]) -> u32 {
    let (mut turns, mut before, mut falls) = (0_u32, None::<u64>, 0);
    let (mut least, mut kind) = (None::<u64>, None);
    for pass in passes {
        turns += u32::from(kind.is_some_and(|kind| kind != pass.kind));
        kind = Some(pass.kind);
        let Some(errors) = pass.errors else { continue };
        falls = if before.is_some_and(|before| errors < before) { falls + 1 } else { 0 };
        let is_new_least = least.is_none_or(|least| errors < least);
        // Two falls in a row are progress too: a new test may have raised the count above the minimum.
        if is_new_least || falls >= 2 || errors == 0 {
            turns = 0;
        }
        least = least.into_iter().chain([errors]).min();
        before = Some(errors);
    }
    turns
}
