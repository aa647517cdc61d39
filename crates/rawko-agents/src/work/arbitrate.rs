//! `work:select` and `work:evaluate`: the arbiter's questions, sent to a model if no rule decides. The prompts and
//! responses are part of the result, so that the journal has them and the question can be replayed with another model.

use jiff::Timestamp;
use rawko_core::Value;
use rawko_host::{Category, ServiceCall, ServiceError};

use super::AgentServices;
use super::complete::{CompletionOrigin, text};
use super::models::ModelChain;
use super::recall::{RecalledMemories, recall};
use super::types::{ArbiterOutput, ArbiterRequest, CallPolicy, ModelFailure, value};
use rawko_arbiter::{
    ArbiterDecision, Case, ContextError, Inquiry, InquiryRecord, InquiryStep, Moment, Orchestration,
    PromptTurn,
};
use rawko_model::provider::{
    CompletionRequest, ErrorCode, OutputSchema, ProviderError, ProviderProblem, judge,
};
use rawko_model::{Message, Role, Usage};

/// The agent name of these requests, for scripts and observers.
const ARBITER: &str = "arbiter";

pub(super) async fn decide(
    agent_services: &AgentServices,
    moment: Moment,
    call: &ServiceCall,
    request: &ArbiterRequest,
) -> Result<ArbiterOutput, ServiceError> {
    let context = Orchestration::of(&call.input).map_err(|error| unreadable(&error))?;
    let agents = agent_services.profiles();
    let case = Case { moment, context: &context, agents: &agents, settings: &agent_services.arbiter };
    let now_ms = Timestamp::now().as_millisecond();
    let mut inquiry =
        Inquiry::new(&case, &agent_services.prompts, now_ms).map_err(|error| unreadable(&error))?;
    let mut asking = ArbiterCall { agent_services, call, request, usage: Usage::default() };
    let mut next = inquiry.next(&case);
    loop {
        next = match next {
            InquiryStep::Decided(decided) => {
                let agent = decided.agent.as_deref();
                let recalled = agent.map(|agent| remembered(agent_services, &context, agent, now_ms));
                return Ok(asking.output(moment, &decided, &inquiry, recalled));
            }
            InquiryStep::NoAgent => return Err(no_agent(&context)),
            InquiryStep::Ask { turns, schema } => {
                let messages = turns.into_iter().map(message).collect();
                let answer = asking.ask(messages, schema).await;
                let answer = answer
                    .map_err(|error| amended(error, |details| details.record = asking.record(&inquiry)))?;
                inquiry.answered(&case, &answer)
            }
        };
    }
}

fn message(turn: PromptTurn) -> Message {
    match turn {
        PromptTurn::Prompt(text) => Message::text(Role::User, text),
        PromptTurn::Answer(text) => Message::text(Role::Assistant, text),
    }
}

struct ArbiterCall<'a> {
    agent_services: &'a AgentServices,
    call: &'a ServiceCall,
    request: &'a ArbiterRequest,
    usage: Usage,
}

/// The journal's record of a decision, with the model that was asked.
#[derive(Default, serde::Serialize, serde::Deserialize)]
#[serde(default)]
struct ArbiterRecord {
    #[serde(flatten)]
    inquiry: InquiryRecord,
    model: String,
    occasion: Option<String>,
}

impl ArbiterCall<'_> {
    /// Returns the models: the arbiter's setting, else the task's, else the default.
    fn chain(&self) -> ModelChain<'_> {
        let task = self.request.provider_name.as_deref();
        let (models, from) = match self.agent_services.arbiter.model.as_deref() {
            Some(models) => (models, "`arbiter.model` in .rawko/config.yaml"),
            None => (task.unwrap_or_default(), "`--model`"),
        };
        ModelChain::of(self.agent_services, models, from, self.request.model_index)
    }

    async fn ask(&mut self, messages: Vec<Message>, schema: Value) -> Result<String, ServiceError> {
        self.insist_on_budget()?;
        let ArbiterRequest { occasion, attempt, .. } = self.request;
        let origin = CompletionOrigin { agent: ARBITER, occasion: occasion.as_deref(), attempt: *attempt };
        let bare = origin.request(self.call);
        let (attempt, chain) = (bare.attempt, self.chain());
        let failed = |error: &ProviderError| {
            let error = chain.fault(error, attempt, &self.call.idempotency);
            with_usage(end_if_too_long(error), self.usage)
        };
        let (provider, model) = chain.find(attempt, &self.call.idempotency)?;
        let schema = Some(OutputSchema { name: "decision".into(), schema });
        // A repeated question contains the problem, so it needs another key.
        let idempotency = format!("{}-{}", bare.idempotency, messages.len());
        let request = CompletionRequest { model, messages: messages.into(), schema, idempotency, ..bare };
        let completion = provider.complete(request, &mut |_| {}).await.map_err(|error| failed(&error))?;
        self.usage = self.usage.plus(completion.usage);
        Ok(text(&completion.message))
    }

    /// Checks the budget before a question; a rule is free.
    fn insist_on_budget(&self) -> Result<(), ServiceError> {
        let left = CallPolicy::of(self.call).budget();
        let parts = [
            ("tokens", left.tokens.is_some_and(|left| left <= 0)),
            ("cost_usd", left.cost_usd.is_some_and(|left| left <= 0.0)),
            ("time", left.time.is_some_and(|left| left <= 0)),
        ];
        match parts.into_iter().find(|(_, is_over)| *is_over) {
            Some((key, _)) => {
                let message = format!("`budget.{key}` is used up, and the arbiter would have to ask a model");
                Err(with_usage(ServiceError::new(Category::Limit, message), self.usage))
            }
            None => Ok(()),
        }
    }

    fn output(
        &self,
        moment: Moment,
        decided: &ArbiterDecision,
        inquiry: &Inquiry,
        recalled: Option<RecalledMemories>,
    ) -> ArbiterOutput {
        let record = self.record(inquiry);
        let mut output = match moment {
            Moment::Select => ArbiterOutput::selection(decided, self.usage, record),
            Moment::Evaluate => ArbiterOutput::evaluation(decided, self.usage, record),
        };
        if let Some(RecalledMemories { injection, problem }) = recalled {
            output.memories = Some(injection.text);
            output.memories_used = injection.used;
            output.memories_problem = problem;
        }
        output
    }

    /// Returns the prompts and responses so far, also without a decision.
    fn record(&self, inquiry: &Inquiry) -> Value {
        let (model, occasion) = (self.chain().model().to_owned(), self.request.occasion.clone());
        value(&ArbiterRecord { inquiry: inquiry.record(), model, occasion })
    }
}

