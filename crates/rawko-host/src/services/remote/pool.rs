//! `RemoteServices`: the queue of calls and the programs that take them. Nothing here is durable: the host repeats what
//! was open when it died, under the same key.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rawko_core::Value;
use tokio::sync::{mpsc, oneshot, watch};

use super::ServiceError;
use super::process::{ProcessHandle, ProcessOffer, ProgramRegistration, RegisterRefusal, RemoteMessage};
use super::schemas::{Schemas, agreed, fitting, misfit};
use super::ticket::{CallTicket, RemoteResult, TicketStage};
use crate::services::{Category, ServiceCall};

/// The remote services of a project, shared by the host and the server. Cheap to clone.
#[derive(Clone, Default)]
pub struct RemoteServices {
    inner: Arc<ProcessPool>,
}

#[derive(Default)]
struct ProcessPool {
    state: Mutex<PoolState>,
    is_open: AtomicBool,
}

#[derive(Default)]
struct PoolState {
    declared: BTreeMap<String, Schemas>,
    calls: BTreeMap<u64, PendingCalls>,
    /// Calls in the queue, oldest first.
    waiting: BTreeSet<u64>,
    processes: BTreeMap<u64, Process>,
    last: u64,
}

struct PendingCalls {
    call: ServiceCall,
    stage: watch::Sender<TicketStage>,
    result: oneshot::Sender<RemoteResult>,
    process: Option<u64>,
}

struct Process {
    name: String,
    session: String,
    connection: u64,
    services: BTreeMap<String, Schemas>,
    concurrency: usize,
    running: BTreeSet<u64>,
    keys: BTreeSet<String>,
    /// `None` while the connection is lost.
    messages: Option<mpsc::UnboundedSender<RemoteMessage>>,
    is_leaving: bool,
}

impl RemoteServices {
    /// Accepts calls and programs. Until then every call fails at once, because no program can connect.
    pub fn open(&self) {
        // A program may still send an answer to the server before this one: the numbers of its calls are not used again.
        // Below 2^53, which every language reads exactly.
        self.state().last = RandomState::new().build_hasher().finish() >> 12;
        self.inner.is_open.store(true, Ordering::Release);
    }

    /// Returns the names of the services with the programs that provide each, and its waiting and running calls.
    pub fn list(&self) -> Vec<(String, Vec<String>, usize, usize)> {
        let state = self.state();
        let of = |name: &String| {
            let connected = state.processes.values().filter(|process| process.messages.is_some());
            let programs = connected.filter(|process| process.services.contains_key(name));
            let is_of = |id: &&u64| state.calls.get(id).is_some_and(|pending| *pending.call.name == **name);
            let waiting = state.waiting.iter().filter(is_of).count();
            let all = state.calls.keys().filter(is_of).count();
            (name.clone(), programs.map(|process| process.name.clone()).collect(), waiting, all - waiting)
        };
        state.declared.keys().map(of).collect()
    }

    /// Returns the JSON Schema of a service's input: that of the settings, else that of a connected program.
    pub(crate) fn input_of(&self, name: &str) -> Option<Value> {
        let state = self.state();
        let offered = state.processes.values().find_map(|process| process.services.get(name)?.input.as_ref());
        let declared = state.declared.get(name).and_then(|schemas| schemas.input.as_ref());
        declared.or(offered).map(|schema| schema.source().clone())
    }

    pub(crate) fn declare(&self, name: &str, schemas: Schemas) {
        self.state().declared.insert(name.to_owned(), schemas);
    }

    fn state(&self) -> MutexGuard<'_, PoolState> {
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn enqueue(&self, call: ServiceCall) -> Result<CallTicket, ServiceError> {
        if !self.inner.is_open.load(Ordering::Acquire) {
            let name = &call.name;
            let message =
                format!("`{name}` runs in a program that connects to the server; run `rawko serve`");
            return Err(ServiceError::not_here(message));
        }
        let mut state = self.state();
        if let Some(error) = state.declared.get(&*call.name).and_then(|known| misfit(known, &call.input)) {
            return Err(error);
        }
        let (stage, stages) = watch::channel(TicketStage::Waiting { was_sent: false });
        let (sender, result) = oneshot::channel();
        let id = state.next();
        state.calls.insert(id, PendingCalls { call, stage, result: sender, process: None });
        state.waiting.insert(id);
        state.assign();
        Ok(CallTicket { pool: self.clone(), id, stages, result })
    }

