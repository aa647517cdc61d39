//! `ProgressStream`: live output of agents as lines for programs, in the order of the journal: after the step that requested
//! it, before the step with the whole response.

use rawko_core::{ServiceClass, ServiceName};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use rawko_host::{CallProgress, SnapshotReader};
use serde_json::Value as Json;
use tokio::sync::broadcast::{self, error};

use crate::journal::{EntryBody, JournalEntry, live};

/// Receives progress of the calls of this process. Empty if another process hosts.
pub(crate) struct ProgressStream {
    /// The instance whose calls are shown, with its descendants.
    root: String,
    receiver: Option<broadcast::Receiver<CallProgress>>,
    reader: Option<SnapshotReader>,
    waiting: VecDeque<WaitingEvents>,
    agents: HashMap<Arc<str>, Option<Arc<str>>>,
}

struct WaitingEvents {
    heard: CallProgress,
    /// The step that led to it was shown.
    is_due: bool,
}

impl ProgressStream {
    pub(crate) fn of(root: &str) -> Self {
        let (root, waiting, agents) = (root.to_owned(), VecDeque::new(), HashMap::new());
        Self { root, receiver: None, reader: None, waiting, agents }
    }

    pub(crate) fn listen(
        &mut self,
        receiver: Option<broadcast::Receiver<CallProgress>>,
        reader: SnapshotReader,
    ) {
        (self.receiver, self.reader) = (receiver, Some(reader));
    }

    pub(crate) fn is_listening(&self) -> bool {
        self.receiver.is_some()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Waits for more output; never resolves without a sender.
    pub(crate) async fn more(&mut self) {
        loop {
            let Some(receiver) = &mut self.receiver else { return std::future::pending().await };
            match receiver.recv().await {
                Ok(heard) => return self.keep(heard),
                // Missed events are recoverable from the journal.
                Err(error::RecvError::Lagged(_)) => {}
                Err(error::RecvError::Closed) => self.receiver = None,
            }
        }
    }

    /// Called before the journal is read, which will then contain the steps that led to all output so far.
    pub(crate) fn mark(&mut self) {
        self.collect();
        self.waiting.iter_mut().for_each(|waiting| waiting.is_due = true);
    }

    /// Called before an entry is shown: returns the pieces of its response, all of which were sent before its commit.
    pub(crate) fn before(&mut self, entry: &JournalEntry) -> Vec<Json> {
        let (invoke, text) = match &entry.what {
            EntryBody::Answered { invoke, data } => (invoke, data.get("text").as_str().unwrap_or_default()),
            EntryBody::CallFailed { invoke, .. } => (invoke, ""),
            EntryBody::Started { .. }
            | EntryBody::Forked { .. }
            | EntryBody::Event { .. }
            | EntryBody::Timer(_)
            | EntryBody::Retried { .. }
            | EntryBody::Cancelled { .. }
            | EntryBody::Paused { .. }
            | EntryBody::Resumed { .. }
            | EntryBody::Migrated { .. }
            | EntryBody::Unreadable(_) => return Vec::new(),
        };
        self.collect();
        let is_its = |heard: &CallProgress| heard.instance == entry.instance && *heard.id == **invoke;
        let its = self.waiting.iter().map(|waiting| &waiting.heard).filter(|heard| is_its(heard));
        let mut left = live::belonging(its.map(|heard| &heard.data), text);
        self.take(|waiting| {
            let is_taken = left > 0 && is_its(&waiting.heard);
            left -= usize::from(is_taken);
            is_taken
        })
    }

    /// Called after the journal was read: returns the output that is still in progress.
    pub(crate) fn due(&mut self) -> Vec<Json> {
        self.take(|waiting| waiting.is_due)
    }

    fn take(&mut self, mut is_taken: impl FnMut(&WaitingEvents) -> bool) -> Vec<Json> {
        let (mut lines, mut rest) = (Vec::new(), VecDeque::new());
        for waiting in std::mem::take(&mut self.waiting) {
            if is_taken(&waiting) {
                lines.extend(self.line(&waiting.heard));
            } else {
                rest.push_back(waiting);
            }
        }
        self.waiting = rest;
        lines
    }

    fn collect(&mut self) {
        while let Some(receiver) = &mut self.receiver {
            match receiver.try_recv() {
                Ok(heard) => self.keep(heard),
                Err(error::TryRecvError::Lagged(_)) => {}
                Err(error::TryRecvError::Empty | error::TryRecvError::Closed) => return,
            }
        }
    }

    fn keep(&mut self, heard: CallProgress) {
        let below = heard.instance.strip_prefix(&self.root);
        let belongs = below.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        if belongs && live::is_agents(&heard) {
            self.waiting.push_back(WaitingEvents { heard, is_due: false });
        }
    }

    fn line(&mut self, heard: &CallProgress) -> Option<Json> {
        let agent = match ServiceName::member_of(&heard.name, ServiceClass::Agent) {
            Some(agent) => agent.into(),
            None => self.agent_of(&heard.instance)?,
        };
        live::line(heard, &agent)
    }

    /// Returns the agent that an instance runs as.
    fn agent_of(&mut self, instance: &Arc<str>) -> Option<Arc<str>> {
        let Self { agents, reader, .. } = self;
        let look_up = || reader.as_ref()?.find(instance).ok()?.new.agent();
        agents.entry(Arc::clone(instance)).or_insert_with(look_up).clone()
    }
}
