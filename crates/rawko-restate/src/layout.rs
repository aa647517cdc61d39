//! The names and shapes that workers, clients and readers share: services, handlers, payloads, and the keys of an
//! object's state. All of it is JSON, so that Restate's own tools can show it. A change here is a change of format.

use std::sync::Arc;

use rawko_core::{Event, NamedEvent, Value};
use rawko_host::{Edition, Receipt, Spent};
use rawko_instance::{MessageChain, Pace};
use rawko_store::{Head, InstanceKey, InstanceRow, NewInstance, OpenEffect};
use serde::{Deserialize, Serialize};

pub mod family;
pub mod index;
mod refusal;
pub mod stream;

pub use refusal::RestateRefusal;

/// The virtual object of an instance; its key is the instance's id.
pub const INSTANCE: &str = "RawkoInstance";
/// The virtual object that stores a chart's text; its key is the chart's hash in hex.
pub const CHART: &str = "RawkoChart";
/// The service that runs effects.
pub const WORK: &str = "RawkoWork";
/// All services of a worker.
pub const SERVICES: [&str; 6] = [INSTANCE, CHART, WORK, stream::STREAM, family::FAMILY, index::INDEX];

/// Handlers of [`INSTANCE`]. Exclusive handlers wait in the instance's queue; shared ones do not.
pub mod handler {
    /// [`super::StartAsk`] → [`super::RestateReply`].
    pub const START: &str = "start";
    /// [`super::ForkAsk`] → [`super::RestateReply`]; called on the id of the new instance.
    pub const FORK: &str = "fork";
    /// [`super::DeliverAsk`] → [`super::RestateReply`].
    pub const DELIVER: &str = "deliver";
    /// [`super::CancelAsk`] → [`super::RestateReply`].
    pub const CANCEL: &str = "cancel";
    /// Nothing → [`super::RestateReply`].
    pub const RETRY: &str = "retry";
    /// [`super::ItemAsk`] → [`super::RestateReply`].
    pub const RETRY_ITEM: &str = "retry_item";
    /// [`super::PersonAsk`] → [`super::RestateReply`].
    pub const PAUSE: &str = "pause";
    /// [`super::PersonAsk`] → [`super::RestateReply`].
    pub const RESUME: &str = "resume";
    /// [`super::MigrateAsk`] → [`super::RestateReply`].
    pub const MIGRATE: &str = "migrate";
    /// [`super::AnswerAsk`] → [`super::RestateReply`].
    pub const ANSWER: &str = "answer";
    /// [`super::PostedEvent`]: an event from another instance, or from itself. One way.
    pub const LETTER: &str = "letter";
    /// The first step of an instance, which its parent took. One way.
    pub const BEGIN: &str = "begin";
    /// The result of an effect. One way.
    pub const RESULT: &str = "result";
    /// A request to a person expired. One way.
    pub const EXPIRE: &str = "expire";
    /// A timer may be due. One way.
    pub const TIMER: &str = "timer";
    /// The parent left the invoking state. One way.
    pub const STOP: &str = "stop";
    /// Audit lines of a running call. Returns when they are stored.
    pub const NOTE: &str = "note";

    /// Shared. Nothing → `Option<`[`super::LiveState`]`>`.
    pub const LOOK: &str = "look";
    /// Shared. [`super::BlobsAsk`] → `Vec<`[`super::BlobText`]`>`: those that exist, or only some of them if they are
    /// large.
    pub const BLOBS: &str = "blobs";
    /// Shared. [`super::RecordsAsk`] → `Vec<`[`rawko_store::Record`]`>`: the first of them, if they are large.
    pub const RECORDS: &str = "records";
    /// Shared. [`rawko_instance::EffectPlace`] → `bool`: true while the effect is still awaited.
    pub const OPEN: &str = "open";

    /// Of [`super::CHART`]: [`super::ChartSource`]. The same chart again changes nothing.
    pub const PUT: &str = "put";
    /// Of [`super::CHART`], shared: nothing → `Option<`[`super::ChartSource`]`>`.
    pub const GET: &str = "get";

