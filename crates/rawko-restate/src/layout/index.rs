//! The index of all instances: shards that list them and give every record its position in one order over all journals.
//! Workers append the rows of their steps to the shards, several at a time.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::StoredRow;
use super::stream::stream_key;

/// The virtual object of a shard; its key is the number of the shard.
pub const INDEX: &str = "RawkoIndex";
/// The key of the object of [`INDEX`] that knows the running workers.
pub const WORKERS: &str = "workers";
/// Number of shards. With another number, instances would be looked up in shards that do not have them.
pub const SHARDS: u64 = 2;
/// Bits of a position that name the shard. More than [`SHARDS`] needs today.
const SHARD_BITS: u32 = 4;
/// Bits of a position below the time in milliseconds.
const TIME_BITS: u32 = 12;
/// Number of positions per [`key::places`].
pub const PLACES_PER_PAGE: usize = 16;
/// Number of entries per [`key::entries`].
pub const ENTRIES_PER_PAGE: u64 = 32;
/// Number of ids per [`key::ids`].
pub const IDS_PER_PAGE: u64 = 64;

/// Handlers of [`INDEX`]. Exclusive handlers wait in the shard's queue; shared ones do not.
pub mod handler {
    /// `Vec<`[`super::IndexedStep`]`>`: steps of several instances.
    pub const APPEND: &str = "append";
    /// [`super::IndexBuild`]: rows that are not in the index.
    pub const BUILD: &str = "build";
    /// [`super::SealAsk`] → [`super::FeedPart`]: later entries get later positions than this one.
    pub const SEAL: &str = "seal";
    /// [`super::ListenAsk`]. One way.
    pub const LISTEN: &str = "listen";
    /// Shared. [`super::WaitAsk`] → [`super::ShardMark`], once there are more entries than the known ones.
    pub const WAIT: &str = "wait";
    /// Shared. Nothing → [`super::ShardMark`].
    pub const PEEK: &str = "peek";
    /// Shared. [`super::FeedAsk`] → [`super::FeedPart`].
    pub const READ: &str = "read";
    /// Shared. A position → `Option<u64>`: the number of entries up to it; `None` if it does not have all later records.
    pub const FIND: &str = "find";
    /// Shared. [`super::PlacesAsk`] → `Option<`[`super::RecordPlaces`]`>`.
    pub const PLACES: &str = "places";
    /// Shared. [`super::NewestAsk`] → `Vec<`[`super::StoredRow`]`>`, in the order in which they appeared, newest first.
    pub const NEWEST: &str = "newest";
    /// Of [`super::WORKERS`]: [`super::IndexBeat`] → [`super::IndexBeats`].
    pub const BEAT: &str = "beat";
}

/// Keys of a shard's state, all values JSON.
pub mod key {
    /// [`super::ShardHead`].
    pub const HEAD: &str = "head";

    /// [`super::ShardRow`] of an instance.
    pub fn row(id: &str) -> String {
        format!("row/{id}")
    }

    /// `Vec<`[`super::FeedEntry`]`>`: a full page of entries. Entries are numbered from 1, pages from 0.
    pub fn entries(page: u64) -> String {
        format!("entries/{page:010}")
    }

    /// Of [`super::WORKERS`]: [`super::IndexBeats`].
    pub const BEATS: &str = "beats";

    /// A full page of positions of an instance's records.
    pub fn places(id: &str, page: u64) -> String {
        format!("places/{page:08}/{id}")
    }

    /// `Vec<String>`: ids in the order in which the instances appeared.
    pub fn ids(page: u64) -> String {
        format!("ids/{page:08}")
    }
}

/// Returns the shard of an instance. A family shares one: the order of its records is that of its steps.
pub fn shard_of(id: &str) -> u64 {
    let hash = blake3::hash(stream_key(id).as_bytes());
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&hash.as_bytes()[..8]);
    u64::from_be_bytes(bytes) % SHARDS
}

/// Returns the first position of a shard that is later than another position, and not before a time. Below 2^53 until the
/// year 2039, so that JSON parsers with floating point numbers keep every digit.
pub fn position(shard: u64, after: u64, at_ms: i64) -> u64 {
    let least = (u64::try_from(at_ms).unwrap_or(0) << TIME_BITS).max(after + 1);
    let step = 1 << SHARD_BITS;
    let own = (least & !(step - 1)) | shard;
    if own < least { own + step } else { own }
}

/// Returns a position that is later than those of all records up to a time that have none in the index.
pub fn after_time(at_ms: i64) -> u64 {
    u64::try_from(at_ms.saturating_add(1)).unwrap_or(0) << TIME_BITS
}

/// The state under [`key::HEAD`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardHead {
    /// Every later entry has a higher position.
    pub last: u64,
    /// Number of entries, including removed ones.
    pub entries: u64,
    /// Number of removed entries, the oldest ones, in full pages.
    pub removed: u64,
    /// The entries after the full pages. Here, because readers that do not wait need both of the same moment.
    #[serde(default)]
    pub tail: Vec<FeedEntry>,
    /// Number of instances.
    pub rows: u64,
    /// Number of instances without a parent.
    pub roots: u64,
    /// True once the instances that existed before the index are in it.
    #[serde(default)]
    pub is_built: bool,
    /// Records from before the index have positions up to this one; they have no entries. 0: there are none.
    #[serde(default)]
    pub old_until: u64,
    /// Followers to notify of the next entry.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waiting: Vec<WaitingFollower>,
}

