//! What a running call tells while it is at it: text as it comes, the tool that runs. For whoever watches; nothing of it
//! is kept, because the result says it all again.

use std::fmt;
use std::sync::Arc;

use rawko_core::Value;
use tokio::sync::broadcast;

/// How much a slow watcher may fall behind before it misses something.
const BEHIND_MAX: usize = 4_096;

#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    pub instance: Arc<str>,
    /// The invoke's id.
    pub id: Arc<str>,
    /// What was called.
    pub name: Arc<str>,
    /// The step that asked for it: with the id this is one call and no other.
    pub step: u64,
    pub data: Value,
}

/// Where a call tells its progress. Telling costs nothing while nobody watches.
#[derive(Clone)]
pub struct Teller {
    watchers: broadcast::Sender<Progress>,
    instance: Arc<str>,
    id: Arc<str>,
    name: Arc<str>,
    step: u64,
}

impl Teller {
    pub(crate) fn new(
        watchers: &broadcast::Sender<Progress>,
        instance: &Arc<str>,
        id: &Arc<str>,
        name: &Arc<str>,
        step: u64,
    ) -> Self {
        let (instance, id, name) = (Arc::clone(instance), Arc::clone(id), Arc::clone(name));
        Self { watchers: watchers.clone(), instance, id, name, step }
    }

    /// Nobody listens: for calls outside a host.
    pub fn silent() -> Self {
        let nothing: Arc<str> = Arc::default();
        Self::new(&watchers(), &nothing, &nothing, &nothing, 0)
    }

    pub fn tell(&self, data: Value) {
        if self.watchers.receiver_count() == 0 {
            return;
        }
        let (instance, id, name) = (Arc::clone(&self.instance), Arc::clone(&self.id), Arc::clone(&self.name));
        // An error only says that the last watcher has gone meanwhile.
        let _ = self.watchers.send(Progress { instance, id, name, step: self.step, data });
    }
}

impl fmt::Debug for Teller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Teller")
    }
}

pub(crate) fn watchers() -> broadcast::Sender<Progress> {
    broadcast::Sender::new(BEHIND_MAX)
}
