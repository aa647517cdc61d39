//! `HandlerOutcome`: the complete result of one call of an instance's handler, as one value in the journal. The worker that
//! takes over after a crash reads it there and applies the rest, independent of its own charts, settings and version.

use std::io;
use std::sync::Arc;

use rawko_host::HostEvent;
use rawko_instance::{EffectPlace, EffectResult};
use rawko_store::{AuditLine, KeyedDelivery, OpenEffect, Record, SavedSnapshot};
use serde::{Deserialize, Serialize};

use crate::layout::{BlobText, ChartSource, LiveState, PostedEvent, RestateRefusal, RestateReply};

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct HandlerOutcome {
    pub(super) reply: RestateReply,
    /// `None` if nothing changed.
    pub(super) written: Option<Box<CommitResult>>,
    /// The limit of the family, if instances begin. `None` in outcomes of earlier workers, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) family_max: Option<u32>,
    /// Observations, reported by the worker that computed the outcome once it is in the journal; a replay reports none.
    #[serde(skip)]
    pub(super) seen: Vec<HostEvent>,
}

/// The new state of one instance, and the sends that follow.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct CommitResult {
    pub(super) live: LiveState,
    pub(super) records: Vec<Record>,
    pub(super) snapshot: Option<SavedSnapshot>,
    pub(super) blobs: Vec<BlobText>,
    pub(super) deliveries: Vec<KeyedDelivery>,
    pub(super) audit: Vec<AuditLine>,
    /// Charts that have to be stored before the children begin.
    pub(super) charts: Vec<KeptChart>,
    pub(super) children: Vec<CommitResult>,
    pub(super) todo: Vec<Todo>,
    pub(super) timer: Option<TimerAsk>,
    /// True if the index gets the new row. False in outcomes of earlier workers, whose journals are replayed as they are.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_indexed: bool,
    /// True if the index has to have the row before anything else happens: others may look for it there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_awaited: bool,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct KeptChart {
    /// In hex.
    pub(super) hash: String,
    pub(super) text: ChartSource,
}

/// A durable send. `Fail`, `StopChild` and `Expire` come from earlier workers, whose journals may still be read.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Todo {
    Run(WorkAsk),
    /// The effect cannot be run; this is its result.
    Fail(ResultAsk),
    Post {
        to: Arc<str>,
        post: PostedEvent,
    },
    StopChild {
        id: Arc<str>,
    },
    Expire {
        place: EffectPlace,
        delay_ms: u64,
    },
    /// Slots of a family that are free again.
    Release {
        root: Arc<str>,
        count: u64,
    },
}

/// An effect to run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct WorkAsk {
    pub(super) instance: Arc<str>,
    /// The agent that the instance runs as.
    #[serde(default)]
    pub(super) agent: Option<String>,
    pub(super) effect: OpenEffect,
}

/// The result of an effect.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ResultAsk {
    pub(super) place: EffectPlace,
    pub(super) result: EffectResult,
    /// Additional audit lines.
    #[serde(default)]
    pub(super) audit: Vec<AuditLine>,
}

/// A timer of the instance may be due.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct TimerAsk {
    pub(super) due_ms: i64,
    pub(super) delay_ms: u64,
}

impl HandlerOutcome {
    pub(super) fn refused(refusal: impl Into<RestateRefusal>) -> Self {
        Self { reply: Err(refusal.into()), written: None, family_max: None, seen: Vec::new() }
    }

    /// Returns the length as sent: quotes and control characters are longer there than in memory.
    pub(super) fn bytes(&self) -> usize {
        let mut counted = CountingWriter(0);
        // A value that cannot be serialised fails later, when it is sent.
        let _ = serde_json::to_writer(&mut counted, self);
        counted.0
    }
}

impl CommitResult {
    /// Creates an outcome that only updates the state.
    pub(super) fn empty(live: LiveState) -> Self {
        Self {
            live,
            records: Vec::new(),
            snapshot: None,
            blobs: Vec::new(),
            deliveries: Vec::new(),
            audit: Vec::new(),
            charts: Vec::new(),
            children: Vec::new(),
            todo: Vec::new(),
            timer: None,
            is_indexed: false,
            is_awaited: false,
        }
    }
}

/// Counts the bytes written to it.
struct CountingWriter(usize);

impl io::Write for CountingWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
