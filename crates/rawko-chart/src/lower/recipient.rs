//! Targets of `send`: what a literal one must name. Apart from services, because an instance id is a target too, and
//! instances are not known before they run.

use rawko_core::{DataTemplate, NodeSpec, ServiceClass, ServiceName, Value};
use rustc_hash::FxHashSet;

use super::Lowering;
use crate::codes::UNKNOWN_RECIPIENT;
use crate::finding::{Finding, Severity};
use crate::source::Span;
use crate::suggest::nearest;
use crate::tree::NodeView;

/// Targets that every instance has.
const FIXED: [&str; 2] = ["self", "parent"];

impl<'a> Lowering<'a> {
    /// Remembers a target written as plain text. `{literal: id}` states that it is the id of an instance.
    pub(super) fn note_recipient(&mut self, target: &DataTemplate, view: NodeView<'a>) {
        if let DataTemplate::Literal(Value::Str(name)) = target
            && view.text().is_some()
        {
            self.recipients.push((name.to_string(), view.span()));
        }
    }

    /// Reports targets that name nothing known.
    pub(super) fn check_recipients(&mut self, nodes: &[NodeSpec]) {
        let recipients = std::mem::take(&mut self.recipients);
        if recipients.is_empty() {
            return;
        }
        let invokes: FxHashSet<&str> =
            nodes.iter().flat_map(|node| &node.invokes).map(|invoke| &*invoke.id).collect();
        for (name, span) in recipients {
            let ServiceName { class, member } = ServiceName::of(&name);
            let finding = match class {
                ServiceClass::Agent => self.unknown_agent(member, span),
                ServiceClass::Channel => None,
                _ => self.unknown_recipient(&name, span, &invokes),
            };
            if let Some(finding) = finding {
                self.report(finding);
            }
        }
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
    fn unknown_recipient(&self, name: &str, span: Span, invokes: &FxHashSet<&str>) -> Option<Finding> {
        let known = FIXED.contains(&name) || invokes.contains(name) || self.registry.has_endpoint(name);
        if known {
            return None;
        }
        let mut names: Vec<&str> = invokes.iter().copied().collect();
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
