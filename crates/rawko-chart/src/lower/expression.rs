//! Expressions within a chart: parsed, names resolved, and every problem located in the chart's text.

use std::cell::RefCell;
use std::sync::Arc;

use rawko_core::expr::{Ast, Expr, ExprProblem, ExprProblemKind, NameResolver};
use rawko_core::{NodeId, Slot};

use super::{Lowering, language};
use crate::finding::{Finding, Severity};
use crate::source::Span;
use crate::tree::locate;

const EXPRESSION_SYNTAX: &str = crate::codes::EXPRESSION_SYNTAX.name;
const GUARD_SYNTAX: &str = crate::codes::GUARD_SYNTAX.name;
const UNKNOWN_NAME: &str = crate::codes::UNKNOWN_NAME.name;
const UNKNOWN_GUARD: &str = crate::codes::UNKNOWN_GUARD.name;
const UNKNOWN_STATE: &str = crate::codes::UNKNOWN_STATE.name;
const WRONG_ARGUMENTS: &str = crate::codes::WRONG_ARGUMENTS.name;
const TYPE_MISMATCH: &str = crate::codes::TYPE_MISMATCH.name;
const UNKNOWN_FIELD: &str = crate::codes::UNKNOWN_FIELD.name;
const NEVER_EQUAL: &str = crate::codes::NEVER_EQUAL.name;

/// Shorter keys of a failure are not compared with those that every failure has.
const SLIP_BYTES_MIN: usize = 5;

/// The use of an expression; decides codes and help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExpressionUse {
    Guard,
    /// `context_updates`, `input`, `output`: text is an expression, so plain words need quotes.
    Value,
    /// `data`, `params`, messages: text is an expression only if it looks like one.
    Data,
    Delay,
}

impl<'a> Lowering<'a> {
    /// Parses and resolves; on a failure reports it and returns `null`.
    pub(crate) fn expression(&mut self, text: &str, span: Span, purpose: ExpressionUse) -> Expr {
        match self.parse(text) {
            Ok(ast) => self.resolve(&ast, text, span, purpose),
            Err(problems) => {
                self.report_problems(&problems, text, span, purpose);
                language::null()
            }
        }
    }

    /// `context.item` inside a `foreach` over `item` means the local, unless the context declares that key. The
    /// rewritten text has the same length, so that locations stay valid.
    pub(crate) fn parse(&self, text: &str) -> Result<Ast, Vec<ExprProblem>> {
        if self.locals.is_empty() || !text.contains("context") {
            return language::parse(text);
        }
        let is_local = |name: &str| self.locals.contains(&name) && self.context.declared_slot(name).is_none();
        language::parse(&without_context(text, is_local))
    }

    pub(crate) fn resolve(&mut self, ast: &Ast, text: &str, span: Span, purpose: ExpressionUse) -> Expr {
        let keys = self.context.len();
        let names = LoweringNames { lowering: self, text, span, reads: RefCell::default() };
        match language::resolve(ast, &names) {
            Ok(expr) => {
                let problems = expr.problems_with(&self.facts());
                self.report_problems(&problems, text, span, purpose);
                self.note_input(&expr);
                expr
            }
            Err(problems) => {
                // Finding a suggestion has tried names as context keys.
                self.context.forget_from(keys);
                self.report_problems(&problems, text, span, purpose);
                language::null()
            }
        }
    }

    fn note_input(&mut self, expr: &Expr) {
        match (&mut self.input_keys, expr.input_keys()) {
            (Some(known), Some(keys)) => known.extend(keys),
            (known, _) => *known = None,
        }
    }

