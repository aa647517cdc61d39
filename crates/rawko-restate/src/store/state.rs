//! Queries the state of instances and charts by SQL. The only file that knows the tables.

use std::sync::Arc;

use rawko_store::{AuditLine, Blob, ChartHash, ChartRow, OpenEffect, Record, SavedSnapshot, StoreError};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::asking::StoreThread;
use crate::client::admin::{listed, quoted};
use crate::client::{Admin, Deployment, Restate, RestateError};
use crate::layout::index::{self, INDEX, ShardRow, shard_of};
use crate::layout::{
    CHART, ChartSource, INSTANCE, LiveState, SERVICES, SnapshotMark, StoredRow, from_hex, hex, key,
};

/// Maximum number of records per query.
const RECORDS_PER_QUERY: u64 = 2_000;
/// Maximum number of stuck invocations in a report.
const PROBLEMS_MAX: usize = 20;

/// The character after `/`, as an upper bound of keys with a prefix.
const AFTER_SLASH: char = '0';

pub(super) struct RestateState {
    admin: Admin,
    asking: Arc<StoreThread>,
}

/// Row and byte counts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sizes {
    pub(super) bytes: u64,
    pub(super) instances: u64,
    pub(super) records: u64,
}

/// One key of an object.
#[derive(Debug, Deserialize)]
struct StateEntry {
    service_key: String,
    key: String,
    value: Option<String>,
}

#[derive(Deserialize)]
struct StateSize {
    kind: String,
    count: u64,
    bytes: Option<u64>,
}

#[derive(Deserialize)]
#[cfg(feature = "worker")]
struct OpenCall {
    #[serde(rename = "id")]
    _id: String,
}

#[derive(Deserialize)]
struct StuckObject {
    target: String,
    status: String,
    why: Option<String>,
}

impl RestateState {
    /// Uses its own connections: those of a client belong to the runtime that it is used in.
    pub(super) fn new(restate: &Restate) -> Result<RestateState, RestateError> {
        let admin = Admin::new(&restate.admin().address())?;
        let asking = StoreThread::new().map_err(|error| RestateError::Unreachable {
            place: admin.place(),
            why: error.to_string(),
            help: "a thread cannot be started",
        })?;
        Ok(RestateState { admin, asking: Arc::new(asking) })
    }

    /// Returns the thread that waits for answers.
    pub(super) fn asking(&self) -> Arc<StoreThread> {
        Arc::clone(&self.asking)
    }

    pub(super) fn place(&self) -> String {
        format!("Restate at {}", self.admin.place())
    }

    /// Returns the rows of all instances, which is slow: everything that they store is searched.
    pub(super) fn rows(&self) -> Result<Vec<StoredRow>, StoreError> {
        let entries = self.entries(INSTANCE, None, &format!("key = '{}'", key::ROW), "")?;
        entries.iter().map(StateEntry::read).collect()
    }

    /// Returns the rows of a shard of the index.
    pub(super) fn indexed(&self, shard: u64) -> Result<Vec<StoredRow>, StoreError> {
        let entries = self.entries(INDEX, Some(&shard.to_string()), &below("row"), "")?;
        entries.iter().map(|entry| Ok(entry.read::<ShardRow>()?.row)).collect()
    }

    /// Returns what the index has of an instance, with the full pages of its positions.
    pub(super) fn places(&self, id: &str) -> Result<Option<(ShardRow, Vec<u64>)>, StoreError> {
        let shard = shard_of(id).to_string();
        let Some(row) = self.one::<ShardRow>(INDEX, &shard, &index::key::row(id))? else { return Ok(None) };
        let keys = (0..row.pages).map(|page| format!("'{}'", quoted(&index::key::places(id, page))));
        let keys: Vec<String> = keys.collect();
        let mut places = Vec::new();
        if !keys.is_empty() {
            let which = format!("key in ({})", keys.join(", "));
            for entry in self.entries(INDEX, Some(&shard), &which, "order by key")? {
                places.extend(entry.read::<Vec<u64>>()?);
            }
        }
        Ok(Some((row, places)))
    }

    pub(super) fn live(&self, id: &str) -> Result<Option<LiveState>, StoreError> {
        self.one(INSTANCE, id, key::LIVE)
    }

