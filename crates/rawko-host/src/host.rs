//! `Host`: instances that survive. What a person, a server or an embedder can ask of it is here; how it is done is in
//! `driver`.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use std::time::{Duration, Instant};

use rawko_core::{NamedEvent, Value};
use rawko_instance::{EffectPlace, Input, NewRoot, PersonAnswer, Receipt};
use rawko_store::{InstanceKey, Store, StoreError, Writer};
use tokio::sync::{broadcast, oneshot, watch};

use crate::clock::Clock;
use crate::driver::deadlines::Deadlines;
use crate::driver::dispatch::Dispatch;
use crate::driver::drain::RunningCall;
use crate::driver::instances::Instances;
use crate::driver::slot::{Delivery, Slot};
use crate::error::HostError;
use crate::library::{Edition, Library};
use crate::observer::Observer;
use crate::progress::Progress;
use crate::project::Project;
use crate::reader::Reader;

/// How long to look for an answer before going to sleep over it.
const WATCH: Duration = Duration::from_micros(400);

/// A host of instances. Cheap to clone; the last one to go, or [`Host::close`], lets go of the store.
#[derive(Clone)]
pub struct Host {
    pub(crate) inner: Arc<Inner>,
}

/// A call of a service: the instance and the effect that asked for it.
pub(crate) type Call = (InstanceKey, EffectPlace);

/// What everything in a host shares.
pub(crate) struct Inner {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) writer: Writer,
    pub(crate) project: Project,
    pub(crate) reader: Reader,
    pub(crate) observer: Option<Arc<dyn Observer>>,
    pub(crate) watchers: broadcast::Sender<Progress>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) instances: Instances,
    pub(crate) in_memory_max: usize,
    pub(crate) deadlines: Arc<Deadlines>,
    pub(crate) dispatch: Dispatch,
    pub(crate) runtime: tokio::runtime::Handle,
    pub(crate) running: Mutex<HashMap<Call, RunningCall>>,
    /// The host is stopping: no new call begins.
    pub(crate) draining: AtomicBool,
    /// Calls that were asked for while it stops.
    pub(crate) unbegun: Mutex<Vec<Call>>,
    pub(crate) changes: watch::Sender<u64>,
    pub(crate) trouble: Mutex<Option<StoreError>>,
    pub(crate) in_trouble: AtomicBool,
    pub(crate) complaints: Mutex<Vec<String>>,
    /// Jobs that the dispatcher has not done yet.
    pub(crate) unperformed: AtomicUsize,
    /// Who waits for an answer from the disk.
    pub(crate) waiting: AtomicUsize,
    pub(crate) next_key: AtomicI64,
    pub(crate) next_inbound: AtomicI64,
}

/// What to start.
#[derive(Clone, Debug, Default)]
pub struct Start {
    /// `id`, `id@version`, `id@range`.
    pub chart: String,
    /// Overrides the chart's declared context, and is what `input` shows.
    pub input: Value,
    /// Its id; one is made up if there is none.
    pub id: Option<String>,
}

impl Host {
    /// Starts an instance of a chart that the host offers.
    pub async fn start(&self, start: Start) -> Result<Receipt, HostError> {
        let edition = self.inner.project.library.resolve(&start.chart)?;
        self.start_edition(edition, start.input, start.id).await
    }

    /// Starts an instance of this very chart.
    pub async fn start_edition(
        &self,
        edition: Edition,
        input: Value,
        id: Option<String>,
    ) -> Result<Receipt, HostError> {
        self.start_within(edition, input, id, Value::Null).await
    }

