//! `Exploration`: one run of the explorer with its mode, and what it covers.

use rawko_core::Unhandled;

use crate::explore::ExplorationResult;
use crate::inputs;
use crate::mode::Mode;
use crate::model::Model;
use crate::visited::Storage;

/// One exploration of the chart and its children.
pub(crate) struct Exploration {
    pub(crate) mode: Mode,
    /// The steps in which time passed, and the number of clocks that they are short enough for.
    pub(crate) ticks: Option<(i64, usize)>,
    pub(crate) explored: ExplorationResult,
    /// States of the chart and its children.
    pub(crate) states: usize,
    /// One possible input of many: a violation is real, and other inputs may have more.
    pub(crate) is_basis: bool,
    pub(crate) storage: Storage,
}

impl Exploration {
    /// Returns true if every order of inputs and timers was explored.
    pub(crate) fn has_all_times(&self) -> bool {
        let clocks = self.ticks.map_or(1, |(_, clocks)| clocks);
        self.mode.is_general() || self.explored.clocks <= clocks
    }

    /// Returns true if every behaviour of the chart is among those explored.
    pub(crate) fn is_whole(&self) -> bool {
        self.explored.graph.complete && self.explored.gaps.is_empty() && self.has_all_times()
    }

    pub(crate) fn is_exact(&self) -> bool {
        self.mode == Mode::Concrete && self.is_whole()
    }

    /// Describes the explored part and its gaps.
    pub(crate) fn bound(&self, model: &Model) -> String {
        let states = self.states;
        let mut text = match (self.explored.graph.complete, self.mode.is_general()) {
            (true, false) => format!("all {states} reachable states"),
            (true, true) => format!("all data and times, in {states} general states"),
            (false, _) => format!("the first {states} states"),
        };
        text.push_str(match model.input.as_map().is_some_and(|input| input.is_empty()) {
            _ if model.any_input && self.mode.is_general() => ", with any input",
            true => ", with the default input",
            false => ", with the given input",
        });
        if self.storage == Storage::Compact {
            text.push_str(", states compared by 64-bit hashes only (hash compaction)");
        }
        if model.chart.unhandled() == Unhandled::Defer {
            text.push_str(&format!(", at most {} deferred events", inputs::DEFERRED_MAX));
        }
        if self.mode.is_general() {
            text.push_str(", if data has the types that expressions need");
        }
        if self.explored.items_max > 0 {
            text.push_str(&format!(", at most {} items in unknown lists", self.explored.items_max));
        }
        for gap in self.explored.gaps.iter().take(3) {
            text.push_str("; ");
            text.push_str(gap);
        }
        text
    }
}
