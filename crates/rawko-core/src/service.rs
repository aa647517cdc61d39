//! Services by name: the class of a name, and the schemas of its input, output and errors. The only place that parses
//! names (`agent:reviewer`, `tool:Read`); other code uses the class.

use std::sync::Arc;

use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;
use serde::de::DeserializeOwned;

use crate::schema::{Schema, schema_of};
use crate::value::Value;

/// The kind of work that a service does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ServiceClass {
    /// A completion of a model.
    Model,
    /// A tool that an agent calls.
    Tool,
    /// Another part of an agent's session: opening it, looking at images, compacting.
    Session,
    /// An agent at a piece of work.
    Agent,
    /// Choosing among agents and judging their work.
    Arbiter,
    /// The project's checks, and merging agents' work into it.
    Checks,
    /// A person.
    Human,
    /// Another chart.
    Chart,
    /// A channel that people and agents talk in.
    Channel,
    /// Any other service: configured by the project or registered by a program.
    Plain,
}

/// Names that are built as `<family>:<member>`, and what they stand for. The first that fits decides.
const FAMILIES: [(&str, ServiceClass); 11] = [
    ("agent:", ServiceClass::Agent),
    ("statechart:", ServiceClass::Chart),
    ("channel:", ServiceClass::Channel),
    ("tool:", ServiceClass::Tool),
    ("model:", ServiceClass::Model),
    ("checks:", ServiceClass::Checks),
    ("git:", ServiceClass::Checks),
    ("work:select", ServiceClass::Arbiter),
    ("work:evaluate", ServiceClass::Arbiter),
    ("work:remember", ServiceClass::Arbiter),
    ("work:", ServiceClass::Session),
];
const HUMAN: &str = "human";

impl ServiceClass {
    /// Returns the name used in specs, journals and the API.
    pub fn as_str(self) -> &'static str {
        match self {
            ServiceClass::Model => "model",
            ServiceClass::Tool => "tool",
            ServiceClass::Session => "session",
            ServiceClass::Agent => "agent",
            ServiceClass::Arbiter => "arbiter",
            ServiceClass::Checks => "checks",
            ServiceClass::Human => "human",
            ServiceClass::Chart => "chart",
            ServiceClass::Channel => "channel",
            ServiceClass::Plain => "plain",
        }
    }

    /// Returns the name of a member: `agent:reviewer`. A class whose members have names of their own returns the member.
    pub fn named(self, member: &str) -> String {
        let family = match self {
            ServiceClass::Agent => "agent:",
            ServiceClass::Chart => "statechart:",
            ServiceClass::Channel => "channel:",
            ServiceClass::Tool => "tool:",
            ServiceClass::Model => "model:",
            ServiceClass::Checks => "checks:",
            ServiceClass::Session | ServiceClass::Arbiter => "work:",
            ServiceClass::Human | ServiceClass::Plain => "",
        };
        format!("{family}{member}")
    }

    /// Returns true if an instance calls it on behalf of the agent that it runs.
    pub fn is_of_agent(self) -> bool {
        match self {
            ServiceClass::Model | ServiceClass::Tool | ServiceClass::Session | ServiceClass::Arbiter => true,
            ServiceClass::Agent
            | ServiceClass::Checks
            | ServiceClass::Human
            | ServiceClass::Chart
            | ServiceClass::Channel
            | ServiceClass::Plain => false,
        }
    }

    /// Returns true if a call counts as a tool call: tools of agents and the project's own services. Parts of rawko
    /// (checks, merges, requests to people) do not: a person who reads "3 tool calls" has seen three.
    pub fn is_counted(self) -> bool {
        matches!(self, ServiceClass::Tool | ServiceClass::Plain)
    }

    /// Returns true if its result reports usage.
    pub fn reports_usage(self) -> bool {
        matches!(
            self,
            ServiceClass::Agent
                | ServiceClass::Model
                | ServiceClass::Session
                | ServiceClass::Arbiter
                | ServiceClass::Tool
        )
    }

    /// Returns true if rawko itself provides it to projects with agents.
    pub fn is_built_in(self) -> bool {
        self == ServiceClass::Checks || self.is_of_agent()
    }
}

/// A service's name taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceName<'n> {
    /// Class that the prefix stands for; plain for names without a known prefix.
    pub class: ServiceClass,
    /// The part after the family (`reviewer` of `agent:reviewer`); the whole name without one.
    pub member: &'n str,
}

impl<'n> ServiceName<'n> {
    /// Returns true for the name of an agent.
    pub fn is_agent(name: &str) -> bool {
        ServiceName::of(name).class == ServiceClass::Agent
    }

