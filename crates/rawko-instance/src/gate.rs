//! The governance gate: default deny. Every call to a service passes here before it is made, and the decision is
//! audited first.

mod checklist;
mod rules;

use std::sync::Arc;

use rawko_core::{ServiceClass, ServiceName, Value};

pub use checklist::{Checklist, Expiry, FIELDS as CHECKLIST_FIELDS, KINDS as CHECKLIST_KINDS, parse_day};
use rules::{GateRule, covers, first};

/// The input of a decision.
#[derive(Clone, Debug)]
pub struct GateQuestion<'a> {
    /// The service, handler or endpoint, as the chart names it.
    pub name: &'a str,
    /// Id of the calling instance.
    pub instance: &'a str,
    /// Id of its chart.
    pub chart: &'a str,
    /// Previous calls of this instance.
    pub calls_so_far: u64,
    /// The agent that the instance implements.
    pub agent: Option<&'a str>,
    /// The policy of the call; its `budget` is the remainder. Null if there is none.
    pub policy: &'a Value,
    /// The current time, for approvals that expire.
    pub now_ms: i64,
}

/// A decision of the gate, with its rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GateDecision {
    /// The call may be made.
    Allowed {
        /// Matching rule and its file, for the audit.
        rule: String,
    },
    /// `limit`: a budget is exhausted, rather than the name being refused.
    Refused {
        /// Matching rule and its file, or the exhausted budget.
        rule: String,
        /// True if a budget is exhausted.
        limit: bool,
    },
}

/// An invalid pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{pattern}` is not a pattern: {why}")]
pub struct PatternError {
    /// Pattern as written in the settings.
    pub pattern: String,
    /// Reason why it is invalid.
    pub why: String,
}

/// The default file of a rule.
pub const SETTINGS_FILE: &str = ".rawko/config.yaml";

/// The rules of a project. Everything not allowed by a rule is refused; a chart's states narrow further.
#[derive(Clone, Debug, Default)]
pub struct Gate {
    /// Everything that is not denied is allowed.
    is_open: bool,
    allow: Vec<GateRule>,
    deny: Vec<GateRule>,
    /// Gates of outer settings, each of which must allow a name, too.
    within: Vec<Gate>,
    calls_max: Option<u64>,
    checklist: Checklist,
}

impl Gate {
    /// `allow` and `deny` are patterns on names (`book_*`, `agent:*`), `budget` is the number of calls per instance.
    pub fn new<P: AsRef<str>>(allow: &[P], deny: &[P], budget: Option<u64>) -> Result<Self, PatternError> {
        let file = Arc::from(SETTINGS_FILE);
        let mut gate = Self::limited(budget);
        for pattern in allow {
            gate.allow(pattern.as_ref(), &file)?;
        }
        for pattern in deny {
            gate.deny(pattern.as_ref(), &file)?;
        }
        Ok(gate)
    }

    /// Allows everything: for programs that register their own services and nothing else.
    pub fn open() -> Self {
        Self { is_open: true, ..Self::default() }
    }

    /// Allows nothing.
    pub fn limited(calls_max: Option<u64>) -> Self {
        Self { calls_max, ..Self::default() }
    }

    /// Allows every name that no rule denies.
    #[must_use]
    pub fn opened(self) -> Self {
        Self { is_open: true, ..self }
    }

    /// Adds a pattern of allowed names; `file` is reported with decisions.
    pub fn allow(&mut self, pattern: &str, file: &Arc<str>) -> Result<(), PatternError> {
        self.allow.push(rule(pattern, file)?);
        Ok(())
    }

    /// Adds a pattern of denied names, which wins over every allowed one.
    pub fn deny(&mut self, pattern: &str, file: &Arc<str>) -> Result<(), PatternError> {
        self.deny.push(rule(pattern, file)?);
        Ok(())
    }

    /// Allows a name only if an outer gate allows it, too. Its budget is not used.
    #[must_use]
    pub fn within(mut self, outer: Gate) -> Self {
        self.within.push(outer);
        self
    }

