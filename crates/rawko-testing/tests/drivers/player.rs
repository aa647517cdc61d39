//! `Player`: plays a script on a driver that runs by itself. One thing happens at a time: an act, an answer or a moment of
//! the clock, and everything that follows from it, until the driver rests.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard};

use rawko_core::Value;
use rawko_host::{Category, PersonAnswer};
use rawko_store::{EffectKind, OpenEffect};
use serde_json::Value as Json;

use crate::desk::{Answer, AnswerPlan, Desk, WaitingCall};
use crate::script::{CHART_STUB, Script, ScriptAct, person_answer};

/// The id that the simulation gives its instance.
pub(crate) const ID: &str = "simulated";

/// How far the clock moves at once in a leap: one step on Restate writes what follows.
const LEAP_MS: i64 = 60_000;

/// An instance that has not ended, or the root.
pub(crate) struct Member {
    pub(crate) id: Arc<str>,
    /// The invoke id in its parent.
    pub(crate) invoke: Option<Arc<str>>,
    pub(crate) is_over: bool,
    pub(crate) next_due_ms: Option<i64>,
    /// An event to itself is on its way, as far as the driver shows that.
    pub(crate) to_itself: bool,
    pub(crate) open: Vec<OpenEffect>,
}

/// One driver with the instances of one scenario.
pub(crate) trait Stage {
    /// Every rest is slow, so that the clock moves at once over timers from which nothing but timers follows.
    const LEAPS: bool = false;

    fn desk(&self) -> &Arc<Mutex<Desk>>;
    fn set_clock(&mut self, now_ms: i64);
    async fn begin(&mut self, script: &Script);
    /// Waits until nothing happens by itself at this moment.
    async fn rest(&mut self);
    async fn family(&mut self) -> Vec<Member>;
    async fn send(&mut self, name: &Arc<str>, data: &Value);
    /// Gives the answer of a call that nothing waits for in this process.
    async fn result(&mut self, instance: &str, effect: &OpenEffect, answer: Answer);
    async fn answer(&mut self, instance: &str, invoke: &str, answer: PersonAnswer);
    async fn journal(&mut self) -> String;
}

pub(crate) struct Player<S> {
    pub(crate) stage: S,
    now_ms: i64,
    /// The clock has to reach this time: a person who does not answer lets a request expire.
    until_ms: i64,
    /// Requests to people that are at the desk.
    asked: BTreeSet<Arc<str>>,
    /// Why no driver can play the script.
    failure: Option<&'static str>,
    /// The clock moves over several timers at once.
    leaps: bool,
}

/// Returns the invoke id and the number of the attempt of an effect. Large values of its body are packed, these are not.
pub(crate) fn invoke_of(effect: &OpenEffect) -> (String, u64, Value) {
    let body: Json = serde_json::from_str(&effect.body).unwrap_or_default();
    let attempt = body["attempt"].as_u64().unwrap_or(1);
    (body["id"].as_str().unwrap_or_default().to_owned(), attempt, body["input"].clone().into())
}

/// Returns the first call of these instances that has not reached the desk.
pub(crate) fn missing_call(desk: &Desk, family: &[Member]) -> Option<String> {
    let running = family.iter().flat_map(|member| member.open.iter().map(move |effect| (member, effect)));
    let mut running = running.filter(|(_, effect)| effect.is_running() && !effect.parked);
    let missing = running.find(|(member, effect)| match effect.kind {
        // Its endpoint answers at once.
        EffectKind::Send => true,
        _ => !desk.has(&member.id, &effect.idempotency, invoke_of(effect).1),
    });
    missing.map(|(member, effect)| format!("the call of {} by {}", effect.name, member.id))
}

impl<S: Stage> Player<S> {
    pub(crate) fn new(stage: S) -> Self {
        Self { stage, now_ms: 0, until_ms: 0, asked: BTreeSet::new(), failure: None, leaps: false }
    }

