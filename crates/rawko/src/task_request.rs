//! A task request, and the input of the orchestrator's chart for it. Shared by `rawko task` and the server, so that
//! both reject the same requests with the same messages.

use rawko_agents::agent::AgentKind;
use rawko_agents::work::{ATTACHMENTS_BYTES_MAX, AgentServices};
use rawko_core::{Map, ServiceClass, Value, duration};
use rawko_host::{Edition, Gate, GateDecision, GateQuestion, Settings};
use rawko_model::MessagePart;
use rawko_model::provider::{ErrorCode, ProviderProblem};

use crate::failure::CommandFailure;

/// The chart that runs tasks.
pub(crate) const ORCHESTRATOR: &str = "rawko";

/// rawko's own charts that agents work in besides tasks.
const WORKFLOWS: [&str; 8] = [
    "plan_build",
    "issue_to_patch",
    "refactor_files",
    "review_diff",
    "research",
    "sequential",
    "parallel",
    "pipeline",
];

/// Returns true for charts that are printed as a conversation, with the names of their states.
pub(crate) fn is_workflow(chart: &str) -> bool {
    WORKFLOWS.contains(&chart)
}

/// Returns true for charts that are printed without their states.
pub(crate) fn is_own(chart: &str) -> bool {
    [ORCHESTRATOR, "dry_run"].contains(&chart)
}

/// A task and its limits.
#[derive(Clone, Debug, Default)]
pub(crate) struct TaskRequest {
    pub(crate) task: String,
    pub(crate) dry_run: bool,
    pub(crate) agent: Option<String>,
    pub(crate) max_iterations: Option<u32>,
    pub(crate) timeout_ms: Option<i64>,
    /// The provider, if it was given without a model.
    pub(crate) provider: Option<String>,
    pub(crate) model: Option<String>,
    /// Images for the agents.
    pub(crate) attachments: Vec<MessagePart>,
    /// A person is there to be asked before a task without progress ends.
    pub(crate) ask_people: bool,
}

impl TaskRequest {
    /// Returns the input of the chart: the settings, overridden by the request.
    pub(crate) fn input(
        &self,
        agent_services: &AgentServices,
        chart: &Edition,
    ) -> Result<Value, CommandFailure> {
        if self.task.trim().is_empty() {
            return Err(CommandFailure::Usage("the task is empty; describe what to do".to_owned()));
        }
        self.insist_on_keys(chart)?;
        let mut input =
            if is_own(chart.chart.id()) { agent_services.task.input.clone() } else { Map::default() };
        let mut put = |key: &str, value: Value| drop(input.insert(key.into(), value));
        let declared = chart.chart.context_names();
        let declares = |key: &str| declared.iter().any(|name| &**name == key);
        // A chart of its own may call it a goal.
        if declares("goal") && !declares("task") {
            put("goal", Value::str(self.task.trim()));
        } else {
            put("task", Value::str(self.task.trim()));
        }
        if !self.attachments.is_empty() {
            put("attachments", attachments(&self.attachments)?);
        }
        if self.ask_people && declares("askPeople") {
            put("askPeople", Value::Bool(true));
        }
        if self.dry_run {
            put("planner", Value::str(&agent_services.arbiter.planner));
        }
        if is_own(chart.chart.id()) && !agent_services.memories.remember {
            put("remember", Value::Bool(false));
        }
        if let Some(most) = self.max_iterations {
            put("maxIterations", Value::Int(i64::from(most)));
        }
        if let Some(timeout_ms) = self.timeout_ms {
            put("timeoutMs", Value::Int(timeout_ms));
        }
        if let Some(name) = &self.agent {
            insist_on_agent(agent_services, name)?;
            put("forcedAgent", Value::str(name));
            // The arbiter is skipped for the first agent, so the memories it would look up are added here.
            if is_own(chart.chart.id()) {
                put("memories", Value::from(agent_services.recall(&self.task, name)));
            }
        }
        match &self.model {
            Some(model) => {
                if let Some(provider) = &self.provider {
                    // A bare name would be read as a model, so the provider is passed with a model.
                    insist_on_model(agent_services, &format!("{provider}/any"), CommandFailure::Usage)?;
                }
                insist_on_model(agent_services, model, CommandFailure::Usage)?;
                put("providerName", Value::str(model));
            }
            None if needs_default(agent_services) => {
                insist_on_model(agent_services, "", CommandFailure::Invalid)?
            }
            None => {}
        }
        Ok(Value::Map(input.into()))
    }

    /// Fails if an option sets a key that the chart does not declare, because the option would have no effect.
    fn insist_on_keys(&self, chart: &Edition) -> Result<(), CommandFailure> {
        let declared = chart.chart.context_names();
        let wanted = [
            ("--agent", "forcedAgent", self.agent.is_some()),
            ("--max-iterations", "maxIterations", self.max_iterations.is_some()),
            ("--timeout", "timeoutMs", self.timeout_ms.is_some()),
            ("--image", "attachments", !self.attachments.is_empty()),
            ("--model", "providerName", self.model.is_some() && self.provider.is_none()),
            ("--provider", "providerName", self.provider.is_some()),
        ];
        let lost = |(_, key, is_wanted): &(&str, &str, bool)| {
            *is_wanted && !declared.iter().any(|name| &**name == *key)
        };
        match wanted.into_iter().find(lost) {
            Some((option, key, _)) => Err(CommandFailure::Usage(format!(
                "chart `{}` does not support `{option}`: its context has no key `{key}`",
                chart.chart.id()
            ))),
            None => Ok(()),
        }
    }
}

