//! Rule 8: what an invoke names must exist, as far as the registry knows.

use super::Lowering;
use crate::finding::{Finding, Severity};
use crate::registry::Resolution;
use crate::source::Span;
use crate::suggest::nearest;

const UNKNOWN_SERVICE: &str = crate::codes::UNKNOWN_SERVICE.name;

/// What rawko itself answers for, wherever agents are at work.
const BUILT_IN: [&str; 4] = ["checks:", "model:", "tool:", "work:"];

impl Lowering<'_> {
    pub(super) fn check_service(&mut self, src: &str, span: Span) {
        if let Some(reference) = src.strip_prefix("statechart:") {
            return self.check_chart(reference, span);
        }
        match src.strip_prefix("agent:") {
            Some(agent) if self.registry.has_agent(agent) => {}
            Some(agent) => self.report_unknown_service("agent", agent, span),
            None if self.registry.has_service(src) || is_built_in(src) => {}
            None => self.report_unknown_service("service", src, span),
        }
    }

    /// The `handler` of an `invoke` action is a service whose result is not awaited.
    pub(super) fn check_handler(&mut self, name: &str, span: Span) {
        if !name.is_empty() && !self.registry.has_service(name) && !is_built_in(name) {
            self.report_unknown_service("service", name, span);
        }
    }

    fn report_unknown_service(&mut self, kind: &str, name: &str, span: Span) {
        let complete = self.registry.is_complete();
        let severity = if complete { Severity::Error } else { Severity::Warning };
        let place = if complete { "in this project" } else { "that is known here" };
        let message = format!("there is no {kind} `{name}` {place}");
        let names: Vec<&str> = match kind {
            "agent" => self.registry.agents().collect(),
            _ => self.registry.services().collect(),
        };
        let help = match nearest(name, names) {
            Some(close) => format!("did you mean `{close}`?"),
            None if kind == "agent" => format!("add `.rawko/agents/{name}.md`, or check the whole project"),
            None => format!("configure `{name}` in `.rawko/config.yaml`, or check the whole project"),
        };
        self.report(Finding::new(UNKNOWN_SERVICE, severity, span, message).help(help));
    }

    fn check_chart(&mut self, reference: &str, span: Span) {
        let (id, range) = reference.split_once('@').unwrap_or((reference, ""));
        if self.chart.id == Some(id) && range.is_empty() {
            return;
        }
        let (message, help) = match self.registry.resolve(id, range) {
            Resolution::Found(_) => return,
            Resolution::NoVersion(versions) => (
                format!("no version of the chart `{id}` fits `{range}`"),
                format!("there are {}", versions.join(", ")),
            ),
            Resolution::BadRange => (
                format!("`{range}` is not a range of versions"),
                "write a version such as `1.2.0`, or a range such as `^1.2`, `~1.2`, `1.x` or `>=1.2 <3`"
                    .to_owned(),
            ),
            Resolution::Unknown => {
                let close = nearest(id, self.registry.charts());
                let help = close.map_or_else(
                    || format!("add `{id}` to a `machine_registry`, or name its file with `--with`"),
                    |close| format!("did you mean `statechart:{close}`?"),
                );
                (format!("there is no chart `{id}` in the registry"), help)
            }
        };
        self.report(Finding::new(UNKNOWN_SERVICE, Severity::Error, span, message).help(help));
    }
}

fn is_built_in(src: &str) -> bool {
    BUILT_IN.iter().any(|scheme| src.starts_with(scheme))
}
