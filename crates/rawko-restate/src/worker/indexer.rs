//! `Indexer`: adds steps to the index that no worker has added: those of workers without an index, once when a worker starts,
//! and now and then for as long as such workers take steps; and those that a worker has left behind when it died. Each worker
//! beats, so that the others notice. Several may add steps at a time: what the index has is skipped.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rawko_store::StoreError;
use tokio::sync::Notify;

use super::state::WorkerState;
use crate::client::{HandlerTarget, RestateError};
use crate::layout::StoredRow;
use crate::layout::index::{
    INDEX, IndexBeat, IndexBeats, IndexBuild, SHARDS, ShardMark, WORKERS, handler, shard_of,
};
use crate::store::RestateStore;

/// Rows per request.
const ROWS_AT_ONCE: usize = 200;
/// First and longest time between two attempts: a worker is registered only after it listens.
const BETWEEN_ATTEMPTS: [Duration; 2] = [Duration::from_millis(200), Duration::from_secs(5)];
/// First and longest time between two scans while older workers take steps.
const BETWEEN_SCANS: [Duration; 2] = [Duration::from_secs(30), Duration::from_secs(600)];
/// Time between two beats: a third of the time for which others are known to know.
const BETWEEN_BEATS: Duration = Duration::from_secs(2);
/// A worker without a beat for this long is dead: longer than it takes steps without waiting, and those are written.
const DEAD_AFTER: Duration = Duration::from_secs(20);
/// Timeout of the last requests of a worker that ends.
const LEAVING: Duration = Duration::from_secs(3);

pub(super) struct Indexer {
    state: Arc<WorkerState>,
    beats: Mutex<OtherWorkers>,
    /// A worker has died.
    died: Notify,
    is_built: AtomicBool,
}

/// The beats of the other workers.
#[derive(Default)]
struct OtherWorkers {
    /// The last count of each, and when it was seen first.
    seen: HashMap<String, (u64, Instant)>,
    /// Those without a beat for long.
    dead: Vec<String>,
    /// Those whose steps are in the index.
    gone: Vec<String>,
}

impl OtherWorkers {
    /// Notes the beats of all workers. Returns true if this one has to add what dead ones have left: the first of those that
    /// live.
    fn note(&mut self, own: &str, beats: &IndexBeats, now: Instant) -> bool {
        let mut seen = HashMap::new();
        for (boot, count) in beats {
            let known = self.seen.get(boot).filter(|(known, _)| known == count);
            seen.insert(boot.clone(), known.copied().unwrap_or((*count, now)));
        }
        self.seen = seen;
        let is_dead = |boot: &String| {
            let seen = self.seen.get(boot).filter(|_| boot != own);
            seen.is_some_and(|(_, at)| now.saturating_duration_since(*at) >= DEAD_AFTER)
        };
        self.dead = beats.keys().filter(|boot| is_dead(boot)).cloned().collect();
        let first = beats.keys().find(|boot| !is_dead(boot));
        !self.dead.is_empty() && first.is_some_and(|first| first == own)
    }
}

impl Indexer {
    pub(super) fn new(state: &Arc<WorkerState>) -> Indexer {
        Indexer {
            state: Arc::clone(state),
            beats: Mutex::default(),
            died: Notify::new(),
            is_built: AtomicBool::default(),
        }
    }

    /// Runs until it is dropped.
    pub(super) async fn run(&self) {
        tokio::join!(self.scan(), self.beat());
    }

    fn beats(&self) -> MutexGuard<'_, OtherWorkers> {
        self.beats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn scan(&self) {
        let [mut between, longest] = BETWEEN_SCANS;
        loop {
            // Asked before the scan, which then has all that they did.
            let has_older = self.read(RestateStore::has_older_workers).await.unwrap_or(true);
            let dead = std::mem::take(&mut self.beats().dead);
            self.build_at_last().await;
            self.beats().gone.extend(dead);
            self.is_built.store(true, Ordering::Release);
            let next = async {
                if has_older {
                    tokio::time::sleep(between).await;
                } else {
                    std::future::pending::<()>().await;
                }
            };
            tokio::select! {
                () = next => between = (between * 2).min(longest),
                () = self.died.notified() => {}
            }
        }
    }

    /// Lets others know that this worker runs, once the index is built: before that, each step waits for it.
    async fn beat(&self) {
        let mut count = 0;
        loop {
            if self.is_built.load(Ordering::Acquire) && !self.state.queue.has_ended() {
                count += 1;
                let at = Instant::now();
                let gone = self.beats().gone.clone();
                let beat = IndexBeat { boot: self.state.boot.clone(), count: Some(count), gone };
                if let Ok(beats) = self.send_beat(&beat).await {
                    self.state.queue.note_beat(at);
                    let mut known = self.beats();
                    known.gone.retain(|boot| !beat.gone.contains(boot));
                    if known.note(&self.state.boot, &beats, Instant::now()) {
                        self.died.notify_one();
                    }
                }
            }
            let is_begun = count > 0;
            tokio::time::sleep(if is_begun { BETWEEN_BEATS } else { BETWEEN_ATTEMPTS[0] }).await;
        }
    }

    /// Adds the last steps, and lets others know that this worker ends.
    pub(super) async fn leave(&self) {
        self.state.queue.end();
        if self.state.queue.is_empty_within(LEAVING).await {
            let beat = IndexBeat { boot: self.state.boot.clone(), count: None, gone: Vec::new() };
            // Otherwise others scan for nothing.
            let _ = tokio::time::timeout(LEAVING, self.send_beat(&beat)).await;
        }
    }

    async fn send_beat(&self, beat: &IndexBeat) -> Result<IndexBeats, RestateError> {
        let target = HandlerTarget::object(INDEX, WORKERS, handler::BEAT);
        self.state.ingress.clone().with_patience(DEAD_AFTER / 2, Duration::ZERO).look(&target, beat).await
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_living_worker_adds_what_dead_ones_have_left() {
        let beats = |all: &[(&str, u64)]| -> IndexBeats {
            all.iter().map(|(boot, count)| ((*boot).to_owned(), *count)).collect()
        };
        let (mut first, mut second, begun) =
            (OtherWorkers::default(), OtherWorkers::default(), Instant::now());
        let mut note = |all: &[(&str, u64)], seconds: u64| {
            let (beats, now) = (beats(all), begun + Duration::from_secs(seconds));
            (first.note("b", &beats, now), second.note("c", &beats, now))
        };
        assert_eq!(note(&[("a", 7), ("b", 1), ("c", 1)], 0), (false, false));
        assert_eq!(note(&[("a", 7), ("b", 2), ("c", 2)], 19), (false, false));
        assert_eq!(note(&[("a", 8), ("b", 3), ("c", 3)], 20), (false, false), "it was slow");
        assert_eq!(note(&[("a", 8), ("b", 4), ("c", 4)], 39), (false, false));
        assert_eq!(note(&[("a", 8), ("b", 5), ("c", 5)], 40), (true, false));
        assert_eq!(note(&[("b", 6), ("c", 6)], 60), (false, false), "its steps are in the index");
        assert_eq!(first.dead.len() + second.dead.len(), 0);
    }
}
