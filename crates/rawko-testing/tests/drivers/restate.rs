//! `RestateStage`: a worker on a real Restate server, with a clock by hand and the desk. Timers of Restate rest meanwhile:
//! an instance whose time has come is woken by an answer to no request.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rawko_core::{NamedEvent, Value};
use rawko_host::{Clock, Engine, Gate, HostError, Library, PersonAnswer};
use rawko_instance::child_id;
use rawko_restate::client::HandlerTarget;
use rawko_restate::layout::index::INDEX;
use rawko_restate::layout::{INSTANCE, LiveState, WORK, handler};
use rawko_restate::{RestateEngine, Worker, WorkerBuilder};
use rawko_store::{EffectKind, OpenEffect};
use serde::Deserialize;

use crate::desk::{Answer, Desk};
use crate::host::{HandClock, endpoints, services};
use crate::journal;
use crate::player::{Member, Stage, missing_call};
use crate::script::Script;
use crate::site::Site;

const PATIENCE: Duration = Duration::from_secs(120);
const BETWEEN_LOOKS: Duration = Duration::from_millis(5);

pub(crate) struct RestateStage<'s> {
    site: &'s mut Site,
    engine: RestateEngine,
    clock: Arc<HandClock>,
    now_ms: i64,
    desk: Arc<Mutex<Desk>>,
    /// As long as `simulated`, so that the sizes of snapshots are the same.
    root: String,
    /// Ids of all instances that were seen, with the invoke id in the parent.
    known: BTreeMap<Arc<str>, Option<Arc<str>>>,
}

#[derive(Deserialize)]
struct InvocationRow {
    id: String,
}

impl<'s> RestateStage<'s> {
    /// Starts a worker for this script, in place of the previous one.
    pub(crate) async fn new(site: &'s mut Site, script: &Script, number: usize) -> RestateStage<'s> {
        let (clock, desk) = (Arc::new(HandClock::default()), Arc::new(Mutex::new(Desk::new(&script.stubs))));
        let worker = Worker::builder()
            .services(services(&desk))
            .endpoints(endpoints())
            .gate(Gate::open())
            .world(script.world.clone())
            .clock(Arc::clone(&clock) as Arc<dyn Clock>);
        let worker = script.charts.iter().rev().cloned().fold(worker, WorkerBuilder::chart);
        site.work(worker).await;
        let engine = site.engine(Library::default());
        let root = format!("scene{number:04}");
        let known = BTreeMap::from([(Arc::from(root.as_str()), None)]);
        RestateStage { site, engine, clock, now_ms: 0, desk, root, known }
    }

    /// Ends the calls that still wait, so that the next worker does not repeat them.
    pub(crate) async fn end(self) {
        self.site.kill();
        for row in self.invocations("true").await {
            // One that ends meanwhile need not be killed.
            let _ = self.site.restate.admin().kill(&row.id).await;
        }
    }

    async fn invocations(&self, condition: &str) -> Vec<InvocationRow> {
        let sql = format!(
            "select id from sys_invocation where status not in ('completed', 'scheduled') and {condition}"
        );
        self.site.restate.admin().query(&sql).await.unwrap()
    }

    /// Returns pending work: an invocation of an instance, a message on its way, a due timer or a call on its way.
    async fn is_busy(&mut self) -> Option<String> {
        // The index follows what instances do, and its readers wait in it.
        let handlers = self.invocations(&format!("target_service_name not in ('{WORK}', '{INDEX}')")).await;
        if let Some(row) = handlers.first() {
            return Some(format!("invocation {}", row.id));
        }
        let family = self.family().await;
        if let Some(due) = family.iter().find(|it| it.next_due_ms.is_some_and(|due_ms| due_ms <= self.now_ms))
        {
            let (id, none) = (due.id.to_string(), "no such request".to_owned());
            let answer = PersonAnswer {
                approved: false,
                by: None,
                claimed: None,
                asked_ms: None,
                comment: None,
                data: Value::Null,
            };
            // It is refused, after everything that was due.
            let _ = self.engine.answer(id, Some(none), answer).await;
            return Some(format!("a timer of {}", due.id));
        }
        if let Some(late) = family.iter().find(|it| it.to_itself) {
            return Some(format!("a message of {} to itself", late.id));
        }
        if let Some(child) = self.late_child(&family) {
            return Some(format!("child {child}"));
        }
        missing_call(&self.desk.lock().unwrap(), &family)
    }

    /// Returns a child that has not begun, or has ended unnoticed by its parent.
    fn late_child(&self, family: &[Member]) -> Option<Arc<str>> {
        let children = family.iter().flat_map(children_of).map(|(id, _)| id);
        let is_active = |id: &Arc<str>| family.iter().any(|it| it.id == *id && !it.is_over);
        children.into_iter().find(|id| !is_active(id))
    }
}

/// Returns the ids of the running children of an instance, each with its invoke id.
fn children_of(member: &Member) -> Vec<(Arc<str>, Arc<str>)> {
    let is_child = |effect: &&OpenEffect| effect.kind == EffectKind::Child && effect.result.is_empty();
    let named =
        |effect: &OpenEffect| (child_id(&member.id, effect), crate::player::invoke_of(effect).0.into());
    member.open.iter().filter(is_child).map(named).collect()
}

impl Stage for RestateStage<'_> {
    const LEAPS: bool = true;

