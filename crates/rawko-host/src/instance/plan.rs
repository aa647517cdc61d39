//! `Plan`: what a run of steps wants — the commits that go to disk together, and what is to be done once they are there.

use std::borrow::Cow;
use std::sync::Arc;

use rawko_core::{Invoke, Send, Snapshot, Value};
use rawko_store::{Blob, Commit, Head, Inbound, InstanceKey, OpenEffect, content};

use super::delivery::{Delivery, Letter, Receipt, Reply};
use super::{Live, Slot};
use crate::error::HostError;
use crate::ledger::Ledger;
use crate::services::ServiceError;

/// Everything that follows from the deliveries taken in one go.
pub(crate) struct Plan {
    pub(crate) commit: Commit,
    /// Children that begin with these steps: on disk together with the step that invoked them.
    pub(crate) children: Vec<(Commit, Arc<Slot>)>,
    pub(crate) work: Vec<Work>,
    pub(crate) replies: Vec<(Reply, Result<Receipt, HostError>)>,
    /// Deliveries nobody waits for, to be taken again if the commit fails.
    pub(crate) again: Vec<Delivery>,
    pub(crate) undo: Undo,
}

/// The instance as it was, for a commit that fails.
pub(crate) struct Undo {
    pub(crate) snapshot: Snapshot,
    pub(crate) head: Head,
    pub(crate) open: Vec<OpenEffect>,
    pub(crate) calls: u64,
    pub(crate) ledger: Ledger,
    pub(crate) delta_bytes: usize,
    pub(crate) snapshot_bytes: usize,
}

/// An open effect anywhere: instance, step, index.
pub type EffectRef = (InstanceKey, u64, u32);

/// Something to do after the commit.
#[derive(Debug)]
pub enum Work {
    /// Run a service and bring back its answer.
    Run {
        effect: OpenEffect,
        request: Request,
    },
    /// The effect cannot be run: its failure is the answer.
    Fail {
        effect: OpenEffect,
        error: ServiceError,
    },
    /// Nobody waits for it any more.
    Stop {
        effect: EffectRef,
    },
    StopChild {
        id: Arc<str>,
    },
    /// A person has until then to answer.
    Expire {
        effect: EffectRef,
        due_ms: i64,
    },
    /// An event that was committed for this or another instance.
    Post {
        to: InstanceKey,
        seq: i64,
        letter: Letter,
    },
}

/// What a service is asked, as the effect says it.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(untagged)]
pub enum Request {
    Invoke(Invoke),
    Send(Send),
    Call { handler: Arc<str>, params: Value },
}

impl Plan {
    pub(crate) fn new(key: InstanceKey, live: &Live) -> Self {
        Self {
            commit: Commit { instance: key, ..Commit::default() },
            children: Vec::new(),
            work: Vec::new(),
            replies: Vec::new(),
            again: Vec::new(),
            undo: Undo {
                snapshot: live.snapshot.clone(),
                head: live.head.clone(),
                open: live.open.clone(),
                calls: live.calls,
                ledger: live.ledger.clone(),
                delta_bytes: live.delta_bytes,
                snapshot_bytes: live.snapshot_bytes,
            },
        }
    }

    /// Whether there is anything to write.
    pub(crate) fn is_empty(&self) -> bool {
        self.commit.records.is_empty()
            && self.commit.taken.is_empty()
            && self.commit.closed.is_empty()
            && self.commit.opened.is_empty()
    }

    /// Packs a text for the store and keeps its large parts with the commit.
    pub(crate) fn pack(&mut self, text: String) -> String {
        pack_into(text, &mut self.commit.blobs)
    }

    /// An event for an instance, committed with this plan and posted after it.
    pub(crate) fn post(&mut self, to: InstanceKey, seq: i64, letter: Letter) {
        let text = serde_json::to_string(&letter).unwrap_or_default();
        let event = self.pack(text);
        self.commit.sent.push(Inbound { seq, to, event });
        self.work.push(Work::Post { to, seq, letter });
    }

    /// What was planned after this, before anything of it was written.
    pub(crate) fn append(&mut self, next: Plan) {
        let Commit { records, head, snapshot, blobs, opened, closed, sent, taken, deliveries, audit, .. } =
            next.commit;
        let commit = &mut self.commit;
        commit.records.extend(records);
        commit.head = head.or(commit.head.take());
        commit.snapshot = snapshot.or(commit.snapshot.take());
        commit.blobs.extend(blobs);
        commit.opened.extend(opened);
        commit.closed.extend(closed);
        commit.sent.extend(sent);
        commit.taken.extend(taken);
        commit.deliveries.extend(deliveries);
        commit.audit.extend(audit);
        self.children.extend(next.children);
        self.work.extend(next.work);
        self.replies.extend(next.replies);
        self.again.extend(next.again);
    }

    /// All commits of this plan, the instance's own first.
    pub(crate) fn take_commits(&mut self) -> Vec<Commit> {
        let mut commits = vec![std::mem::take(&mut self.commit)];
        commits.extend(self.children.iter_mut().map(|(commit, _)| std::mem::take(commit)));
        commits
    }
}

pub(crate) fn pack_into(text: String, blobs: &mut Vec<Blob>) -> String {
    let packed = content::pack(&text);
    blobs.extend(packed.blobs);
    match packed.text {
        Cow::Owned(packed) => packed,
        // Nothing large in it: the text goes as it is.
        Cow::Borrowed(_) => text,
    }
}
