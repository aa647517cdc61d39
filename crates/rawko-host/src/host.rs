//! `Host`: durable instances. This file holds the operations for users, servers and embedders; `driver` implements
//! them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rawko_core::{NamedEvent, Value};
use rawko_instance::{EffectPlace, Input, NewRoot, PersonAnswer, Receipt};
use rawko_store::{CommitWriter, InstanceKey, Store, StoreError, WaitReason};
use tokio::sync::{broadcast, oneshot, watch};

use crate::clock::Clock;
use crate::driver::deadlines::Deadlines;
use crate::driver::dispatch::Dispatch;
use crate::driver::drain::DrainingCall;
use crate::driver::instances::{Instances, MemoryLimit};
use crate::driver::scope::HostScope;
use crate::driver::slot::{InstanceSlot, MailboxDelivery};
use crate::error::HostError;
use crate::library::{Edition, Library};
use crate::observer::Observer;
use crate::progress::CallProgress;
use crate::project::HostProject;
use crate::reader::SnapshotReader;

/// A host of instances. Cheap to clone; [`Host::close`] or dropping the last clone releases the store.
#[derive(Clone)]
pub struct Host {
    pub(crate) inner: Arc<HostInner>,
}

/// A call of a service: the instance and the effect that requested it.
pub(crate) type EffectCall = (InstanceKey, EffectPlace);

/// State shared by all parts of a host.
pub(crate) struct HostInner {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) writer: CommitWriter,
    pub(crate) project: HostProject,
    pub(crate) reader: SnapshotReader,
    pub(crate) observer: Option<Arc<dyn Observer>>,
    pub(crate) watchers: broadcast::Sender<CallProgress>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) instances: Instances,
    pub(crate) memory_limit: MemoryLimit,
    pub(crate) deadlines: Arc<Deadlines>,
    pub(crate) dispatch: Dispatch,
    pub(crate) runtime: tokio::runtime::Handle,
    pub(crate) running: Mutex<HashMap<EffectCall, DrainingCall>>,
    /// Set while the host is stopping; no new call begins.
    pub(crate) draining: AtomicBool,
    /// Set by a signal: messages and timers are left to the next host, so that no load delays the end.
    pub(crate) stopping: AtomicBool,
    /// Calls that were requested while the host was stopping.
    pub(crate) unbegun: Mutex<Vec<EffectCall>>,
    pub(crate) changes: watch::Sender<u64>,
    pub(crate) trouble: Mutex<Option<StoreError>>,
    pub(crate) in_trouble: AtomicBool,
    pub(crate) complaints: Mutex<Vec<String>>,
    /// Jobs that the dispatcher has not finished.
    pub(crate) unperformed: AtomicUsize,
    /// Clean-ups after ended instances that have not finished.
    pub(crate) endings: AtomicUsize,
    /// Number of clean-ups that were begun.
    pub(crate) endings_begun: AtomicUsize,
    /// Number of callers waiting for a commit.
    pub(crate) waiting: AtomicUsize,
    pub(crate) next_key: AtomicI64,
    pub(crate) next_inbound: AtomicI64,
    pub(crate) scope: HostScope,
}

/// The options of a new instance.
#[derive(Clone, Debug, Default)]
pub struct StartOptions {
    /// `id`, `id@version`, `id@range`.
    pub chart: String,
    /// Overrides the chart's declared context; expressions see it as `input`.
    pub input: Value,
    /// Instance id (generated if `None`).
    pub id: Option<String>,
}

impl Host {
    /// Starts an instance of a chart in the library.
    pub async fn start(&self, start: StartOptions) -> Result<Receipt, HostError> {
        let edition = self.inner.project.library.resolve(&start.chart)?;
        self.start_edition(edition, start.input, start.id).await
    }

    /// Stores a chart that instances may invoke. A host that does not publish it finds it in the store, so an instance
    /// that was started with charts of its own continues after a restart.
    pub fn keep(&self, edition: &Edition) -> Result<(), HostError> {
        self.inner.keep(edition, self.inner.clock.now_ms())
    }

    /// Starts an instance of exactly this chart.
    pub async fn start_edition(
        &self,
        edition: Edition,
        input: Value,
        id: Option<String>,
    ) -> Result<Receipt, HostError> {
        self.start_within(edition, input, id, Value::Null).await
    }

