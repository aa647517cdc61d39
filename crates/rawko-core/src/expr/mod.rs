//! The expression language: closed, side-effect free, bounded in cost.
//!
//! Text is parsed once, at load, into an [`Ast`] with spans; names are then resolved to context slots, locals and
//! state nodes, giving an [`Expr`] that a step evaluates without looking at a name again.

use std::ops::Range;
use std::sync::Arc;

use crate::configuration::Active;
use crate::event::NamedEvent;
use crate::ids::{NodeId, Slot};
use crate::value::Value;
use crate::world::World;

/// A parsed expression whose names are not resolved yet.
#[derive(Clone, Debug)]
pub struct Ast {
    // helper: fill
}

/// A resolved expression, ready to evaluate.
#[derive(Clone, Debug)]
pub struct Expr {
    text: Arc<str>,
    // helper: fill
}

/// Something wrong with an expression's text, at a byte range of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExprProblem {
    pub kind: ExprProblemKind,
    pub span: Range<usize>,
    pub message: String,
    pub help: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExprProblemKind {
    /// It does not parse (rule 6), or it is too long or too deep.
    Syntax,
    /// A name that is no binding, function, local or field of `event`/`agents`.
    UnknownName,
    /// A `context.<key>` that the chart neither declares nor assigns.
    UnknownContextKey,
    /// `stateIn` of a state that does not exist, or not given as a literal.
    UnknownState,
    /// A function called with the wrong number of arguments.
    Arity,
}

/// How names are resolved. The reader of charts implements this.
pub trait Names {
    /// The slot of a context key.
    fn context_key(&self, key: &str) -> Option<Slot>;
    /// All known context keys, for "did you mean".
    fn context_keys(&self) -> Vec<String>;
    /// The number of a local (an enclosing `foreach`'s item or index).
    fn local(&self, name: &str) -> Option<usize>;
    /// The state that `stateIn('…')` means.
    fn state(&self, path: &str) -> Option<NodeId>;
}

/// What an evaluation can see.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'a> {
    pub context: &'a [Value],
    /// Names of the context's slots, for the bare `context` as a map.
    pub context_names: &'a [Arc<str>],
    pub locals: &'a [Value],
    pub event: Option<&'a NamedEvent>,
    pub input: &'a Value,
    pub now_ms: i64,
    pub world: &'a World,
    pub configuration: Active<'a>,
}

/// Why an evaluation failed: a fault of the data, which the chart hears as `error.execution`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct EvalError {
    pub message: String,
}

/// What can be said about a value without running anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    Any,
    Null,
    Bool,
    Number,
    String,
    List,
    Map,
}