    /// Splits a service name into its class and member.
    pub fn of(name: &'n str) -> Self {
        if name == HUMAN {
            return Self { class: ServiceClass::Human, member: name };
        }
        let fits =
            |family: &str| if family.ends_with(':') { name.starts_with(family) } else { name == family };
        match FAMILIES.iter().find(|(family, _)| fits(family)) {
            Some((_, class)) => {
                let member = name.split_once(':').map_or(name, |(_, member)| member);
                Self { class: *class, member }
            }
            None => Self { class: ServiceClass::Plain, member: name },
        }
    }

    /// The member, if the name is of this class.
    pub fn member_of(name: &'n str, class: ServiceClass) -> Option<&'n str> {
        let found = Self::of(name);
        (found.class == class).then_some(found.member)
    }
}

/// Handling of a call without a result after a restart of the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnRestart {
    /// It is safe to run again with the same idempotency key.
    Retry,
    /// Its outcome is unknown: the chart gets `category: interrupted`.
    Unknown,
}

/// Description of a service.
#[derive(Clone, Debug, PartialEq)]
pub struct ServiceSpec {
    /// The name, or a family with its colon (`tool:`) for all its members.
    pub name: Arc<str>,
    /// Class that decides rules, budgets and presentation of a call.
    pub class: ServiceClass,
    /// `None`: anything.
    pub input: Option<Schema>,
    /// Schema of the result; `None` accepts any value.
    pub output: Option<Schema>,
    /// What its failures have beside [`ServiceSpec::failure`].
    pub error_details: Option<Schema>,
    /// The values of `event.data.code` that it fails with, beside the categories that every service has.
    pub errors: Vec<Arc<str>>,
    /// Rule for a call that a crash interrupted.
    pub on_restart: OnRestart,
}

impl ServiceSpec {
    /// A service of which nothing is known but its name.
    pub fn named(name: &str) -> Self {
        let class = ServiceName::of(name).class;
        Self {
            name: name.into(),
            class,
            input: None,
            output: None,
            error_details: None,
            errors: Vec::new(),
            on_restart: OnRestart::Unknown,
        }
    }

    /// A service whose schemas come from the types of its input and output.
    pub fn typed<I: DeserializeOwned, O: DeserializeOwned>(name: &str) -> Self {
        Self::named(name).taking(&schema_of::<I>()).giving(&schema_of::<O>())
    }

    /// Sets the input schema.
    #[must_use]
    pub fn taking(mut self, input: &serde_json::Value) -> Self {
        self.input = Some(Schema::compile(&Value::from_json(input.clone())).0);
        self
    }

    /// Sets the output schema.
    #[must_use]
    pub fn giving(mut self, output: &serde_json::Value) -> Self {
        self.output = Some(Schema::compile(&Value::from_json(output.clone())).0);
        self
    }

    /// Adds the fields of a type to what its failures have beside what every failure has.
    #[must_use]
    pub fn failing_with<E: DeserializeOwned>(mut self) -> Self {
        let mut source = schema_of::<E>();
        let known = self.error_details.as_ref().map(|details| details.source().get("properties").to_json());
        if let (Some(known), Some(all)) = (known.as_ref(), source["properties"].as_object_mut()) {
            all.extend(
                known.as_object().into_iter().flatten().map(|(key, rule)| (key.clone(), rule.clone())),
            );
        }
        self.error_details = Some(Schema::compile(&Value::from_json(source)).0);
        self
    }

    /// Refuses input keys that the type does not have: for services whose input is nothing but their own.
    #[must_use]
    pub fn closed(mut self) -> Self {
        let source = self.input.as_ref().and_then(|input| input.source().as_map().cloned());
        if let Some(mut source) = source {
            source.insert("additionalProperties".into(), Value::Bool(false));
            self.input = Some(Schema::compile(&Value::Map(source.into())).0);
        }
        self
    }

    /// Sets the rule for a call that a crash interrupted.
    #[must_use]
    pub fn restarting(mut self, rule: OnRestart) -> Self {
        self.on_restart = rule;
        self
    }