/// The arbiter's question is as short as it can be: one that is too long stays too long.
fn end_if_too_long(error: ServiceError) -> ServiceError {
    let details: ModelFailure = error.details.read().unwrap_or_default();
    let is_too_long = details.code == ErrorCode::ContextLengthExceeded.as_str();
    match is_too_long && details.next_model.is_none() {
        true => amended(error, |details| details.permanent = Some(true)),
        false => error,
    }
}

/// The completion was paid for, even if it failed.
fn with_usage(error: ServiceError, usage: Usage) -> ServiceError {
    amended(error, |details| details.usage = Some(usage))
}

fn amended(error: ServiceError, change: impl FnOnce(&mut ModelFailure)) -> ServiceError {
    let mut details: ModelFailure = error.details.read().unwrap_or_default();
    change(&mut details);
    error.with_details(value(&details))
}

fn remembered(
    agent_services: &AgentServices,
    context: &Orchestration,
    agent: &str,
    now_ms: i64,
) -> RecalledMemories {
    let begins = context.sessions.get(agent).as_list().is_none_or(<[Value]>::is_empty);
    recall(agent_services, &context.task, agent, begins, now_ms)
}

fn unreadable(error: &ContextError) -> ServiceError {
    ServiceError::new(Category::Failed, error.to_string())
}

fn no_agent(context: &Orchestration) -> ServiceError {
    let message = match &context.agents {
        Some(names) => format!("no agent can be chosen: the task names {}", names.join(", ")),
        None => "no agent can be chosen; add one to .rawko/agents".to_owned(),
    };
    ServiceError::new(Category::Unknown, message)
}

/// Another model's response to a recorded question.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplayedDecision {
    /// `{type, mode, reason}`, checked against the recorded schema.
    pub decision: Value,
    /// Usage of the new completion.
    pub usage: Usage,
}

/// A recorded question that could not be asked again.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AskAgainError {
    /// A rule decided, so no model was asked.
    #[error("the record has no prompt")]
    NoPrompt,
    /// The model is not available.
    #[error(transparent)]
    Model(#[from] ProviderProblem),
    /// The completion failed.
    #[error(transparent)]
    Provider(#[from] ProviderError),
    /// The response violates the recorded schema; holds the violation.
    #[error("the answer cannot be used: {0}")]
    Unfit(String),
}

/// Sends a recorded question to a model, once.
pub async fn ask_again(
    agent_services: &AgentServices,
    model: &str,
    record: &Value,
) -> Result<ReplayedDecision, AskAgainError> {
    let ArbiterRecord { inquiry, occasion, .. } = record.read().unwrap_or_default();
    let prompt = inquiry.prompt.ok_or(AskAgainError::NoPrompt)?;
    let (provider, name) = agent_services.providers.find(model)?;
    let schema = OutputSchema { name: "decision".into(), schema: Value::from_json(inquiry.schema) };
    let request = CompletionRequest {
        model: name,
        messages: vec![Message::text(Role::User, prompt)].into(),
        schema: Some(schema.clone()),
        agent: ARBITER.to_owned(),
        occasion: format!("{}/replay", occasion.unwrap_or_default()),
        ..CompletionRequest::default()
    };
    let completion = provider.complete(request, &mut |_| {}).await?;
    let decision = judge(&completion, &schema).map_err(|unfit| AskAgainError::Unfit(unfit.to_string()))?;
    Ok(ReplayedDecision { decision, usage: completion.usage })
}
