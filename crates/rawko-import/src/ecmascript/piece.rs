//! `Translation`: a part of one of our expressions, with its precedence for parentheses.

use serde_json::Value as Json;

use super::literals::literal;

/// The precedence of a part; a looser part inside a tighter one gets parentheses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Binding {
    Conditional,
    Or,
    And,
    Not,
    Compare,
    Coalesce,
    Join,
    Add,
    Multiply,
    Unary,
    Power,
    Tight,
}

/// A translated expression.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Translation {
    pub(crate) text: String,
    /// Its value, if it is constant.
    pub(crate) constant: Option<Json>,
    binding: Binding,
}

impl Translation {
    pub(super) fn tight(text: impl Into<String>) -> Self {
        Self { text: text.into(), constant: None, binding: Binding::Tight }
    }

    pub(super) fn loose(text: String, binding: Binding) -> Self {
        Self { text, constant: None, binding }
    }

    pub(crate) fn constant(value: Json) -> Self {
        let binding = match &value {
            Json::Number(number) if number.as_f64().is_some_and(|n| n < 0.0) => Binding::Unary,
            _ => Binding::Tight,
        };
        Self { text: literal(&value), constant: Some(value), binding }
    }

    pub(super) fn power(base: &Translation, exponent: &Translation) -> Self {
        let text = format!("{} ** {}", base.within(Binding::Tight), exponent.within(Binding::Tight));
        Self::loose(text, Binding::Power)
    }

    pub(super) fn coalesce(value: &Translation, otherwise: &str) -> Self {
        Self::loose(format!("{} ?? {otherwise}", value.within(Binding::Join)), Binding::Coalesce)
    }

    pub(super) fn is_join(&self) -> bool {
        self.binding == Binding::Join
    }

    /// Returns its text as an operand of precedence `at_least`.
    pub(super) fn within(&self, at_least: Binding) -> String {
        if self.binding >= at_least { self.text.clone() } else { format!("({})", self.text) }
    }
}
