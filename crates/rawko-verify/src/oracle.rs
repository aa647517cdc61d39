//! `Script`: decides guards whose outcome representative data does not cover, one outcome after the other, so that both
//! are explored. What holds then holds for all data; a violation that needs a decision is not a proof of one.

use std::collections::BTreeSet;
use std::sync::Mutex;

use rawko_core::GuardOracle;
use rawko_core::expr::{EvalError, Expr};

/// Decisions in one macrostep of which both outcomes are explored.
pub(crate) const DECISIONS_MAX: usize = 8;

/// The decisions of one step: the first ones are given, the rest follow the data.
#[derive(Debug)]
pub(crate) struct Script<'m> {
    undecided: &'m BTreeSet<String>,
    given: Vec<bool>,
    taken: Mutex<Vec<bool>>,
}

impl<'m> Script<'m> {
    pub(crate) fn new(undecided: &'m BTreeSet<String>, given: Vec<bool>) -> Self {
        Self { undecided, given, taken: Mutex::default() }
    }

    /// Returns the scripts that differ from this one in a later decision, and whether these are all.
    pub(crate) fn others(self) -> (Vec<Vec<bool>>, bool) {
        let taken = self.taken.into_inner().unwrap_or_default();
        let end = taken.len().min(DECISIONS_MAX);
        let other = |at: usize| {
            let mut script = taken[..at].to_vec();
            script.push(!taken[at]);
            script
        };
        ((self.given.len()..end).map(other).collect(), taken.len() <= DECISIONS_MAX)
    }
}

impl GuardOracle for Script<'_> {
    fn judge(&self, guard: &Expr, value: Result<bool, EvalError>) -> Result<bool, EvalError> {
        if !self.undecided.contains(guard.text()) {
            return value;
        }
        let Ok(mut taken) = self.taken.lock() else { return value };
        let decision = self.given.get(taken.len()).copied().unwrap_or_else(|| value.unwrap_or(false));
        taken.push(decision);
        Ok(decision)
    }
}
