//! Takes a step within one journaled run: everything that comes from the worker instead of Restate (the time, the
//! settings, the charts) is read here, and only here.

use std::panic::{AssertUnwindSafe, catch_unwind};

use rawko_core::{Event, NamedEvent, Value};
use rawko_host::{Edition, HostError, HostEvent, committed, past_step};
use rawko_instance::{
    Input, InputOutcome, Instance, InstanceError, NewRoot, Receipt, SavedInstance, Transaction,
};
use rawko_store::{AuditLine, ChartHash, Record, RecordKind};
use restate_sdk::errors::HandlerResult;

use super::blobs::BlobsByName;
use super::commit_plan::Planning;
use super::environment::WorkerEnvironment;
use super::outcome::{CommitResult, HandlerOutcome};
use super::state::{WorkerState, passing};
use crate::client::HandlerTarget;
use crate::layout::{ForkAsk, INSTANCE, LiveState, StartAsk, from_hex, handler, instance_key};

/// Maximum size of one run. Restate rejects messages of 32 MiB and would retry them for ever; a text nested in another
/// one may double in length.
const BYTES_MAX: usize = 16 * 1024 * 1024;
/// Maximum size of an event in the record of its failure.
const FAILED_BYTES_MAX: usize = 4 * 1024 * 1024;

/// One input of an instance.
#[derive(Clone, Debug)]
pub(super) struct InstanceInput {
    pub(super) live: LiveState,
    pub(super) input: Input,
    /// The step that handled the delivery, if it is a duplicate.
    pub(super) delivered: Option<u64>,
    /// The earliest possible time, even if this machine's clock is behind.
    pub(super) not_before_ms: i64,
    /// Audit lines that came with the input.
    pub(super) audit: Vec<AuditLine>,
    /// The handler changed `live`, which has to be written in any case.
    pub(super) is_touched: bool,
    /// A caller waits for the reply; otherwise failures are recorded in the journal.
    pub(super) is_asked: bool,
    /// Slots of the family that came with the input.
    pub(super) slots: u64,
    /// Instances that may begin, if the family has no slots for more.
    pub(super) allowance: Option<u64>,
}

impl InstanceInput {
    pub(super) fn new(live: LiveState, input: Input) -> Self {
        Self {
            live,
            input,
            delivered: None,
            not_before_ms: i64::MIN,
            audit: Vec::new(),
            is_touched: false,
            is_asked: false,
            slots: 0,
            allowance: None,
        }
    }
}

impl WorkerState {
    /// Takes the first step of an instance.
    pub(super) async fn start(
        &self,
        id: &str,
        ask: StartAsk,
        allowance: Option<u64>,
    ) -> HandlerResult<HandlerOutcome> {
        settle(self.try_start(id, ask, allowance).await)
    }

    async fn try_start(
        &self,
        id: &str,
        ask: StartAsk,
        allowance: Option<u64>,
    ) -> Result<HandlerOutcome, HostError> {
        let StartAsk { chart, input, budget, with } = ask;
        let hash = from_hex(&chart).ok_or(HostError::NoChart(chart))?;
        let edition = self.charts.edition(&hash).await?;
        let editions = self.brought(&with).await?;
        let now_ms = self.now_ms();
        contained(id, || {
            let environment = WorkerEnvironment::new(&self.project, &editions, None, allowance);
            let root = NewRoot { id: id.into(), chart: edition.chart, input, budget };
            let (instance, tx) = rawko_instance::start(root, &environment, now_ms)?;
            let planning = Planning { environment: &environment, with: &with, now_ms, charts: &self.charts };
            self.begun(&instance, tx, &planning)
        })
    }

    /// Begins an instance that continues from a step of another one.
    pub(super) async fn fork(
        &self,
        id: &str,
        ask: ForkAsk,
        allowance: Option<u64>,
    ) -> HandlerResult<HandlerOutcome> {
        settle(self.try_fork(id, ask, allowance).await)
    }

    async fn try_fork(
        &self,
        id: &str,
        ask: ForkAsk,
        allowance: Option<u64>,
    ) -> Result<HandlerOutcome, HostError> {
        let ForkAsk { from, at, set, budget } = ask;
        let target = HandlerTarget::object(INSTANCE, &from, handler::LOOK);
        let origin: Option<LiveState> = self.ingress.look(&target, &()).await.map_err(passing)?;
        let with = origin.ok_or_else(|| HostError::NoInstance(from.clone()))?.with;
        let editions = self.brought(&with).await?;
        let reader = self.reader.clone();
        let looked = tokio::task::spawn_blocking(move || past_step(&reader, &from, at, &budget));
        let past = looked.await.map_err(|_| HostError::Internal(id.to_owned()))??;
        let now_ms = self.now_ms();
        contained(id, || {
            let environment = WorkerEnvironment::new(&self.project, &editions, None, allowance);
            let (instance, tx) = past.fork(&set, id, &environment, now_ms)?;
            let planning = Planning { environment: &environment, with: &with, now_ms, charts: &self.charts };
            self.begun(&instance, tx, &planning)
        })
    }

