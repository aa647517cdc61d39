//! Data that a chart writes against the schema of what receives it: the data of an event, the input of a service. Literal
//! parts are checked whole, expressions by their type.

use std::sync::Arc;

use rawko_core::expr::Type;
use rawko_core::{DataTemplate, FieldLookup, Schema, Value};

use super::Lowering;
use super::schema::step;
use super::template::said;
use crate::codes::WRONG_DATA;
use crate::finding::{Finding, Severity};
use crate::source::Span;
use crate::suggest::nearest;
use crate::tree::NodeView;

impl<'a> Lowering<'a> {
    /// Reports where a template cannot fit. `what` names the receiver: ``the input of `pay` ``.
    pub(super) fn check_fits(
        &mut self,
        template: &DataTemplate,
        view: NodeView<'a>,
        schema: &Schema,
        what: &str,
    ) {
        match template {
            DataTemplate::Literal(value) => self.check_literal(value, view, schema, what),
            DataTemplate::Expr(expr) => match expr.constant() {
                Some(value) => self.check_literal(&value, view, schema, what),
                None => {
                    let found = expr.infer_with(&self.facts());
                    self.check_type(found, view.span(), schema, what);
                }
            },
            DataTemplate::List(items) => {
                self.check_type(Type::List, view.span(), schema, what);
                let Some(part) = schema.items() else { return };
                for (item, view) in items.iter().zip(view.each_item()) {
                    self.check_fits(item, view, &part, what);
                }
            }
            DataTemplate::Map(entries) => {
                self.check_type(Type::Map, view.span(), schema, what);
                for name in schema.required() {
                    if !entries.iter().any(|(key, _)| *key == name) {
                        self.wrong_data(view.span(), format!("{what} needs `{name}`"), Severity::Error, None);
                    }
                }
                for (key, entry) in entries {
                    self.check_entry(key, entry, view, schema, what);
                }
            }
        }
    }

    fn check_entry(
        &mut self,
        key: &str,
        entry: &DataTemplate,
        map: NodeView<'a>,
        schema: &Schema,
        what: &str,
    ) {
        let Some(pair) = map.each_pair().find(|pair| pair.key == key) else { return };
        match schema.field(key) {
            FieldLookup::Found(parts) => {
                if let [part] = &parts[..] {
                    self.check_fits(entry, pair.value, part, &format!("`{key}` of {what}"));
                }
            }
            FieldLookup::Open => {}
            FieldLookup::Absent { closed, known } => {
                let close = nearest(key, known.iter().map(|name| &**name));
                if closed || close.is_some() || self.registry.is_strict() {
                    let severity = if closed { Severity::Error } else { Severity::Warning };
                    let help = close.map(|close| format!("did you mean `{close}`?"));
                    self.wrong_data(pair.key_span, format!("{what} has no key `{key}`"), severity, help);
                }
            }
        }
    }

    /// Reports keys that the schema does not mention, although it allows them: a chart ignores them.
    pub(super) fn check_no_lost_key(
        &mut self,
        template: &DataTemplate,
        view: NodeView<'a>,
        schema: &Schema,
        what: &str,
    ) {
        let known = schema.keys();
        let keys: Vec<Arc<str>> = match template {
            DataTemplate::Map(entries) => entries.iter().map(|(key, _)| Arc::clone(key)).collect(),
            DataTemplate::Literal(value) => {
                value.as_map().into_iter().flatten().map(|(key, _)| Arc::clone(key)).collect()
            }
            DataTemplate::Expr(_) | DataTemplate::List(_) => return,
        };
        for key in keys.iter().filter(|key| !known.contains(key)) {
            let Some(pair) = view.each_pair().find(|pair| pair.key == &**key) else { continue };
            let help = match nearest(key, known.iter().map(|name| &**name)) {
                Some(close) => format!("did you mean `{close}`?"),
                None => format!("the chart ignores it; add `{key}` to its `context`"),
            };
            let message = format!("{what} has no key `{key}`");
            self.wrong_data(pair.key_span, message, Severity::Warning, Some(help));
        }
    }

    fn check_literal(&mut self, value: &Value, view: NodeView<'a>, schema: &Schema, what: &str) {
        for violation in schema.violations(value) {
            let span = place(view, &violation.path);
            let path = violation.path.trim_start_matches('.');
            let part = if path.is_empty() { String::new() } else { format!(" at `{path}`") };
            let message = format!("{what} does not match its schema{part}: {}", violation.message);
            self.wrong_data(span, message, Severity::Error, None);
        }
        for (key, value) in value.as_map().into_iter().flatten() {
            if matches!(schema.field(key), FieldLookup::Absent { closed: false, .. }) {
                self.check_entry(key, &DataTemplate::Literal(value.clone()), view, schema, what);
            }
        }
    }

    fn check_type(&mut self, found: Type, span: Span, schema: &Schema, what: &str) {
        let wanted = schema.value_type();
        let fits =
            wanted == found || [wanted, found].iter().any(|kind| matches!(kind, Type::Any | Type::Null));
        if !fits {
            let message = format!("{what} is a {}, but this is a {}", wanted.name(), found.name());
            self.wrong_data(span, message, Severity::Error, None);
        }
    }

    fn wrong_data(&mut self, span: Span, message: String, severity: Severity, help: Option<String>) {
        let finding = Finding::new(WRONG_DATA.name, severity, span, message);
        self.report(help.into_iter().fold(finding, Finding::help));
    }
}

/// The place of a part, as far as it is written out.
fn place(view: NodeView<'_>, path: &str) -> Span {
    let keys = path.split(['.', '[', ']']).filter(|key| !key.is_empty());
    let mut at = match said(view) {
        Some(
            super::template::ExplicitValue::Literal(inner) | super::template::ExplicitValue::Expr(inner),
        ) => inner,
        None => view,
    };
    for key in keys {
        let Some(next) = step(at, key) else { break };
        at = next;
    }
    at.span()
}