    /// Returns the journal of the script, or the reason why no driver can play it.
    pub(crate) async fn play(&mut self, script: &Script) -> Result<String, &'static str> {
        self.leaps = S::LEAPS && script.has_only_timers;
        self.stage.begin(script).await;
        self.settle().await;
        self.catch_up().await;
        for act in &script.acts {
            match act {
                ScriptAct::Send { name, data } => self.stage.send(name, data).await,
                ScriptAct::Advance { ms } => self.advance(self.now_ms + *ms as i64).await,
                ScriptAct::Answer { invoke, answer } => self.reply(invoke, answer).await,
            }
            self.settle().await;
            self.catch_up().await;
        }
        match self.failure {
            Some(why) => Err(why),
            None => Ok(self.stage.journal().await),
        }
    }

    /// Lets a request to a person expire.
    fn expire(&mut self, request: Option<&OpenEffect>) {
        match request.and_then(|request| request.due_ms) {
            Some(due_ms) => self.until_ms = self.until_ms.max(due_ms),
            None => self.failure = Some("a request expires that has no deadline"),
        }
    }

    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.stage.desk().lock().unwrap()
    }

    /// Moves the clock from one moment to the next at which something is due.
    async fn advance(&mut self, until_ms: i64) {
        loop {
            let family = self.stage.family().await;
            let timers = family.iter().filter(|it| !it.is_over).filter_map(|it| it.next_due_ms);
            let due = timers.chain(self.desk().next_due_ms()).min();
            let leap_ms = if self.leaps { LEAP_MS } else { 0 };
            let next = due.filter(|due_ms| *due_ms <= until_ms).map(|due_ms| until_ms.min(due_ms + leap_ms));
            self.now_ms = next.unwrap_or(until_ms).max(self.now_ms);
            self.stage.set_clock(self.now_ms);
            self.settle().await;
            if next.is_none() {
                return;
            }
        }
    }

    async fn catch_up(&mut self) {
        while self.now_ms < self.until_ms {
            self.advance(self.until_ms).await;
        }
    }

    /// Gives all answers whose time has come, one after the other.
    async fn settle(&mut self) {
        loop {
            self.stage.rest().await;
            let family = self.stage.family().await;
            self.assign(&family);
            let due = self.desk().take_due(self.now_ms);
            let Some(waiting) = due else { return };
            self.give(waiting, &family).await;
        }
    }

    /// Assigns answers to the calls and requests that are new.
    fn assign(&mut self, family: &[Member]) {
        let mut new: Vec<WaitingCall> = self.new_requests(family);
        let shared = Arc::clone(self.stage.desk());
        let mut desk = shared.lock().unwrap();
        new.extend(desk.waiting.extract_if(.., |it| it.plan.is_none()));
        new.sort_by_key(WaitingCall::place);
        for mut call in new {
            let member = family.iter().find(|member| member.id == call.instance);
            let effect = member.and_then(|it| it.open.iter().find(|effect| effect.idempotency == call.key));
            let is_handler = effect.is_some_and(|effect| effect.kind == EffectKind::Call);
            let answer = if is_handler {
                Some((0, Ok(Value::Null)))
            } else {
                // The chart that stands for a stubbed one calls a service in its place.
                let chart = call.name.strip_prefix(CHART_STUB).and_then(|_| member?.invoke.clone());
                let id = chart.unwrap_or_else(|| Arc::clone(&call.id));
                let whole = id.split_once('[').map_or(&*id, |(whole, _)| whole);
                let name = call.name.strip_prefix(CHART_STUB).unwrap_or(&call.name);
                desk.next_answer(&[&id, whole, name], &call.input)
            };
            call.plan = Some(match answer {
                None => AnswerPlan::Never,
                Some((_, Err(error))) if is_expiry(effect, error.category) => {
                    self.expire(effect);
                    AnswerPlan::Never
                }
                Some((after_ms, answer)) => AnswerPlan::At(self.now_ms + after_ms, answer),
            });
            desk.waiting.push(call);
        }
    }

    /// Returns the requests to people that are not at the desk yet.
    fn new_requests(&mut self, family: &[Member]) -> Vec<WaitingCall> {
        let mut new = Vec::new();
        for member in family {
            for effect in member.open.iter().filter(|effect| effect.kind == EffectKind::Person) {
                if self.asked.insert(Arc::clone(&effect.idempotency)) {
                    let (id, attempt, input) = invoke_of(effect);
                    new.push(WaitingCall {
                        instance: Arc::clone(&member.id),
                        id: id.into(),
                        name: Arc::clone(&effect.name),
                        input,
                        key: Arc::clone(&effect.idempotency),
                        attempt,
                        sender: None,
                        plan: None,
                    });
                }
            }
        }
        new
    }

    async fn give(&mut self, waiting: WaitingCall, family: &[Member]) {
        let WaitingCall { instance, id, key, sender, plan, .. } = waiting;
        let Some(AnswerPlan::At(_, answer)) = plan else { return };
        if let Some(sender) = sender {
            // A call that was stopped meanwhile hears nothing.
            let _ = sender.send(answer);
            return;
        }
        let member = family.iter().find(|member| member.id == instance);
        let effect = member.and_then(|it| it.open.iter().find(|effect| effect.idempotency == key));
        match effect {
            None => {}
            Some(effect) if effect.kind == EffectKind::Person => {
                let answer = person_answer(&answer.expect("a person answers")).expect("as people answer");
                self.stage.answer(&instance, &id, answer).await;
            }
            Some(effect) => self.stage.result(&instance, effect, answer).await,
        }
    }

    /// A person answers a request of the root, or lets it expire.
    async fn reply(&mut self, invoke: &str, answer: &Option<PersonAnswer>) {
        if let Some(answer) = answer {
            return self.stage.answer(ID, invoke, answer.clone()).await;
        }
        let family = self.stage.family().await;
        let mut requests = family.iter().flat_map(|member| &member.open);
        let request = requests.find(|it| it.kind == EffectKind::Person && invoke_of(it).0 == invoke);
        self.expire(request);
    }
}

/// Returns true for the error of a request to a person that expired.
fn is_expiry(effect: Option<&OpenEffect>, category: Category) -> bool {
    category == Category::Expired && effect.is_some_and(|effect| effect.kind == EffectKind::Person)
}