    /// Deny takes precedence over allow, allow over the state's rules, names over budgets.
    pub fn decide(&self, question: &GateQuestion<'_>) -> GateDecision {
        if !is_gated(question.name) {
            return GateDecision::Allowed { rule: "no rule is about people and child charts".into() };
        }
        let allowed = match self.by_settings(question.name, question.agent) {
            Ok(rule) => rule,
            Err(rule) => return GateDecision::Refused { rule, limit: false },
        };
        let allowed = match self.approved(question.name, question.now_ms) {
            Ok(None) => allowed,
            Ok(Some(approval)) => format!("{allowed}; {approval}"),
            Err(rule) => return GateDecision::Refused { rule, limit: false },
        };
        if let Some(rule) = refused_by_state(question) {
            return GateDecision::Refused { rule, limit: false };
        }
        if let Some(rule) = self.used_up(question) {
            return GateDecision::Refused { rule, limit: true };
        }
        GateDecision::Allowed { rule: allowed }
    }

    /// Sets the fields that are required of services, tools, MCP servers and agents, and their approvals.
    #[must_use]
    pub fn with_checklist(self, checklist: Checklist) -> Self {
        Self { checklist, ..self }
    }

    /// Returns the fields that governance requires of approvals.
    pub fn checklist(&self) -> &Checklist {
        &self.checklist
    }

    /// Returns the approval that a name has; `None` if none is required.
    pub fn approved(&self, name: &str, now_ms: i64) -> Result<Option<String>, String> {
        self.checklist.check(name, now_ms)
    }

    /// Decides by settings. The calls an agent needs for its work are allowed with the agent.
    pub fn by_settings(&self, name: &str, agent: Option<&str>) -> Result<String, String> {
        if let Some(GateRule { pattern, file, .. }) = first(&self.deny, name) {
            return Err(format!("`{name}` is refused by `{pattern}` in `governance.deny` of {file}"));
        }
        self.within.iter().try_for_each(|outer| outer.by_settings(name, agent).map(drop))?;
        if self.is_open {
            return Ok("the gate is open".into());
        }
        if let Some(agent) = agent.filter(|_| ServiceName::of(name).class.is_of_agent()) {
            let rule = self.by_settings(&ServiceClass::Agent.named(agent), None)?;
            return Ok(format!("`{name}` is part of the agent; {rule}"));
        }
        if let Some(GateRule { pattern, file, .. }) = self.for_judges(name) {
            let why = "selects or judges the agents";
            return Ok(format!("`{name}` {why}, which `{pattern}` in `governance.allow` of {file} allows"));
        }
        match first(&self.allow, name) {
            Some(GateRule { pattern, file, .. }) => {
                Ok(format!("`{name}` is allowed by `{pattern}` in `governance.allow` of {file}"))
            }
            None => {
                let file = self.allow.first().map_or(SETTINGS_FILE, |rule| &rule.file);
                Err(format!("`{name}` is not in `governance.allow` of {file}"))
            }
        }
    }

    /// A project that allows agents also allows selecting them, and judging their work by its checks.
    fn for_judges(&self, name: &str) -> Option<&GateRule> {
        if !matches!(ServiceName::of(name).class, ServiceClass::Arbiter | ServiceClass::Checks) {
            return None;
        }
        let is_agents = |pattern: &str| ServiceName::of(pattern).class == ServiceClass::Agent;
        self.allow
            .iter()
            .find(|rule| is_agents(&rule.pattern) || covers(&rule.pattern, &ServiceClass::Agent.named("")))
    }

