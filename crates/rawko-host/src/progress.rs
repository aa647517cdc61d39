//! Progress of running calls: text as it arrives, the tool that runs. For live watchers only; nothing is stored,
//! because the result repeats all of it.

use std::fmt;
use std::sync::Arc;

use rawko_core::Value;
use tokio::sync::broadcast;

/// Number of events a slow watcher may lag behind before it misses some.
const BEHIND_MAX: usize = 4_096;

/// A piece of progress.
#[derive(Clone, Debug, PartialEq)]
pub struct CallProgress {
    /// Id of the calling instance.
    pub instance: Arc<str>,
    /// The invoke's id.
    pub id: Arc<str>,
    /// The name of the called service.
    pub name: Arc<str>,
    /// The step that requested the call; together with the id it identifies one call.
    pub step: u64,
    /// Content, in the format of the service.
    pub data: Value,
}

/// The sender of a call's progress. Sending is free without watchers.
#[derive(Clone)]
pub struct ProgressSender {
    watchers: broadcast::Sender<CallProgress>,
    instance: Arc<str>,
    id: Arc<str>,
    name: Arc<str>,
    step: u64,
}

impl ProgressSender {
    pub(crate) fn new(
        watchers: &broadcast::Sender<CallProgress>,
        instance: &Arc<str>,
        id: &Arc<str>,
        name: &Arc<str>,
        step: u64,
    ) -> Self {
        let (instance, id, name) = (Arc::clone(instance), Arc::clone(id), Arc::clone(name));
        Self { watchers: watchers.clone(), instance, id, name, step }
    }

    /// Creates a sender without receivers, for calls outside a host.
    pub fn silent() -> Self {
        let nothing: Arc<str> = Arc::default();
        Self::new(&watchers(), &nothing, &nothing, &nothing, 0)
    }

    /// Sends progress to live watchers; does nothing without one.
    pub fn tell(&self, data: Value) {
        if self.watchers.receiver_count() == 0 {
            return;
        }
        let (instance, id, name) = (Arc::clone(&self.instance), Arc::clone(&self.id), Arc::clone(&self.name));
        // Sending fails only if the last watcher is gone.
        let _ = self.watchers.send(CallProgress { instance, id, name, step: self.step, data });
    }
}

impl fmt::Debug for ProgressSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Teller")
    }
}

pub(crate) fn watchers() -> broadcast::Sender<CallProgress> {
    broadcast::Sender::new(BEHIND_MAX)
}
