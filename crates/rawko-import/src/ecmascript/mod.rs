//! ECMAScript, as far as statecharts use it: a tokenizer, a parser for expressions and plain scripts, and a translator
//! into our expression language. Nothing is executed; constructs without a counterpart are rejected by name.

mod calls;
mod literals;
mod piece;
mod script;
mod syntax;
#[cfg(test)]
mod tests;
mod token;
mod translate;
mod types;

pub(crate) use literals::{literal, text_literal};
pub(crate) use piece::Translation;
pub(crate) use script::{Statement, parse_script};
pub(crate) use syntax::{Js, parse_expression};
pub(crate) use translate::{INTERNAL, translate, translate_guard};
pub(crate) use types::{EcmaVariables, JsType, type_of};

/// An expression or a script without a counterpart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Untranslatable {
    /// Invalid ECMAScript: evaluating it fails there, too.
    Illegal(String),
    /// It names an undeclared variable: evaluating it fails there, too.
    Undeclared(String),
    /// A construct that only ECMAScript has.
    Foreign(String),
}

impl Untranslatable {
    pub(crate) fn foreign(what: impl Into<String>) -> Self {
        Untranslatable::Foreign(what.into())
    }
}

impl std::fmt::Display for Untranslatable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Untranslatable::Illegal(what) => write!(f, "not a legal expression: {what}"),
            Untranslatable::Undeclared(name) => write!(f, "`{name}` is not declared"),
            Untranslatable::Foreign(what) => write!(f, "{what} exists only in ECMAScript"),
        }
    }
}
