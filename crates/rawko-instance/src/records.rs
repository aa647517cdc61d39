//! The contents of a store, as plain data: instances, journal records, snapshots, open effects, messages. Separate from
//! the stores themselves, because the host builds these and every store stores them.

use std::sync::Arc;

use rawko_core::{InstanceFacts, Status};
use serde::{Deserialize, Serialize};

mod effects;
mod hex;

pub use effects::{EffectKind, OpenEffect};

/// A store's number of an instance. The id is for people; this is for indexes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct InstanceKey(pub i64);

/// The content hash of a chart, as [`rawko_core::Chart::hash`] gives it.
pub type ChartHash = [u8; 16];

/// The exact source text of an instance's chart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChartRow {
    /// Content hash, the key of the row.
    pub hash: ChartHash,
    /// Chart id.
    pub id: String,
    /// Version as the author wrote it.
    pub version: String,
    /// The name of the source, for messages.
    pub name: String,
    /// Source text, exactly as it was loaded.
    pub text: String,
    /// Time of the first use, in milliseconds since the Unix epoch.
    pub added_ms: i64,
}

/// The invocation that an instance belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParentInvocation {
    /// Instance id of the parent.
    pub id: Arc<str>,
    /// Invocation id within the parent.
    pub invocation: u64,
    /// The invoke's id in the parent's chart when it started.
    pub invoke: Arc<str>,
    /// Number of ancestors.
    #[serde(default)]
    pub generation: u32,
}

/// The past step of another instance that this one was forked from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForkOrigin {
    /// Instance id of the source.
    pub id: Arc<str>,
    /// Step of the source after which this one continues.
    pub step: u64,
}

/// An instance that starts with this commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewInstance {
    /// Instance id, unique within the store.
    pub id: Arc<str>,
    /// Hash of the chart at the start.
    #[serde(with = "hex")]
    pub chart: ChartHash,
    /// Chart id at the start.
    pub chart_id: Arc<str>,
    /// Chart version at the start.
    pub version: Arc<str>,
    /// Invocation that started it; `None` for a root.
    pub parent: Option<ParentInvocation>,
    /// Source of a fork.
    pub origin: Option<ForkOrigin>,
    /// Start time in milliseconds since the Unix epoch.
    pub created_ms: i64,
    /// The policy given by its caller and the agent it implements, as JSON; empty if there is none.
    pub policy: Arc<str>,
}

impl NewInstance {
    /// Returns the value of `instance` in its expressions.
    pub fn facts(&self) -> InstanceFacts {
        let parent = self.parent.as_ref().map(|parent| &*parent.id);
        InstanceFacts::new(&self.id, parent, self.created_ms)
    }

    /// Returns the id of the root of its family; its own without a parent.
    pub fn root(&self) -> &str {
        let Some(parent) = &self.parent else { return &self.id };
        (1..parent.generation).fold(&*parent.id, |id, _| parent_id(id))
    }

    /// The agent that it plays, if it plays one.
    pub fn agent(&self) -> Option<Arc<str>> {
        let policy: serde_json::Value = serde_json::from_str(&self.policy).ok()?;
        Some(policy.get("agent")?.as_str()?.into())
    }
}

/// Returns the id of the parent of a descendant with this id: `parent.name.step`, or `parent.name.step.index`.
fn parent_id(id: &str) -> &str {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let mut rest = id;
    for _ in 0..2 {
        match rest.rsplit_once('.') {
            Some((lead, last)) if is_number(last) => rest = lead,
            Some(_) | None => break,
        }
    }
    rest.rsplit_once('.').map_or(id, |(parent, _)| parent)
}

/// The reason why an instance waits, as shown in lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitReason {
    /// It has ended, or waits for nothing in particular.
    #[default]
    Nothing,
    /// A service, an agent or a child is running.
    Work,
    /// A person has to answer.
    Person,
    /// A timer is set, and nothing else can happen by itself.
    Timer,
    /// Only an event from outside can continue it.
    Event,
    /// A person paused it; only a resume can continue it.
    Paused,
}

impl WaitReason {
    /// All variants, for parsers and lists.
    pub const ALL: [WaitReason; 6] = [
        WaitReason::Nothing,
        WaitReason::Work,
        WaitReason::Person,
        WaitReason::Timer,
        WaitReason::Event,
        WaitReason::Paused,
    ];

    /// Returns the name used in the store and the API.
    pub fn as_str(self) -> &'static str {
        match self {
            WaitReason::Nothing => "nothing",
            WaitReason::Work => "work",
            WaitReason::Person => "person",
            WaitReason::Timer => "timer",
            WaitReason::Event => "event",
            WaitReason::Paused => "paused",
        }
    }
}

/// The part of an instance that lists and recovery read. Written only when it changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// Status of the snapshot.
    pub status: Status,
    /// Reason for waiting.
    pub wait: WaitReason,
    /// The due time of its next timer.
    pub next_due_ms: Option<i64>,
    /// The step failure because of which the host stopped driving it. Cleared by the next successful step.
    pub fault: Option<Arc<str>>,
    /// Usage of it and its children, as JSON; empty if none.
    pub ledger: Option<Arc<str>>,
    /// `None` until it has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
}

/// The outcome of an instance, from the tags of its final state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Ended in a final state whose tags name no other outcome.
    Succeeded,
    /// Ended in a final state tagged as a failure.
    Failed,
    /// A budget or a limit was exhausted; the work is kept.
    Limit,
    /// A loop was detected.
    Loop,
    /// No progress was made.
    Stuck,
    /// Ended by a cancel request.
    Cancelled,
}