/// Returns images as input of a chart, within the limit of one task.
fn attachments(parts: &[MessagePart]) -> Result<Value, CommandFailure> {
    let json = serde_json::to_value(parts).unwrap_or_default();
    let bytes = json.to_string().len();
    if bytes > ATTACHMENTS_BYTES_MAX {
        let most = ATTACHMENTS_BYTES_MAX / (1024 * 1024);
        return Err(CommandFailure::Usage(format!(
            "the images have {bytes} bytes as Base64; at most {most} MiB are accepted"
        )));
    }
    Ok(Value::from_json(json))
}

/// Fails if a budget in dollars cannot be kept because the price of a model is unknown.
pub(crate) fn insist_on_prices(
    agent_services: &AgentServices,
    task_request: &TaskRequest,
) -> Result<(), CommandFailure> {
    let chosen = task_request.model.clone().unwrap_or_default();
    let profiles = agent_services.profiles();
    let agents = profiles.iter().filter_map(|profile| agent_services.agents.get(&profile.name));
    let own = agents
        .filter(|agent| matches!(agent.kind, AgentKind::Llm))
        .map(|agent| agent.model.as_ref().map_or_else(|| chosen.clone(), ToString::to_string));
    let arbiter = agent_services.arbiter.model.clone().unwrap_or_default();
    for model in own.chain([arbiter]) {
        // A model that cannot be found is reported elsewhere.
        if agent_services.providers.has_cost(&model).unwrap_or(true) {
            continue;
        }
        let shown = match model.as_str() {
            "" => agent_services.providers.default_model().unwrap_or_default(),
            model => model,
        };
        return Err(CommandFailure::Usage(format!(
            "cannot keep a budget in dollars: the price of `{shown}` is unknown; write `providers: {{prices: \
             {{{shown}: {{input: 3, output: 15}}}}}}` (USD per million tokens) into .rawko/config.yaml, or drop \
             --max-budget-usd"
        )));
    }
    Ok(())
}

/// Fails if a limit of a person exceeds one that an administrator set.
pub(crate) fn insist_on_managed(
    settings: &Settings,
    iterations: Option<u32>,
    timeout_ms: Option<i64>,
) -> Result<(), CommandFailure> {
    for section in settings.sections("task").filter(|section| settings.is_managed(section)) {
        let json = section.document.to_json();
        let most = json.get("max_iterations").and_then(serde_json::Value::as_i64);
        let time = json.get("timeout").and_then(serde_json::Value::as_str);
        let time = time.and_then(|text| duration::parse_ms(text).ok());
        let exceeds =
            |given: Option<i64>, most: Option<i64>| given.zip(most).is_some_and(|(given, most)| given > most);
        let option = if exceeds(iterations.map(i64::from), most) {
            "--max-iterations"
        } else if exceeds(timeout_ms, time.and_then(|ms| i64::try_from(ms).ok())) {
            "--timeout"
        } else {
            continue;
        };
        return Err(CommandFailure::Usage(format!(
            "{option} exceeds the limit of `task` in {}",
            section.file
        )));
    }
    Ok(())
}

/// Fails if the project allows no agents: every call would be denied, one at a time.
pub(crate) fn insist_on_gate(gate: &Gate, chart: &Edition) -> Result<(), CommandFailure> {
    if !is_own(chart.chart.id()) {
        return Ok(());
    }
    let question = GateQuestion {
        name: &ServiceClass::Arbiter.named("select"),
        instance: "",
        chart: chart.chart.id(),
        calls_so_far: 0,
        agent: None,
        policy: &Value::Null,
        now_ms: crate::times::now_ms(),
    };
    match gate.decide(&question) {
        GateDecision::Allowed { .. } => Ok(()),
        GateDecision::Refused { rule, .. } => Err(CommandFailure::Invalid(format!(
            "this project is not set up for agents; run `rawko init`\nif it has settings: {rule}; write \
             `governance: {{allow: ['agent:*']}}` to allow them"
        ))),
    }
}

fn insist_on_agent(agent_services: &AgentServices, name: &str) -> Result<(), CommandFailure> {
    if agent_services.agents.get(name).is_some() {
        return Ok(());
    }
    let names: Vec<&str> = agent_services.agents.all().iter().map(|agent| agent.name.as_str()).collect();
    Err(CommandFailure::Usage(format!("agent `{name}` not found; available: {}", names.join(", "))))
}

/// Returns true if a selectable agent has no model of its own.
fn needs_default(agent_services: &AgentServices) -> bool {
    let offered = agent_services.profiles();
    let agents = offered.iter().filter_map(|profile| agent_services.agents.get(&profile.name));
    agents.into_iter().any(|agent| match agent.kind {
        AgentKind::Llm | AgentKind::Scripted => agent.model.is_none(),
        AgentKind::Process | AgentKind::Acp | AgentKind::Human | AgentKind::Chart => false,
    })
}

fn insist_on_model(
    agent_services: &AgentServices,
    model: &str,
    wrong: fn(String) -> CommandFailure,
) -> Result<(), CommandFailure> {
    let told = |problem: ProviderProblem| match problem.code() {
        ErrorCode::AuthenticationFailed => CommandFailure::Credentials(problem.to_string()),
        _ => wrong(problem.to_string()),
    };
    agent_services.providers.find(model).map(drop).map_err(told)
}
