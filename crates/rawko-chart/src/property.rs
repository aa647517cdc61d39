//! `properties:` of a chart: statements that `rawko verify` proves or refutes. Read after the chart is compiled, from
//! the chart's own text or from a file beside it, so that both have the same syntax and the same findings.

mod atoms;
mod read;

pub use atoms::Atom;
use rawko_core::expr::Expr;
pub use read::{properties_of_chart, properties_of_file};

use crate::source::Span;

/// One named property.
#[derive(Clone, Debug)]
pub struct Property {
    pub name: String,
    pub kind: PropertyKind,
    pub assume: Assumptions,
    /// Its key in the source.
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum PropertyKind {
    Never(PropertyExpr),
    Always(PropertyExpr),
    /// `then` happens only after `first` did.
    Before {
        first: PropertyExpr,
        then: PropertyExpr,
    },
    /// At most this long after each entry into `from`, `to` holds.
    Within {
        from: PropertyExpr,
        to: PropertyExpr,
        time_ms: u64,
    },
    /// After `from`, `to` holds at some time.
    LeadsTo {
        from: PropertyExpr,
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
    pub text: String,
    pub expr: Expr,
    pub atoms: Vec<Atom>,
}