    pub(super) fn requeue(&self, id: u64) {
        let mut state = self.state();
        let Some(pending) = state.calls.get_mut(&id) else { return };
        if *pending.stage.borrow() != TicketStage::Lost {
            return;
        }
        let process = pending.process.take();
        pending.stage.send_replace(TicketStage::Waiting { was_sent: true });
        state.waiting.insert(id);
        state.forget(process, id);
        state.assign();
    }

    pub(super) fn cancel(&self, id: u64) {
        let mut state = self.state();
        state.waiting.remove(&id);
        let Some(pending) = state.calls.remove(&id) else { return };
        let process = pending.process;
        let connected = process.and_then(|process| state.processes.get(&process)?.messages.as_ref());
        match connected {
            // Its place is free when the program answers.
            Some(messages) => drop(messages.send(RemoteMessage::Cancel { id })),
            None => state.forget(process, id),
        }
    }

    /// Registers a program, or the next connection of one. `session` is a new random text.
    pub fn register(
        &self,
        offer: ProcessOffer,
        session: String,
    ) -> Result<ProgramRegistration, RegisterRefusal> {
        let mut state = self.state();
        let services = state.accept(&offer)?;
        let (sender, messages) = mpsc::unbounded_channel();
        let connection = state.next();
        let known = offer.session.as_ref().and_then(|session| {
            state.processes.iter().find(|(_, process)| process.session == *session).map(|(id, _)| *id)
        });
        let process = match known {
            Some(process) => process,
            None => {
                let process = state.next();
                let new = Process {
                    name: offer.name.clone(),
                    session,
                    connection,
                    services: BTreeMap::new(),
                    concurrency: 1,
                    running: BTreeSet::new(),
                    keys: BTreeSet::new(),
                    messages: None,
                    is_leaving: false,
                };
                state.processes.insert(process, new);
                process
            }
        };
        let session = state.connect(process, connection, (services, sender), &offer);
        state.assign();
        let handle = ProcessHandle { pool: self.clone(), process, connection };
        Ok(ProgramRegistration { handle, session, resumed: known.is_some(), messages })
    }

    /// Ends a call of this program; `None` means that the program stopped it.
    pub(super) fn answer(&self, process: u64, id: u64, result: Option<RemoteResult>) {
        let mut state = self.state();
        let Some(known) = state.processes.get_mut(&process) else { return };
        known.running.remove(&id);
        known.tell(RemoteMessage::Received { id });
        let is_its = state.calls.get(&id).is_some_and(|pending| pending.process == Some(process));
        if let Some(pending) = is_its.then(|| state.calls.remove(&id)).flatten() {
            let schemas = state.processes.get(&process).and_then(|it| it.services.get(&*pending.call.name));
            let result = match result {
                Some(result) => result.and_then(|value| fitting(schemas, value)),
                None => Err(ServiceError::new(Category::Network, "the program stopped the call")),
            };
            // Fails only if the caller is gone.
            let _ = pending.result.send(result);
        }
        state.assign();
    }

    pub(super) fn progress(&self, id: u64, data: Value) {
        if let Some(pending) = self.state().calls.get(&id) {
            pending.call.teller.tell(data);
        }
    }

    pub(super) fn leave(&self, process: u64) {
        if let Some(process) = self.state().processes.get_mut(&process) {
            process.is_leaving = true;
        }
    }

    /// Marks the calls of a closed connection as lost. A connection that was replaced changes nothing.
    pub(super) fn lost(&self, process: u64, connection: u64) {
        let mut state = self.state();
        let Some(known) = state.processes.get_mut(&process).filter(|it| it.connection == connection) else {
            return;
        };
        known.messages = None;
        let running = known.running.clone();
        let mut left = BTreeSet::new();
        for id in running {
            if let Some(pending) = state.calls.get(&id) {
                pending.stage.send_replace(TicketStage::Lost);
                left.insert(id);
            }
        }
        if left.is_empty() {
            state.processes.remove(&process);
        } else if let Some(known) = state.processes.get_mut(&process) {
            known.running = left;
        }
    }
}

