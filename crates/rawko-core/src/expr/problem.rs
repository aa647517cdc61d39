//! Problems of an expression's text, with their spans.

use std::ops::Range;

/// A byte range of an expression's text. Texts are short, so two `u32` keep the trees compact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct ExprSpan {
    start: u32,
    end: u32,
}

impl ExprSpan {
    pub(crate) fn new(start: usize, end: usize) -> Self {
        Self { start: start as u32, end: end as u32 }
    }

    pub(crate) fn to(self, last: ExprSpan) -> ExprSpan {
        ExprSpan { start: self.start, end: last.end }
    }

    pub(crate) fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// A problem of an expression's text, at a byte range of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExprProblem {
    /// Class of the problem; readers map it to a finding code.
    pub kind: ExprProblemKind,
    /// Byte range within the expression's text.
    pub span: Range<usize>,
    /// One sentence without the source text.
    pub message: String,
    /// A suggested correction.
    pub help: Option<String>,
}

/// The class of an expression problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExprProblemKind {
    /// It does not parse (rule 6), or it is too long or too deep.
    Syntax,
    /// A name that is not a binding, function, local or field of `event`/`agents`.
    UnknownName,
    /// A `context.<key>` that the chart neither declares nor assigns.
    UnknownContextKey,
    /// `stateIn` of a state that does not exist, or not given as a literal.
    UnknownState,
    /// A function called with the wrong number of arguments.
    Arity,
    /// An operation that fails for all data, unless the data is missing: for example a number plus a string.
    TypeMismatch,
    /// `==` or `!=` between values that cannot have the same type; legal, but certainly unintended.
    NeverEqual,
    /// A key that the schema of the data refuses, or a slip for one that it has.
    UnknownField,
    /// A key that the schema of the data does not mention.
    UnmentionedField,
}

impl ExprProblem {
    pub(crate) fn new(kind: ExprProblemKind, span: ExprSpan, message: impl Into<String>) -> Self {
        Self { kind, span: span.range(), message: message.into(), help: None }
    }

    pub(crate) fn syntax(span: ExprSpan, message: impl Into<String>, help: Option<&str>) -> Self {
        Self { help: help.map(str::to_owned), ..Self::new(ExprProblemKind::Syntax, span, message) }
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}