    /// The schema of `event.data` in `onError`: what every failure has, and the details of these services.
    pub fn failure_with<'s>(specs: impl IntoIterator<Item = &'s ServiceSpec>) -> Schema {
        let mut source = Self::failure().source().to_json();
        let details = specs.into_iter().filter_map(|spec| spec.error_details.as_ref());
        for (key, schema) in details.flat_map(|details| details.source().get("properties").as_map()).flatten()
        {
            if let Some(properties) = source["properties"].as_object_mut() {
                properties.entry(&**key).or_insert_with(|| schema.to_json());
            }
        }
        Schema::compile(&Value::from_json(source)).0
    }

    /// The schema of `event.data` in `onError`: what every failure has. Services add what they know.
    pub fn failure() -> Schema {
        let text = serde_json::json!({"type": "string"});
        let categories = [
            "failed",
            "network",
            "timeout",
            "invalid_answer",
            "refused",
            "unknown",
            "execution",
            "interrupted",
            "expired",
            "limit",
            "host",
        ];
        let schema = serde_json::json!({"type": "object", "properties": {
            "category": {"enum": categories}, "message": text, "retryable": {"type": "boolean"}, "code": {},
            // Agents fail with their conversation, which is no slip for the message.
            "messages": {}
        }});
        Schema::compile(&Value::from_json(schema)).0
    }
}

/// The specs of a project, by name and by family.
#[derive(Clone, Debug, Default)]
pub struct ServiceSpecs {
    all: IndexMap<Arc<str>, ServiceSpec, FxBuildHasher>,
}

impl ServiceSpecs {
    /// Those that every host has.
    pub fn built_in() -> Self {
        let mut specs = Self::default();
        let text = serde_json::json!({"type": ["string", "null"]});
        specs.add(
            ServiceSpec::named(HUMAN)
                .taking(&serde_json::json!({"type": ["object", "null"]}))
                .giving(&serde_json::json!({
                    "type": "object",
                    "required": ["approved"],
                    "properties": {"approved": {"type": "boolean"}, "by": text, "comment": text, "data": {}},
                    "additionalProperties": false
                }))
                .restarting(OnRestart::Retry),
        );
        specs
    }

    /// Adds a spec; a later one of the same name replaces it.
    pub fn add(&mut self, spec: ServiceSpec) {
        self.all.insert(Arc::clone(&spec.name), spec);
    }

    /// The spec of a name: its own, else that of its family.
    pub fn find(&self, name: &str) -> Option<&ServiceSpec> {
        let family = || self.all.get(&name[..=name.find(':')?]);
        self.all.get(name).or_else(family)
    }

    /// Iterates over all specs in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = &ServiceSpec> {
        self.all.values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_a_class_and_a_member() {
        let table = [
            ("human", ServiceClass::Human, "human"),
            ("humane", ServiceClass::Plain, "humane"),
            ("agent:reviewer", ServiceClass::Agent, "reviewer"),
            ("statechart:order@^1", ServiceClass::Chart, "order@^1"),
            ("tool:mcp__git__log", ServiceClass::Tool, "mcp__git__log"),
            ("model:complete", ServiceClass::Model, "complete"),
            ("work:open", ServiceClass::Session, "open"),
            ("work:select", ServiceClass::Arbiter, "select"),
            ("checks:project", ServiceClass::Checks, "project"),
            ("git:merge", ServiceClass::Checks, "merge"),
            ("channel:standup", ServiceClass::Channel, "standup"),
            ("charge_card", ServiceClass::Plain, "charge_card"),
        ];
        for (name, class, member) in table {
            assert_eq!(ServiceName::of(name), ServiceName { class, member }, "{name}");
        }
    }

    #[test]
    fn a_name_is_built_as_it_is_read() {
        for (class, member) in [
            (ServiceClass::Agent, "reviewer"),
            (ServiceClass::Chart, "order@^1"),
            (ServiceClass::Channel, "standup"),
            (ServiceClass::Tool, "Read"),
            (ServiceClass::Model, "complete"),
            (ServiceClass::Checks, "project"),
            (ServiceClass::Session, "open"),
            (ServiceClass::Arbiter, "select"),
            (ServiceClass::Human, "human"),
            (ServiceClass::Plain, "charge_card"),
        ] {
            let name = class.named(member);
            assert_eq!(ServiceName::of(&name), ServiceName { class, member });
        }
    }

    #[test]
    fn a_family_answers_for_its_members() {
        let mut specs = ServiceSpecs::built_in();
        specs.add(ServiceSpec::named("tool:"));
        specs.add(ServiceSpec::named("tool:Read").restarting(OnRestart::Retry));
        let rule = |name: &str| specs.find(name).map(|spec| spec.on_restart);
        assert_eq!(rule("tool:Bash"), Some(OnRestart::Unknown));
        assert_eq!(rule("tool:Read"), Some(OnRestart::Retry));
        assert_eq!(rule("pay"), None);
    }
}