    fn begun(
        &self,
        instance: &Instance,
        tx: Transaction,
        planning: &Planning<'_>,
    ) -> Result<HandlerOutcome, HostError> {
        let (reply, seen) = (Ok(instance.receipt(true)), self.seen(instance, &tx, None, planning.now_ms));
        let written = planning.written(instance, tx, None, &BlobsByName::new())?;
        self.bounded(HandlerOutcome { reply, written: Some(Box::new(written)), family_max: None, seen })
    }

    /// Returns the observations of a transaction; empty without an observer.
    fn seen(
        &self,
        instance: &Instance,
        tx: &Transaction,
        before: Option<&Instance>,
        now_ms: i64,
    ) -> Vec<HostEvent> {
        if self.observer.is_none() {
            return Vec::new();
        }
        let own = committed(instance, &tx.commit, before, now_ms);
        let children =
            tx.children.iter().map(|child| committed(&child.instance, &child.commit, None, now_ms));
        std::iter::once(own).chain(children).collect()
    }

    /// Takes a step of an existing instance.
    pub(super) async fn take(&self, happening: InstanceInput) -> HandlerResult<HandlerOutcome> {
        let (live, is_asked) = (happening.live.clone(), happening.is_asked);
        let event = event_of(&happening.input);
        match self.try_take(happening).await {
            // Without a waiting caller, the failure is recorded in the journal, and the instance is stopped until it is
            // retried.
            Err(error) if !is_asked && !error.is_transient() => {
                Ok(faulted(live, event.as_ref(), &error, self.now_ms()))
            }
            outcome => settle(outcome),
        }
    }

    async fn try_take(&self, happening: InstanceInput) -> Result<HandlerOutcome, HostError> {
        let InstanceInput { live, input, delivered, not_before_ms, audit, is_touched, allowance, .. } =
            happening;
        let id = live.row.new.id.to_string();
        let edition = self.charts.edition(&live.row.new.chart).await?;
        let editions = self.brought(&live.with).await?;
        let (snapshot, gathered) = self.blobs.unpack(&id, &live.snapshot).await?;
        let now_ms = self.now_ms().max(not_before_ms);
        contained(&id, || {
            let environment = WorkerEnvironment::new(&self.project, &editions, delivered, allowance);
            let before = Instance::restore_json(saved_of(&live, &environment), edition.chart, &snapshot)?;
            let mut instance = before.clone();
            let (mut tx, answer) = take_whole(&mut instance, input, &environment, now_ms);
            let planning =
                Planning { environment: &environment, with: &live.with, now_ms, charts: &self.charts };
            let mut seen = Vec::new();
            let written = if tx.is_empty() {
                is_touched.then(|| planning.touched(live.clone()))
            } else {
                seen = self.seen(&instance, &tx, Some(&before), now_ms);
                tx.commit.audit.splice(0..0, audit);
                Some(planning.written(&instance, tx, Some(&live), &gathered)?)
            };
            let reply = answer.map_err(|error| HostError::from(error).into());
            self.bounded(HandlerOutcome { reply, written: written.map(Box::new), family_max: None, seen })
        })
    }

    /// Returns the charts that the client supplied with an instance.
    async fn brought(&self, with: &[String]) -> Result<Vec<Edition>, HostError> {
        let mut editions = Vec::with_capacity(with.len());
        for name in with {
            let hash: ChartHash = from_hex(name).ok_or_else(|| HostError::NoChart(name.clone()))?;
            editions.push(self.charts.edition(&hash).await?);
        }
        Ok(editions)
    }

    /// Rejects outcomes that are too large for Restate, and caches the blobs of the others.
    fn bounded(&self, mut outcome: HandlerOutcome) -> Result<HandlerOutcome, HostError> {
        if let (false, Some(written)) = (self.has_timers(), &mut outcome.written) {
            written.timer = None;
            written.children.iter_mut().for_each(|child| child.timer = None);
        }
        let begins = outcome.written.as_ref().is_some_and(|written| !written.children.is_empty());
        outcome.family_max = begins.then_some(self.project.limits.family_instances_max);
        let bytes = outcome.bytes();
        if bytes > BYTES_MAX {
            let most = BYTES_MAX / 1024 / 1024;
            return Err(HostError::Refused(format!(
                "the step would write {bytes} bytes at once; the limit on Restate is {most} MiB"
            )));
        }
        let Some(written) = &outcome.written else { return Ok(outcome) };
        for blob in &written.blobs {
            if let Some(name) = from_hex(&blob.name) {
                self.blobs.remember(name, blob.body.as_bytes().into());
            }
        }
        Ok(outcome)
    }
}

/// Returns transient errors for a retry, and all others as a reply.
pub(super) fn settle(outcome: Result<HandlerOutcome, HostError>) -> HandlerResult<HandlerOutcome> {
    match outcome {
        Err(error) if error.is_transient() => Err(error.into()),
        Err(error) => Ok(HandlerOutcome::refused(error)),
        Ok(outcome) => Ok(outcome),
    }
}

