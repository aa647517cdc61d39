//! A task as somebody wishes it, and the input that the orchestrator's chart is given for it. Shared by `rawko task` and the
//! server, which refuse the same things in the same words.

use rawko_agents::agent::Kind;
use rawko_agents::work::Workshop;
use rawko_core::{Map, Value};
use rawko_host::{Decision, Edition, Question, Settings};
use rawko_model::provider::{ErrorCode, ProviderProblem};

use crate::failure::Failure;
use crate::following::is_own;

/// The chart that has tasks done.
pub(crate) const ORCHESTRATOR: &str = "rawko";

/// What somebody wants done, and within which limits.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wish {
    pub(crate) task: String,
    pub(crate) dry_run: bool,
    pub(crate) agent: Option<String>,
    pub(crate) max_iterations: Option<u32>,
    pub(crate) timeout_ms: Option<i64>,
    /// A provider's name where no model was named with it.
    pub(crate) provider: Option<String>,
    pub(crate) model: Option<String>,
}

impl Wish {
    /// What the chart is given: what settings say, and over it what the person says.
    pub(crate) fn input(&self, workshop: &Workshop, chart: &Edition) -> Result<Value, Failure> {
        if self.task.trim().is_empty() {
            return Err(Failure::Usage("the task is empty; say what is to be done".to_owned()));
        }
        self.insist_on_keys(chart)?;
        let mut input = if is_own(chart.chart.id()) { workshop.task.input.clone() } else { Map::default() };
        let mut put = |key: &str, value: Value| drop(input.insert(key.into(), value));
        put("task", Value::str(self.task.trim()));
        if self.dry_run {
            put("planner", Value::str(&workshop.arbiter.planner));
        }
        if is_own(chart.chart.id()) && !workshop.memories.remember {
            put("remember", Value::Bool(false));
        }
        if let Some(most) = self.max_iterations {
            put("maxIterations", Value::Int(i64::from(most)));
        }
        if let Some(timeout_ms) = self.timeout_ms {
            put("timeoutMs", Value::Int(timeout_ms));
        }
        if let Some(name) = &self.agent {
            insist_on_agent(workshop, name)?;
            put("forcedAgent", Value::str(name));
            // Nobody is asked who begins, so nobody else looks up what is known.
            if is_own(chart.chart.id()) {
                put("memories", Value::from(workshop.recall(&self.task, name)));
            }
        }
        match &self.model {
            Some(model) => {
                if let Some(provider) = &self.provider {
                    // A name alone could be meant as a model; this one is not.
                    insist_on_model(workshop, &format!("{provider}/any"), Failure::Usage)?;
                }
                insist_on_model(workshop, model, Failure::Usage)?;
                put("providerName", Value::str(model));
            }
            None if needs_default(workshop) => insist_on_model(workshop, "", Failure::Invalid)?,
            None => {}
        }
        Ok(Value::Map(input.into()))
    }

    /// What a chart does not declare it is not given; an option that would change nothing is better refused.
    fn insist_on_keys(&self, chart: &Edition) -> Result<(), Failure> {
        let declared = chart.chart.context_names();
        let wanted = [
            ("--agent", "forcedAgent", self.agent.is_some()),
            ("--max-iterations", "maxIterations", self.max_iterations.is_some()),
            ("--timeout", "timeoutMs", self.timeout_ms.is_some()),
            ("--model", "providerName", self.model.is_some() && self.provider.is_none()),
            ("--provider", "providerName", self.provider.is_some()),
        ];
        let lost = |(_, key, is_wanted): &(&str, &str, bool)| {
            *is_wanted && !declared.iter().any(|name| &**name == *key)
        };
        match wanted.into_iter().find(lost) {
            Some((option, key, _)) => Err(Failure::Usage(format!(
                "the chart `{}` does not take `{option}`: its context has no `{key}`",
                chart.chart.id()
            ))),
            None => Ok(()),
        }
    }
}

/// A project that lets no agent work would refuse everything, one call at a time.
pub(crate) fn insist_on_gate(settings: &Settings, chart: &Edition) -> Result<(), Failure> {
    if !is_own(chart.chart.id()) {
        return Ok(());
    }
    let question = Question {
        name: "work:select",
        instance: "",
        chart: chart.chart.id(),
        calls_so_far: 0,
        agent: None,
        policy: &Value::Null,
    };
    match settings.gate().decide(&question) {
        Decision::Allowed { .. } => Ok(()),
        Decision::Refused { rule, .. } => Err(Failure::Invalid(format!(
            "no agent may work here: {rule}\nwrite `governance: {{allow: ['agent:*']}}` into .rawko/config.yaml"
        ))),
    }
}

fn insist_on_agent(workshop: &Workshop, name: &str) -> Result<(), Failure> {
    if workshop.agents.get(name).is_some() {
        return Ok(());
    }
    let names: Vec<&str> = workshop.agents.all().iter().map(|agent| agent.name.as_str()).collect();
    Err(Failure::Usage(format!("there is no agent `{name}`; there are {}", names.join(", "))))
}

/// Whether somebody who can be chosen has no model of its own.
fn needs_default(workshop: &Workshop) -> bool {
    let offered = workshop.profiles();
    let agents = offered.iter().filter_map(|profile| workshop.agents.get(&profile.name));
    agents.into_iter().any(|agent| match agent.kind {
        Kind::Llm | Kind::Scripted => agent.model.is_none(),
        Kind::Process | Kind::Acp | Kind::Human => false,
    })
}

fn insist_on_model(workshop: &Workshop, model: &str, wrong: fn(String) -> Failure) -> Result<(), Failure> {
    let told = |problem: ProviderProblem| match problem.code() {
        ErrorCode::AuthenticationFailed => Failure::Credentials(problem.to_string()),
        _ => wrong(problem.to_string()),
    };
    workshop.providers.find(model).map(drop).map_err(told)
}
