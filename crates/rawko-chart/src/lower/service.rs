//! Rule 8: the target of an invoke must exist, as far as the registry knows.

use rawko_core::{DataTemplate, ServiceClass, ServiceName, ServiceSpec, Value};

use super::Lowering;
use crate::finding::{Finding, Severity};
use crate::registry::Resolution;
use crate::source::Span;
use crate::suggest::nearest;
use crate::tree::NodeView;

const UNKNOWN_SERVICE: &str = crate::codes::UNKNOWN_SERVICE.name;

impl<'a> Lowering<'a> {
    /// Returns the spec of the service that a `src` names; for `'tool:' ~ item.name`, that of the family.
    pub(super) fn spec_of(&self, src: &DataTemplate) -> Option<&ServiceSpec> {
        match src {
            DataTemplate::Literal(Value::Str(src)) => self.registry.spec(src),
            DataTemplate::Expr(src) => {
                let prefix = src.prefix().filter(|text| text.contains(':'))?;
                // More of the name of a chart may follow.
                let is_chart = ServiceName::of(prefix).class == ServiceClass::Chart;
                self.registry.spec(prefix).filter(|_| !is_chart)
            }
            DataTemplate::Literal(_) | DataTemplate::List(_) | DataTemplate::Map(_) => None,
        }
    }

    /// Returns true if a result may have more than its schema mentions: agents are also people and charts.
    pub(super) fn is_open_ended(&self, spec: &ServiceSpec) -> bool {
        spec.class == ServiceClass::Agent && !self.registry.is_strict()
    }

    pub(super) fn check_service(&mut self, src: &str, span: Span) {
        let ServiceName { class, member } = ServiceName::of(src);
        match class {
            ServiceClass::Chart => self.check_chart(member, span),
            ServiceClass::Agent if self.registry.has_agent(member) => {}
            ServiceClass::Agent => self.report_unknown_service("agent", member, span),
            _ if self.registry.has_service(src) || self.registry.may_be_built_in(src) => {}
            _ => self.report_unknown_service("service", src, span),
        }
    }

    /// The `handler` of an `invoke` action is a service whose result is not awaited.
    pub(super) fn check_handler(&mut self, name: &str, span: Span) {
        if !name.is_empty() && !self.registry.has_service(name) && !self.registry.may_be_built_in(name) {
            self.report_unknown_service("service", name, span);
        }
    }

    /// The `params` of an `invoke` action against the spec of its handler.
    pub(super) fn check_params(&mut self, handler: &str, params: &DataTemplate, action: NodeView<'a>) {
        let Some(schema) = self.registry.spec(handler).and_then(|spec| spec.input.clone()) else { return };
        let view = action.get("params").or_else(|| action.get("handler")).unwrap_or(action);
        self.check_fits(params, view, &schema, &format!("the input of `{handler}`"));
    }

    fn report_unknown_service(&mut self, kind: &str, name: &str, span: Span) {
        let complete = self.registry.is_complete();
        let severity = if complete { Severity::Error } else { Severity::Warning };
        let message = if complete {
            format!("there is no {kind} `{name}` in this project")
        } else {
            format!("unknown {kind} `{name}`")
        };
        let names: Vec<&str> = match kind {
            "agent" => self.registry.agents().collect(),
            _ => self.registry.services().chain(self.registry.built_in()).collect(),
        };
        let help = match nearest(name, names) {
            Some(close) => format!("did you mean `{close}`?"),
            None if kind == "agent" => format!("add `.rawko/agents/{name}.md`, or check the whole project"),
            None if ServiceName::of(name).class.is_built_in() => {
                "rawko has no service of this name; `rawko check` of a project knows all".to_owned()
            }
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
                format!("no version of the chart `{id}` matches `{range}`"),
                format!("known versions: {}", versions.join(", ")),
            ),
            Resolution::BadRange => (
                format!("`{range}` is not a version range"),
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
