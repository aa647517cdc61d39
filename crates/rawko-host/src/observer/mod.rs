//! `Observer`: receives the events of a host for traces, metrics and logs. Observations are data and are delivered
//! after the fact; processing them is up to the observer. Without an observer, none are computed or kept.

mod calls;
mod commits;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use rawko_core::Status;
use rawko_instance::Spent;
use rawko_store::{EffectKind, NewInstance, RecordKind};

use crate::host::{Host, HostInner};

pub(crate) use calls::CallWatch;
pub use calls::not_called;
pub use commits::committed;

/// Receives observations. Called on the host's own threads, so it must not block.
pub trait Observer: Send + Sync {
    /// Receives one observation, on the thread that made it; must not block.
    fn observe(&self, observation: HostEvent);

    /// Returns true if observations should include messages and inputs, not only metadata.
    fn wants_content(&self) -> bool {
        false
    }
}

/// One event of a host.
#[derive(Clone, Debug)]
pub enum HostEvent {
    /// Steps of an instance are on disk.
    Committed(CommittedSteps),
    /// A call begins.
    Calling(Arc<ObservedCall>),
    /// A call ended.
    Called(FinishedCall),
    /// A completion succeeded or failed.
    Completed(ObservedCompletion),
    /// An error without a waiting caller.
    Troubled {
        /// Instance or part of the host that the error belongs to.
        about: String,
        /// Error message.
        message: String,
    },
}

/// Steps of one instance that share a commit.
#[derive(Clone, Debug)]
pub struct CommittedSteps {
    /// Identity and chart of the instance.
    pub instance: Arc<NewInstance>,
    /// Steps in order.
    pub steps: Vec<StepTaken>,
    /// The status before the commit; `None` for the first commit.
    pub before: Option<Status>,
    /// Status after the commit.
    pub status: Status,
    /// The error of a step that could not be taken; the instance is stopped until it is retried.
    pub fault: Option<Arc<str>>,
    /// The outcome that an agent or chart reports: `finished`, `limit_reached`, ….
    pub outcome: Option<Arc<str>>,
    /// The kind of failure: a provider's code, else the category.
    pub error: Option<Arc<str>>,
    /// The spending of the instance and its children.
    pub spent: Spent,
    /// Closed requests to people.
    pub asked: Vec<ClosedRequest>,
}

/// One step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepTaken {
    /// Number of the step.
    pub step: u64,
    /// Time of the step; for a timer, its due time.
    pub at_ms: i64,
    /// Kind of the journal entry.
    pub kind: RecordKind,
    /// The kind of step: the event's name, `timer_fired`, `invoke_done`, `start`.
    pub event: Arc<str>,
    /// Delay of a timer past its due time.
    pub late_ms: Option<u64>,
}

/// A closed request to a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClosedRequest {
    /// Step that made the request.
    pub step: u64,
    /// Position among the effects of the step.
    pub index: u32,
    /// `human`, or the name of the agent that is a person.
    pub name: Arc<str>,
    /// Time of the request in milliseconds since the Unix epoch.
    pub opened_ms: i64,
    /// `approved`, `denied`, `failed`; `None` if the request was withdrawn.
    pub decision: Option<Arc<str>>,
}

/// A call of a service, a tool, a model, or an agent that is a program.
#[derive(Clone, Debug)]
pub struct ObservedCall {
    /// Id of the calling instance.
    pub instance: Arc<str>,
    /// Step that requested the call.
    pub step: u64,
    /// Position among the effects of the step.
    pub index: u32,
    /// Kind of the effect.
    pub kind: EffectKind,
    /// Service name in the chart.
    pub name: Arc<str>,
    /// The invoke's id in the chart.
    pub id: Arc<str>,
    /// Idempotency key of the call.
    pub idempotency: Arc<str>,
    /// 1 for the first.
    pub attempt: u32,
    /// The agent that the instance runs as.
    pub agent: Option<Arc<str>>,
    /// The id that a model assigned to its tool call.
    pub tool_call: Option<Arc<str>>,
    /// Start time.
    pub started: SystemTime,
    /// As JSON, if the observer wants content.
    pub input: Option<String>,
}

