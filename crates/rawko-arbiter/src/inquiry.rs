//! `Inquiry`: a decision request to a model, as data. It returns the next prompt, accepts the response, and falls back
//! if no response is usable; the caller sends the requests. A decision can be replayed from its record.

use rawko_core::Value;
use serde::{Deserialize, Serialize};

use super::context::ContextError;
use super::decide::{Case, Moment, decide};
use super::decision::ArbiterDecision;
use super::enabled::EnabledDecisions;
use super::input::{evaluate_progress_input, select_agent_input};
use super::parse::parse_answer;
use super::prompt::{checks, evaluate_values, select_values};
use super::settings::Prompts;

/// A decision request and its attempts so far.
#[derive(Clone, Debug)]
pub struct Inquiry {
    moment: Moment,
    enabled: EnabledDecisions,
    /// SelectAgentInput or EvaluateProgressInput.
    input: serde_json::Value,
    prompt: String,
    attempts: Vec<InquiryAttempt>,
    retries: u32,
}

/// The journal record of a decision request: enough to send the same question to another model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct InquiryRecord {
    /// The question of the arbiter.
    pub moment: Option<Moment>,
    /// SelectAgentInput or EvaluateProgressInput.
    pub input: serde_json::Value,
    /// The first prompt, without the attempts.
    pub prompt: Option<String>,
    /// JSON Schema of the response.
    pub schema: serde_json::Value,
    /// The responses so far.
    pub attempts: Vec<InquiryAttempt>,
}

/// A response and its problem.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InquiryAttempt {
    /// Response of the model, as received.
    pub answer: String,
    /// Reason why it cannot be used; `None` for the accepted one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// One turn of the conversation with the arbiter's model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PromptTurn {
    /// Text for the model: the question, or the problem of its last response.
    Prompt(String),
    /// Earlier response of the model.
    Answer(String),
}

/// The next step.
#[derive(Clone, Debug, PartialEq)]
pub enum InquiryStep {
    /// No request is needed any more.
    Decided(ArbiterDecision),
    /// Send this to the model; its response should match the schema.
    Ask {
        /// Conversation to send, oldest turn first.
        turns: Vec<PromptTurn>,
        /// JSON Schema of the response.
        schema: Value,
    },
    /// No agent can be selected.
    NoAgent,
}

impl Inquiry {
    /// Builds the prompt of a decision. Fails if the context does not allow one.
    pub fn new(case: &Case<'_>, prompts: &Prompts, now_ms: i64) -> Result<Self, ContextError> {
        let enabled = case.enabled();
        let (input, mut values) = match case.moment {
            Moment::Select => {
                let input = select_agent_input(case.context, case.agents, now_ms);
                let values = select_values(&input, &enabled);
                (serde_json::to_value(input), values)
            }
            Moment::Evaluate => {
                let input = evaluate_progress_input(case.context, case.agents, now_ms)?;
                let agents = select_agent_input(case.context, case.agents, now_ms).available_agents;
                let values = evaluate_values(&input, &agents, &enabled);
                (serde_json::to_value(input), values)
            }
        };
        values.push(("checks", checks(case.context)));
        Ok(Self {
            moment: case.moment,
            enabled,
            input: input.unwrap_or_default(),
            prompt: prompts.of(case.moment).fill(&values),
            attempts: Vec::new(),
            retries: case.settings.retries,
        })
    }

    /// Returns a rule's decision, or the question.
    pub fn next(&self, case: &Case<'_>) -> InquiryStep {
        if let Some(decided) = case.ruled() {
            return InquiryStep::Decided(decided);
        }
        if self.enabled.kinds().is_empty() {
            return self.give_up(case);
        }
        InquiryStep::Ask { turns: self.turns(), schema: Value::from_json(self.enabled.schema()) }
    }

    /// Handles a response: returns a decision, the question with the problem added, or the fallback.
    pub fn answered(&mut self, case: &Case<'_>, answer: &str) -> InquiryStep {
        let parsed = parse_answer(answer, &self.enabled);
        let problem = parsed.as_ref().err().map(ToString::to_string);
        self.attempts.push(InquiryAttempt { answer: answer.to_owned(), problem });
        match parsed {
            Ok(decision) => settled(decide(case, Some(&decision))),
            Err(_) if self.attempts.len() <= self.retries as usize => self.next(case),
            Err(_) => self.give_up(case),
        }
    }

    /// Returns the fallback, if there is no model or no retry left.
    pub fn give_up(&self, case: &Case<'_>) -> InquiryStep {
        settled(decide(case, None))
    }

    /// Returns the journal record.
    pub fn record(&self) -> InquiryRecord {
        InquiryRecord {
            moment: Some(self.moment),
            input: self.input.clone(),
            prompt: Some(self.prompt.clone()),
            schema: self.enabled.schema(),
            attempts: self.attempts.clone(),
        }
    }

    /// Returns the first prompt, without the attempts.
    pub fn prompt(&self) -> &str {
        &self.prompt
    }

    fn turns(&self) -> Vec<PromptTurn> {
        let mut turns = vec![PromptTurn::Prompt(self.prompt.clone())];
        for attempt in &self.attempts {
            turns.push(PromptTurn::Answer(attempt.answer.clone()));
            let problem = attempt.problem.as_deref().unwrap_or_default();
            let text = format!(
                "This answer is invalid: {problem}. Answer again with one JSON object and nothing else."
            );
            turns.push(PromptTurn::Prompt(text));
        }
        turns
    }
}

fn settled(decided: Option<ArbiterDecision>) -> InquiryStep {
    decided.map_or(InquiryStep::NoAgent, InquiryStep::Decided)
}