    /// Returns the schemas of the data that expressions read here.
    pub(super) fn facts(&self) -> language::DataSchemas<'_> {
        language::DataSchemas {
            context: &self.context,
            event: self.event_data.as_ref().map(|data| &data.schema),
            locals: &self.local_schemas,
        }
    }

    fn report_problems(&mut self, problems: &[ExprProblem], text: &str, span: Span, purpose: ExpressionUse) {
        let is_open_ended = self.event_data.as_ref().is_some_and(|data| data.is_open_ended);
        for problem in problems {
            // Services add to their failures what they know; a short key is close to too many others.
            let is_slip =
                problem.kind == ExprProblemKind::UnknownField && problem.span.len() >= SLIP_BYTES_MIN;
            let is_field =
                matches!(problem.kind, ExprProblemKind::UnknownField | ExprProblemKind::UnmentionedField);
            if is_open_ended && is_field && !is_slip {
                continue;
            }
            let place = locate(self.text, span, text, problem.span.clone());
            let mut finding = self.problem(problem, text, purpose, place);
            if is_open_ended && is_field {
                finding.severity = Severity::Warning;
            }
            self.report(finding);
        }
    }

    fn problem(&self, problem: &ExprProblem, text: &str, purpose: ExpressionUse, place: Span) -> Finding {
        let bare_word = is_bare_word(text);
        let code = match problem.kind {
            ExprProblemKind::Syntax if purpose == ExpressionUse::Guard => GUARD_SYNTAX,
            ExprProblemKind::Syntax => EXPRESSION_SYNTAX,
            ExprProblemKind::UnknownName if purpose == ExpressionUse::Guard && bare_word => UNKNOWN_GUARD,
            ExprProblemKind::UnknownName => UNKNOWN_NAME,
            ExprProblemKind::UnknownContextKey => super::context::UNKNOWN,
            ExprProblemKind::UnknownState => UNKNOWN_STATE,
            ExprProblemKind::Arity => WRONG_ARGUMENTS,
            ExprProblemKind::TypeMismatch => TYPE_MISMATCH,
            ExprProblemKind::NeverEqual => NEVER_EQUAL,
            ExprProblemKind::UnknownField | ExprProblemKind::UnmentionedField => UNKNOWN_FIELD,
        };
        let message = if code == UNKNOWN_GUARD {
            format!("there is no guard `{text}`")
        } else {
            problem.message.clone()
        };
        let severity = match problem.kind {
            ExprProblemKind::NeverEqual | ExprProblemKind::UnmentionedField => Severity::Warning,
            ExprProblemKind::TypeMismatch | ExprProblemKind::UnknownField => Severity::Error,
            ExprProblemKind::Syntax
            | ExprProblemKind::UnknownName
            | ExprProblemKind::UnknownContextKey
            | ExprProblemKind::UnknownState
            | ExprProblemKind::Arity => Severity::Fatal,
        };
        let finding = Finding::new(code, severity, place, message);
        let help = self.problem_help(problem, text, purpose, bare_word).or_else(|| problem.help.clone());
        help.into_iter().fold(finding, Finding::help)
    }

    /// Returns help that is specific to the chart, if the language's own is not sufficient.
    fn problem_help(
        &self,
        problem: &ExprProblem,
        text: &str,
        purpose: ExpressionUse,
        bare_word: bool,
    ) -> Option<String> {
        match (purpose, problem.kind) {
            (ExpressionUse::Guard, ExprProblemKind::UnknownName) if bare_word => {
                let close = crate::suggest::nearest(text, self.guards.names());
                Some(close.map_or_else(
                    || format!("add `{text}` to `guards`, or write an expression such as `context.{text}`"),
                    |close| format!("did you mean `{close}`?"),
                ))
            }
            (ExpressionUse::Value, ExprProblemKind::UnknownName | ExprProblemKind::Syntax)
                if !reads_bindings(text) && (problem.help.is_none() || bare_word) =>
            {
                if self.context.slot(text).is_some() {
                    return Some(format!("for the context's value write `context.{text}`"));
                }
                Some(format!("text here is an expression; for the text itself write `\"'{text}'\"`"))
                    .filter(|_| !text.contains(['\'', '\n']) && text.len() < 60)
            }
            (ExpressionUse::Data, ExprProblemKind::UnknownName) => {
                Some("if this is meant as plain text, write it as `{literal: …}`".to_owned())
            }
            _ => None,
        }
    }
}

/// Resolves the names in a chart's expressions.
struct LoweringNames<'l, 'a> {
    lowering: &'l Lowering<'a>,
    text: &'l str,
    span: Span,
    reads: RefCell<usize>,
}

impl NameResolver for LoweringNames<'_, '_> {
    fn context_key(&self, key: &str) -> Option<Slot> {
        if let Some(slot) = self.lowering.context.declared_slot(key) {
            return Some(slot);
        }
        // Keys are in the order of the text, so the search continues after the last one found.
        let from = *self.reads.borrow();
        let found = self.text.get(from..).and_then(|rest| rest.find(key)).map(|start| from + start);
        let part = found.map_or(0..self.text.len(), |start| start..start + key.len());
        *self.reads.borrow_mut() = found.map_or(from, |start| start + key.len());
        let place = locate(self.lowering.text, self.span, self.text, part);
        Some(self.lowering.context.read(key, place))
    }

    fn context_keys(&self) -> Vec<String> {
        self.lowering.context.names()
    }

    fn local(&self, name: &str) -> Option<usize> {
        self.lowering.locals.iter().rposition(|local| *local == name)
    }

    fn state(&self, path: &str) -> Option<NodeId> {
        let node = self.lowering.index.state_in(path)?;
        if let Some(recorder) = self.lowering.recorder {
            for quote in ['\'', '"'] {
                for (at, _) in self.text.match_indices(&format!("{quote}{path}{quote}")) {
                    if is_argument_of_state_in(&self.text[..at]) {
                        recorder.record(self.span, self.text, at + 1..at + 1 + path.len(), node);
                    }
                }
            }
        }
        Some(node)
    }
}

/// Returns true if a text ends with `stateIn(`.
fn is_argument_of_state_in(before: &str) -> bool {
    before.trim_end().strip_suffix('(').is_some_and(|call| call.trim_end().ends_with("stateIn"))
}

/// Returns true if a text is certainly meant as an expression.
fn reads_bindings(text: &str) -> bool {
    ["context.", "event.", "input.", "env.", "agents."].iter().any(|root| text.contains(root))
}

pub(crate) fn is_bare_word(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|first| first.is_alphabetic() || first == '_')
        && chars.all(|c| c.is_alphanumeric() || c == '_' || c == '-')
}

/// Blanks out `context.` before names of locals, outside quotes.
fn without_context(text: &str, is_local: impl Fn(&str) -> bool) -> Arc<str> {
    let mut out = text.to_owned();
    let mut quote = None;
    let mut previous = ' ';
    for (at, character) in text.char_indices() {
        match quote {
            Some(open) if character == open && previous != '\\' => quote = None,
            Some(_) => {}
            None if matches!(character, '\'' | '"') => quote = Some(character),
            None => {
                let starts_word = !(previous.is_alphanumeric() || matches!(previous, '_' | '.' | '$'));
                if let Some(rest) = text[at..].strip_prefix("context.").filter(|_| starts_word) {
                    let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
                    if is_local(&rest[..end]) {
                        out.replace_range(at..at + "context.".len(), "        ");
                    }
                }
            }
        }
        previous = character;
    }
    out.into()
}

#[cfg(test)]
mod tests {
    use super::without_context;

    #[test]
    fn only_locals_lose_their_context() {
        let check = |text: &str| without_context(text, |name| name == "item").to_string();
        assert_eq!(check("context.item.id + context.items"), "        item.id + context.items");
        assert_eq!(check("'context.item' == x.context.item"), "'context.item' == x.context.item");
    }
}
