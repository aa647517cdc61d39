//! The built-in services of agents: names, types of input, output and failures, and the handling after a restart. One
//! table for `check` of the charts that call them, which needs no project, and for the host.

use std::sync::LazyLock;

use rawko_arbiter::{Moment, Orchestration};
use rawko_chart::Registry;
use rawko_core::{ServiceClass, ServiceSpec, schema_of};
use rawko_tools::{alias_names, builtin_names};
use serde_json::{Value as Json, json};

use super::ServiceKind;
use super::types::{
    AgentFailure, AgentInput, AgentResult, ArbiterOutput, ArbiterRequest, BaseOutput, CallFailure,
    CloseChecksInput, CloseChecksOutput, CloseOutput, CollectInput, CollectOutput, CompactInput,
    CompactOutput, CompleteInput, CompleteOutput, GroupInput, GroupOutput, GroupedResult, LookInput,
    LookOutput, MergeFailure, MergeInput, MergeOutput, ModelFailure, OpenInput, OpenOutput, PatchInput,
    PatchOutput, PermitInput, PermitOutput, ProgressInput, ProgressOutput, ProjectInput, ProjectOutput,
    RememberInput, RememberOutput, RoundInput, RoundOutput, StopInput, StopOutput, ToolInput, ToolOutput,
    WorktreeInput,
};

/// The names of the services, and what performs each. A name with a colon at its end is a family.
pub(super) const NAMES: [(&str, ServiceKind); 23] = [
    ("work:open", ServiceKind::Open),
    ("work:close", ServiceKind::Close),
    ("work:look", ServiceKind::Look),
    ("work:permit", ServiceKind::Permit),
    ("work:group", ServiceKind::Group),
    ("work:collect", ServiceKind::Collect),
    ("work:compact", ServiceKind::Compact),
    ("work:stop", ServiceKind::Stop),
    ("work:select", ServiceKind::Decide(Moment::Select)),
    ("work:evaluate", ServiceKind::Decide(Moment::Evaluate)),
    ("work:remember", ServiceKind::Remember),
    ("model:complete", ServiceKind::Complete),
    ("git:merge", ServiceKind::Merge),
    ("git:worktree", ServiceKind::Worktree),
    ("git:commit", ServiceKind::Close),
    ("checks:base", ServiceKind::Base),
    ("checks:close", ServiceKind::CloseChecks),
    ("checks:round", ServiceKind::Round),
    ("checks:patch", ServiceKind::Patch),
    ("checks:progress", ServiceKind::Progress),
    ("checks:", ServiceKind::Check),
    ("tool:", ServiceKind::Tool),
    ("agent:", ServiceKind::Outside),
];

/// The member of the family of checks that charts invoke.
const PROJECT_CHECKS: &str = "checks:project";

/// The specs of all services that [`AgentServices::join`](super::AgentServices::join) adds.
pub fn service_specs() -> Vec<ServiceSpec> {
    static SPECS: LazyLock<Vec<ServiceSpec>> = LazyLock::new(|| {
        NAMES.iter().map(|(name, kind)| kind.spec(name).restarting(kind.on_restart())).collect()
    });
    SPECS.clone()
}

/// Adds the names of all services to a registry, so that others are unknown: those of the table, the checks of a project
/// and the tools.
pub fn add_service_names(registry: &mut Registry) {
    let own = NAMES.iter().map(|(name, _)| *name).filter(|name| !name.ends_with(':'));
    own.for_each(|name| registry.add_built_in(name));
    registry.add_built_in(PROJECT_CHECKS);
    builtin_names().for_each(|tool| registry.add_built_in(ServiceClass::Tool.named(tool)));
    alias_names().for_each(|alias| registry.add_tool_alias(alias));
}

impl ServiceKind {
    fn spec(self, name: &str) -> ServiceSpec {
        match self {
            ServiceKind::Open => own::<OpenInput, OpenOutput>(name),
            ServiceKind::Close => own::<(), CloseOutput>(name),
            ServiceKind::Worktree => own::<WorktreeInput, CloseOutput>(name),
            ServiceKind::Merge => own::<MergeInput, MergeOutput>(name).failing_with::<MergeFailure>(),
            ServiceKind::Permit => own::<PermitInput, PermitOutput>(name).failing_with::<CallFailure>(),
            ServiceKind::Stop => own::<StopInput, StopOutput>(name),
            ServiceKind::Group => own::<GroupInput, GroupOutput>(name),
            ServiceKind::Collect => own::<CollectInput, CollectOutput>(name),
            ServiceKind::Look => own::<LookInput, LookOutput>(name),
            ServiceKind::Compact => own::<CompactInput, CompactOutput>(name).failing_with::<ModelFailure>(),
            ServiceKind::Complete => {
                own::<CompleteInput, CompleteOutput>(name).failing_with::<ModelFailure>()
            }
            ServiceKind::Decide(_) => ServiceSpec::typed::<(), ArbiterOutput>(name)
                .taking(&omissible(merged(schema_of::<Orchestration>(), &schema_of::<ArbiterRequest>())))
                .closed()
                .failing_with::<ModelFailure>(),
            ServiceKind::Remember => {
                own::<RememberInput, RememberOutput>(name).failing_with::<ModelFailure>()
            }
            ServiceKind::Base => own::<(), BaseOutput>(name),
            ServiceKind::CloseChecks => own::<CloseChecksInput, CloseChecksOutput>(name),
            ServiceKind::Round => own::<RoundInput, RoundOutput>(name),
            ServiceKind::Patch => own::<PatchInput, PatchOutput>(name),
            ServiceKind::Progress => own::<ProgressInput, ProgressOutput>(name),
            ServiceKind::Check => own::<ProjectInput, ProjectOutput>(name),
            ServiceKind::Tool => own::<ToolInput, ToolOutput>(name)
                .giving(&json!({"anyOf": [schema_of::<ToolOutput>(), schema_of::<GroupedResult>()]}))
                .failing_with::<CallFailure>(),
            ServiceKind::Outside => ServiceSpec::typed::<(), AgentResult>(name)
                .taking(&omissible(AgentInput::schema()))
                .failing_with::<AgentResult>()
                .failing_with::<AgentFailure>(),
        }
    }
}

/// A service whose input has no keys but its own.
fn own<I: serde::de::DeserializeOwned, O: serde::de::DeserializeOwned>(name: &str) -> ServiceSpec {
    ServiceSpec::typed::<I, O>(name).taking(&omissible(schema_of::<I>())).closed()
}

/// Allows no input at all where no key is required: a chart then has no `input`.
fn omissible(mut schema: Json) -> Json {
    let is_required = schema["required"].as_array().is_some_and(|keys| !keys.is_empty());
    if schema["type"] == "object" && !is_required {
        schema["type"] = json!(["object", "null"]);
    }
    schema
}

/// Adds the properties of another schema.
fn merged(mut schema: Json, other: &Json) -> Json {
    let more = other["properties"].as_object().into_iter().flatten();
    if let Some(properties) = schema["properties"].as_object_mut() {
        properties.extend(more.map(|(key, rule)| (key.clone(), rule.clone())));
    }
    schema
}