    /// Returns the open effects of all instances.
    pub(super) fn open_effects(&self) -> Result<Vec<OpenEffect>, StoreError> {
        let entries = self.entries(INSTANCE, None, &format!("key = '{}'", key::LIVE), "")?;
        let live: Result<Vec<LiveState>, _> = entries.iter().map(StateEntry::read).collect();
        Ok(live?.into_iter().flat_map(|live| live.open).collect())
    }

    pub(super) fn marks(&self, id: &str) -> Result<Vec<SnapshotMark>, StoreError> {
        Ok(self.one(INSTANCE, id, key::SNAPSHOTS)?.unwrap_or_default())
    }

    pub(super) fn snapshot(&self, id: &str, step: u64) -> Result<Option<SavedSnapshot>, StoreError> {
        self.one(INSTANCE, id, &key::snapshot(step))
    }

    /// Returns the records numbered above `known`, in order, without a gap.
    pub(super) fn records(&self, id: &str, known: u64) -> Result<Vec<Record>, StoreError> {
        let mut records: Vec<Record> = Vec::new();
        loop {
            let last = known + records.len() as u64;
            let range = format!(
                "key > '{}' and key <= '{}'",
                key::record(last),
                key::record(last + RECORDS_PER_QUERY)
            );
            let entries = self.entries(INSTANCE, Some(id), &range, "order by key")?;
            let count = entries.len() as u64;
            for entry in &entries {
                records.push(entry.read()?);
            }
            if count < RECORDS_PER_QUERY {
                return Ok(records);
            }
        }
    }

    pub(super) fn delivered(&self, id: &str, delivery: &str) -> Result<Option<u64>, StoreError> {
        self.one(INSTANCE, id, &key::delivery(delivery))
    }

    /// Returns those of these blobs that the instance has.
    pub(super) fn blobs(&self, id: &str, names: &[[u8; 16]]) -> Result<Vec<Blob>, StoreError> {
        let keys: Vec<String> = names.iter().map(|name| format!("'{}'", key::blob(name))).collect();
        let entries = self.entries(INSTANCE, Some(id), &format!("key in ({})", keys.join(", ")), "")?;
        entries.iter().map(StateEntry::blob).collect()
    }

    /// Searches all instances for a blob, which is slow.
    pub(super) fn blob_anywhere(&self, name: &[u8; 16]) -> Result<Vec<Blob>, StoreError> {
        let entries = self.entries(INSTANCE, None, &format!("key = '{}'", key::blob(name)), "limit 1")?;
        entries.iter().map(StateEntry::blob).collect()
    }

    pub(super) fn audit_of(&self, id: &str) -> Result<Vec<AuditLine>, StoreError> {
        let entries = self.entries(INSTANCE, Some(id), &below("audit"), "order by key")?;
        entries.iter().map(StateEntry::read).collect()
    }

    /// Returns the audit of all instances, by time.
    pub(super) fn audit(&self) -> Result<Vec<AuditLine>, StoreError> {
        let entries = self.entries(INSTANCE, None, &below("audit"), "order by service_key, key")?;
        let lines: Result<Vec<AuditLine>, _> = entries.iter().map(StateEntry::read).collect();
        let mut lines = lines?;
        lines.sort_by_key(|line| line.at_ms);
        Ok(lines)
    }

    pub(super) fn chart(&self, hash: &ChartHash) -> Result<Option<ChartRow>, StoreError> {
        let text: Option<ChartSource> = self.one(CHART, &hex(hash), key::TEXT)?;
        Ok(text.map(|text| chart_row(*hash, text)))
    }

    pub(super) fn charts(&self) -> Result<Vec<ChartRow>, StoreError> {
        let entries = self.entries(CHART, None, &format!("key = '{}'", key::TEXT), "")?;
        let named = |entry: &StateEntry| {
            let hash = from_hex(&entry.service_key)
                .ok_or_else(|| StoreError::Damaged(format!("`{}` is not a chart hash", entry.service_key)))?;
            Ok(chart_row(hash, entry.read()?))
        };
        entries.iter().map(named).collect()
    }