    /// Of [`super::WORK`]: runs one effect. One way.
    pub const RUN: &str = "run";
}

/// Keys of an instance's state, all values JSON.
pub mod key {
    /// [`super::StoredRow`]: for lists. Written with every commit.
    pub const ROW: &str = "row";
    /// [`super::LiveState`]: everything needed to continue. Written with every commit.
    pub const LIVE: &str = "live";
    /// `Vec<`[`super::SnapshotMark`]`>`: the stored full snapshots, oldest first.
    pub const SNAPSHOTS: &str = "snapshots";
    /// Of a chart: [`super::ChartSource`].
    pub const TEXT: &str = "text";

    /// `rawko_store::Record`, numbered from 1 (which is its `seq`).
    pub fn record(number: u64) -> String {
        format!("record/{number:08}")
    }

    /// `rawko_store::SavedSnapshot` after this step: at the beginning, and whenever the changes outweigh the last one.
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

    /// `u64`: the step that handled the delivery with this key.
    pub fn delivery(key: &str) -> String {
        format!("delivery/{key}")
    }
}

/// Returns the number of an instance, which is derived from its id alone.
pub fn instance_key(id: &str) -> InstanceKey {
    let hash = blake3::hash(id.as_bytes());
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&hash.as_bytes()[..8]);
    InstanceKey(i64::from_be_bytes(bytes) & i64::MAX)
}

/// Formats bytes as lower-case hex.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Parses 32 hex digits; `None` for any other text.
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
pub struct StoredRow {
    /// Time of the last committed record, in milliseconds since 1970 UTC.
    pub updated_ms: i64,
    /// [`instance_key`] of the id.
    pub key: InstanceKey,
    /// Id, chart and parent, as at its start.
    pub new: NewInstance,
    /// Status, wait and outcome after the last commit.
    pub head: Head,
    /// The last successful step.
    pub step: u64,
    /// Number of records.
    pub records: u64,
    /// Number of audit lines.
    pub audit: u64,
    /// Messages to itself in flight; the instance is busy while there are any.
    pub to_itself: u64,
}

impl From<StoredRow> for InstanceRow {
    fn from(row: StoredRow) -> Self {
        let StoredRow { key, new, head, step, updated_ms, .. } = row;
        InstanceRow { key, new, head, step, updated_ms }
    }
}

/// The state under [`key::LIVE`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveState {
    /// The same value as under [`key::ROW`].
    pub row: StoredRow,
    /// The snapshot after the last step, packed.
    pub snapshot: String,
    /// Effects that are pending or running.
    pub open: Vec<OpenEffect>,
    /// Number of service calls so far.
    pub calls: u64,
    /// Time of the last step.
    pub last_ms: i64,
    /// Bytes of the last stored snapshot, and of the changes since.
    pub snapshot_bytes: usize,
    /// Bytes of the changes since the last stored snapshot.
    pub delta_bytes: usize,
    /// Counts against runaway loops; absent if nothing was counted.
    #[serde(default, skip_serializing_if = "Pace::is_empty")]
    pub pace: Pace,
    /// The timer in flight.
    pub armed_ms: Option<i64>,
    /// Charts that the client supplied, by hash in hex; they take precedence over those of the worker's project.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub with: Vec<String>,
    /// It counts in its family until it has ended ([`family`]).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_slot: bool,
}

/// One entry of [`key::SNAPSHOTS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotMark {
    /// The step after which the snapshot was stored.
    pub step: u64,
    /// The number of the last included record.
    pub record: u64,
}

/// The response to a request. Refusals travel as values, so that their type is kept.
pub type RestateReply = Result<Receipt, RestateRefusal>;

/// Argument of [`handler::START`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StartAsk {
    /// The chart's hash in hex. Its text was stored before.
    pub chart: String,
    /// Input of the chart.
    pub input: Value,
    /// The budget of the instance and its descendants; null for none.
    #[serde(default)]
    pub budget: Value,
    /// Charts that it may invoke besides those of the worker's project, by hash in hex. Stored before, too.
    #[serde(default)]
    pub with: Vec<String>,
}