impl PoolState {
    fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// Returns the services of an offer, if the settings define all of them with the same schemas.
    fn accept(&self, offer: &ProcessOffer) -> Result<BTreeMap<String, Schemas>, RegisterRefusal> {
        let mut accepted = BTreeMap::new();
        for (name, input, output) in &offer.services {
            let Some(declared) = self.declared.get(name) else {
                let known: Vec<&str> = self.declared.keys().map(String::as_str).collect();
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                let help = format!("add `services: {{{name}: {{remote: {{}}}}}}`; remote services: {known}");
                let message = format!("the settings define no remote service `{name}`; {help}");
                return Err(RegisterRefusal { code: "unknown_service", message });
            };
            let schemas = Schemas {
                input: agreed(name, "input", declared.input.as_ref(), input.as_ref())?,
                output: agreed(name, "output", declared.output.as_ref(), output.as_ref())?,
            };
            accepted.insert(name.clone(), schemas);
        }
        Ok(accepted)
    }

    /// Makes this the connection of a program, and settles the calls that only one side knows.
    fn connect(
        &mut self,
        process: u64,
        connection: u64,
        (services, sender): (BTreeMap<String, Schemas>, mpsc::UnboundedSender<RemoteMessage>),
        offer: &ProcessOffer,
    ) -> String {
        let Some(known) = self.processes.get_mut(&process) else { return String::new() };
        known.connection = connection;
        known.services = services;
        known.concurrency = offer.concurrency.max(1);
        known.keys.clone_from(&offer.keys);
        known.is_leaving = false;
        let expected = std::mem::take(&mut known.running);
        for id in &offer.calls {
            if expected.contains(id) && self.calls.contains_key(id) {
                known.running.insert(*id);
                self.calls[id].stage.send_replace(TicketStage::Running);
            } else {
                // Cancelled meanwhile, or given to another program.
                known.running.insert(*id);
                let _ = sender.send(RemoteMessage::Cancel { id: *id });
            }
        }
        // Sent while the connection broke: the program never received them.
        for id in expected.difference(&offer.calls) {
            if let Some(pending) = self.calls.get_mut(id).filter(|it| it.process == Some(process)) {
                pending.process = None;
                pending.stage.send_replace(TicketStage::Waiting { was_sent: true });
                self.waiting.insert(*id);
            }
        }
        known.messages = Some(sender);
        known.session.clone()
    }

    /// Gives waiting calls to programs with free places: to the one that knows the key, else to the least busy one.
    fn assign(&mut self) {
        let waiting: Vec<u64> = self.waiting.iter().copied().collect();
        for id in waiting {
            let Some(pending) = self.calls.get_mut(&id) else { continue };
            let (name, key) = (&*pending.call.name, &*pending.call.idempotency);
            let mut is_any_free = false;
            let free = self.processes.iter_mut().filter(|(_, process)| {
                let is_free = process.is_free();
                is_any_free |= is_free;
                is_free && process.services.contains_key(name)
            });
            let best = free.min_by_key(|(_, it)| {
                let load = it.running.len() * 1_000 / it.concurrency;
                (!it.keys.contains(key), load, it.running.len())
            });
            let Some((number, process)) = best else {
                if is_any_free {
                    continue;
                }
                return;
            };
            self.waiting.remove(&id);
            process.running.insert(id);
            process.tell(message(id, &pending.call));
            pending.process = Some(*number);
            pending.stage.send_replace(TicketStage::Running);
        }
    }

    /// Removes a call from a program, and the program if it is gone and has no other.
    fn forget(&mut self, process: Option<u64>, id: u64) {
        let Some(number) = process else { return };
        if let Some(process) = self.processes.get_mut(&number) {
            process.running.remove(&id);
            if process.messages.is_none() && process.running.is_empty() {
                self.processes.remove(&number);
            }
        }
    }
}

impl Process {
    fn is_free(&self) -> bool {
        self.messages.is_some() && !self.is_leaving && self.running.len() < self.concurrency
    }

    fn tell(&self, message: RemoteMessage) {
        // Fails only while the connection closes, which is noticed there.
        let _ = self.messages.as_ref().map(|messages| messages.send(message));
    }
}

fn message(id: u64, call: &ServiceCall) -> RemoteMessage {
    RemoteMessage::Call {
        id,
        service: Arc::clone(&call.name),
        key: Arc::clone(&call.idempotency),
        instance: Arc::clone(&call.instance),
        invoke: Arc::clone(&call.id),
        attempt: call.attempt,
        input: call.input.clone(),
    }
}

impl fmt::Debug for RemoteServices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteServices").field("declared", &self.state().declared.keys()).finish()
    }
}
