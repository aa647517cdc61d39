//! Keeps an exploration with unknown data finite: a context key with too many values, or with too large ones, becomes
//! unknown. That only adds behaviour, so what holds still holds.

use rawko_core::expr::{has_unknown, unknown};
use rawko_core::{Slot, Value};
use rustc_hash::FxHashMap;

use crate::analysis::DataAnalysis;
use crate::mode::{ExplorationDetail, Mode};
use crate::state::{ModelState, size_of};

/// Parts of one value.
const SIZE_MAX: usize = 24;
/// Results of a child chart.
const RESULTS_MAX: usize = 8;

pub(crate) struct Widening {
    mode: Mode,
    seen: FxHashMap<Slot, Vec<Value>>,
}

impl Widening {
    pub(crate) fn new(mode: Mode) -> Self {
        Self { mode, seen: FxHashMap::default() }
    }

    pub(crate) fn widen(&mut self, state: &mut ModelState, analysis: &DataAnalysis) {
        for index in 0..state.snapshot.context().len() {
            let slot = Slot(index as u32);
            let value = &state.snapshot.context()[index];
            let is_left_out = match self.mode {
                Mode::General(ExplorationDetail::Control) => !matches!(value, Value::Bool(_)),
                Mode::General(ExplorationDetail::Coarse) => !analysis.guarding.contains(&slot),
                _ => false,
            };
            if is_left_out {
                state.snapshot.generalize(slot, unknown());
                continue;
            }
            if matches!(value, Value::Null | Value::Bool(_)) || analysis.saturated.contains_key(&slot) {
                continue;
            }
            let is_wide = !analysis.relevant.contains(&slot) || self.is_wide(slot, value);
            if is_wide {
                state.snapshot.generalize(slot, unknown());
            }
        }
    }

    fn is_wide(&mut self, slot: Slot, value: &Value) -> bool {
        let seen = self.seen.entry(slot).or_default();
        if seen.iter().any(|known| known.is_identical(value)) {
            return seen.len() > self.mode.values_max();
        }
        if seen.len() <= self.mode.values_max() && size_of(value) <= SIZE_MAX {
            seen.push(value.clone());
        }
        seen.len() > self.mode.values_max() || size_of(value) > SIZE_MAX
    }

    /// Joins the results of a chart if they are many.
    pub(crate) fn join(&self, results: &mut Vec<Value>) {
        let is_large = results.iter().any(|result| size_of(result) > SIZE_MAX && has_unknown(result));
        if self.mode.is_general() && (results.len() > RESULTS_MAX || is_large) {
            *results = vec![unknown()];
        }
    }
}
