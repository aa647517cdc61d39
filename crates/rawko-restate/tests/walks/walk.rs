//! Walks as data: the actions of a user on an instance, and their replies.

use std::fmt::Write as _;
use std::time::Duration;

use rawko_core::{NamedEvent, Value};
use rawko_host::{Engine, Fork, PersonAnswer, Receipt, SettleReason};

use crate::trace;

pub(crate) struct Walk {
    /// Also the id of the instance.
    pub(crate) name: &'static str,
    pub(crate) chart: &'static str,
    /// JSON.
    pub(crate) input: &'static str,
    /// JSON.
    pub(crate) budget: &'static str,
    pub(crate) acts: &'static [Act],
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Act {
    /// Sends an event with JSON data.
    Send(&'static str, &'static str),
    /// Sends an event to another instance, given by its suffix to the walk's name.
    SendTo(&'static str, &'static str),
    /// Sends an event with a key of the sender's.
    SendOnce(&'static str, &'static str),
    /// Waits until the instance settles, including timers of less than ten seconds.
    Settle,
    /// Waits until an instance, given by its suffix to the walk's name, has this many records.
    Until(&'static str, usize),
    Approve(Option<&'static str>),
    Deny(Option<&'static str>),
    Cancel,
    Retry,
    /// Forks a new instance, given by its suffix to the walk's name, from a step, with a key of the context set.
    Fork(&'static str, u64, (&'static str, &'static str)),
    /// Starts another instance of a chart, given by its suffix to the walk's name.
    Beside(&'static str, &'static str, &'static str),
}

const PATIENCE: Duration = Duration::from_secs(10);
const LOOKS: usize = 3;
const BETWEEN_SETTLED: Duration = Duration::from_millis(150);
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

/// Runs a walk and returns all replies, and the traces of its instances.
pub(crate) async fn take(engine: &dyn Engine, walk: &Walk) -> String {
    let mut out = String::new();
    let start = started(engine, walk.chart, walk.input, walk.budget, walk.name).await;
    let _ = writeln!(out, "start: {start}");
    for act in walk.acts {
        let told = perform(engine, walk.name, *act).await;
        let _ = writeln!(out, "{act:?}: {told}");
    }
    out.push_str(&trace::of(engine, walk.name).await);
    out
}

async fn started(engine: &dyn Engine, chart: &str, input: &str, budget: &str, id: &str) -> String {
    let edition = engine.library().resolve(chart).unwrap();
    told(engine.start(edition, json(input), Some(id.to_owned()), json(budget)).await)
}

async fn perform(engine: &dyn Engine, id: &str, act: Act) -> String {
    let own = id.to_owned();
    let event = |name: &str, data: &str| NamedEvent::new(name, json(data));
    match act {
        Act::Send(name, data) => told(engine.send(own, event(name, data), None).await),
        Act::SendTo(suffix, name) => {
            told(engine.send(format!("{id}{suffix}"), event(name, "null"), None).await)
        }
        Act::SendOnce(name, key) => told(engine.send(own, event(name, "null"), Some(key.into())).await),
        Act::Settle => settled(engine, own).await,
        Act::Until(suffix, records) => until(engine, format!("{id}{suffix}"), records).await,
        Act::Approve(invoke) => answered(engine, own, invoke, true).await,
        Act::Deny(invoke) => answered(engine, own, invoke, false).await,
        Act::Cancel => told(engine.cancel(own, Value::str("enough")).await),
        Act::Retry => told(engine.retry(own).await),
        Act::Fork(suffix, at, (key, value)) => {
            let set = vec![(key.to_owned(), value.to_owned())];
            let fork = Fork { at: Some(at), set, id: Some(format!("{id}{suffix}")) };
            told(engine.fork(own, fork).await)
        }
        Act::Beside(suffix, chart, input) => {
            started(engine, chart, input, "null", &format!("{id}{suffix}")).await
        }
    }
}

/// Waits until the instance settles. On Restate, an event between instances is on its way for a moment in which both
/// wait, so a wait counts only if it stays one.
async fn settled(engine: &dyn Engine, id: String) -> String {
    let mut looks = 0;
    loop {
        let words = settled_text(engine.settled(id.clone(), PATIENCE).await.unwrap());
        looks += 1;
        if looks > LOOKS || !words.starts_with("waits") {
            return words;
        }
        tokio::time::sleep(BETWEEN_SETTLED).await;
    }
}

pub(crate) fn settled_text(settled: SettleReason) -> String {
    match settled {
        SettleReason::Over(status) => format!("over, {}", status.as_str()),
        SettleReason::Failed => "failed".to_owned(),
        SettleReason::Waiting(activity) => format!("waits, for a person: {}", activity.person),
        SettleReason::Paused => "paused".to_owned(),
        SettleReason::Stuck(error) => format!("stuck: {error}"),
    }
}

async fn until(engine: &dyn Engine, id: String, records: usize) -> String {
    loop {
        let (reader, id) = (engine.reader().clone(), id.clone());
        let count = move || match reader.find(&id) {
            Ok(row) => reader.store().records(row.key, 0, usize::MAX).unwrap().len(),
            Err(_) => 0,
        };
        if tokio::task::spawn_blocking(count).await.unwrap() >= records {
            return "there".to_owned();
        }
        tokio::time::sleep(BETWEEN_LOOKS).await;
    }
}

async fn answered(engine: &dyn Engine, id: String, invoke: Option<&str>, approved: bool) -> String {
    let answer = PersonAnswer {
        approved,
        by: Some("ada".into()),
        claimed: None,
        asked_ms: None,
        comment: None,
        data: Value::Null,
    };
    told(engine.answer(id, invoke.map(str::to_owned), answer).await)
}

pub(crate) fn told(outcome: Result<Receipt, rawko_host::HostError>) -> String {
    match outcome {
        Ok(Receipt { step, handled, status, .. }) => {
            format!("step {step}, handled {handled}, {}", status.as_str())
        }
        Err(error) => format!("error: {error}"),
    }
}

pub(crate) fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}
