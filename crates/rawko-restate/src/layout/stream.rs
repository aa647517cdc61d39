//! The live output of running calls, for terminals that follow an instance on Restate. Separate from the instances:
//! nothing depends on it, and the journal repeats all of it.

use std::sync::Arc;

use rawko_core::Value;
use rawko_host::CallProgress;
use serde::{Deserialize, Serialize};

/// The virtual object of live output; its key is [`stream_key`] of an instance, or [`WATCHED`].
pub const STREAM: &str = "RawkoStream";
/// The key of the one object that lists the watched streams. No instance id contains a slash.
pub const WATCHED: &str = "/watched";
/// A stream is watched for this long after a watcher asked for it.
pub const LEASE_MS: i64 = 15_000;

/// Handlers of [`STREAM`].
pub mod handler {
    /// Of [`super::WATCHED`]: [`super::WatchAsk`]. Renews a lease.
    pub const WATCH: &str = "watch";
    /// Of [`super::WATCHED`], shared: the time in milliseconds → the keys of watched streams.
    pub const WATCHED: &str = "watched";
    /// `Vec<`[`super::CallOutput`]`>`: replaces the output of these calls.
    pub const WRITE: &str = "write";
    /// Shared. `Vec<`[`super::KnownOutput`]`>` → `Vec<`[`super::CallOutput`]`>`, without the known text.
    pub const READ: &str = "read";
}

/// Returns the stream of an instance: its task and all agents below it share one.
pub fn stream_key(instance: &str) -> &str {
    instance.split('.').next().unwrap_or(instance)
}

/// A watcher of a stream.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WatchAsk {
    /// Key of the stream.
    pub stream: String,
    /// Time of the request.
    pub now_ms: i64,
}

/// Identifies one attempt of a call.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CallRun {
    /// The instance that made the call.
    pub instance: Arc<str>,
    /// Id of the invoke.
    pub id: Arc<str>,
    /// The step that requested the call.
    pub step: u64,
    /// The start of the worker that runs it: another worker repeats a call from its beginning.
    pub boot: String,
}

/// The output of a call until now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallOutput {
    /// The call.
    pub run: CallRun,
    /// Name of the called service.
    pub name: Arc<str>,
    /// Number of bytes before [`CallOutput::text`].
    #[serde(default)]
    pub from: usize,
    /// Text of the model.
    pub text: String,
    /// The last event that is not text: a thought, or the last line of a command.
    #[serde(default)]
    pub last: Value,
    /// The call has ended: its output is removed.
    #[serde(default)]
    pub is_over: bool,
}

/// The part of an output that a watcher has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KnownOutput {
    /// The call.
    pub run: CallRun,
    /// Number of bytes of its text.
    pub bytes: usize,
}

impl CallOutput {
    /// Returns the output without the part that a watcher has.
    #[must_use]
    pub fn after(mut self, known: &[KnownOutput]) -> CallOutput {
        let known = known.iter().find(|known| known.run == self.run).map_or(0, |known| known.bytes);
        if known <= self.text.len() && self.text.is_char_boundary(known) {
            self.text.drain(..known);
            self.from = known;
        }
        self
    }

    pub(crate) fn progress(&self, data: Value) -> CallProgress {
        let (instance, id) = (Arc::clone(&self.run.instance), Arc::clone(&self.run.id));
        CallProgress { instance, id, name: Arc::clone(&self.name), step: self.run.step, data }
    }
}
