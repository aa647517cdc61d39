//! The contents of a store, as plain data: instances, journal records, snapshots, open effects, messages. Separate from
//! the stores themselves, because the host builds these and every store stores them.

use std::sync::Arc;

use rawko_core::{InstanceFacts, Status};
use serde::{Deserialize, Serialize};

mod hex;

/// A store's number of an instance. The id is for people; this is for indexes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct InstanceKey(pub i64);

/// The content hash of a chart, as [`rawko_core::Chart::hash`] gives it.
pub type ChartHash = [u8; 16];

/// The exact source text of an instance's chart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChartRow {
    pub hash: ChartHash,
    pub id: String,
    pub version: String,
    /// The name of the source, for messages.
    pub name: String,
    pub text: String,
    pub added_ms: i64,
}

/// The invocation that an instance belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parent {
    pub id: Arc<str>,
    pub invocation: u64,
    /// The invoke's id in the parent's chart when it started.
    pub invoke: Arc<str>,
    /// Number of ancestors.
    #[serde(default)]
    pub generation: u32,
}

/// The past step of another instance that this one was forked from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    pub id: Arc<str>,
    pub step: u64,
}

/// An instance that starts with this commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewInstance {
    pub id: Arc<str>,
    #[serde(with = "hex")]
    pub chart: ChartHash,
    pub chart_id: Arc<str>,
    pub version: Arc<str>,
    pub parent: Option<Parent>,
    pub origin: Option<Origin>,
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

    /// The agent that it plays, if it plays one.
    pub fn agent(&self) -> Option<Arc<str>> {
        let policy: serde_json::Value = serde_json::from_str(&self.policy).ok()?;
        Some(policy.get("agent")?.as_str()?.into())
    }
}

/// The reason why an instance waits, as shown in lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wait {
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

impl Wait {
    pub const ALL: [Wait; 6] =
        [Wait::Nothing, Wait::Work, Wait::Person, Wait::Timer, Wait::Event, Wait::Paused];

    pub fn as_str(self) -> &'static str {
        match self {
            Wait::Nothing => "nothing",
            Wait::Work => "work",
            Wait::Person => "person",
            Wait::Timer => "timer",
            Wait::Event => "event",
            Wait::Paused => "paused",
        }
    }
}

/// The part of an instance that lists and recovery read. Written only when it changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    pub status: Status,
    pub wait: Wait,
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
    Succeeded,
    Failed,
    /// A budget or a limit was exhausted; the work is kept.
    Limit,
    /// A loop was detected.
    Loop,
    /// No progress was made.
    Stuck,
    Cancelled,
}

impl Outcome {
    pub const ALL: [Outcome; 6] = [
        Outcome::Succeeded,
        Outcome::Failed,
        Outcome::Limit,
        Outcome::Loop,
        Outcome::Stuck,
        Outcome::Cancelled,
    ];

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
    pub key: InstanceKey,
    pub new: NewInstance,
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
    pub instance: InstanceKey,
    /// The step of the event; for a step that could not be taken, the step it would have been.
    pub step: u64,
    pub at_ms: i64,
    pub kind: RecordKind,
    /// The event as serialised by [`rawko_core::Event`]; the input for a start; the edits for a fork.
    pub event: String,
    /// The changes of the snapshot, as returned by `Snapshot::delta_json`; for a failed step, the reason.
    pub delta: String,
    /// The step's effects as a JSON list; empty if there are none.
    pub effects: String,
}

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
    pub step: u64,
    pub body: String,
}

/// A large value, stored once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blob {
    pub hash: [u8; 16],
    pub body: Vec<u8>,
}

/// A pending or running operation of the host for an instance, stored until it ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenEffect {
    pub instance: InstanceKey,
    /// `(step, index)`: with the instance's id this forms the effect's id and idempotency key.
    pub step: u64,
    pub index: u32,
    pub kind: EffectKind,
    /// The invocation that waits for the result; a call or a send has none.
    pub invocation: Option<u64>,
    /// The service, chart, agent or endpoint, as the chart names it.
    pub name: Arc<str>,
    /// The effect as JSON, packed.
    pub body: String,
    pub opened_ms: i64,
    /// Expiry time (approvals).
    pub due_ms: Option<i64>,
    /// The idempotency key. An attempt whose predecessor has an unknown outcome keeps that one's key.
    pub idempotency: Arc<str>,
    /// The result for its instance, as packed JSON, for a call that was refused before it started; else empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub result: String,
    /// A stopping driver did not start the call, or a pause stopped it: it runs at the next start or the resume.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub parked: bool,
    /// An earlier run under the same key may have happened, so a failure of this one is not conclusive.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_doubt: bool,
}

impl OpenEffect {
    /// Returns true for a call without a result: it runs, or a driver that stopped has parked it.
    pub fn is_running(&self) -> bool {
        let is_call = match self.kind {
            EffectKind::Service | EffectKind::Agent | EffectKind::Call | EffectKind::Send => true,
            // A child continues by itself, a person's request is still pending, an unknown outcome waits for the next
            // attempt, a held input for the resume.
            EffectKind::Child | EffectKind::Person | EffectKind::Unknown | EffectKind::Held => false,
        };
        is_call && self.result.is_empty()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectKind {
    Service,
    Agent,
    Child,
    Person,
    /// An action that calls a handler without waiting.
    Call,
    /// A send to an endpoint, a channel or an agent.
    Send,
    /// The last attempt of an invocation ended without a response: not running, its key is kept for the next attempt.
    Unknown,
    /// Not an operation: an event or a message that arrived while the instance was paused.
    Held,
}

impl EffectKind {
    pub const ALL: [EffectKind; 8] = [
        EffectKind::Service,
        EffectKind::Agent,
        EffectKind::Child,
        EffectKind::Person,
        EffectKind::Call,
        EffectKind::Send,
        EffectKind::Unknown,
        EffectKind::Held,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            EffectKind::Service => "service",
            EffectKind::Agent => "agent",
            EffectKind::Child => "child",
            EffectKind::Person => "person",
            EffectKind::Call => "call",
            EffectKind::Send => "send",
            EffectKind::Unknown => "unknown",
            EffectKind::Held => "held",
        }
    }
}

/// An event in transit to an instance: committed with the step that sent it, removed with the step that takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inbound {
    /// Assigned by the host, increasing.
    pub seq: i64,
    pub to: InstanceKey,
    /// The event as JSON, packed.
    pub event: String,
}

/// An audit entry: written before its call is made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditLine {
    pub at_ms: i64,
    pub instance: Arc<str>,
    /// The effect's idempotency key.
    pub effect: Arc<str>,
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
    pub chart: ChartHash,
    pub chart_id: Arc<str>,
    pub version: Arc<str>,
}

/// All changes of one instance in one transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Commit {
    pub instance: InstanceKey,
    pub create: Option<Box<NewInstance>>,
    /// The chart that the instance continues on from its last record.
    pub migrated: Option<Box<ChartChange>>,
    pub records: Vec<Record>,
    /// Present if it changed.
    pub head: Option<Box<Head>>,
    pub snapshot: Option<Box<SavedSnapshot>>,
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
    pub deliveries: Vec<Delivery>,
    pub audit: Vec<AuditLine>,
}

/// A delivery with a key of its sender.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    pub key: Arc<str>,
    pub step: u64,
}
