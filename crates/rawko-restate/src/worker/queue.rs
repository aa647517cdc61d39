//! `IndexQueue`: the steps that this worker has taken and not yet added to the index. They are sent a shard at a time, all at
//! once, so that many steps cost the index one request. Memory only: a step waits until it is there, or the worker is known to
//! run, so that others add what it leaves behind when it dies.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;

use crate::client::{HandlerTarget, Ingress, RestateError};
use crate::layout::index::{INDEX, IndexedStep, SHARDS, handler, shard_of};

/// Steps per request.
const STEPS_AT_ONCE: usize = 256;
/// Steps of a shard above which each new one waits.
const WAITING_MAX: usize = 2_048;
/// Shortest and longest time between two requests to a shard, and how often the last one's duration.
const BETWEEN: [Duration; 2] = [Duration::from_millis(15), Duration::from_millis(100)];
const DURATIONS_BETWEEN: u32 = 3;
/// First and longest time between two attempts.
const BETWEEN_ATTEMPTS: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(1)];
/// Timeout of a request.
const PATIENCE: Duration = Duration::from_secs(20);
/// Time since the last beat in which others know that this worker runs. Much shorter than their patience.
pub(super) const KNOWN_FOR: Duration = Duration::from_secs(6);

pub(super) struct IndexQueue {
    ingress: Ingress,
    shards: Vec<ShardQueue>,
    /// The time before the last successful beat.
    beat: Mutex<Option<Instant>>,
    /// The worker ends: nothing is left behind.
    has_ended: AtomicBool,
}

/// A place in the queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct QueuedStep {
    shard: usize,
    number: u64,
}

struct ShardQueue {
    waiting: Mutex<WaitingSteps>,
    more: Notify,
    /// Number of steps that are in the index.
    added: watch::Sender<u64>,
}

/// Steps in the order in which they were taken: an instance and its descendants share a shard, and so keep theirs.
#[derive(Default)]
struct WaitingSteps {
    /// Number of steps that were taken out.
    taken: u64,
    steps: VecDeque<IndexedStep>,
}

impl WaitingSteps {
    /// Returns the number of steps so far.
    fn last(&self) -> u64 {
        self.taken + self.steps.len() as u64
    }

    fn take(&mut self, most: usize) -> Vec<IndexedStep> {
        let count = most.min(self.steps.len());
        self.taken += count as u64;
        self.steps.drain(..count).collect()
    }
}

impl ShardQueue {
    fn waiting(&self) -> MutexGuard<'_, WaitingSteps> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl IndexQueue {
    pub(super) fn new(ingress: &Ingress) -> IndexQueue {
        let shard =
            |_| ShardQueue { waiting: Mutex::default(), more: Notify::new(), added: watch::Sender::new(0) };
        let ingress = ingress.clone().with_patience(PATIENCE, PATIENCE);
        IndexQueue {
            ingress,
            shards: (0..SHARDS).map(shard).collect(),
            beat: Mutex::default(),
            has_ended: AtomicBool::default(),
        }
    }

    /// Adds a step. It is sent by [`Self::run`].
    pub(super) fn push(&self, step: IndexedStep) -> QueuedStep {
        let shard = usize::try_from(shard_of(&step.row.new.id)).unwrap_or_default();
        let queue = &self.shards[shard];
        let number = {
            let mut waiting = queue.waiting();
            waiting.steps.push_back(step);
            waiting.last()
        };
        queue.more.notify_one();
        QueuedStep { shard, number }
    }

    /// Returns true if this worker may leave the step behind: others know that it runs, and the queue is short.
    pub(super) fn may_leave(&self, step: QueuedStep) -> bool {
        let is_known = self.beat().is_some_and(|beat| beat.elapsed() < KNOWN_FOR);
        is_known && !self.has_ended() && self.shards[step.shard].waiting().steps.len() < WAITING_MAX
    }

    /// Waits until the step is in the index. Returns false if it is not within the time.
    pub(super) async fn is_added(&self, step: QueuedStep, within: Duration) -> bool {
        let mut added = self.shards[step.shard].added.subscribe();
        let reached = added.wait_for(|added| *added >= step.number);
        matches!(tokio::time::timeout(within, reached).await, Ok(Ok(_)))
    }

    /// Notes that others know of this worker.
    pub(super) fn note_beat(&self, at: Instant) {
        *self.beat() = Some(at);
    }

    /// Makes all steps wait until they are in the index.
    pub(super) fn end(&self) {
        self.has_ended.store(true, Ordering::Release);
    }

    pub(super) fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Acquire)
    }

    fn beat(&self) -> MutexGuard<'_, Option<Instant>> {
        self.beat.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends the steps of all shards, until it is dropped.
    pub(super) async fn run(self: Arc<Self>) {
        let mut sending = JoinSet::new();
        for shard in 0..self.shards.len() {
            let queue = Arc::clone(&self);
            sending.spawn(async move { queue.send(shard).await });
        }
        while sending.join_next().await.is_some() {}
    }

    async fn send(&self, shard: usize) {
        let target = HandlerTarget::object(INDEX, &shard.to_string(), handler::APPEND);
        let queue = &self.shards[shard];
        loop {
            queue.more.notified().await;
            loop {
                let (steps, taken) = {
                    let mut waiting = queue.waiting();
                    (waiting.take(STEPS_AT_ONCE), waiting.taken)
                };
                if steps.is_empty() {
                    break;
                }
                let took = self.send_at_last(&target, &steps).await;
                queue.added.send_replace(taken);
                let [shortest, longest] = BETWEEN;
                tokio::time::sleep((took * DURATIONS_BETWEEN).clamp(shortest, longest)).await;
            }
        }
    }

    /// Repeats the attempt until it succeeds, which changes nothing, and returns the duration of the last one.
    async fn send_at_last(&self, target: &HandlerTarget, steps: &[IndexedStep]) -> Duration {
        let [mut between, longest] = BETWEEN_ATTEMPTS;
        loop {
            let begun = Instant::now();
            let sent: Result<(), RestateError> = self.ingress.look(target, &steps).await;
            if sent.is_ok() {
                return begun.elapsed();
            }
            tokio::time::sleep(between).await;
            between = (between * 2).min(longest);
        }
    }

    /// Waits until nothing is left. Returns false if something is, after the time.
    pub(super) async fn is_empty_within(&self, within: Duration) -> bool {
        let until = Instant::now() + within;
        for (shard, queue) in self.shards.iter().enumerate() {
            let number = queue.waiting().last();
            let left = until.saturating_duration_since(Instant::now());
            if !self.is_added(QueuedStep { shard, number }, left).await {
                return false;
            }
        }
        true
    }
}
