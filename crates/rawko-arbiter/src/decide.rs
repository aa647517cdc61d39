//! `decide`: rules, then the model's response, then the fallback.

use super::agents::AgentProfile;
use super::context::Orchestration;
use super::decision::{ArbiterDecision, Decision, DecisionOrigin};
use super::enabled::EnabledDecisions;
use super::fallback::fallback;
use super::rules::ruled;
use super::settings::ArbiterSettings;

/// The two questions of the arbiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Moment {
    /// Selects the next agent, in the state `selecting`.
    Select,
    /// Evaluates the last execution, in the state `evaluating`.
    Evaluate,
}

/// The complete input of a decision.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    /// State of the orchestrator that asks.
    pub moment: Moment,
    /// Context of the chart.
    pub context: &'a Orchestration,
    /// In the project's order.
    pub agents: &'a [AgentProfile],
    /// Section `arbiter` of the settings.
    pub settings: &'a ArbiterSettings,
}

impl Case<'_> {
    /// Returns the enabled decisions.
    pub fn enabled(&self) -> EnabledDecisions {
        EnabledDecisions::of(self)
    }

    /// Returns the decision of a rule, if no model is needed.
    pub fn ruled(&self) -> Option<ArbiterDecision> {
        ruled(self, &self.enabled())
    }
}

/// Makes the decision. A response that is not enabled is ignored. Returns `None` only while selecting without any
/// agent.
pub fn decide(case: &Case<'_>, answer: Option<&Decision>) -> Option<ArbiterDecision> {
    let enabled = case.enabled();
    let answered = || {
        answer.filter(|decision| enabled.allows(decision)).map(|decision| by_model(decision, case, &enabled))
    };
    ruled(case, &enabled).or_else(answered).or_else(|| fallback(case, &enabled))
}

fn by_model(decision: &Decision, case: &Case<'_>, enabled: &EnabledDecisions) -> ArbiterDecision {
    let agent = match (decision, case.moment) {
        (Decision::SelectMode { mode, .. }, _) => Some(mode.clone()),
        (Decision::Continue { .. }, _) | (Decision::Retry { .. }, Moment::Select) => enabled.current.clone(),
        (Decision::Retry { .. }, Moment::Evaluate)
        | (
            Decision::Complete { .. } | Decision::Skip { .. } | Decision::Abort { .. } | Decision::Ask { .. },
            _,
        ) => None,
    };
    let why = "decided by the arbiter's model".to_owned();
    ArbiterDecision { decision: decision.clone(), agent, by: DecisionOrigin::Model, why }
}
