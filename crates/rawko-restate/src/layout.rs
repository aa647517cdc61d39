//! The names and shapes that workers, clients and readers agree on: services, handlers, their payloads, and the keys of an
//! object's state. All of it is JSON, so that Restate's own tools can show it. A change here is a change of format.

use std::sync::Arc;

use rawko_core::{Event, NamedEvent, Value};
use rawko_host::{Edition, Receipt, Spent};
use rawko_store::{Head, InstanceKey, InstanceRow, NewInstance, OpenEffect};
use serde::{Deserialize, Serialize};

mod refusal;

pub use refusal::Refusal;

/// The virtual object that is an instance; its key is the instance's id.
pub const INSTANCE: &str = "RawkoInstance";
/// The virtual object that keeps a chart's text; its key is the chart's hash in hex.
pub const CHART: &str = "RawkoChart";
/// The service that runs effects.
pub const WORK: &str = "RawkoWork";

/// Handlers of [`INSTANCE`]. What is exclusive waits in the instance's queue; what is shared does not.
pub mod handler {
    /// [`super::StartAsk`] → [`super::Reply`].
    pub const START: &str = "start";
    /// [`super::ForkAsk`] → [`super::Reply`]; called on the id of the new instance.
    pub const FORK: &str = "fork";
    /// [`super::DeliverAsk`] → [`super::Reply`].
    pub const DELIVER: &str = "deliver";
    /// [`super::CancelAsk`] → [`super::Reply`].
    pub const CANCEL: &str = "cancel";
    /// Nothing → [`super::Reply`].
    pub const RETRY: &str = "retry";
    /// [`super::AnswerAsk`] → [`super::Reply`].
    pub const ANSWER: &str = "answer";
    /// [`super::Post`]: an event of another instance, or of its own. One way.
    pub const LETTER: &str = "letter";
    /// An instance of which the first step was taken by its parent. One way.
    pub const BEGIN: &str = "begin";
    /// The result of an effect. One way.
    pub const RESULT: &str = "result";
    /// A person did not answer in time. One way.
    pub const EXPIRE: &str = "expire";
    /// A timer may be due. One way.
    pub const TIMER: &str = "timer";
    /// The parent left the state. One way.
    pub const STOP: &str = "stop";
    /// Lines for the audit that a running call wrote. Returns when they are kept.
    pub const NOTE: &str = "note";

    /// Shared. Nothing → `Option<`[`super::Live`]`>`.
    pub const LOOK: &str = "look";
    /// Shared. [`super::BlobsAsk`] → `Vec<`[`super::BlobText`]`>`: those that are there, or some of them if they are large.
    pub const BLOBS: &str = "blobs";
    /// Shared. [`rawko_instance::EffectPlace`] → `bool`: whether anybody still waits for it.
    pub const OPEN: &str = "open";

    /// Of [`super::CHART`]: [`super::ChartText`]. The same chart again changes nothing.
    pub const PUT: &str = "put";
    /// Of [`super::CHART`], shared: nothing → `Option<`[`super::ChartText`]`>`.
    pub const GET: &str = "get";

    /// Of [`super::WORK`]: runs one effect. One way.
    pub const RUN: &str = "run";
}

/// Keys of an instance's state, all values JSON.
pub mod key {
    /// [`super::Row`]: for lists. Written with every commit.
    pub const ROW: &str = "row";
    /// [`super::Live`]: all that is needed to go on. Written with every commit.
    pub const LIVE: &str = "live";
    /// `Vec<`[`super::SnapshotMark`]`>`: which whole snapshots are kept, oldest first.
    pub const SNAPSHOTS: &str = "snapshots";
    /// Of a chart: [`super::ChartText`].
    pub const TEXT: &str = "text";

    /// `rawko_store::Record`, numbered from 1 (which is its `seq`).
    pub fn record(number: u64) -> String {
        format!("record/{number:08}")
    }

    /// `rawko_store::SavedSnapshot` after this step: at the beginning, and whenever changes outweigh the last one.
    pub fn snapshot(step: u64) -> String {
        format!("snapshot/{step:08}")
    }

    /// A string: the blob's body, by its name in hex.
    pub fn blob(hash: &[u8; 16]) -> String {
        format!("blob/{}", super::hex(hash))
    }

    /// `rawko_store::AuditLine`, numbered from 1.
    pub fn audit(number: u64) -> String {
        format!("audit/{number:08}")
    }

    /// `u64`: the step that a delivery with this key led to.
    pub fn delivery(key: &str) -> String {
        format!("delivery/{key}")
    }
}

/// The number of an instance: everybody who knows its id knows it.
pub fn instance_key(id: &str) -> InstanceKey {
    let hash = blake3::hash(id.as_bytes());
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&hash.as_bytes()[..8]);
    InstanceKey(i64::from_be_bytes(bytes) & i64::MAX)
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub fn from_hex(text: &str) -> Option<[u8; 16]> {
    if text.len() != 32 || !text.is_ascii() {
        return None;
    }
    let mut name = [0; 16];
    for (at, byte) in name.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(name)
}

