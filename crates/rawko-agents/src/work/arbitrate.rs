//! `work:select` and `work:evaluate`: the arbiter's questions, sent to a model if no rule decides. The prompts and
//! responses are part of the result, so that the journal has them and the question can be replayed with another model.

use jiff::Timestamp;
use rawko_core::{Map, Value};
use rawko_host::{Call, Category, ServiceError};

use super::complete::{bare_as, text};
use super::models::ModelChain;
use super::recall::{Recalled, recall};
use super::{Workshop, value};
use rawko_arbiter::{Case, ContextError, Decided, Inquiry, Moment, Next, Orchestration, PromptTurn};
use rawko_model::provider::{CompletionRequest, OutputSchema, ProviderError, ProviderProblem, judge};
use rawko_model::{Message, Role, Usage};

/// The agent name of these requests, for scripts and observers.
const ARBITER: &str = "arbiter";

pub(super) async fn decide(workshop: &Workshop, moment: Moment, call: Call) -> Result<Value, ServiceError> {
    let context = Orchestration::of(&call.input).map_err(|error| unreadable(&error))?;
    let agents = workshop.profiles();
    let case = Case { moment, context: &context, agents: &agents, settings: &workshop.arbiter };
    let now_ms = Timestamp::now().as_millisecond();
    let mut inquiry = Inquiry::new(&case, &workshop.prompts, now_ms).map_err(|error| unreadable(&error))?;
    let mut asking = Asking { workshop, call: &call, usage: Usage::default() };
    let mut next = inquiry.next(&case);
    loop {
        next = match next {
            Next::Decided(decided) => {
                let agent = decided.agent.as_deref();
                let recalled = agent.map(|agent| remembered(workshop, &context, agent, now_ms));
                return Ok(asking.told(moment, &decided, &inquiry, recalled));
            }
            Next::Nobody => return Err(nobody(&context)),
            Next::Ask { turns, schema } => {
                let messages = turns.into_iter().map(message).collect();
                let answer = asking.ask(messages, schema).await;
                let answer = answer.map_err(|error| with("record", asking.record(&inquiry), error))?;
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

struct Asking<'a> {
    workshop: &'a Workshop,
    call: &'a Call,
    usage: Usage,
}

impl Asking<'_> {
    /// Returns the models: the arbiter's setting, else the task's, else the default.
    fn chain(&self) -> ModelChain<'_> {
        let task = self.call.input.get("providerName").as_str();
        let (models, from) = match self.workshop.arbiter.model.as_deref() {
            Some(models) => (models, "`arbiter.model` in .rawko/config.yaml"),
            None => (task.unwrap_or_default(), "`--model`"),
        };
        ModelChain::of(self.workshop, models, from, self.call)
    }

    async fn ask(&mut self, messages: Vec<Message>, schema: Value) -> Result<String, ServiceError> {
        self.insist_on_budget()?;
        let bare = bare_as(ARBITER, self.call);
        let (attempt, chain) = (bare.attempt, self.chain());
        let failed = |error: &ProviderError| {
            let error = chain.fault(error, attempt, &self.call.idempotency);
            with_usage(end_if_too_long(error), self.usage)
        };
        let (provider, model) = chain.find(attempt, &self.call.idempotency)?;
        let schema = Some(OutputSchema { name: "decision".into(), schema });
        // A repeated question contains the problem, so it needs another key.
        let idempotency = format!("{}-{}", bare.idempotency, messages.len());
        let request = CompletionRequest { model, messages, schema, idempotency, ..bare };
        let completion = provider.complete(request, &mut |_| {}).await.map_err(|error| failed(&error))?;
        self.usage = self.usage.plus(completion.usage);
        Ok(text(&completion.message))
    }

    /// Checks the budget before a question; a rule is free.
    fn insist_on_budget(&self) -> Result<(), ServiceError> {
        let left = self.call.policy.get("budget");
        let is_over = |key: &&str| left.get(key).as_f64().is_some_and(|left| left <= 0.0);
        match ["tokens", "cost_usd", "time"].into_iter().find(is_over) {
            Some(key) => {
                let message = format!("`budget.{key}` is used up, and the arbiter would have to ask a model");
                Err(with_usage(ServiceError::new(Category::Limit, message), self.usage))
            }
            None => Ok(()),
        }
    }

    fn told(
        &self,
        moment: Moment,
        decided: &Decided,
        inquiry: &Inquiry,
        recalled: Option<Recalled>,
    ) -> Value {
        let told = match moment {
            Moment::Select => decided.to_selection(),
            Moment::Evaluate => decided.to_value(),
        };
        let mut told = told.as_map().cloned().unwrap_or_default();
        for (key, value) in recalled.into_iter().flat_map(Recalled::entries) {
            told.insert(key.into(), value);
        }
        told.insert("usage".into(), value(&self.usage));
        told.insert("record".into(), self.record(inquiry));
        Value::Map(told.into())
    }

    /// Returns the prompts and responses so far, also without a decision.
    fn record(&self, inquiry: &Inquiry) -> Value {
        let mut record = inquiry.record().as_map().cloned().unwrap_or_default();
        record.insert("model".into(), Value::str(self.chain().model()));
        record.insert("occasion".into(), self.call.input.get("occasion").clone());
        Value::Map(record.into())
    }
}

/// The arbiter's question is as short as it can be: one that is too long stays too long.
fn end_if_too_long(error: ServiceError) -> ServiceError {
    let is_last = error.details.get("next_model").is_null();
    match error.details.get("code").as_str() {
        Some("context_length_exceeded") if is_last => with("permanent", Value::Bool(true), error),
        _ => error,
    }
}

/// The completion was paid for, even if it failed.
fn with_usage(error: ServiceError, usage: Usage) -> ServiceError {
    with("usage", value(&usage), error)
}

fn with(key: &str, more: Value, error: ServiceError) -> ServiceError {
    let mut details: Map = error.details.as_map().cloned().unwrap_or_default();
    details.insert(key.into(), more);
    error.with_details(Value::Map(details.into()))
}

fn remembered(workshop: &Workshop, context: &Orchestration, agent: &str, now_ms: i64) -> Recalled {
    let begins = context.sessions.get(agent).as_list().is_none_or(<[Value]>::is_empty);
    recall(workshop, &context.task, agent, begins, now_ms)
}

fn unreadable(error: &ContextError) -> ServiceError {
    ServiceError::new(Category::Failed, error.to_string())
}

fn nobody(context: &Orchestration) -> ServiceError {
    let message = match &context.agents {
        Some(names) => format!("no agent can be chosen: the task names {}", names.join(", ")),
        None => "no agent can be chosen; add one to .rawko/agents".to_owned(),
    };
    ServiceError::new(Category::Unknown, message)
}

/// Another model's response to a recorded question.
#[derive(Clone, Debug, PartialEq)]
pub struct Again {
    /// `{type, mode, reason}`, checked against the recorded schema.
    pub decision: Value,
    pub usage: Usage,
}

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AskAgainError {
    #[error("the record has no prompt")]
    NoPrompt,
    #[error(transparent)]
    Model(#[from] ProviderProblem),
    #[error(transparent)]
    Provider(#[from] ProviderError),
    #[error("the answer cannot be used: {0}")]
    Unfit(String),
}

/// Sends a recorded question to a model, once.
pub async fn ask_again(workshop: &Workshop, model: &str, record: &Value) -> Result<Again, AskAgainError> {
    let prompt = record.get("prompt").as_str().ok_or(AskAgainError::NoPrompt)?;
    let (provider, name) = workshop.providers.find(model)?;
    let schema = OutputSchema { name: "decision".into(), schema: record.get("schema").clone() };
    let request = CompletionRequest {
        model: name,
        messages: vec![Message::text(Role::User, prompt)],
        schema: Some(schema.clone()),
        agent: ARBITER.to_owned(),
        occasion: format!("{}/replay", record.get("occasion").as_str().unwrap_or_default()),
        ..CompletionRequest::default()
    };
    let completion = provider.complete(request, &mut |_| {}).await?;
    let decision = judge(&completion, &schema).map_err(|unfit| AskAgainError::Unfit(unfit.to_string()))?;
    Ok(Again { decision, usage: completion.usage })
}
