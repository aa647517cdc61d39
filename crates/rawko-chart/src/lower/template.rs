//! Literal or expression? Data with expressions at its leaves, by the rule of its position.

use std::sync::Arc;

use rawko_core::expr::Expr;
use rawko_core::{DataTemplate, Value};

use super::expression::{ExpressionUse, is_bare_word};
use super::{Lowering, language};
use crate::def::ExpressionKey;
use crate::finding::{Finding, Severity};
use crate::source::Span;
use crate::tree::{Data, NodeView, locate, to_value};

const LOOKS_LIKE_EXPRESSION: &str = crate::codes::LOOKS_LIKE_EXPRESSION.name;
const LOOKS_LIKE_LITERAL: &str = crate::codes::LOOKS_LIKE_LITERAL.name;
const WRONG_TYPE: &str = crate::codes::WRONG_TYPE.name;
const ROOTS: &[&str] = &["context", "event", "input", "env", "agents"];

/// The interpretation of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextRule {
    /// As an expression (`context_updates`, `input`, `output`).
    Expression,
    /// As an expression if it parses and starts with a binding root (`data`, `params`, `message`).
    Data,
    /// Unchanged (event names, ids).
    Literal,
}

/// `{expr: …}` or `{literal: …}`: an explicit choice by the author.
pub(super) enum ExplicitValue<'a> {
    Expr(NodeView<'a>),
    Literal(NodeView<'a>),
}

/// Returns it for a map with only one of these keys; any other map is data.
pub(super) fn said<'a>(view: NodeView<'a>) -> Option<ExplicitValue<'a>> {
    let mut pairs = view.pairs()?;
    let (only, None) = (pairs.next()?, pairs.next()) else { return None };
    match ExpressionKey::parse(only.key)? {
        ExpressionKey::Expr => Some(ExplicitValue::Expr(only.value)),
        ExpressionKey::Literal => Some(ExplicitValue::Literal(only.value)),
    }
}

impl<'a> Lowering<'a> {
    /// Returns the template for a value. Parts without expressions become one literal.
    pub(crate) fn template(&mut self, view: NodeView<'a>, rule: TextRule) -> DataTemplate {
        match view.data() {
            Data::Str(text) => self.text_template(text, view.span(), rule),
            Data::Null | Data::Bool(_) | Data::Int(_) | Data::Float(_) => {
                DataTemplate::Literal(to_value(view))
            }
            Data::List { .. } => self.list_template(view, rule),
            Data::Map { .. } => self.map_template(view, rule),
        }
    }

    pub(crate) fn optional_template(&mut self, view: Option<NodeView<'a>>, rule: TextRule) -> DataTemplate {
        view.map_or(DataTemplate::Literal(Value::Null), |view| self.template(view, rule))
    }

    fn list_template(&mut self, view: NodeView<'a>, rule: TextRule) -> DataTemplate {
        let items: Vec<DataTemplate> = view.each_item().map(|item| self.template(item, rule)).collect();
        if items.iter().all(is_literal) {
            return DataTemplate::Literal(to_value_plain(&items));
        }
        DataTemplate::List(items)
    }

    fn map_template(&mut self, view: NodeView<'a>, rule: TextRule) -> DataTemplate {
        match said(view) {
            Some(ExplicitValue::Expr(value)) => return self.said_expression(value),
            Some(ExplicitValue::Literal(value)) => return DataTemplate::Literal(to_value(value)),
            None => {}
        }
        let mut entries: Vec<(Arc<str>, DataTemplate)> = Vec::new();
        for pair in view.each_pair() {
            entries.push((pair.key.into(), self.template(pair.value, rule)));
        }
        if entries.iter().all(|(_, value)| is_literal(value)) {
            return DataTemplate::Literal(Value::map(
                entries.into_iter().map(|(key, value)| (key, literal_value(&value))),
            ));
        }
        DataTemplate::Map(entries)
    }

