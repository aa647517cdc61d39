//! The state of an evaluation: the scope, the remaining fuel, and the location of faults.

use std::cell::Cell;

use super::limits::{BYTES_PER_UNIT, FUEL_MAX};
use super::problem::ExprSpan;
use super::{EvalError, EvalScope};
use crate::value::Value;

pub(crate) static NULL: Value = Value::Null;

/// The result of evaluating part of an expression. The fault is boxed to keep the good case small.
pub(crate) type EvalResult<T> = Result<T, Box<EvalFault>>;

#[derive(Debug)]
pub(crate) struct EvalFault {
    message: String,
    located: bool,
}

/// Returns a fault without a location.
#[cold]
pub(crate) fn fault<T>(message: impl Into<String>) -> EvalResult<T> {
    Err(Box::new(EvalFault { message: message.into(), located: false }))
}

impl From<Box<EvalFault>> for EvalError {
    fn from(fault: Box<EvalFault>) -> Self {
        EvalError { message: fault.message }
    }
}

/// A value that is borrowed or was computed.
#[derive(Debug)]
pub(crate) enum Val<'a> {
    Ref(&'a Value),
    Own(Value),
}

impl<'a> Val<'a> {
    #[inline]
    pub(crate) fn get(&self) -> &Value {
        match self {
            Val::Ref(value) => value,
            Val::Own(value) => value,
        }
    }

    #[inline]
    pub(crate) fn into_value(self) -> Value {
        match self {
            Val::Ref(value) => value.clone(),
            Val::Own(value) => value,
        }
    }

    /// Returns a part of this value, borrowed if possible; a missing part is null.
    #[inline]
    pub(crate) fn part(self, pick: impl FnOnce(&Value) -> EvalResult<Option<&Value>>) -> EvalResult<Val<'a>> {
        match self {
            Val::Ref(value) => Ok(Val::Ref(pick(value)?.unwrap_or(&NULL))),
            Val::Own(value) => Ok(Val::Own(pick(&value)?.cloned().unwrap_or_default())),
        }
    }
}

pub(crate) struct Env<'a> {
    pub(crate) scope: &'a EvalScope<'a>,
    text: &'a str,
    fuel: Cell<u64>,
}

impl<'a> Env<'a> {
    /// Charges `nodes` at once: the language has no loops, so each node is evaluated at most once.
    #[inline]
    pub(crate) fn new(scope: &'a EvalScope<'a>, text: &'a str, nodes: u64) -> Self {
        Self::with_fuel(scope, text, FUEL_MAX.saturating_sub(nodes))
    }

    #[inline]
    pub(crate) fn with_fuel(scope: &'a EvalScope<'a>, text: &'a str, fuel: u64) -> Self {
        Self { scope, text, fuel: Cell::new(fuel) }
    }

    #[inline]
    pub(crate) fn charge(&self, units: usize) -> EvalResult<()> {
        match self.fuel.get().checked_sub(units as u64) {
            Some(rest) => {
                self.fuel.set(rest);
                Ok(())
            }
            None => fault("the expression exceeds its work limit"),
        }
    }

    #[inline]
    pub(crate) fn charge_bytes(&self, bytes: usize) -> EvalResult<()> {
        self.charge(bytes / BYTES_PER_UNIT + 1)
    }

    pub(crate) fn fuel(&self) -> u64 {
        self.fuel.get()
    }

    /// Adds the text of the operation to a fault, once: the innermost operation is the one that failed.
    #[cold]
    pub(crate) fn locate(&self, mut fault: Box<EvalFault>, span: ExprSpan) -> Box<EvalFault> {
        if !fault.located {
            fault.located = true;
            let snippet = self.text.get(span.range()).unwrap_or_default();
            fault.message = format!("{} in `{}`", fault.message, shortened(snippet));
        }
        fault
    }
}

const SNIPPET_CHARS_MAX: usize = 80;

fn shortened(snippet: &str) -> String {
    match snippet.char_indices().nth(SNIPPET_CHARS_MAX) {
        Some((cut, _)) => format!("{}…", &snippet[..cut]),
        None => snippet.to_owned(),
    }
}