    /// Like [`Host::start_edition`], with a budget (`{cost_usd, tokens, time, tool_calls}`) for the instance and all of
    /// its descendants.
    pub async fn start_within(
        &self,
        edition: Edition,
        input: Value,
        id: Option<String>,
        budget: Value,
    ) -> Result<Receipt, HostError> {
        let inner = &self.inner;
        let now_ms = inner.clock.now_ms();
        let id = match id {
            Some(id) if inner.reader.key(&id)?.is_some() => return Err(HostError::Exists(id)),
            Some(id) => id,
            None => inner.new_id(edition.chart.id())?,
        };
        inner.keep(&edition, now_ms)?;
        inner.scope.add_new(&id);
        let root = NewRoot { id: id.as_str().into(), chart: edition.chart, input, budget };
        let (instance, tx) = rawko_instance::start(root, &**inner, now_ms)?;
        inner.commit_new(instance, tx).await
    }

    /// Delivers an event. Returns its receipt once the commit is durable. Sending the same `key` again changes nothing.
    pub async fn send(&self, id: &str, event: NamedEvent, key: Option<&str>) -> Result<Receipt, HostError> {
        self.deliver(id, Input::Event { event, key: key.map(Into::into) }).await
    }

    /// Ends an instance: exit actions run, timers and calls stop. Returns after the clean-up.
    pub async fn cancel(&self, id: &str, reason: Value) -> Result<Receipt, HostError> {
        // Before open calls are repeated: the cancel ends them.
        let key = self.inner.reach(id)?;
        let receipt = self.inner.post_and_wait(key, Input::Cancel { reason }).await?;
        self.inner.adopt(id)?;
        self.inner.families_over().await;
        Ok(receipt)
    }

    /// Pauses an instance and its descendants: it moves only after [`Host::resume`]. Returns once all of them are
    /// paused; an instance that is paused already is left alone.
    pub async fn pause(&self, id: &str, by: Value) -> Result<Receipt, HostError> {
        let key = self.inner.reach(id)?;
        let mut changes = self.changes();
        let receipt = self.inner.post_and_wait(key, Input::Pause { by }).await?;
        while !self.off_the_runtime(key, move |inner| inner.is_paused_below(key)).await? {
            if changes.changed().await.is_err() {
                return Err(HostError::Closing);
            }
        }
        Ok(receipt)
    }

    /// Resumes an instance and its descendants. Resuming one that is not paused changes nothing.
    pub async fn resume(&self, id: &str, by: Value) -> Result<Receipt, HostError> {
        self.deliver(id, Input::Resume { by }).await
    }

    /// Returns true if the instance is paused. An instance in memory is asked itself; others are read from the store.
    pub fn is_paused(&self, id: &str) -> Result<bool, HostError> {
        let slot = self.inner.instances.key(id).and_then(|key| self.inner.instances.get(key));
        match slot {
            Some(slot) => Ok(slot.lock().machine.is_paused()),
            None => Ok(self.inner.reader.find(id)?.head.wait == WaitReason::Paused),
        }
    }

    /// Retries the failed invocation of an instance in status `error`, or continues after a fault.
    pub async fn retry(&self, id: &str) -> Result<Receipt, HostError> {
        self.deliver(id, Input::Retry).await
    }

    /// Retries one failed item of an `each` (`reviews[3]`); the others are not repeated.
    pub async fn retry_item(&self, id: &str, item: &str) -> Result<Receipt, HostError> {
        self.deliver(id, Input::RetryItem { item: item.into() }).await
    }

    /// Answers a pending request to a person. `invoke` selects one of several.
    pub async fn answer(
        &self,
        id: &str,
        invoke: Option<&str>,
        answer: PersonAnswer,
    ) -> Result<Receipt, HostError> {
        let invoke = invoke.map(str::to_owned);
        self.deliver(id, Input::Answer { invoke, answer, key: None }).await
    }

    async fn deliver(&self, id: &str, input: Input) -> Result<Receipt, HostError> {
        let instance = self.inner.adopt(id)?;
        self.inner.post_and_wait(instance, input).await
    }

    /// Returns the reader of stored instances.
    pub fn reader(&self) -> &SnapshotReader {
        &self.inner.reader
    }

    /// Returns the charts that can be started.
    pub fn library(&self) -> &Library {
        &self.inner.project.library
    }

