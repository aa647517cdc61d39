//! `properties:` of a chart: statements that `rawko verify` proves or refutes. Read after the chart is compiled, from
//! the chart's own text or from a file beside it, so that both have the same syntax and the same findings.

mod atoms;
mod read;

pub use atoms::Atom;
pub(crate) use atoms::state_names;
use rawko_core::expr::Expr;
pub use read::{properties_of_chart, properties_of_file};

use crate::source::Span;

/// One named property.
#[derive(Clone, Debug)]
pub struct Property {
    /// Key in `properties:`, a stable code.
    pub name: String,
    /// Statement to prove.
    pub kind: PropertyKind,
    /// Parties that act eventually.
    pub assume: Assumptions,
    /// Its key in the source.
    pub span: Span,
}

/// Form of a property.
#[derive(Clone, Debug)]
pub enum PropertyKind {
    /// Holds in no configuration.
    Never(PropertyExpr),
    /// Holds in every configuration.
    Always(PropertyExpr),
    /// `then` happens only after `first` did.
    Before {
        /// Has to happen earlier.
        first: PropertyExpr,
        /// May happen only afterwards.
        then: PropertyExpr,
    },
    /// At most this long after each entry into `from`, `to` holds.
    Within {
        /// Starts the obligation.
        from: PropertyExpr,
        /// Fulfils it.
        to: PropertyExpr,
        /// Limit in virtual milliseconds.
        time_ms: u64,
    },
    /// After `from`, `to` holds at some time.
    LeadsTo {
        /// Starts the obligation.
        from: PropertyExpr,
        /// Fulfils it.
        to: PropertyExpr,
    },
}

/// Who can be relied on to act eventually. Timers and services always can.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Assumptions {
    /// `human` questions are answered.
    pub people_answer: bool,
    /// Events from outside arrive.
    pub events_arrive: bool,
}

/// An expression over configurations and steps. Each atom is a local of the compiled expression, by its number.
#[derive(Clone, Debug)]
pub struct PropertyExpr {
    /// As the author wrote it.
    pub text: String,
    /// Compiled, with atoms as locals.
    pub expr: Expr,
    /// Atoms by the number of their local.
    pub atoms: Vec<Atom>,
}