/// A finished call.
#[derive(Clone, Debug)]
pub struct FinishedCall {
    /// The call as it began.
    pub calling: Arc<ObservedCall>,
    /// Duration.
    pub took: Duration,
    /// Result of the call.
    pub outcome: CallOutcome,
    /// Usage that the call reported.
    pub spent: Spent,
    /// As JSON, if the observer wants content.
    pub output: Option<String>,
}

/// The outcome of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallOutcome {
    /// The call returned a result.
    Answered,
    /// The call returned a result that reports an error.
    Complained,
    /// The call failed.
    Failed {
        /// Category or code of the error.
        code: Arc<str>,
        /// Error message.
        message: String,
    },
    /// The call was no longer needed, or the host was closed.
    Stopped,
}

/// One completion.
#[derive(Clone, Debug)]
pub struct ObservedCompletion {
    /// Begins with the idempotency key of its call.
    pub idempotency: String,
    /// The agent that requested the completion.
    pub agent: String,
    /// Provider name.
    pub provider: String,
    /// Requested model.
    pub model: String,
    /// The responding model, by its own name.
    pub response_model: Option<String>,
    /// Number of earlier attempts.
    pub attempt: u32,
    /// Requested limit on output tokens.
    pub output_tokens_max: Option<u32>,
    /// Requested temperature.
    pub temperature: Option<f64>,
    /// True if the response had to be JSON.
    pub structured: bool,
    /// Start time.
    pub started: SystemTime,
    /// Duration.
    pub took: Duration,
    /// The model's stop reason, or the code of the fault.
    pub finish: Result<Arc<str>, Arc<str>>,
    /// Token usage and cost.
    pub usage: CompletionUsage,
    /// Messages; `None` unless the observer wants content.
    pub said: Option<TracedMessages>,
}

/// Usage of a completion.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CompletionUsage {
    /// Tokens of the request.
    pub input_tokens: u64,
    /// Tokens of the response.
    pub output_tokens: u64,
    /// Input read from the provider's cache, included in `input_tokens`.
    pub cached_tokens: u64,
    /// Input written to the provider's cache, included in `input_tokens`.
    pub cache_write_tokens: u64,
    /// Output spent on reasoning, included in `output_tokens`.
    pub reasoning_tokens: u64,
    /// Cost in US dollars; `None` without a known price.
    pub cost_usd: Option<f64>,
}

/// Messages as JSON, in the shape of the trace conventions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracedMessages {
    /// System prompt.
    pub system: String,
    /// Messages of the request.
    pub input: String,
    /// Messages of the response.
    pub output: String,
}

/// The current load of a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Instances in memory; the rest is loaded on demand.
    pub instances_in_memory: usize,
    /// Calls that wait for a result.
    pub calls_running: usize,
    /// Commits whose effects have not begun.
    pub commits_unperformed: usize,
    /// Requests that wait for a commit.
    pub requests_waiting: usize,
    /// Commits since the start of the host.
    pub commits: u64,
    /// Disk synchronisations since the start; one serves many commits.
    pub fsyncs: u64,
}

impl Host {
    /// Returns the current load.
    pub fn load(&self) -> Load {
        let inner = &self.inner;
        Load {
            instances_in_memory: inner.instances.len(),
            calls_running: inner.running().len(),
            commits_unperformed: inner.unperformed.load(Ordering::Relaxed),
            requests_waiting: inner.waiting.load(Ordering::Relaxed),
            commits: inner.writer.commits(),
            fsyncs: inner.writer.batches(),
        }
    }
}

impl Host {
    /// Reports a problem outside any instance that needs attention to the observer.
    pub fn tell_trouble(&self, about: &str, message: &str) {
        self.inner.tell_trouble(about, message);
    }
}

impl HostInner {
    pub(crate) fn tell(&self, observations: impl IntoIterator<Item = HostEvent>) {
        if let Some(observer) = &self.observer {
            observations.into_iter().for_each(|observation| observer.observe(observation));
        }
    }

    pub(crate) fn tell_trouble(&self, about: &str, message: &str) {
        if self.observer.is_some() {
            let (about, message) = (about.to_owned(), message.to_owned());
            self.tell([HostEvent::Troubled { about, message }]);
        }
    }
}
