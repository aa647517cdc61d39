//! `Indexer`: adds what workers without an index did: once when a worker starts, and now and then for as long as such workers
//! take steps. Several workers may do it at a time: what the index has is skipped.

use std::collections::{BTreeMap, BTreeSet};
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use rawko_store::StoreError;

use super::state::WorkerState;
use crate::client::{HandlerTarget, RestateError};
use crate::layout::StoredRow;
use crate::layout::index::{INDEX, IndexBuild, SHARDS, ShardMark, handler, shard_of};
use crate::store::RestateStore;

/// Rows per request.
const ROWS_AT_ONCE: usize = 200;
/// First and longest time between two attempts: a worker is registered only after it listens.
const BETWEEN_ATTEMPTS: [Duration; 2] = [Duration::from_millis(200), Duration::from_secs(5)];
/// First and longest time between two scans while older workers take steps.
const BETWEEN_SCANS: [Duration; 2] = [Duration::from_secs(30), Duration::from_secs(600)];

pub(super) struct Indexer {
    state: Arc<WorkerState>,
}

impl Indexer {
    pub(super) fn new(state: &Arc<WorkerState>) -> Indexer {
        Indexer { state: Arc::clone(state) }
    }

    /// Runs until it is dropped.
    pub(super) async fn run(self) {
        let [mut between, longest] = BETWEEN_SCANS;
        loop {
            // Asked before the scan, which then has all that they did.
            let has_older = self.read(RestateStore::has_older_workers).await.unwrap_or(true);
            self.build_at_last().await;
            if !has_older {
                return pending().await;
            }
            tokio::time::sleep(between).await;
            between = (between * 2).min(longest);
        }
    }

    /// Repeats the attempt until it succeeds.
    async fn build_at_last(&self) {
        let [mut between, longest] = BETWEEN_ATTEMPTS;
        while self.build().await.is_err() {
            tokio::time::sleep(between).await;
            between = (between * 2).min(longest);
        }
    }

    async fn build(&self) -> Result<(), StoreError> {
        let mut unbuilt = BTreeSet::new();
        for shard in 0..SHARDS {
            let mark: ShardMark = self.call(shard, handler::PEEK, &()).await?;
            unbuilt.extend(Some(shard).filter(|_| !mark.is_built));
        }
        let mut by_shard: BTreeMap<u64, Vec<StoredRow>> =
            unbuilt.iter().map(|shard| (*shard, Vec::new())).collect();
        for row in self.read(RestateStore::unindexed).await? {
            by_shard.entry(shard_of(&row.new.id)).or_default().push(row);
        }
        for (shard, rows) in by_shard {
            for part in rows.chunks(ROWS_AT_ONCE) {
                self.call::<_, ()>(
                    shard,
                    handler::BUILD,
                    &IndexBuild { rows: part.to_vec(), is_last: false },
                )
                .await?;
            }
            if unbuilt.contains(&shard) {
                let last = IndexBuild { rows: Vec::new(), is_last: true };
                self.call::<_, ()>(shard, handler::BUILD, &last).await?;
            }
        }
        Ok(())
    }

    async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&RestateStore) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let store = Arc::clone(&self.state.store);
        let found = tokio::task::spawn_blocking(move || read(&store)).await;
        found.map_err(|error| StoreError::Io(error.to_string()))?
    }

    /// Repeating a call changes nothing, so it needs no idempotency key.
    async fn call<A: serde::Serialize, R: serde::de::DeserializeOwned>(
        &self,
        shard: u64,
        handler: &str,
        ask: &A,
    ) -> Result<R, RestateError> {
        let target = HandlerTarget::object(INDEX, &shard.to_string(), handler);
        self.state.ingress.look(&target, ask).await
    }
}
