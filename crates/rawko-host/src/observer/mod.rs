//! `Observer`: whoever wants to know what a host does, for traces, metrics and logs. Facts come as data, after they
//! happened; what becomes of them is the observer's business. While nobody observes, nothing is worked out or kept.

mod calls;
mod commits;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use rawko_core::Status;
use rawko_instance::Spent;
use rawko_store::{EffectKind, NewInstance, RecordKind};

use crate::host::{Host, Inner};

pub(crate) use calls::CallWatch;
pub use calls::not_called;
pub use commits::committed;

/// Somebody who is told. Calls come from the host's own threads, so it must not block.
pub trait Observer: Send + Sync {
    fn observe(&self, observation: Observation);

    /// Whether it wants what was said, too, and not only what happened.
    fn wants_content(&self) -> bool {
        false
    }
}

/// Something that happened.
#[derive(Clone, Debug)]
pub enum Observation {
    /// Steps of an instance are on disk.
    Committed(Committed),
    /// A call begins.
    Calling(Arc<Calling>),
    /// A call is over.
    Called(Called),
    /// A model has answered, or has not.
    Completed(Completed),
    /// Something went wrong where nobody was there to be told.
    Troubled { about: String, message: String },
}

/// Steps of one instance that share a commit.
#[derive(Clone, Debug)]
pub struct Committed {
    pub instance: Arc<NewInstance>,
    pub steps: Vec<Taken>,
    /// What it was before; `None` when it begins here.
    pub before: Option<Status>,
    pub status: Status,
    /// A step could not be taken, and it rests until somebody helps.
    pub fault: Option<Arc<str>>,
    /// What an agent or a chart says about its own end: `finished`, `limit_reached`, ….
    pub outcome: Option<Arc<str>>,
    /// Why it failed, in a word: a provider's code, else the category.
    pub error: Option<Arc<str>>,
    /// What it and its children have spent.
    pub spent: Spent,
    /// What people were asked, and is over.
    pub asked: Vec<Asked>,
}

/// One step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    pub step: u64,
    /// When it was taken; for a timer, when it was due.
    pub at_ms: i64,
    pub kind: RecordKind,
    /// What it was about, in a word: the event's name, `timer_fired`, `invoke_done`, `start`.
    pub event: Arc<str>,
    /// How long after its time a timer fired.
    pub late_ms: Option<u64>,
}

/// A question to a person that is not open any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    pub step: u64,
    pub index: u32,
    /// `human`, or the agent who is a person.
    pub name: Arc<str>,
    pub opened_ms: i64,
    /// `approved`, `denied`, `failed`; nothing when it was withdrawn.
    pub decision: Option<Arc<str>>,
}

/// A call of a service, a tool, a model, an agent that is a program.
#[derive(Clone, Debug)]
pub struct Calling {
    pub instance: Arc<str>,
    pub step: u64,
    pub index: u32,
    pub kind: EffectKind,
    pub name: Arc<str>,
    /// The invoke's id in the chart.
    pub id: Arc<str>,
    pub idempotency: Arc<str>,
    /// 1 for the first.
    pub attempt: u32,
    /// The agent that the instance plays.
    pub agent: Option<Arc<str>>,
    /// The id that a model gave its call of a tool.
    pub tool_call: Option<Arc<str>>,
    pub started: SystemTime,
    /// As JSON, when it is wanted.
    pub input: Option<String>,
}

#[derive(Clone, Debug)]
pub struct Called {
    pub calling: Arc<Calling>,
    pub took: Duration,
    pub outcome: Outcome,
    pub spent: Spent,
    /// As JSON, when it is wanted.
    pub output: Option<String>,
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Answered,
    /// It answered, and says itself that it did not work.
    Complained,
    Failed {
        code: Arc<str>,
        message: String,
    },
    /// Nobody waited for it any more, or the host was closed.
    Stopped,
}

/// One completion.
#[derive(Clone, Debug)]
pub struct Completed {
    /// Begins with the idempotency key of the call that it belongs to.
    pub idempotency: String,
    /// Who asked.
    pub agent: String,
    pub provider: String,
    pub model: String,
    /// The model that answered, as it calls itself.
    pub response_model: Option<String>,
    /// How often this was tried before.
    pub attempt: u32,
    pub output_tokens_max: Option<u32>,
    pub temperature: Option<f64>,
    /// Whether the answer was to be JSON.
    pub structured: bool,
    pub started: SystemTime,
    pub took: Duration,
    /// Why the model stopped, or the code of the fault.
    pub finish: Result<Arc<str>, Arc<str>>,
    pub usage: Used,
    pub said: Option<Said>,
}

/// What a completion took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Used {
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cached_tokens: u64,
    pub cost_usd: Option<f64>,
}

/// What was said, as JSON in the shape of the conventions for traces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    pub system: String,
    pub input: String,
    pub output: String,
}

/// How much a host has to do right now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    pub instances_in_memory: usize,
    pub calls_running: usize,
    /// Commits whose effects have not been begun yet.
    pub commits_unperformed: usize,
    /// Requests that wait for the disk.
    pub requests_waiting: usize,
    pub commits: u64,
    pub fsyncs: u64,
}

impl Host {
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
    /// Tells whoever observes of something around the host that needs somebody.
    pub fn tell_trouble(&self, about: &str, message: &str) {
        self.inner.tell_trouble(about, message);
    }
}

impl Inner {
    pub(crate) fn tell(&self, observations: impl IntoIterator<Item = Observation>) {
        if let Some(observer) = &self.observer {
            observations.into_iter().for_each(|observation| observer.observe(observation));
        }
    }

    pub(crate) fn tell_trouble(&self, about: &str, message: &str) {
        if self.observer.is_some() {
            let (about, message) = (about.to_owned(), message.to_owned());
            self.tell([Observation::Troubled { about, message }]);
        }
    }
}
