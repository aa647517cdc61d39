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
/// Callers of a batch up to which the thread polls. More of them need the processor that polling takes.
const WATCHED_MAX: usize = 2;
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
        // A busy thread checks the queue before it sleeps, and one that expects more sleeps on: waking it would cost a
        // system call per commit.
        let is_enough = waiting.wakes_at.is_some_and(|enough| waiting.jobs.len() >= enough);
        if is_enough {
            waiting.wakes_at = None;
        }
        drop(waiting);
        if is_enough {
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
    /// The number of jobs that wakes the thread; `None` while it does not sleep.
    wakes_at: Option<usize>,
}

impl WriteQueue {
    fn lock(&self) -> MutexGuard<'_, WaitingJob> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns all queued jobs, once enough of the expected ones have arrived or the wait for them is over; sleeps while
    /// there are none. `None` once closed and empty.
    fn take(&self, next: NextJobs) -> Option<Vec<WriteJob>> {
        let mut until = Instant::now() + next.within;
        if next.is_awaited && next.jobs <= WATCHED_MAX {
            self.watch(next);
        }
        let mut waiting = self.lock();
        while waiting.jobs.len() < next.enough() && !waiting.is_closed {
            let left = until.saturating_duration_since(Instant::now());
            if !left.is_zero() {
                waiting.wakes_at = Some(next.enough());
                let woken = self.filled.wait_timeout(waiting, left);
                waiting = woken.unwrap_or_else(PoisonError::into_inner).0;
            } else if waiting.jobs.is_empty() {
                waiting.wakes_at = Some(1);
                waiting = self.filled.wait(waiting).unwrap_or_else(PoisonError::into_inner);
                until = Instant::now() + next.within;
            } else {
                break;
            }
        }
        waiting.wakes_at = None;
        self.queued.store(0, Ordering::Release);
        let jobs = std::mem::take(&mut waiting.jobs);
        (!jobs.is_empty()).then_some(jobs)
    }

    /// Polls briefly for the expected jobs, without sleeping.
    fn watch(&self, next: NextJobs) {
        let from = Instant::now();
        loop {
            let queued = self.queued.load(Ordering::Acquire);
            let most = if queued == 0 { WATCH } else { next.within };
            if queued >= next.enough() || from.elapsed() >= most {
                return;
            }
            std::thread::yield_now();
        }
    }
}

/// The jobs that probably follow a batch.
#[derive(Clone, Copy, Default)]
struct NextJobs {
    jobs: usize,
    /// Maximum time to wait for all of them.
    within: Duration,
    /// External callers got a reply from the batch.
    is_awaited: bool,
}

impl NextJobs {
    /// Of many, three quarters: the others arrive while the thread wakes up, or share the next batch.
    fn enough(self) -> usize {
        (self.jobs - self.jobs / 4).max(1)
    }
}

fn run(store: &dyn Store, queue: &WriteQueue) {
    let mut next = NextJobs::default();
    while let Some(mut jobs) = queue.take(next) {
        let is_awaited = jobs.iter().any(|job| job.is_awaited);
        while !jobs.is_empty() {
            let rest = jobs.split_off(jobs.len().min(BATCH_LEN_MAX));
            let from = Instant::now();
            let jobs_next = write(store, queue, jobs);
            next = NextJobs { jobs: jobs_next, within: from.elapsed().min(LINGER_MAX), is_awaited };
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