    /// The same within a budget (`{cost_usd, tokens, time, tool_calls}`) for all of its life and everything below it.
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
        let root = NewRoot { id: id.as_str().into(), chart: edition.chart, input, budget };
        let (instance, tx) = rawko_instance::start(root, &**inner, now_ms)?;
        inner.commit_new(instance, tx).await
    }

    /// Delivers an event. Returns once it is on disk, with what became of it. The same `key` again changes nothing.
    pub async fn send(&self, id: &str, event: NamedEvent, key: Option<&str>) -> Result<Receipt, HostError> {
        self.deliver(id, Input::Event { event, key: key.map(Into::into) }).await
    }

    /// Ends an instance: exit actions run, timers and calls stop.
    pub async fn cancel(&self, id: &str, reason: Value) -> Result<Receipt, HostError> {
        self.deliver(id, Input::Cancel { reason }).await
    }

    /// Starts the failed invocation of an instance in status `error` once more, or continues after a fault.
    pub async fn retry(&self, id: &str) -> Result<Receipt, HostError> {
        self.deliver(id, Input::Retry).await
    }

    /// Answers a pending request to a person. `invoke` names it, where there are several.
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
        let instance = self.inner.key_of(id)?;
        self.inner.post_and_wait(instance, input).await
    }

    /// The store, for reading.
    pub fn reader(&self) -> &Reader {
        &self.inner.reader
    }

    pub fn library(&self) -> &Library {
        &self.inner.project.library
    }

    /// Changes whenever something was committed.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.inner.changes.subscribe()
    }

    /// What running calls tell while they are at it, from now on.
    pub fn progress(&self) -> broadcast::Receiver<Progress> {
        self.inner.watchers.subscribe()
    }

    /// Why the store did not take the last commit; `None` when it does again.
    pub fn trouble(&self) -> Option<StoreError> {
        self.inner.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Things that went wrong where nobody was there to be told, taken out.
    pub fn take_complaints(&self) -> Vec<String> {
        std::mem::take(&mut *self.inner.complaints.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Looks at deadlines now; for tests that move a clock of their own.
    pub fn clock_moved(&self) {
        self.inner.deadlines.wake();
    }

    /// How many instances are in memory.
    pub fn in_memory(&self) -> usize {
        self.inner.instances.len()
    }

    /// Commits so far, and the fsyncs they shared.
    pub fn commits(&self) -> (u64, u64) {
        (self.inner.writer.commits(), self.inner.writer.batches())
    }
}

impl Inner {
    pub(crate) fn running(&self) -> MutexGuard<'_, HashMap<Call, RunningCall>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes sure that the store has a chart's text before an instance of it begins.
    pub(crate) fn keep(&self, edition: &Edition, at_ms: i64) -> Result<(), HostError> {
        self.project.library.keep(edition, &*self.store, at_ms)
    }

    pub(crate) fn key_of(&self, id: &str) -> Result<InstanceKey, HostError> {
        if let Some(key) = self.instances.key(id) {
            return Ok(key);
        }
        self.reader.key(id)?.ok_or_else(|| HostError::NoInstance(id.to_owned()))
    }

    /// The instance in memory, loaded if need be.
    pub(crate) fn slot(&self, key: InstanceKey) -> Result<Arc<Slot>, HostError> {
        self.instances.get_or(key, || self.load(key))
    }

    /// An instance came to rest; perhaps another leaves memory.
    pub(crate) fn rest(&self, slot: &Arc<Slot>) {
        self.instances.rest(slot, self.in_memory_max);
    }

    pub(crate) async fn post_and_wait(
        self: &Arc<Self>,
        key: InstanceKey,
        input: Input,
    ) -> Result<Receipt, HostError> {
        let (reply, mut answer) = oneshot::channel();
        self.post(key, Delivery { input, reply: Some(reply) })?;
        let alone = self.waiting.fetch_add(1, Ordering::Relaxed) == 0;
        if alone {
            self.watch(&mut answer).await;
        }
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        answer.await.unwrap_or(Err(HostError::Closing))
    }

    /// Looks for the answer for a moment while nobody else waits for one: being woken takes about as long as a fast
    /// disk does. Others who are ready to run go first.
    async fn watch(&self, answer: &mut oneshot::Receiver<Result<Receipt, HostError>>) {
        let from = Instant::now();
        while answer.is_empty() && !answer.is_terminated() && from.elapsed() < WATCH {
            if self.waiting.load(Ordering::Relaxed) > 1 {
                return;
            }
            tokio::task::yield_now().await;
        }
    }

    pub(crate) fn changed(&self) {
        if self.in_trouble.swap(false, Ordering::SeqCst) {
            *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
        self.tell_waiting();
    }

    /// Nothing was committed, but what an instance is at may look different now.
    pub(crate) fn tell_waiting(&self) {
        // Whoever subscribes later looks for itself first.
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

    /// Something went wrong with an instance and nobody waits for the answer.
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
