//! Scripts and their steps as data, and the selection of the step for a request.

use rawko_core::Value;

use crate::message::{StopReason, Usage};
use crate::provider::{CompletionRequest, ProviderError};

/// The steps of one agent, optionally limited to certain occasions.
#[derive(Clone, Debug, Default)]
pub(super) struct AgentScript {
    pub(super) agent: Option<String>,
    pub(super) when: Option<String>,
    pub(super) turns: Vec<Attempts>,
}

/// The results of one completion: failures first, one for each attempt.
#[derive(Clone, Debug, Default)]
pub(super) struct Attempts {
    pub(super) errors: Vec<ScriptStep>,
    pub(super) answer: Option<ScriptStep>,
}

#[derive(Clone, Debug)]
pub(super) struct ScriptStep {
    /// Counted over all steps in the file.
    pub(super) number: usize,
    pub(super) line: usize,
    pub(super) expect: Vec<String>,
    pub(super) delay_ms: u64,
    pub(super) kind: StepKind,
}

#[derive(Clone, Debug)]
pub(super) enum StepKind {
    Answer {
        reasoning: String,
        text: String,
        tools: Vec<(String, Value)>,
        stop: Option<StopReason>,
        usage: Option<Usage>,
    },
    Error(ProviderError),
}

impl AgentScript {
    /// Returns the specificity of the match, or `None` if the script does not apply to the request. `first`: the text of
    /// its first message.
    pub(super) fn fits(&self, request: &CompletionRequest, first: &str) -> Option<(bool, bool, usize)> {
        let is_for_agent = self.agent.as_ref().is_none_or(|agent| *agent == request.agent);
        let by_occasion = self.when.as_ref().is_some_and(|when| request.occasion.contains(when));
        let by_message = self.when.as_ref().is_none_or(|when| first.contains(when));
        // A match on the occasion takes precedence over words that happen to be in a message.
        let how_well = (self.agent.is_some(), by_occasion, self.when.as_ref().map_or(0, String::len));
        (is_for_agent && (by_occasion || by_message)).then_some(how_well)
    }

    /// Returns the step for a conversation with `index` responses, at this attempt.
    pub(super) fn step(&self, index: u64, attempt: u32) -> Option<&ScriptStep> {
        let attempts = self.turns.get(usize::try_from(index).ok()?)?;
        attempts.errors.get(attempt as usize).or(attempts.answer.as_ref())
    }

    pub(super) fn steps(&self) -> impl Iterator<Item = &ScriptStep> {
        self.turns.iter().flat_map(|turn| turn.errors.iter().chain(&turn.answer))
    }

    /// Appends a step. Errors are held until the response that follows them.
    pub(super) fn push(&mut self, step: ScriptStep) {
        if self.turns.last().is_none_or(|turn| turn.answer.is_some()) {
            self.turns.push(Attempts::default());
        }
        let Some(turn) = self.turns.last_mut() else { return };
        match step.kind {
            StepKind::Error(_) => turn.errors.push(step),
            StepKind::Answer { .. } => turn.answer = Some(step),
        }
    }

    pub(super) fn described(&self) -> String {
        match (&self.agent, &self.when) {
            (Some(agent), Some(when)) => format!("the script of `{agent}` when `{when}`"),
            (Some(agent), None) => format!("the script of `{agent}`"),
            (None, Some(when)) => format!("the script when `{when}`"),
            (None, None) => "the script".to_owned(),
        }
    }
}