impl Outcome {
    /// All variants, for parsers and lists.
    pub const ALL: [Outcome; 6] = [
        Outcome::Succeeded,
        Outcome::Failed,
        Outcome::Limit,
        Outcome::Loop,
        Outcome::Stuck,
        Outcome::Cancelled,
    ];

    /// Returns the name used in the store and the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Outcome::Succeeded => "succeeded",
            Outcome::Failed => "failed",
            Outcome::Limit => "limit",
            Outcome::Loop => "loop",
            Outcome::Stuck => "stuck",
            Outcome::Cancelled => "cancelled",
        }
    }
}

/// An instance in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceRow {
    /// Key of the instance within its store.
    pub key: InstanceKey,
    /// Identity, chart and origin.
    pub new: NewInstance,
    /// Current status.
    pub head: Head,
    /// The last committed step.
    pub step: u64,
    /// The time of its last committed record, including failed steps.
    pub updated_ms: i64,
}

/// One entry of an instance's journal: a delivered event and the result of its step. Texts are packed JSON (see
/// [`crate::content`]).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Position in the store's whole journal; assigned by the store, 0 until then.
    pub seq: u64,
    /// Instance that took the step.
    pub instance: InstanceKey,
    /// The step of the event; for a step that could not be taken, the step it would have been.
    pub step: u64,
    /// Time of the step in milliseconds since the Unix epoch.
    pub at_ms: i64,
    /// Kind of the entry; decides the content of the texts.
    pub kind: RecordKind,
    /// The event as serialised by [`rawko_core::Event`]; the input for a start; the edits for a fork.
    pub event: String,
    /// The changes of the snapshot, as returned by `Snapshot::delta_json`; for a failed step, the reason.
    pub delta: String,
    /// The step's effects as a JSON list; empty if there are none.
    pub effects: String,
}

/// The kind of a journal entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordKind {
    /// The instance started; a snapshot is stored beside it.
    Started,
    /// The instance started as a fork; a snapshot is stored beside it.
    Forked,
    /// A step that took a transition.
    Stepped,
    /// A step without changes: the event is unhandled, or a timer or result of an earlier visit arrived.
    Ignored,
    /// The step could not be taken; the snapshot is unchanged.
    Failed,
    /// The instance continues on another chart; a snapshot is stored beside it.
    Migrated,
}

impl RecordKind {
    /// All variants, for parsers and lists.
    pub const ALL: [RecordKind; 6] = [
        RecordKind::Started,
        RecordKind::Forked,
        RecordKind::Stepped,
        RecordKind::Ignored,
        RecordKind::Migrated,
        RecordKind::Failed,
    ];
}

/// A full snapshot, packed. Later records contain the changes since.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedSnapshot {
    /// Step after which it was taken.
    pub step: u64,
    /// Packed JSON of the snapshot.
    pub body: String,
}

/// A large value, stored once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blob {
    /// Content hash, the key of the blob.
    pub hash: [u8; 16],
    /// Bytes of the value.
    pub body: Vec<u8>,
}

/// An event in transit to an instance: committed with the step that sent it, removed with the step that takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inbound {
    /// Assigned by the host, increasing.
    pub seq: i64,
    /// Receiver.
    pub to: InstanceKey,
    /// The event as JSON, packed.
    pub event: String,
}

/// An audit entry: written before its call is made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditLine {
    /// Time of the decision in milliseconds since the Unix epoch.
    pub at_ms: i64,
    /// Instance id of the caller.
    pub instance: Arc<str>,
    /// The effect's idempotency key.
    pub effect: Arc<str>,
    /// Service, handler or endpoint, as the chart names it.
    pub service: Arc<str>,
    /// `allowed`, `refused`, `answered`, `failed`, `interrupted`.
    pub decision: Arc<str>,
    /// The rule that decided, or the error.
    pub reason: String,
    /// Origin of the service, request and caller: JSON.
    pub provenance: String,
}

/// The chart of a migrated instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChartChange {
    /// Hash of the new chart.
    pub chart: ChartHash,
    /// Id of the new chart.
    pub chart_id: Arc<str>,
    /// Version of the new chart.
    pub version: Arc<str>,
}

/// All changes of one instance in one transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Commit {
    /// Instance that the commit belongs to.
    pub instance: InstanceKey,
    /// Present in the first commit of an instance.
    pub create: Option<Box<NewInstance>>,
    /// The chart that the instance continues on from its last record.
    pub migrated: Option<Box<ChartChange>>,
    /// Journal entries, in the order of their steps.
    pub records: Vec<Record>,
    /// Present if it changed.
    pub head: Option<Box<Head>>,
    /// Present if a full snapshot is due.
    pub snapshot: Option<Box<SavedSnapshot>>,
    /// Large values that the texts refer to; existing ones are skipped.
    pub blobs: Vec<Blob>,
    /// An effect that is already open is replaced.
    pub opened: Vec<OpenEffect>,
    /// `(step, index)` of effects of this instance that ended; applied after `opened`, so an effect that started and
    /// ended within the commit leaves nothing.
    pub closed: Vec<(u64, u32)>,
    /// Events sent by these steps, to this or other instances.
    pub sent: Vec<Inbound>,
    /// Sequence numbers of inbound events that these steps took; applied after `sent`.
    pub taken: Vec<i64>,
    /// Keys of deliveries from outside, for detecting duplicates. The first one with a key is kept.
    pub deliveries: Vec<KeyedDelivery>,
    /// Audit entries of calls that follow the commit.
    pub audit: Vec<AuditLine>,
}

/// A delivery with a key of its sender.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyedDelivery {
    /// Key chosen by the sender.
    pub key: Arc<str>,
    /// Step that took the delivery.
    pub step: u64,
}
