//! `Desk`: the services and people of a scenario, for drivers that run in real time. Every call waits here. Answers are
//! assigned once the driver rests, in the order of the calls in the journals, and each is given at its time.

use std::collections::BTreeMap;
use std::sync::Arc;

use rawko_core::{Value, duration};
use rawko_host::{Category, ServiceCall, ServiceError};
use serde_json::Value as Json;
use tokio::sync::oneshot;

pub(crate) type Answer = Result<Value, ServiceError>;

/// A call of a service, or a request to a person.
pub(crate) struct WaitingCall {
    pub(crate) instance: Arc<str>,
    /// Invoke id, or the name of a handler.
    pub(crate) id: Arc<str>,
    pub(crate) name: Arc<str>,
    pub(crate) input: Value,
    /// The idempotency key.
    pub(crate) key: Arc<str>,
    pub(crate) attempt: u64,
    /// The service that waits; `None` for people and in the simulation.
    pub(crate) sender: Option<oneshot::Sender<Answer>>,
    /// When the answer is given; `None` until it is assigned.
    pub(crate) plan: Option<AnswerPlan>,
}

/// The assigned answer of a call.
pub(crate) enum AnswerPlan {
    Never,
    At(i64, Answer),
}

#[derive(Clone, Debug)]
struct Stub {
    after_ms: i64,
    answer: Answer,
    /// The values that the input of the call must have.
    input: Option<Value>,
}

#[derive(Default)]
pub(crate) struct Desk {
    stubs: BTreeMap<String, Vec<Stub>>,
    given: BTreeMap<String, usize>,
    pub(crate) waiting: Vec<WaitingCall>,
}

impl Desk {
    pub(crate) fn new(stubs: &Value) -> Self {
        Self { stubs: read(stubs), ..Self::default() }
    }

    /// Notes the call of a service; the receiver gets its answer.
    pub(crate) fn call(&mut self, call: ServiceCall) -> oneshot::Receiver<Answer> {
        let (sender, receiver) = oneshot::channel();
        self.waiting.push(WaitingCall {
            instance: call.instance,
            id: call.id,
            name: call.name,
            input: call.input,
            key: call.idempotency,
            attempt: u64::from(call.attempt),
            sender: Some(sender),
            plan: None,
        });
        receiver
    }

    /// Returns true if this attempt of a call waits here.
    pub(crate) fn has(&self, instance: &str, key: &str, attempt: u64) -> bool {
        let is_it = |it: &WaitingCall| *it.instance == *instance && *it.key == *key && it.attempt == attempt;
        self.waiting.iter().any(is_it)
    }

    /// Returns the next answer of the first of these names with stubs, and its delay. An answer for this input comes
    /// before those for any.
    pub(crate) fn next_answer(&mut self, names: &[&str], input: &Value) -> Option<(i64, Answer)> {
        let known = names.iter().filter(|name| self.stubs.contains_key(**name));
        for name in known {
            let stubs = &self.stubs[*name];
            let is_meant = |stub: &&Stub| {
                let wanted = stub.input.as_ref().and_then(Value::as_map);
                wanted.is_some_and(|wanted| wanted.iter().all(|(key, value)| input.get(key) == value))
            };
            if let Some(stub) = stubs.iter().find(is_meant) {
                return Some((stub.after_ms, stub.answer.clone()));
            }
            let any: Vec<&Stub> = stubs.iter().filter(|stub| stub.input.is_none()).collect();
            let Some(last) = any.len().checked_sub(1) else { continue };
            let given = self.given.entry((*name).to_owned()).or_default();
            let stub = any[(*given).min(last)];
            *given += 1;
            return Some((stub.after_ms, stub.answer.clone()));
        }
        None
    }

    /// When the next answer is due.
    pub(crate) fn next_due_ms(&self) -> Option<i64> {
        self.waiting.iter().filter_map(WaitingCall::due_ms).min()
    }