/// The state under [`key::ROW`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    pub updated_ms: i64,
    pub key: InstanceKey,
    pub new: NewInstance,
    pub head: Head,
    pub step: u64,
    /// How many records there are.
    pub records: u64,
    /// How many lines of the audit there are.
    pub audit: u64,
    /// Letters to itself that are on their way: it is not at rest while there are any.
    pub to_itself: u64,
}

impl From<Row> for InstanceRow {
    fn from(row: Row) -> Self {
        let Row { key, new, head, step, updated_ms, .. } = row;
        InstanceRow { key, new, head, step, updated_ms }
    }
}

/// The state under [`key::LIVE`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Live {
    pub row: Row,
    /// The snapshot after the last step, packed.
    pub snapshot: String,
    pub open: Vec<OpenEffect>,
    /// Calls of services so far.
    pub calls: u64,
    /// The time of the last step.
    pub last_ms: i64,
    /// Bytes of the last snapshot that was kept, and of the changes since.
    pub snapshot_bytes: usize,
    pub delta_bytes: usize,
    /// The timer that is on its way.
    pub armed_ms: Option<i64>,
    /// Charts that were brought along, by hash in hex: they go before those of the worker's project.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub with: Vec<String>,
}

/// One entry of [`key::SNAPSHOTS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotMark {
    pub step: u64,
    /// The number of the last record that it includes.
    pub record: u64,
}

/// What became of a request. Refusals travel as answers, so that they keep their meaning.
pub type Reply = Result<Receipt, Refusal>;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StartAsk {
    /// The chart's hash in hex. Its text was put before.
    pub chart: String,
    pub input: Value,
    /// For all of its life and everything below it; null when there is none.
    #[serde(default)]
    pub budget: Value,
    /// Charts that it may invoke besides those of the worker's project, by hash in hex. Put before, too.
    #[serde(default)]
    pub with: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ForkAsk {
    pub from: String,
    pub at: Option<u64>,
    pub set: Vec<(String, String)>,
    /// In place of the one that it had, key by key; null when that stays.
    #[serde(default)]
    pub budget: Value,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeliverAsk {
    pub event: NamedEvent,
    /// The same key again changes nothing.
    #[serde(default)]
    pub key: Option<Arc<str>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CancelAsk {
    pub reason: Value,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AnswerAsk {
    /// Which, where several things are asked.
    #[serde(default)]
    pub invoke: Option<String>,
    pub approved: bool,
    #[serde(default)]
    pub by: Option<String>,
    #[serde(default)]
    pub comment: Option<String>,
    #[serde(default)]
    pub data: Value,
}

/// An event on its way to an instance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Post {
    pub event: Event,
    /// It is the result of this child.
    #[serde(default)]
    pub child: Option<Arc<str>>,
    #[serde(default)]
    pub spent: Spent,
    /// Whom to tell if there is no such instance.
    #[serde(default)]
    pub from: Option<Arc<str>>,
    /// It sent this to itself.
    #[serde(default)]
    pub to_itself: bool,
    /// The effect that sent it: the same key again changes nothing.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub key: Arc<str>,
}

impl Post {
    /// An event that nobody waits for an answer to.
    pub fn of(event: Event) -> Self {
        Self {
            event,
            child: None,
            spent: Spent::default(),
            from: None,
            to_itself: false,
            key: Arc::default(),
        }
    }
}

/// Names of blobs in hex.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlobsAsk {
    pub names: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlobText {
    pub name: String,
    pub body: String,
}

/// A chart as it was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChartText {
    pub id: String,
    pub version: String,
    /// The name of the source, for messages.
    pub name: String,
    pub text: String,
    pub added_ms: i64,
}

impl ChartText {
    pub fn of(edition: &Edition, added_ms: i64) -> Self {
        Self {
            id: edition.chart.id().to_owned(),
            version: edition.chart.version().to_owned(),
            name: edition.name.to_string(),
            text: edition.text.to_string(),
            added_ms,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn an_instance_has_the_same_number_everywhere() {
        // A change here would lose every instance there is.
        assert_eq!(instance_key("order-1"), InstanceKey(1_376_871_823_683_677_876));
        assert!(["", "a", "order-1.parcel.3"].iter().all(|id| instance_key(id).0 >= 0));
    }

    #[test]
    fn names_of_keys_sort_as_their_numbers() {
        assert!(key::record(9) < key::record(10));
        assert_eq!(key::snapshot(12), "snapshot/00000012");
        let name = from_hex("000102030405060708090a0b0c0d0eff").unwrap();
        assert_eq!(key::blob(&name), "blob/000102030405060708090a0b0c0d0eff");
        assert_eq!(from_hex("00"), None);
        assert_eq!(from_hex(&"ä".repeat(16)), None);
    }
}
