//! `CommitWriter`: group commit. One thread takes all submitted commits, makes them durable with one call to the store, and
//! then replies to each caller. Separate from the stores, so that each of them gets it.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::Commit;
use crate::StoreError;
use crate::store::Store;

/// Maximum number of commits per batch. Bounds the time the first of them waits for the last.
const BATCH_LEN_MAX: usize = 4_096;
/// Time to poll for more commits before sleeping: a caller that sends events one after another returns sooner than a
/// sleeping thread wakes up.
const WATCH: Duration = Duration::from_micros(150);
/// Maximum time to wait for the callers of the last batch to submit more: never longer than that batch took, so that
/// waiting costs less than the fsync it saves.
const LINGER_MAX: Duration = Duration::from_micros(400);

type CommitCallback = Box<dyn FnOnce(Result<(), StoreError>) + Send>;

/// Submits commits to a store in batches. Dropping it waits until all of them are done.
pub struct CommitWriter {
    store: Arc<dyn Store>,
    queue: Arc<WriteQueue>,
    /// `None` if the thread could not be started; then `submit` commits on the caller's thread.
    thread: Option<JoinHandle<()>>,
}

impl CommitWriter {
    /// Starts the thread `rawko-writer` for this store; without a thread, commits run on the caller's thread.
    pub fn new(store: Arc<dyn Store>) -> CommitWriter {
        let queue = Arc::new(WriteQueue::default());
        let (served, used) = (queue.clone(), store.clone());
        let builder = std::thread::Builder::new().name("rawko-writer".to_owned());
        let thread = builder.spawn(move || run(&*used, &served)).ok();
        CommitWriter { store, queue, thread }
    }

    /// Queues commits that belong together: all of them become durable, or none. `done` runs on the writer's thread
    /// once they are or have failed, in the order of submission; it must not block.
    pub fn submit(&self, commits: Vec<Commit>, done: impl FnOnce(Result<(), StoreError>) + Send + 'static) {
        self.push(WriteJob { commits, is_awaited: true, done: Box::new(done) });
    }

    /// Queues commits without a waiting caller, so that the next batch does not wait for one to return.
    pub fn submit_unawaited(
        &self,
        commits: Vec<Commit>,
        done: impl FnOnce(Result<(), StoreError>) + Send + 'static,
    ) {
        self.push(WriteJob { commits, is_awaited: false, done: Box::new(done) });
    }

    /// Waits until everything submitted so far is done.
    pub fn flush(&self) {
        let (tell, told) = sync_channel(1);
        self.push(WriteJob {
            commits: Vec::new(),
            is_awaited: false,
            done: Box::new(move |_| {
                let _ = tell.send(());
            }),
        });
        // An error means that the callback was dropped, so there is nothing left to wait for.
        let _ = told.recv();
    }

    /// Waits until everything submitted is done, and ends the thread.
    pub fn close(mut self) {
        self.end();
    }

    /// Returns the number of commits given to the store.
    pub fn commits(&self) -> u64 {
        self.queue.commits.load(Ordering::Relaxed)
    }

    /// Returns the number of batches.
    pub fn batches(&self) -> u64 {
        self.queue.batches.load(Ordering::Relaxed)
    }

    fn push(&self, job: WriteJob) {
        if self.thread.is_none() {
            write(&*self.store, &self.queue, vec![job]);
            return;
        }
        let mut waiting = self.queue.lock();
        waiting.jobs.push(job);
        self.queue.queued.store(waiting.jobs.len(), Ordering::Release);
        let is_idle = waiting.is_idle;
        drop(waiting);
        // A busy thread checks the queue before it sleeps; waking it would cost a system call per commit.
        if is_idle {
            self.queue.filled.notify_one();
        }
    }

    fn end(&mut self) {
        self.queue.lock().is_closed = true;
        self.queue.filled.notify_one();
        // A callback may hold the last reference: its own thread ends by itself, and cannot wait for itself.
        let is_other = |thread: &JoinHandle<()>| thread.thread().id() != std::thread::current().id();
        if let Some(thread) = self.thread.take().filter(is_other) {
            // It contains panics of the store; a panic of a callback has already printed its message.
            let _ = thread.join();
        }
    }
}

impl Drop for CommitWriter {
    fn drop(&mut self) {
        self.end();
    }
}

impl fmt::Debug for CommitWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").field("commits", &self.commits()).field("batches", &self.batches()).finish()
    }
}

/// Commits that belong together and their callback; a job without commits is a flush.
struct WriteJob {
    commits: Vec<Commit>,
    /// An external caller waits for the reply, and is likely to submit again.
    is_awaited: bool,
    done: CommitCallback,
}