    /// Returns the limit that cannot pay for all these calls: its name, the need and the rest.
    pub(crate) fn cannot_pay(
        &self,
        names: &[&str],
        calls: u64,
        budget: &Value,
    ) -> Option<(&'static str, String, String)> {
        let gated = names.iter().filter(|name| is_gated(name)).count() as u64;
        if let Some(left) = self.calls_max.map(|most| most.saturating_sub(calls)).filter(|left| gated > *left)
        {
            return Some(("governance.budget", gated.to_string(), left.to_string()));
        }
        let keys = ["tool_calls", "tokens", "cost_usd", "time"];
        keys.into_iter()
            .zip(["budget.tool_calls", "budget.tokens", "budget.cost_usd", "budget.time"])
            .find_map(|(key, name)| {
                let spenders = names.iter().filter(|name| spends(name).contains(&key)).count();
                let left = budget.get(key).as_f64().filter(|_| spenders > 0)?;
                // No call is free of tokens, and every one takes time; costs may be any fraction.
                let (is_short, needed) = match key {
                    "cost_usd" => (left <= 0.0, "more than 0".to_owned()),
                    _ => (left < spenders as f64, spenders.to_string()),
                };
                is_short.then(|| (name, needed, budget.get(key).to_string()))
            })
    }

    fn used_up(&self, question: &GateQuestion<'_>) -> Option<String> {
        let calls = question.calls_so_far;
        let noun = if calls == 1 { "call" } else { "calls" };
        let made = format!("`{}` has made {calls} {noun}", question.instance);
        // A task that has used up its calls still puts the files of its checks back.
        if self.calls_max.is_some_and(|most| calls >= most) && !is_closing(question.name) {
            return Some(format!("{made}, all that `governance.budget` of {SETTINGS_FILE} allows"));
        }
        let left = question.policy.get("budget");
        let is_over = |key: &&str| left.get(key).as_f64().is_some_and(|left| left <= 0.0);
        let key = spends(question.name).iter().find(|key| is_over(key))?;
        Some(format!(
            "`{}` has used up `budget.{key}`, set around the chart `{}`",
            question.instance, question.chart
        ))
    }
}

fn rule(pattern: &str, file: &Arc<str>) -> Result<GateRule, PatternError> {
    GateRule::new(pattern, file)
        .map_err(|error| PatternError { pattern: pattern.to_owned(), why: error.kind().to_string() })
}

/// A state's `tools` applies to the calls made in it. An agent is not one: its own calls are checked when it makes
/// them.
fn refused_by_state(question: &GateQuestion<'_>) -> Option<String> {
    let name = question.name;
    // An agent is no tool, and what it calls is checked where the tool's other names are known.
    let class = ServiceName::of(name).class;
    if class == ServiceClass::Agent || class.is_of_agent() {
        return None;
    }
    let around = question.policy.get("within").as_list().unwrap_or_default();
    let mut all = std::iter::once(question.policy.get("tools")).chain(around);
    all.find_map(|tools| refused_by(tools, name))
}

fn refused_by(tools: &Value, name: &str) -> Option<String> {
    let source = tools.get("source").as_str().unwrap_or("`tools` of the state");
    let covering = |list: &'static str| {
        let mut patterns = tools.get(list).as_list()?.iter().filter_map(Value::as_str);
        Some(patterns.find(|pattern| covers(pattern, name)))
    };
    if let Some(Some(pattern)) = covering("blocked") {
        return Some(format!("`{name}` is blocked by `{pattern}` in {source}"));
    }
    let is_left_out = covering("allowed").is_some_and(|covering| covering.is_none());
    is_left_out.then(|| format!("`{name}` is not allowed by {source}"))
}

/// Returns false for people and child charts, which no gate is asked about. In a simulation they may be stubbed as services.
pub(crate) fn is_gated(name: &str) -> bool {
    !matches!(ServiceName::of(name).class, ServiceClass::Chart | ServiceClass::Human)
}

/// Returns true if a call counts as a tool call.
pub fn is_counted(name: &str) -> bool {
    ServiceName::of(name).class.is_counted()
}

/// Returns the parts of a budget that a call requires.
fn is_closing(name: &str) -> bool {
    let name = ServiceName::of(name);
    name.class == ServiceClass::Checks && name.member == "close"
}

fn spends(name: &str) -> &'static [&'static str] {
    match ServiceName::of(name).class {
        class if class.is_counted() => &["tool_calls"],
        ServiceClass::Agent | ServiceClass::Model => &["tokens", "cost_usd", "time"],
        _ => &[],
    }
}
