//! What a store holds, as plain data: instances, journal records, snapshots, open effects, messages on their way.
//! Apart from the stores themselves, because the host builds these and every store keeps them.

use std::sync::Arc;

use rawko_core::{InstanceFacts, Status};
use serde::{Deserialize, Serialize};

/// The number a store knows an instance by. Its id is for people; this is for indexes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct InstanceKey(pub i64);

/// The content hash of a chart, as [`rawko_core::Chart::hash`] gives it.
pub type ChartHash = [u8; 16];

/// The exact text an instance's chart was read from.
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

/// Whose invocation an instance is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parent {
    pub id: Arc<str>,
    pub invocation: u64,
    /// The invoke's id in the parent's chart.
    pub invoke: Arc<str>,
    /// How many ancestors it has.
    #[serde(default)]
    pub generation: u32,
}

/// The past step of another instance that this one was forked from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    pub id: Arc<str>,
    pub step: u64,
}

/// An instance that begins with this commit.
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
    /// What whoever invoked it allows, and which agent it plays, as JSON; empty when nobody said anything.
    pub policy: Arc<str>,
}

impl NewInstance {
    /// What its expressions see as `instance`.
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

/// What an instance waits for, as lists show it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wait {
    /// It is over, or waits for nothing in particular.
    #[default]
    Nothing,
    /// A service, an agent or a child is at work.
    Work,
    /// A person has to answer.
    Person,
    /// A timer is set, and nothing else can happen by itself.
    Timer,
    /// Only an event from outside moves it.
    Event,
}

impl Wait {
    pub const ALL: [Wait; 5] = [Wait::Nothing, Wait::Work, Wait::Person, Wait::Timer, Wait::Event];

    pub fn as_str(self) -> &'static str {
        match self {
            Wait::Nothing => "nothing",
            Wait::Work => "work",
            Wait::Person => "person",
            Wait::Timer => "timer",
            Wait::Event => "event",
        }
    }
}

/// The part of an instance that lists and recovery look at. Written only when it changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    pub status: Status,
    pub wait: Wait,
    /// When its next timer is due.
    pub next_due_ms: Option<i64>,
    /// Why the host stopped driving it: a step that could not be taken. Cleared by the next step that can.
    pub fault: Option<Arc<str>>,
    /// What it and its children have spent, as JSON; empty when nothing.
    pub ledger: Option<Arc<str>>,
    /// How it ended; `None` while it has not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
}

/// How an instance ended, from the tags of its final state.
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

/// An instance as lists show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceRow {
    pub key: InstanceKey,
    pub new: NewInstance,
    pub head: Head,
    /// The last committed step.
    pub step: u64,
    /// When its last record was committed, be it of a failed step.
    pub updated_ms: i64,
}

/// One entry of an instance's journal: a delivered event and what the step made of it. Texts are packed JSON
/// (see [`crate::content`]).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The place in the store's whole journal; given by the store, 0 until then.
    pub seq: u64,
    pub instance: InstanceKey,
    /// The step the event led to; for a step that could not be taken, the step it would have been.
    pub step: u64,
    pub at_ms: i64,
    pub kind: RecordKind,
    /// The event as [`rawko_core::Event`] serialises it; the input for a start; the edits for a fork.
    pub event: String,
    /// What changed in the snapshot, as `Snapshot::delta_json` gives it; for a failed step, why it failed.
    pub delta: String,
    /// The step's effects as a JSON list; empty when there are none.
    pub effects: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordKind {
    /// The instance began; a snapshot is stored beside it.
    Started,
    /// The instance began as a fork; a snapshot is stored beside it.
    Forked,
    /// A step that took a transition.
    Stepped,
    /// A step that changed nothing: nobody handles the event, or a timer or result of an earlier visit came.
    Ignored,
    /// The step could not be taken; the snapshot stands.
    Failed,
}

impl RecordKind {
    pub const ALL: [RecordKind; 5] = [
        RecordKind::Started,
        RecordKind::Forked,
        RecordKind::Stepped,
        RecordKind::Ignored,
        RecordKind::Failed,
    ];
}

/// A whole snapshot, packed. Records after it say what changed since.
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

/// Something the host has to do or is doing for an instance, on disk until it is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenEffect {
    pub instance: InstanceKey,
    /// `(step, index)`: with the instance's id this is the effect's id and idempotency key.
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
    /// When it expires (approvals).
    pub due_ms: Option<i64>,
    /// The idempotency key to use. An attempt whose predecessor's outcome is unknown keeps that one's key.
    pub idempotency: Arc<str>,
    /// The result that its instance hears next, as packed JSON, for a call that was refused before it began; else empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub result: String,
    /// A stopping driver did not begin the call: it runs at the next start.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub parked: bool,
    /// An earlier run under the same key may have happened, so no failure of this one is the last word on it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_doubt: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectKind {
    Service,
    Agent,
    Child,
    Person,
    /// An action that calls a handler; nobody waits.
    Call,
    /// A send to an endpoint, a channel or an agent.
    Send,
    /// The last attempt of an invocation ended without an answer: not running, its key is kept for the next attempt.
    Unknown,
}

impl EffectKind {
    pub const ALL: [EffectKind; 7] = [
        EffectKind::Service,
        EffectKind::Agent,
        EffectKind::Child,
        EffectKind::Person,
        EffectKind::Call,
        EffectKind::Send,
        EffectKind::Unknown,
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
        }
    }
}

/// An event on its way to an instance: committed with the step that sent it, gone with the step that takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inbound {
    /// Given by the host, increasing.
    pub seq: i64,
    pub to: InstanceKey,
    /// The event as JSON, packed.
    pub event: String,
}

/// A line of the audit: written before the call it is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditLine {
    pub at_ms: i64,
    pub instance: Arc<str>,
    /// The effect's idempotency key.
    pub effect: Arc<str>,
    pub service: Arc<str>,
    /// `allowed`, `refused`, `answered`, `failed`, `interrupted`.
    pub decision: Arc<str>,
    /// The rule that decided, or what went wrong.
    pub reason: String,
    /// Where the service comes from, what was asked, by whom: JSON.
    pub provenance: String,
}

/// Everything one instance changes at once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Commit {
    pub instance: InstanceKey,
    pub create: Option<Box<NewInstance>>,
    pub records: Vec<Record>,
    /// Present when it changed.
    pub head: Option<Box<Head>>,
    pub snapshot: Option<Box<SavedSnapshot>>,
    pub blobs: Vec<Blob>,
    /// One that is open already is replaced.
    pub opened: Vec<OpenEffect>,
    /// `(step, index)` of effects of this instance that are over; applied after `opened`, so an effect that began
    /// and ended within the commit leaves nothing.
    pub closed: Vec<(u64, u32)>,
    /// Events sent by these steps, to this or other instances.
    pub sent: Vec<Inbound>,
    /// Sequence numbers of inbound events that these steps took; applied after `sent`.
    pub taken: Vec<i64>,
    /// Keys of deliveries from outside, so that the same one again is recognised. The first one with a key stands.
    pub deliveries: Vec<Delivery>,
    pub audit: Vec<AuditLine>,
}

/// A delivery that carried a key of its sender's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    pub key: Arc<str>,
    pub step: u64,
}

/// A hash in JSON: hex.
mod hex {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    use super::ChartHash;
    use crate::content;

    pub(super) fn serialize<S: Serializer>(hash: &ChartHash, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&content::hex(hash))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ChartHash, D::Error> {
        let text = String::deserialize(deserializer)?;
        content::from_hex(&text).ok_or_else(|| D::Error::custom("not a hash in hex"))
    }
}