    /// Returns a counter that changes with every commit.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.inner.changes.subscribe()
    }

    /// Subscribes to the progress events of running calls.
    pub fn progress(&self) -> broadcast::Receiver<CallProgress> {
        self.inner.watchers.subscribe()
    }

    /// Returns why the store refused the last commit; `None` once it accepts commits again.
    pub fn trouble(&self) -> Option<StoreError> {
        self.inner.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Drains background errors.
    pub fn take_complaints(&self) -> Vec<String> {
        std::mem::take(&mut *self.inner.complaints.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Rechecks the deadlines at once; for tests with a clock of their own.
    pub fn clock_moved(&self) {
        self.inner.deadlines.wake();
    }

    /// Returns the number of instances in memory.
    pub fn in_memory(&self) -> usize {
        self.inner.instances.len()
    }

    /// Returns the number of commits, and of the fsyncs that they shared.
    pub fn commits(&self) -> (u64, u64) {
        (self.inner.writer.commits(), self.inner.writer.batches())
    }
}

impl HostInner {
    pub(crate) fn running(&self) -> MutexGuard<'_, HashMap<EffectCall, DrainingCall>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores a chart's text before an instance of it begins.
    pub(crate) fn keep(&self, edition: &Edition, at_ms: i64) -> Result<(), HostError> {
        self.project.library.keep(edition, &*self.store, at_ms)
    }

    pub(crate) fn key_of(&self, id: &str) -> Result<InstanceKey, HostError> {
        if let Some(key) = self.instances.key(id) {
            return Ok(key);
        }
        self.reader.key(id)?.ok_or_else(|| HostError::NoInstance(id.to_owned()))
    }

    /// Returns the instance, loading it if necessary.
    pub(crate) fn slot(&self, key: InstanceKey) -> Result<Arc<InstanceSlot>, HostError> {
        self.instances.get_or(key, || self.load(key))
    }

    /// Marks an instance as idle, which may evict another.
    pub(crate) fn rest(&self, slot: &Arc<InstanceSlot>) {
        self.instances.rest(slot, self.memory_limit);
    }

    pub(crate) async fn post_and_wait(
        self: &Arc<Self>,
        key: InstanceKey,
        input: Input,
    ) -> Result<Receipt, HostError> {
        let (reply, answer) = oneshot::channel();
        self.post(key, MailboxDelivery { input, reply: Some(reply) })?;
        let _waiting = WaitingCaller::count(&self.waiting);
        answer.await.unwrap_or(Err(HostError::Closing))
    }

    pub(crate) fn changed(&self) {
        if self.in_trouble.swap(false, Ordering::SeqCst) {
            *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
        self.tell_waiting();
    }

    /// Wakes watchers after a change of activity, with or without a commit.
    pub(crate) fn tell_waiting(&self) {
        // A later subscriber reads the current state first.
        if self.changes.receiver_count() > 0 {
            self.changes.send_modify(|count| *count += 1);
        }
    }

    pub(crate) fn trouble(&self, error: StoreError) {
        self.tell_trouble("store", &error.to_string());
        *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        self.in_trouble.store(true, Ordering::SeqCst);
        self.changes.send_modify(|count| *count += 1);
    }

    /// Records an error of an instance that has no waiting caller.
    pub(crate) fn complain(&self, key: InstanceKey, error: &HostError) {
        let id = self.instances.get(key).map_or_else(|| format!("#{}", key.0), |slot| slot.id.to_string());
        self.trouble_with(&id, error);
    }

    pub(crate) fn trouble_with(&self, id: &str, error: &HostError) {
        self.tell_trouble(id, &error.to_string());
        let mut complaints = self.complaints.lock().unwrap_or_else(PoisonError::into_inner);
        if complaints.len() < 1_000 {
            complaints.push(format!("{id}: {error}"));
        }
        drop(complaints);
        self.changes.send_modify(|count| *count += 1);
    }
}

/// Counts a caller for as long as it waits, also if it gives up.
struct WaitingCaller<'c>(&'c AtomicUsize);

impl WaitingCaller<'_> {
    fn count(callers: &AtomicUsize) -> WaitingCaller<'_> {
        callers.fetch_add(1, Ordering::Relaxed);
        WaitingCaller(callers)
    }
}

impl Drop for WaitingCaller<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