#[derive(Default)]
struct WriteQueue {
    waiting: Mutex<WaitingJob>,
    filled: Condvar,
    /// Number of queued jobs, readable without the lock.
    queued: AtomicUsize,
    commits: AtomicU64,
    batches: AtomicU64,
}

#[derive(Default)]
struct WaitingJob {
    jobs: Vec<WriteJob>,
    is_closed: bool,
    /// True while the thread sleeps.
    is_idle: bool,
}

impl WriteQueue {
    fn lock(&self) -> MutexGuard<'_, WaitingJob> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns all queued jobs; sleeps while there are none. `None` once closed and empty.
    fn take(&self, is_awaited: bool) -> Option<Vec<WriteJob>> {
        if is_awaited {
            self.watch();
        }
        let mut waiting = self.lock();
        while waiting.jobs.is_empty() {
            if waiting.is_closed {
                return None;
            }
            waiting.is_idle = true;
            waiting = self.filled.wait(waiting).unwrap_or_else(PoisonError::into_inner);
            waiting.is_idle = false;
        }
        self.queued.store(0, Ordering::Release);
        Some(std::mem::take(&mut waiting.jobs))
    }

    /// Polls briefly for more jobs, without sleeping.
    fn watch(&self) {
        let from = Instant::now();
        while self.queued.load(Ordering::Acquire) == 0 && from.elapsed() < WATCH {
            std::thread::yield_now();
        }
    }

    /// Adds jobs that arrive within `most`, until there are `expected`.
    fn linger(&self, jobs: &mut Vec<WriteJob>, expected: usize, most: Duration) {
        let from = Instant::now();
        while jobs.len() < expected && from.elapsed() < most {
            std::thread::yield_now();
            let mut waiting = self.lock();
            jobs.append(&mut waiting.jobs);
            self.queued.store(0, Ordering::Release);
            if waiting.is_closed {
                return;
            }
        }
    }
}

fn run(store: &dyn Store, queue: &WriteQueue) {
    let mut expected = 0;
    let mut took = Duration::ZERO;
    let mut is_awaited = false;
    while let Some(mut jobs) = queue.take(is_awaited) {
        if jobs.len() < expected {
            queue.linger(&mut jobs, expected, took.min(LINGER_MAX));
        }
        is_awaited = jobs.iter().any(|job| job.is_awaited);
        while !jobs.is_empty() {
            let rest = jobs.split_off(jobs.len().min(BATCH_LEN_MAX));
            let from = Instant::now();
            expected = write(store, queue, jobs);
            took = from.elapsed();
            jobs = rest;
        }
    }
}

/// Commits these jobs together and replies in order. Returns the expected number of next jobs: the callers that get a
/// reply here submit again, and join those that came while the disk was busy. Without waiting briefly for both, two
/// halves would alternate in paying for an fsync.
fn write(store: &dyn Store, queue: &WriteQueue, jobs: Vec<WriteJob>) -> usize {
    let mut commits = Vec::with_capacity(jobs.len());
    let mut waiters = Vec::with_capacity(jobs.len());
    for job in jobs {
        waiters.push((job.commits.len(), job.done));
        commits.extend(job.commits);
    }
    let outcome = if commits.is_empty() { Ok(()) } else { commit(store, queue, &commits) };
    let expected = queue.lock().jobs.len() + waiters.len();
    // Only the job that contradicts the store fails; the others of its batch are committed.
    let is_for_one = waiters.len() > 1 && matches!(outcome, Err(StoreError::Refused(_)));
    let mut rest = commits.as_slice();
    for (count, done) in waiters {
        let (own, others) = rest.split_at(count);
        rest = others;
        let outcome = if is_for_one && count > 0 { commit(store, queue, own) } else { outcome.clone() };
        tell(done, outcome);
    }
    expected
}

fn commit(store: &dyn Store, queue: &WriteQueue, commits: &[Commit]) -> Result<(), StoreError> {
    queue.commits.fetch_add(commits.len() as u64, Ordering::Relaxed);
    queue.batches.fetch_add(1, Ordering::Relaxed);
    catch_unwind(AssertUnwindSafe(|| store.commit(commits)))
        .unwrap_or_else(|_| Err(StoreError::Io("a commit ended in a panic of the store".to_owned())))
}

/// A panic in a callback is the caller's bug, and must not affect other commits.
fn tell(done: CommitCallback, outcome: Result<(), StoreError>) {
    let _ = catch_unwind(AssertUnwindSafe(|| done(outcome)));
}