/// A follower that waits for an entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitingFollower {
    /// Unique name of the follower.
    pub follower: String,
    /// Id of the awakeable to resolve.
    pub awakeable: String,
}

/// The state under [`key::row`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardRow {
    /// The row after the last step that reached the index.
    pub row: StoredRow,
    /// Number of records from before the index. Their positions follow from their time.
    #[serde(default)]
    pub before: u64,
    /// Number of full pages of positions.
    #[serde(default)]
    pub pages: u64,
    /// Positions of the records after those pages.
    #[serde(default)]
    pub places: Vec<u64>,
}

/// A record in the order of all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeedEntry {
    /// Its position: unique, and never changed.
    pub at: u64,
    /// Id of the instance.
    pub id: Arc<str>,
    /// Number of the record in its instance; 0 if only the row has changed.
    pub number: u64,
}

/// One item of [`handler::APPEND`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexedStep {
    /// The row after the step.
    pub row: StoredRow,
    /// Number of records before the step.
    pub known: u64,
}

/// Argument of [`handler::BEAT`]: a worker runs, and appends what it has not appended yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexBeat {
    /// Unique for each start of a worker.
    pub boot: String,
    /// Different each time; `None`: the worker ends, and has appended everything.
    pub count: Option<u64>,
    /// Workers whose steps are in the index although they died.
    pub gone: Vec<String>,
}

/// The running workers, and those that died with steps that may not be in the index: the last count of each.
pub type IndexBeats = std::collections::BTreeMap<String, u64>;

/// Argument of [`handler::BUILD`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexBuild {
    /// Rows of instances; those whose records the index has are skipped.
    pub rows: Vec<StoredRow>,
    /// True for the last part.
    pub is_last: bool,
}

/// Argument of [`handler::SEAL`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SealAsk {
    /// Later entries get positions above this one.
    pub until: u64,
    /// The entries to return.
    pub feed: FeedAsk,
}

/// Argument of [`handler::READ`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeedAsk {
    /// Number of known entries.
    pub after: u64,
    /// Maximum number of entries to return.
    pub limit: u64,
}

/// Entries of a shard, in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeedPart {
    /// The shard.
    pub mark: ShardMark,
    /// The entries.
    pub entries: Vec<FeedEntry>,
    /// Number of the last entry of this part.
    pub through: u64,
    /// True if entries before these were removed.
    pub is_cut: bool,
    /// The current rows of their instances.
    pub rows: Vec<StoredRow>,
}

/// The end of a shard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardMark {
    /// [`ShardHead::last`].
    pub last: u64,
    /// [`ShardHead::entries`].
    pub entries: u64,
    /// [`ShardHead::rows`].
    pub rows: u64,
    /// [`ShardHead::roots`].
    pub roots: u64,
    /// [`ShardHead::is_built`].
    pub is_built: bool,
}

impl From<&ShardHead> for ShardMark {
    fn from(head: &ShardHead) -> Self {
        let &ShardHead { last, entries, rows, roots, is_built, .. } = head;
        Self { last, entries, rows, roots, is_built }
    }
}

/// Argument of [`handler::WAIT`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitAsk {
    /// Unique name of the follower: its earlier call returns.
    pub follower: String,
    /// Number of known entries.
    pub known: u64,
}

/// Argument of [`handler::LISTEN`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListenAsk {
    /// The follower and its awakeable.
    pub waiting: WaitingFollower,
    /// Number of known entries.
    pub known: u64,
}

/// Argument of [`handler::PLACES`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlacesAsk {
    /// Id of the instance.
    pub id: String,
    /// Number of records with known positions.
    pub after: u64,
}

/// Positions of an instance's records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordPlaces {
    /// Number of records from before the index. Their positions follow from their time.
    pub before: u64,
    /// The last step in the index.
    pub step: u64,
    /// Number of the record before the first of these.
    pub after: u64,
    /// The positions, in order.
    pub places: Vec<u64>,
}

/// Argument of [`handler::NEWEST`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewestAsk {
    /// Number of the newest instances to skip.
    pub skip: u64,
    /// Maximum number of rows.
    pub limit: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_name_their_shard_and_follow_the_time() {
        let now = 1_790_000_000_000;
        let mut last = 0;
        for (at_ms, expected) in [(now, 0), (now, 16), (now, 32), (now - 5, 48), (now + 1, 4_096)] {
            last = position(3, last, at_ms);
            assert_eq!(last, (now.unsigned_abs() << TIME_BITS) + expected + 3);
            assert!(last < 1 << 53, "{last}");
        }
        let other = position(4, last, now);
        assert!(other > last && other != position(5, last, now) && other % 16 == 4);
        assert_eq!(position(2, 2, 0), 18, "later than the known one");
        assert_eq!(position(2, 1, 0), 2);
    }

    #[test]
    fn a_family_shares_a_shard() {
        // A change here would lose every existing instance.
        assert_eq!(["c1", "c2", "c3"].map(shard_of), [1, 0, 1]);
        assert_eq!(shard_of("c1.parcel.3"), 1);
    }
}
