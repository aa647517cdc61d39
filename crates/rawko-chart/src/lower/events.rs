//! The `events:` of a chart: what it declares, and what its own parts may use of it.

use std::sync::Arc;

use rawko_core::{DataTemplate, EventSpec, Schema, Value};

use super::Lowering;
use super::transition::is_event;
use crate::codes::{INVALID_EVENT, UNDECLARED_EVENT};
use crate::def::EventSpecKey;
use crate::source::Span;
use crate::suggest::nearest;
use crate::tree::{Data, NodeView};

/// Events that rawko itself raises need no declaration.
const RESERVED: [&str; 3] = ["done.", "error.", "timeout."];

impl<'a> Lowering<'a> {
    pub(super) fn declared_events(&mut self) -> Option<Vec<EventSpec>> {
        let block = self.chart.events?;
        let mut declared = Vec::new();
        for pair in block.each_pair() {
            if !is_event(pair.key) || pair.key.ends_with('*') {
                let message = format!("`{}` is not a valid event name", pair.key);
                let finding = INVALID_EVENT.at(pair.key_span, message);
                self.report(finding.help("use a name without spaces or wildcards"));
            }
            declared.push(self.event_spec(pair.key, pair.value));
        }
        Some(declared)
    }

    fn event_spec(&mut self, name: &str, body: NodeView<'a>) -> EventSpec {
        let mut spec = EventSpec { name: name.into(), description: None, data: None, internal: false };
        for pair in body.each_pair() {
            match EventSpecKey::parse(pair.key) {
                Some(EventSpecKey::Description) => spec.description = pair.value.text().map(str::to_owned),
                Some(EventSpecKey::Data) => spec.data = Some(self.schema(pair.value)),
                Some(EventSpecKey::Internal) => spec.internal = matches!(pair.value.data(), Data::Bool(true)),
                None => {}
            }
        }
        spec
    }

    /// Reports an event of a transition that the chart does not declare.
    pub(super) fn check_declared(&mut self, name: &str, span: Span) {
        let Some(declared) = &self.declared else { return };
        let is_reserved = RESERVED.iter().any(|prefix| name.starts_with(prefix));
        let is_known = match name.strip_suffix('*') {
            Some(prefix) => {
                let stem = prefix.trim_end_matches('.');
                let within = |spec: &EventSpec| *spec.name == *stem || spec.name.starts_with(prefix);
                stem.is_empty() || declared.iter().any(within)
            }
            None => declared.iter().any(|spec| &*spec.name == name),
        };
        if is_reserved || is_known {
            return;
        }
        let help = match nearest(name, declared.iter().map(|spec| &*spec.name)) {
            Some(close) => format!("did you mean `{close}`?"),
            None => format!("add `{name}: {{}}` to the chart's `events`"),
        };
        let message = format!("`events` does not declare `{name}`");
        self.report(UNDECLARED_EVENT.at(span, message).help(help));
    }

    /// Checks an event that the chart raises or sends to itself: its name, and its data against the declaration.
    pub(super) fn check_own_event(
        &mut self,
        event: (&DataTemplate, Option<NodeView<'a>>),
        data: (&DataTemplate, Option<NodeView<'a>>),
    ) {
        let (DataTemplate::Literal(Value::Str(name)), Some(at)) = event else { return };
        let name: Arc<str> = Arc::clone(name);
        self.check_declared(&name, at.span());
        let schema = self.declared_data(&name);
        if let Some(schema) = schema {
            let view = data.1.unwrap_or(at);
            self.check_fits(data.0, view, &schema, &format!("the data of `{name}`"));
        }
    }

    /// The schema of an event's data, if it is declared with one.
    pub(super) fn declared_data(&self, name: &str) -> Option<Schema> {
        self.declared.iter().flatten().find(|spec| &*spec.name == name)?.data.clone()
    }
}