    pub(super) fn sizes(&self) -> Result<Sizes, StoreError> {
        let sql = format!(
            "select case when key = '{}' then 'row' when service_name = '{INSTANCE}' and key like 'record/%' then 'record' \
             else 'rest' end as kind, \
             count(*) as count, sum(value_length) as bytes from state \
             where service_name in ('{INSTANCE}', '{CHART}', '{INDEX}') group by 1",
            key::ROW
        );
        let mut sizes = Sizes::default();
        for StateSize { kind, count, bytes } in self.query::<StateSize>(sql)? {
            sizes.bytes += bytes.unwrap_or(0);
            match kind.as_str() {
                "row" => sizes.instances = count,
                "record" => sizes.records = count,
                _ => {}
            }
        }
        Ok(sizes)
    }

    pub(super) fn deployments(&self) -> Result<Vec<Deployment>, StoreError> {
        let admin = self.admin.clone();
        self.asking.wait(async move { admin.deployments().await })
    }

    /// Returns true if one of these deployments has an invocation that is not completed.
    #[cfg(feature = "worker")]
    pub(super) fn has_open_at(&self, deployments: &[String]) -> Result<bool, StoreError> {
        let sql = format!(
            "select id from sys_invocation where status != 'completed' and pinned_deployment_id in ({}) limit 1",
            listed(deployments)
        );
        Ok(!self.query::<OpenCall>(sql)?.is_empty())
    }

    /// Returns messages about stuck invocations.
    pub(super) fn problems(&self) -> Result<Vec<String>, StoreError> {
        let sql = format!(
            "select target, status, last_failure as why from sys_invocation \
             where status in ('paused', 'backing-off') \
             and target_service_name in ({}) order by target limit {PROBLEMS_MAX}",
            listed(&SERVICES)
        );
        let stuck = self.query::<StuckObject>(sql)?;
        Ok(stuck
            .into_iter()
            .map(|StuckObject { target, status, why }| {
                format!("{target} is {status}: {}", why.unwrap_or_else(|| "no reason given".to_owned()))
            })
            .collect())
    }

    fn one<T: DeserializeOwned>(&self, service: &str, id: &str, key: &str) -> Result<Option<T>, StoreError> {
        let entries = self.entries(service, Some(id), &format!("key = '{}'", quoted(key)), "")?;
        entries.first().map(StateEntry::read).transpose()
    }

    /// Returns the entries of one object, or of all.
    fn entries(
        &self,
        service: &str,
        id: Option<&str>,
        which: &str,
        how: &str,
    ) -> Result<Vec<StateEntry>, StoreError> {
        let object = id.map(|id| format!("and service_key = '{}' ", quoted(id))).unwrap_or_default();
        self.query(format!(
            "select service_key, key, value_utf8 as value from state \
             where service_name = '{service}' {object}and {which} {how}"
        ))
    }

    fn query<T: DeserializeOwned + Send + 'static>(&self, sql: String) -> Result<Vec<T>, StoreError> {
        let admin = self.admin.clone();
        self.asking.wait(async move { admin.query(&sql).await })
    }
}

impl StateEntry {
    fn read<T: DeserializeOwned>(&self) -> Result<T, StoreError> {
        let text = self.value.as_deref().unwrap_or_default();
        serde_json::from_str(text).map_err(|error| {
            StoreError::Damaged(format!("`{}` of `{}` cannot be read: {error}", self.key, self.service_key))
        })
    }

    fn blob(&self) -> Result<Blob, StoreError> {
        let name = self.key.strip_prefix("blob/").and_then(from_hex);
        let hash = name.ok_or_else(|| StoreError::Damaged(format!("`{}` is not a blob name", self.key)))?;
        Ok(Blob { hash, body: self.read::<String>()?.into_bytes() })
    }
}

/// Returns the condition for all keys that begin with this word and a slash.
fn below(word: &str) -> String {
    format!("key > '{word}/' and key < '{word}{AFTER_SLASH}'")
}

fn chart_row(hash: ChartHash, text: ChartSource) -> ChartRow {
    let ChartSource { id, version, name, text, added_ms } = text;
    ChartRow { hash, id, version, name, text, added_ms }
}