    /// `{expr: "…"}`.
    fn said_expression(&mut self, view: NodeView<'a>) -> DataTemplate {
        let Some(text) = view.text() else {
            let message = format!("expected an expression as text, found {}", view.kind_words());
            self.report(Finding::new(WRONG_TYPE, Severity::Fatal, view.span(), message));
            return DataTemplate::Literal(Value::Null);
        };
        DataTemplate::Expr(self.expression(text, view.span(), ExpressionUse::Value))
    }

    fn text_template(&mut self, text: &str, span: Span, rule: TextRule) -> DataTemplate {
        match rule {
            TextRule::Expression => DataTemplate::Expr(self.expression(text, span, ExpressionUse::Value)),
            TextRule::Literal => DataTemplate::Literal(Value::str(text)),
            TextRule::Data => self.data_template(text, span),
        }
    }

    fn data_template(&mut self, text: &str, span: Span) -> DataTemplate {
        let parsed =
            if could_be_rooted(text) || self.mentions_local(text) { self.parse(text).ok() } else { None };
        match parsed {
            Some(ast) if language::is_rooted(&ast) || self.mentions_local(text) => {
                if ROOTS.contains(&text.trim()) {
                    self.warn_literal(text, span);
                }
                DataTemplate::Expr(self.resolve(&ast, text, span, ExpressionUse::Data))
            }
            _ => {
                if self.reads_like_expression(text) {
                    self.warn_expression(text, span);
                }
                DataTemplate::Literal(Value::str(text))
            }
        }
    }

    /// `item.id` inside a `foreach`: its locals are binding roots too.
    fn mentions_local(&self, text: &str) -> bool {
        let word = first_word(text);
        !word.is_empty() && self.locals.contains(&word) && text.trim_start().len() > word.len()
            || self.locals.contains(&text.trim())
    }

    /// Returns true for a literal text that a reader could mistake for an expression.
    fn reads_like_expression(&self, text: &str) -> bool {
        let trimmed = text.trim();
        let word = first_word(trimmed);
        let rest = &trimmed[word.len()..];
        let path = rest.starts_with('.') && rest[1..].starts_with(|c: char| c.is_alphabetic() || c == '_');
        if path && ROOTS.contains(&word) {
            return true;
        }
        if path && !trimmed.contains(' ') && near_root(word) {
            return self.parse(trimmed).is_ok();
        }
        // A binding further in: `'tried ' ~ context.count`, `length(context.items)`.
        if mentions_binding(trimmed) && self.parse(trimmed).is_ok() {
            return true;
        }
        // An operator between a context key and something else: `count + 1`.
        let operator = rest.trim_start().starts_with(['+', '-', '*', '/', '<', '>', '=', '!', '&', '|']);
        let spaced = rest.starts_with(' ');
        operator && spaced && self.context.slot(word).is_some() && self.parse(trimmed).is_ok()
    }

    /// Warns about initial values of the context, which are never evaluated.
    pub(crate) fn warn_initial_value(&mut self, text: &str, span: Span) {
        let rooted = could_be_rooted(text)
            && !is_bare_word(text)
            && self.parse(text).is_ok_and(|ast| language::is_rooted(&ast));
        if rooted {
            let place = locate(self.text, span, text, 0..text.len());
            let message =
                format!("`{}` looks like an expression, but initial values are plain data", brief(text));
            self.report(
                Finding::new(LOOKS_LIKE_EXPRESSION, Severity::Warning, place, message)
                    .help("start with `null` and assign it in the chart's `entry`"),
            );
        }
    }

    fn warn_expression(&mut self, text: &str, span: Span) {
        let place = locate(self.text, span, text, 0..text.len());
        let message = format!("`{}` looks like an expression, but is plain text here", brief(text));
        self.report(
            Finding::new(LOOKS_LIKE_EXPRESSION, Severity::Warning, place, message)
                .help("write `{expr: \"…\"}` or `{literal: \"…\"}` to make it explicit"),
        );
    }

