//! `decide`: rules, then the model's answer, then the fallback.

use super::agents::AgentProfile;
use super::context::Orchestration;
use super::decision::{By, Decided, Decision};
use super::enabled::Enabled;
use super::fallback::fallback;
use super::rules::ruled;
use super::settings::ArbiterSettings;

/// Which of the two questions is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Moment {
    /// Who works next? The state `selecting`.
    Select,
    /// How does it go on? The state `evaluating`.
    Evaluate,
}

/// Everything that a decision depends on.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    pub moment: Moment,
    pub context: &'a Orchestration,
    /// In the project's order.
    pub agents: &'a [AgentProfile],
    pub settings: &'a ArbiterSettings,
}

impl Case<'_> {
    /// What can be decided now.
    pub fn enabled(&self) -> Enabled {
        Enabled::of(self)
    }

    /// The decision, where nobody needs to be asked.
    pub fn ruled(&self) -> Option<Decided> {
        ruled(self, &self.enabled())
    }
}

/// The decision. An answer that is not enabled counts as none. `None` only while selecting, where there is no agent.
pub fn decide(case: &Case<'_>, answer: Option<&Decision>) -> Option<Decided> {
    let enabled = case.enabled();
    let answered = || {
        answer.filter(|decision| enabled.allows(decision)).map(|decision| by_model(decision, case, &enabled))
    };
    ruled(case, &enabled).or_else(answered).or_else(|| fallback(case, &enabled))
}

fn by_model(decision: &Decision, case: &Case<'_>, enabled: &Enabled) -> Decided {
    let agent = match (decision, case.moment) {
        (Decision::SelectMode { mode, .. }, _) => Some(mode.clone()),
        (Decision::Continue { .. }, _) | (Decision::Retry { .. }, Moment::Select) => enabled.current.clone(),
        (Decision::Retry { .. }, Moment::Evaluate) | (Decision::Complete { .. }, _) => None,
    };
    let why = "the arbiter's model says so".to_owned();
    Decided { decision: decision.clone(), agent, by: By::Model, why }
}
