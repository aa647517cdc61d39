//! `StepScript`: decides conditions whose outcome the data does not determine, one outcome after the other, so that both are
//! explored. What holds then holds for all data; a violation that needs a decision is not a proof of one.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use rawko_core::expr::{EvalError, EvalScope, Expr};
use rawko_core::{GuardOracle, NodeId, Value};

use crate::analysis::DataAnalysis;
use crate::mode::Mode;

/// Decisions in one macrostep of which both outcomes are explored.
pub(crate) const DECISIONS_MAX: usize = 24;
/// Scripts of one input.
pub(crate) const SCRIPTS_MAX: usize = 512;

/// The decisions of one step: the first ones are given, the rest follow the data.
#[derive(Debug)]
pub(crate) struct StepScript<'m> {
    analysis: &'m DataAnalysis,
    mode: Mode,
    given: Vec<bool>,
    taken: Mutex<Vec<bool>>,
    is_bounded: AtomicBool,
    /// A further round of a loop without an event was left out.
    has_left_out: AtomicBool,
    /// The last guard of a loop that ends, if it was decided to hold.
    last_round: Mutex<Option<SettlingRound>>,
}

/// What the guard of an eventless loop that ends was decided on.
#[derive(Debug)]
struct SettlingRound {
    active: Vec<NodeId>,
    context: Vec<Value>,
}

impl SettlingRound {
    fn is_same(&self, other: &SettlingRound) -> bool {
        let mut values = self.context.iter().zip(&other.context);
        self.active == other.active && values.all(|(one, two)| one.is_identical(two))
    }
}

impl<'m> StepScript<'m> {
    pub(crate) fn new(analysis: &'m DataAnalysis, mode: Mode, given: Vec<bool>) -> Self {
        Self {
            analysis,
            mode,
            given,
            taken: Mutex::default(),
            is_bounded: AtomicBool::new(false),
            has_left_out: AtomicBool::new(false),
            last_round: Mutex::default(),
        }
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

    /// Returns true if an unknown list was tried with few items only.
    pub(crate) fn is_bounded(&self) -> bool {
        self.is_bounded.load(Ordering::Relaxed)
    }

    /// Returns true if further rounds of a loop without an event were left out: a step may have too many of them.
    pub(crate) fn has_left_out(&self) -> bool {
        self.has_left_out.load(Ordering::Relaxed)
    }

    fn next(&self, otherwise: bool) -> bool {
        let Ok(mut taken) = self.taken.lock() else { return otherwise };
        let decision = self.given.get(taken.len()).copied().unwrap_or(otherwise);
        taken.push(decision);
        decision
    }
}

impl GuardOracle for StepScript<'_> {
    fn judge(&self, guard: &Expr, value: Result<bool, EvalError>) -> Result<bool, EvalError> {
        if !self.analysis.undecided.contains(guard.text()) {
            return value;
        }
        Ok(self.next(value.unwrap_or(false)))
    }

    fn is_partial(&self) -> bool {
        self.mode.is_general()
    }

    fn decide(&self, condition: &Expr, scope: &EvalScope<'_>) -> bool {
        if self.analysis.settling.as_deref() != Some(condition.text()) {
            return self.next(false);
        }
        let round = SettlingRound {
            active: scope.configuration.frontier().to_vec(),
            context: scope.context.to_vec(),
        };
        let Ok(mut last) = self.last_round.lock() else { return self.next(false) };
        if last.as_ref().is_some_and(|last| last.is_same(&round)) {
            // Another round of a loop that ends adds nothing, but there may be more of them than a step may have.
            self.has_left_out.store(true, Ordering::Relaxed);
            return false;
        }
        let holds = self.next(false);
        *last = holds.then_some(round);
        holds
    }

    fn fails(&self, expr: &Expr) -> bool {
        let fallible = match self.mode {
            Mode::Concrete => return false,
            Mode::Decided => &self.analysis.fallible.any,
            // Data is assumed to have the types that expressions need.
            Mode::General(_) => &self.analysis.fallible.by_value,
        };
        fallible.contains(expr.text()) && self.next(false)
    }

    fn items_max(&self) -> usize {
        self.analysis.items.most
    }

    fn bounded(&self, _list: &Expr) {
        self.is_bounded.store(true, Ordering::Relaxed);
    }
}