    fn warn_literal(&mut self, text: &str, span: Span) {
        let message = format!("`{text}` looks like plain text, but is an expression here");
        self.report(
            Finding::new(LOOKS_LIKE_LITERAL, Severity::Warning, span, message)
                .help(format!("write `{{expr: {text}}}` or `{{literal: {text}}}` to make it explicit")),
        );
    }

    /// Returns a template as one expression, for positions that require one.
    pub(crate) fn as_expression(&mut self, view: NodeView<'a>) -> Expr {
        match view.data() {
            Data::Str(text) => self.expression(text, view.span(), ExpressionUse::Value),
            Data::Null | Data::Bool(_) | Data::Int(_) | Data::Float(_) => language::literal(to_value(view)),
            Data::List { .. } | Data::Map { .. } => match self.template(view, TextRule::Expression) {
                DataTemplate::Literal(value) => language::literal(value),
                DataTemplate::Expr(expr) => expr,
                DataTemplate::List(_) | DataTemplate::Map(_) => self.composed(view),
            },
        }
    }

    /// Writes lists and maps with expressions inside in the language's own notation.
    fn composed(&mut self, view: NodeView<'a>) -> Expr {
        let mut text = String::new();
        compose(view, &mut text);
        let failed = self.findings.iter().any(|finding| within(finding.span, view.span()));
        if failed {
            return language::null();
        }
        self.expression(&text, view.span(), ExpressionUse::Value)
    }
}

fn mentions_binding(text: &str) -> bool {
    ["context.", "event.", "input.", "env.", "agents.", "instance.", "now("]
        .iter()
        .any(|root| text.contains(root))
}

fn within(inner: Span, outer: Span) -> bool {
    inner.start >= outer.start && inner.end <= outer.end
}

fn compose(view: NodeView<'_>, out: &mut String) {
    match view.data() {
        Data::Str(text) => {
            out.push('(');
            out.push_str(text);
            out.push(')');
        }
        Data::List { .. } => {
            out.push('[');
            for item in view.each_item() {
                compose(item, out);
                out.push_str(", ");
            }
            trim_comma(out);
            out.push(']');
        }
        Data::Map { .. } => compose_map(view, out),
        Data::Null | Data::Bool(_) | Data::Int(_) | Data::Float(_) => {
            out.push_str(&to_value(view).to_string())
        }
    }
}

fn compose_map(view: NodeView<'_>, out: &mut String) {
    match said(view) {
        Some(ExplicitValue::Expr(value)) => return compose(value, out),
        Some(ExplicitValue::Literal(value)) => return out.push_str(&to_value(value).to_json().to_string()),
        None => {}
    }
    out.push('{');
    for pair in view.each_pair() {
        out.push_str(&Value::str(pair.key).to_json().to_string());
        out.push_str(": ");
        compose(pair.value, out);
        out.push_str(", ");
    }
    trim_comma(out);
    out.push('}');
}

fn trim_comma(out: &mut String) {
    if out.ends_with(", ") {
        out.truncate(out.len() - 2);
    }
}

fn is_literal(template: &DataTemplate) -> bool {
    matches!(template, DataTemplate::Literal(_))
}

fn literal_value(template: &DataTemplate) -> Value {
    if let DataTemplate::Literal(value) = template { value.clone() } else { Value::Null }
}

fn to_value_plain(items: &[DataTemplate]) -> Value {
    Value::list(items.iter().map(literal_value).collect())
}

/// Truncates a text for a message.
fn brief(text: &str) -> String {
    const LENGTH: usize = 60;
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(LENGTH) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

fn first_word(text: &str) -> &str {
    let text = text.trim_start();
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(text.len());
    &text[..end]
}

/// Cheap test before parsing: most data strings are plain words.
fn could_be_rooted(text: &str) -> bool {
    let word = first_word(text);
    ROOTS.contains(&word) || word == "now" || word == "instance"
}

/// `contxt`, `evnt`: a mistyped root.
fn near_root(word: &str) -> bool {
    word.len() >= 4 && ROOTS.iter().any(|root| strsim::damerau_levenshtein(word, root) <= 1)
}
