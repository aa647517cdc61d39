//! Notifies an engine's watchers of new records. A call to each shard of the index waits until it has more, so that a record
//! is heard of at once and nothing is asked while nothing happens.

use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use rawko_host::{Clock, SystemClock};
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::client::{HandlerTarget, Ingress, RestateError};
use crate::engine::EngineInner;
use crate::layout::index::{INDEX, SHARDS, ShardMark, WaitAsk, handler};

/// Timeout of a waiting call; then another one takes its place.
const PATIENCE: Duration = Duration::from_secs(50);
/// Time between two attempts while no worker answers.
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(500);
/// Time between two looks, within which records are collected.
const BETWEEN_LOOKS: Duration = Duration::from_millis(15);
/// Time after which the store is read even without news.
const QUIET: Duration = Duration::from_secs(5);
/// Time between two looks at whether there are watchers.
const IDLE: Duration = Duration::from_millis(200);

/// The ends of the shards, as far as they are known.
struct ShardNews {
    marks: Mutex<Vec<ShardMark>>,
    notify: Notify,
}

impl ShardNews {
    fn marks(&self) -> MutexGuard<'_, Vec<ShardMark>> {
        self.marks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, shard: u64, mark: ShardMark) {
        for (_, known) in (0..).zip(self.marks().iter_mut()).filter(|(number, _)| *number == shard) {
            *known = mark;
        }
        self.notify.notify_one();
    }
}

/// Runs for as long as the engine exists.
pub(crate) async fn follow(engine: Weak<EngineInner>) {
    loop {
        let Some(inner) = engine.upgrade() else { return };
        if inner.changes.receiver_count() == 0 {
            drop(inner);
            tokio::time::sleep(IDLE).await;
            continue;
        }
        let news = Arc::new(ShardNews {
            marks: Mutex::new((0..SHARDS).map(|_| ShardMark::default()).collect()),
            notify: Notify::new(),
        });
        let mut waiting = JoinSet::new();
        let follower = format!("{:016x}", RandomState::new().hash_one(SystemClock.now_ms()));
        for shard in 0..SHARDS {
            let ingress = inner.restate.ingress().clone().with_patience(PATIENCE, Duration::ZERO);
            waiting.spawn(wait(ingress, shard, follower.clone(), Arc::clone(&news)));
        }
        drop(inner);
        // Ends the waiting calls with it.
        look(&engine, &news).await;
    }
}

/// Reads the store whenever there is news, for as long as there are watchers.
async fn look(engine: &Weak<EngineInner>, news: &ShardNews) {
    let mut seen = None;
    loop {
        let is_quiet = tokio::time::timeout(QUIET, news.notify.notified()).await.is_err();
        let Some(inner) = engine.upgrade() else { return };
        if inner.changes.receiver_count() == 0 {
            inner.store.set_followed(false);
            return;
        }
        let (store, marks) = (Arc::clone(&inner.store), news.marks().clone());
        let last = tokio::task::spawn_blocking(move || match is_quiet {
            true => store.end(),
            false => store.heard(&marks),
        });
        let last = last.await;
        inner.store.set_followed(matches!(last, Ok(Ok(_))));
        // An unreachable server has no news.
        if let Ok(Ok(last)) = last
            && seen.replace(last) != Some(last)
        {
            inner.changes.send_modify(|count| *count += 1);
        }
        drop(inner);
        tokio::time::sleep(BETWEEN_LOOKS).await;
    }
}

/// Notifies of the new entries of one shard, until it is dropped.
async fn wait(ingress: Ingress, shard: u64, follower: String, news: Arc<ShardNews>) {
    let target = |handler| HandlerTarget::object(INDEX, &shard.to_string(), handler);
    let mut known: Option<u64> = None;
    loop {
        let found: Result<ShardMark, RestateError> = match known {
            Some(known) => {
                let ask = WaitAsk { follower: follower.clone(), known };
                ingress.look(&target(handler::WAIT), &ask).await
            }
            None => ingress.look(&target(handler::PEEK), &()).await,
        };
        match found {
            // The time is up, or too many others wait.
            Ok(mark) if known == Some(mark.entries) => tokio::time::sleep(BETWEEN_LOOKS).await,
            Ok(mark) => {
                known = Some(mark.entries);
                news.note(shard, mark);
            }
            // Nothing has happened for long.
            Err(RestateError::Slow { .. }) => {}
            Err(_) => {
                known = None;
                tokio::time::sleep(BETWEEN_ATTEMPTS).await;
            }
        }
    }
}