    /// Takes the earliest answer that is due; of those at one time, the one whose call was assigned first.
    pub(crate) fn take_due(&mut self, now_ms: i64) -> Option<WaitingCall> {
        let due = |(at, waiting): (usize, &WaitingCall)| Some((waiting.due_ms()?, at));
        let (due_ms, first) = self.waiting.iter().enumerate().filter_map(due).min()?;
        (due_ms <= now_ms).then(|| self.waiting.remove(first))
    }
}

impl WaitingCall {
    fn due_ms(&self) -> Option<i64> {
        match &self.plan {
            Some(AnswerPlan::At(due_ms, _)) => Some(*due_ms),
            Some(AnswerPlan::Never) | None => None,
        }
    }

    /// The positions of the effects that led to this call, from the root: the order in which calls of one moment begin.
    pub(crate) fn place(&self) -> Vec<(u64, u64)> {
        let mut parts = self.key.rsplit('/').map(|part| part.parse().unwrap_or(0));
        let index = parts.next().unwrap_or(0);
        let mut place = positions(&self.instance);
        place.push((parts.next().unwrap_or(0), index));
        place
    }
}

/// Returns the step and the index at which an instance and its ancestors began: a child is `parent.chart.step.index`.
fn positions(id: &str) -> Vec<(u64, u64)> {
    let mut found: Vec<Vec<u64>> = Vec::new();
    for part in id.split('.').skip(1) {
        match part.parse() {
            Ok(number) => found.last_mut().into_iter().for_each(|numbers| numbers.push(number)),
            Err(_) => found.push(Vec::new()),
        }
    }
    let position = |numbers: &Vec<u64>| Some((*numbers.first()?, numbers.get(1).copied().unwrap_or(0)));
    found.iter().filter_map(position).collect()
}

/// The error of a stub as a service would report it.
fn service_error(error: &Value) -> ServiceError {
    let category = error.get("category").as_str().and_then(Category::claimed);
    let message = error.get("message").as_str().unwrap_or_default();
    let mut known = ServiceError::new(category.unwrap_or(Category::Failed), message);
    if let Value::Bool(retryable) = error.get("retryable") {
        known.retryable = Some(*retryable);
    }
    let own = ["category", "message", "retryable"];
    let more = error.as_map().into_iter().flat_map(|map| map.iter());
    let more: Vec<_> = more.filter(|(key, _)| !own.contains(&&***key)).collect();
    if more.is_empty() {
        return known;
    }
    known.with_details(Value::map(more.into_iter().map(|(key, value)| (&**key, value.clone()))))
}

/// The same stubs with errors as a service can report them: with a category and a message.
pub(crate) fn as_services_fail(stubs: &Value) -> Value {
    let mut json = stubs.to_json();
    for answers in json.as_object_mut().into_iter().flat_map(|stubs| stubs.values_mut()) {
        let all = match answers {
            Json::Array(all) => all.iter_mut().collect::<Vec<_>>(),
            one => vec![one],
        };
        for answer in all {
            if let Some(error) = answer.get_mut("error") {
                *error = service_error(&error.clone().into()).to_value().to_json();
            }
        }
    }
    json.into()
}

fn read(stubs: &Value) -> BTreeMap<String, Vec<Stub>> {
    let one = |answer: &Value| {
        let after_ms = match answer.get("after") {
            Value::Int(ms) => *ms,
            Value::Str(text) => duration::parse_ms(text).unwrap() as i64,
            _ => 0,
        };
        let input = Some(answer.get("input").clone()).filter(|input| !input.is_null());
        let error = answer.get("error");
        let answer = if error.is_null() { Ok(answer.get("done").clone()) } else { Err(service_error(error)) };
        Stub { after_ms, answer, input }
    };
    let all = |answers: &Value| match answers {
        Value::List(list) => list.iter().map(one).collect(),
        answer => vec![one(answer)],
    };
    let stubs = stubs.as_map().into_iter().flat_map(|stubs| stubs.iter());
    stubs.map(|(name, answers)| (name.to_string(), all(answers))).collect()
}