/// Converts a panic to an internal error of this step.
fn contained<T>(id: &str, plan: impl FnOnce() -> Result<T, HostError>) -> Result<T, HostError> {
    catch_unwind(AssertUnwindSafe(plan)).unwrap_or_else(|_| Err(HostError::Internal(id.to_owned())))
}

/// Handles an input and everything that was due before it: Restate journals one run as a whole.
fn take_whole(
    instance: &mut Instance,
    mut input: Input,
    environment: &WorkerEnvironment<'_>,
    now_ms: i64,
) -> (Transaction, Result<Receipt, InstanceError>) {
    let mut tx = instance.begin();
    loop {
        match instance.take(input, environment, now_ms, &mut tx) {
            InputOutcome::Deferred(again) => input = again,
            InputOutcome::Handled(answer) => {
                instance.finish(&mut tx);
                return (tx, answer);
            }
        }
    }
}

fn saved_of(live: &LiveState, environment: &WorkerEnvironment<'_>) -> SavedInstance {
    let row = &live.row;
    environment.enter(&row.new.id);
    SavedInstance {
        key: instance_key(&row.new.id),
        parent: row.new.parent.as_ref().map(|parent| environment.enter(&parent.id)),
        new: row.new.clone(),
        head: row.head.clone(),
        open: live.open.clone(),
        calls: live.calls,
        last_ms: live.last_ms,
        snapshot_bytes: live.snapshot_bytes,
        delta_bytes: live.delta_bytes,
        pace: live.pace,
    }
}

fn event_of(input: &Input) -> Option<Event> {
    match input {
        Input::Event { event, .. } => Some(Event::Named(event.clone())),
        Input::Message { message, .. } => Some(message.event.clone()),
        Input::Result { result, .. } => result.event.clone(),
        Input::Cancel { reason } => Some(Event::CancelRequested { reason: reason.clone() }),
        Input::Pause { by } => Some(Event::PauseRequested { by: by.clone() }),
        Input::Resume { by } => Some(Event::ResumeRequested { by: by.clone(), paused_ms: 0 }),
        Input::RetryItem { item } => Some(Event::ItemRetryRequested { item: item.clone() }),
        Input::Answer { .. } | Input::Retry | Input::Migrate(_) | Input::Time | Input::Restart { .. } => None,
    }
}

/// Returns a failed event as text; without its data if that is too large to write.
fn failed_text(event: &Event) -> String {
    let text = |event: &Event| serde_json::to_string(event).unwrap_or_default();
    let whole = text(event);
    if whole.len() <= FAILED_BYTES_MAX {
        return whole;
    }
    text(&match event.clone() {
        Event::Named(event) => Event::Named(NamedEvent { data: Value::Null, ..event }),
        Event::InvokeDone { invocation, .. } => Event::InvokeDone { invocation, data: Value::Null },
        Event::InvokeFailed { invocation, .. } => Event::InvokeFailed { invocation, error: Value::Null },
        Event::CancelRequested { .. } => Event::CancelRequested { reason: Value::Null },
        event @ (Event::TimerFired { .. }
        | Event::RetryRequested
        | Event::ItemRetryRequested { .. }
        | Event::PauseRequested { .. }
        | Event::ResumeRequested { .. }) => event,
    })
}

/// Returns the unchanged instance, with a record of the event and its error.
fn faulted(mut live: LiveState, event: Option<&Event>, error: &HostError, now_ms: i64) -> HandlerOutcome {
    let at_ms = now_ms.max(live.last_ms);
    let text = |value: &Value| serde_json::to_string(value).unwrap_or_default();
    let row = &mut live.row;
    row.head.fault = Some(error.to_string().into());
    row.updated_ms = at_ms;
    let records = Vec::from_iter(event.map(|event| {
        row.records += 1;
        Record {
            seq: row.records,
            instance: row.key,
            step: row.step + 1,
            at_ms,
            kind: RecordKind::Failed,
            event: failed_text(event),
            delta: text(&Value::from(error.to_string())),
            effects: String::new(),
        }
    }));
    live.last_ms = at_ms;
    let seen = vec![HostEvent::Troubled { about: live.row.new.id.to_string(), message: error.to_string() }];
    let written = Some(Box::new(CommitResult {
        records,
        is_indexed: true,
        is_awaited: true,
        ..CommitResult::empty(live)
    }));
    HandlerOutcome {
        reply: Err(HostError::Refused(error.to_string()).into()),
        written,
        family_max: None,
        seen,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_event_that_failed_is_kept_without_its_data() {
        let event = |size: usize| Event::named("PUT", Value::from("x".repeat(size)));
        assert!(failed_text(&event(10)).contains("xxxxxxxxxx"));
        assert_eq!(failed_text(&event(FAILED_BYTES_MAX)), r#"{"kind":"named","type":"PUT"}"#);
    }
}