    fn desk(&self) -> &Arc<Mutex<Desk>> {
        &self.desk
    }

    fn set_clock(&mut self, now_ms: i64) {
        self.now_ms = now_ms;
        self.clock.set(now_ms);
    }

    async fn begin(&mut self, script: &Script) {
        let (first, id) = (script.charts[0].clone(), Some(self.root.clone()));
        self.engine.start(first, script.input.clone(), id, script.budget.clone()).await.unwrap();
    }

    /// A message between two instances is invisible for a moment, so one look at rest is not enough.
    async fn rest(&mut self) {
        let until = Instant::now() + PATIENCE;
        let mut looks = 0;
        while looks < 2 {
            match self.is_busy().await {
                None => looks += 1,
                Some(why) => {
                    looks = 0;
                    assert!(Instant::now() < until, "Restate does not come to rest: {why}");
                }
            }
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
    }

    async fn family(&mut self) -> Vec<Member> {
        let (mut family, mut ahead) = (Vec::new(), self.known.clone());
        while let Some((id, invoke)) = ahead.pop_first() {
            let target = HandlerTarget::object(INSTANCE, &id, handler::LOOK);
            let live: Option<LiveState> = self.site.restate.ingress().look(&target, &()).await.unwrap();
            let Some(live) = live else { continue };
            let member = Member {
                id,
                invoke,
                is_over: live.row.head.status.is_over(),
                next_due_ms: live.row.head.next_due_ms,
                to_itself: live.row.to_itself > 0,
                open: live.open,
            };
            for (id, invoke) in children_of(&member) {
                if !self.known.contains_key(&id) {
                    self.known.insert(Arc::clone(&id), Some(Arc::clone(&invoke)));
                    ahead.insert(id, Some(invoke));
                }
            }
            family.push(member);
        }
        family
    }

    async fn send(&mut self, name: &Arc<str>, data: &Value) {
        let event = NamedEvent::new(Arc::clone(name), data.clone());
        match self.engine.send(self.root.clone(), event, None).await {
            // A step that cannot be taken is a refusal in words.
            Ok(_) | Err(HostError::Over { .. } | HostError::Refused(_)) => {}
            Err(error) => panic!("{name}: {error}"),
        }
    }

    async fn result(&mut self, _: &str, effect: &OpenEffect, _: Answer) {
        panic!("the call of {} does not wait", effect.name);
    }

    async fn answer(&mut self, instance: &str, invoke: &str, answer: PersonAnswer) {
        // The player names the root as the simulation does.
        let id = if instance == crate::player::ID { &self.root } else { instance };
        let answered = self.engine.answer(id.to_owned(), Some(invoke.to_owned()), answer).await;
        assert!(answered.is_ok(), "{invoke}: {answered:?}");
    }

    async fn journal(&mut self) -> String {
        let (store, root) = (self.engine.reader().clone(), self.root.clone());
        tokio::task::spawn_blocking(move || journal::of(&**store.store(), &root)).await.unwrap()
    }
}
