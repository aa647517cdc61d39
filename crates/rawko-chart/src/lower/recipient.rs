//! Targets of `send`: what a literal one must name, and the events that an invoked chart takes. Apart from services,
//! because an instance id is a target too, and instances are not known before they run.

use std::sync::Arc;

use rawko_core::{DataTemplate, NodeSpec, ServiceClass, ServiceName, Value};
use rustc_hash::FxHashMap;

use super::Lowering;
use crate::codes::{UNDECLARED_EVENT, UNKNOWN_RECIPIENT};
use crate::finding::{Finding, Severity};
use crate::interface::{ChartInterface, EventEntry};
use crate::source::Span;
use crate::suggest::nearest;
use crate::tree::NodeView;

/// Targets that every instance has.
const FIXED: [&str; 2] = ["self", "parent"];

/// A `send` to a target that is written as plain text.
pub(super) struct Recipient<'a> {
    name: Arc<str>,
    span: Span,
    /// Name and place of the event, if it is a literal.
    event: Option<(Arc<str>, NodeView<'a>)>,
    data: DataTemplate,
    data_view: Option<NodeView<'a>>,
}

impl<'a> Lowering<'a> {
    /// Remembers a target written as plain text. `{literal: id}` states that it is the id of an instance.
    pub(super) fn note_recipient(
        &mut self,
        send: NodeView<'a>,
        target: &DataTemplate,
        event: &DataTemplate,
        data: &DataTemplate,
    ) {
        let Some(view) = send.get("target").filter(|view| view.text().is_some()) else { return };
        if let DataTemplate::Literal(Value::Str(name)) = target {
            let event = match (event, send.get("event")) {
                (DataTemplate::Literal(Value::Str(event)), Some(view)) => Some((Arc::clone(event), view)),
                _ => None,
            };
            self.recipients.push(Recipient {
                name: Arc::clone(name),
                span: view.span(),
                event,
                data: data.clone(),
                data_view: send.get("data"),
            });
        }
    }

    /// Reports targets that name nothing known, and events that the chart of an invoke does not take.
    pub(super) fn check_recipients(&mut self, nodes: &[NodeSpec]) {
        let recipients = std::mem::take(&mut self.recipients);
        if recipients.is_empty() {
            return;
        }
        let invokes: FxHashMap<&str, &DataTemplate> =
            nodes.iter().flat_map(|node| &node.invokes).map(|invoke| (&*invoke.id, &invoke.src)).collect();
        for recipient in recipients {
            let ServiceName { class, member } = ServiceName::of(&recipient.name);
            let finding = match class {
                ServiceClass::Agent => self.unknown_agent(member, recipient.span),
                ServiceClass::Channel => None,
                _ => self.unknown_recipient(&recipient.name, recipient.span, &invokes),
            };
            if let Some(finding) = finding {
                self.report(finding);
            }
            if let Some(DataTemplate::Literal(Value::Str(src))) = invokes.get(&*recipient.name)
                && let Some(interface) = self.registry.interface(src).cloned()
            {
                self.check_event_of(&interface, &recipient);
            }
        }
    }

    /// Checks an event for the chart of an invoke.
    fn check_event_of(&mut self, interface: &ChartInterface, recipient: &Recipient<'a>) {
        let Some((event, view)) = &recipient.event else { return };
        let chart = &interface.spec.name;
        let (message, severity) = match interface.event(event) {
            EventEntry::Open => return,
            EventEntry::Declared(spec) if spec.internal => {
                let message = format!("`{event}` is internal to `{chart}`, which refuses it from outside");
                (message, Severity::Error)
            }
            EventEntry::Declared(spec) => {
                let view = recipient.data_view.unwrap_or(*view);
                if let Some(schema) = &spec.data {
                    self.check_fits(&recipient.data, view, schema, &format!("the data of `{event}`"));
                }
                return;
            }
            EventEntry::Undeclared => {
                (format!("`events` of `{chart}` does not declare `{event}`"), Severity::Error)
            }
            EventEntry::Unhandled => (format!("no state of `{chart}` handles `{event}`"), Severity::Warning),
        };
        let names = interface.event_names();
        let help = match nearest(event, names.iter().copied()) {
            Some(close) if close != &**event => format!("did you mean `{close}`?"),
            _ => format!("`{chart}` takes these events: {}", listed(&names)),
        };
        self.report(Finding::new(UNDECLARED_EVENT.name, severity, view.span(), message).help(help));
    }

    fn unknown_agent(&self, agent: &str, span: Span) -> Option<Finding> {
        if self.registry.has_agent(agent) {
            return None;
        }
        let severity = if self.registry.is_complete() { Severity::Error } else { Severity::Warning };
        let message = format!("there is no agent `{agent}` to send to");
        let help = match nearest(agent, self.registry.agents()) {
            Some(close) => format!("did you mean `agent:{close}`?"),
            None => format!("add `.rawko/agents/{agent}.md`, or check the whole project"),
        };
        Some(Finding::new(UNKNOWN_RECIPIENT.name, severity, span, message).help(help))
    }

    /// Any other name may be the id of an instance: only a project that lists its endpoints, or a name that is close
    /// to a known one, makes a mistake likely.
    fn unknown_recipient(
        &self,
        name: &str,
        span: Span,
        invokes: &FxHashMap<&str, &DataTemplate>,
    ) -> Option<Finding> {
        let known = FIXED.contains(&name) || invokes.contains_key(name) || self.registry.has_endpoint(name);
        if known {
            return None;
        }
        let mut names: Vec<&str> = invokes.keys().copied().collect();
        names.sort_unstable();
        let close = nearest(name, FIXED.into_iter().chain(names).chain(self.registry.endpoints()));
        if close.is_none() && !self.registry.is_complete() {
            return None;
        }
        let message = format!("there is no invoke, endpoint or channel `{name}` to send to");
        let help = match close {
            Some(close) => format!("did you mean `{close}`?"),
            None => {
                format!("configure the endpoint, or write `{{literal: {name}}}` for the id of an instance")
            }
        };
        Some(Finding::new(UNKNOWN_RECIPIENT.name, Severity::Warning, span, message).help(help))
    }
}

fn listed(names: &[&str]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