/// Argument of [`handler::FORK`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ForkAsk {
    /// Id of the instance to fork.
    pub from: String,
    /// The step to fork from; `None`: the last one.
    pub at: Option<u64>,
    /// Context keys to set, each with an expression.
    pub set: Vec<(String, String)>,
    /// Parts of the budget to replace, key by key; null to keep it.
    #[serde(default)]
    pub budget: Value,
}

/// Argument of [`handler::DELIVER`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeliverAsk {
    /// The event to deliver, with its data.
    pub event: NamedEvent,
    /// The same key again changes nothing.
    #[serde(default)]
    pub key: Option<Arc<str>>,
}

/// Argument of [`handler::MIGRATE`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MigrateAsk {
    /// Hash of the new chart in hex; `None`: back to the chart before the last migration.
    pub chart: Option<String>,
    /// Name and text of a map file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub map: Option<(String, String)>,
    /// The proven author.
    pub by: Value,
}

/// A request to pause or resume an instance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PersonAsk {
    /// The proven author.
    pub by: Value,
}

/// Argument of [`handler::RETRY_ITEM`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ItemAsk {
    /// `reviews[3]`.
    pub item: Arc<str>,
}

/// Argument of [`handler::CANCEL`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CancelAsk {
    /// Reason for the cancellation, stored in the journal.
    pub reason: Value,
}

/// Argument of [`handler::ANSWER`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AnswerAsk {
    /// Selects one of several pending requests.
    #[serde(default)]
    pub invoke: Option<String>,
    /// True to approve or submit, false to deny.
    pub approved: bool,
    /// The proven author; `None` if the caller is not authenticated.
    #[serde(default)]
    pub by: Option<String>,
    /// Another name that the author claimed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed: Option<String>,
    /// The time of the request that is meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_ms: Option<i64>,
    /// Free text of the author.
    #[serde(default)]
    pub comment: Option<String>,
    /// The fields of a form; null for an approval.
    #[serde(default)]
    pub data: Value,
}

/// An event in flight to an instance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PostedEvent {
    /// The event as the recipient's step receives it.
    pub event: Event,
    /// The child whose result this is.
    #[serde(default)]
    pub child: Option<Arc<str>>,
    /// Usage of the child, added to the recipient's ledger; zero if `child` is `None`.
    #[serde(default)]
    pub spent: Spent,
    /// The instance to notify if the recipient does not exist.
    #[serde(default)]
    pub from: Option<Arc<str>>,
    /// The sender is the recipient.
    #[serde(default)]
    pub to_itself: bool,
    /// The effect that sent it: the same key again changes nothing.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub key: Arc<str>,
    /// The messages that led to it.
    #[serde(default, skip_serializing_if = "MessageChain::is_empty")]
    pub chain: MessageChain,
    /// Slots of the family that the recipient gets: that of the child whose end this is.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub slots: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl PostedEvent {
    /// Creates an event without a sender that waits for a response.
    pub fn of(event: Event) -> Self {
        Self {
            event,
            child: None,
            spent: Spent::default(),
            from: None,
            to_itself: false,
            key: Arc::default(),
            chain: MessageChain::default(),
            slots: 0,
        }
    }
}

/// Names of blobs in hex.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlobsAsk {
    /// Each 32 hex digits.
    pub names: Vec<String>,
}

/// Argument of [`handler::RECORDS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordsAsk {
    /// Number of known records.
    pub after: u64,
    /// Number of the last record.
    pub through: u64,
}

/// A blob of an instance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlobText {
    /// Content hash in hex.
    pub name: String,
    /// The text that the hash stands for.
    pub body: String,
}

/// The source of a chart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChartSource {
    /// Id of the chart.
    pub id: String,
    /// Version of the chart.
    pub version: String,
    /// The name of the source, for messages.
    pub name: String,
    /// The exact source text.
    pub text: String,
    /// Time when it was first stored, in milliseconds since 1970 UTC.
    pub added_ms: i64,
}

impl ChartSource {
    /// Returns the source of a loaded chart.
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
        // A change here would lose every existing instance.
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
