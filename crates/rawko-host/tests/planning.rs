//! The planner without the host: a second one, in a map, that keeps every instance as text between two steps, walks the same
//! way. This is all that a host needs of the seam.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::cell::Cell;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use rawko_core::{Event, Value};
use rawko_host::planning::{EffectResult, Instance, Kept, Letter, Planned, Planner, Project, Stimulus};
use rawko_host::planning::{Surroundings, Work};
use rawko_host::{
    Edition, Gate, Host, HostError, PersonAnswer, Progress, Services, Settled, Start, Warden, closure,
};
use rawko_store::{Commit, InstanceKey, RecordKind, StoreError};
use tokio::sync::broadcast;

const PARENT: &str = "
statechart:
  id: parent
  initial: asking
  context: {heard: [], got: null}
  states:
    asking: {invoke: {id: ask, src: human, onDone: calling, onError: calling}}
    calling: {invoke: {id: call, src: echo, input: {n: '2'}, onDone: working, onError: working}}
    working:
      invoke:
        id: kid
        src: statechart:kid
        onDone: {target: done, actions: [{type: assign, context_updates: {got: event.data}}]}
        onError: done
      on:
        TELL: {actions: [{type: send, target: kid, event: GO}]}
        PROGRESS: {actions: [{type: assign, context_updates: {heard: 'append(context.heard, event.data.at)'}}]}
    done: {type: final, output: context.got}
";

const KID: &str = "
statechart:
  id: kid
  initial: waiting
  context: {n: 3}
  states:
    waiting: {on: {GO: half}}
    half:
      entry: [{type: emit, event: PROGRESS, data: {at: half}}, {type: send, target: self, event: ON}]
      on: {ON: whole}
    whole: {type: final, output: context.n * 2}
";

fn project() -> Project {
    let project = Project {
        services: Services::new().add("echo", closure(|call| async move { Ok(call.input) })),
        gate: Gate::new(&["echo"], &[], None).unwrap(),
        ..Project::default()
    };
    for text in [PARENT, KID] {
        project.library.offer(Edition::read("chart.yaml", text).unwrap());
    }
    project
}

/// A host in a map: no disk, no tasks, one thing after the other.
struct Paper {
    project: Project,
    ids: std::cell::RefCell<HashMap<InstanceKey, Arc<str>>>,
    kept: HashMap<InstanceKey, (Kept, String)>,
    waiting: VecDeque<(InstanceKey, Stimulus)>,
    journal: HashMap<Arc<str>, Vec<String>>,
    letters: Cell<i64>,
}

impl Surroundings for Paper {
    fn instance(&self, name: &str) -> Result<Option<InstanceKey>, StoreError> {
        let ids = self.ids.borrow();
        Ok(ids.iter().find(|(_, id)| &***id == name).map(|(key, _)| *key))
    }

    fn delivered(&self, _: InstanceKey, _: &str) -> Result<Option<u64>, StoreError> {
        Ok(None)
    }

    fn resolve(&self, reference: &str) -> Result<Edition, HostError> {
        self.project.library.resolve(reference)
    }

    fn keep(&self, _: &Edition, _: i64) -> Result<(), HostError> {
        Ok(())
    }

    fn new_key(&self, id: &str) -> InstanceKey {
        let key = InstanceKey(100 + self.ids.borrow().len() as i64);
        self.ids.borrow_mut().insert(key, id.into());
        key
    }

    fn next_inbound(&self) -> i64 {
        self.letters.set(self.letters.get() + 1);
        self.letters.get()
    }
}

impl Paper {
    fn new() -> Self {
        Self {
            project: project(),
            ids: HashMap::new().into(),
            kept: HashMap::new(),
            waiting: VecDeque::new(),
            journal: HashMap::new(),
            letters: Cell::new(0),
        }
    }

    async fn start(&mut self, id: &str) {
        let chart = self.project.library.resolve("parent").unwrap().chart;
        let planner = Planner::new(&self.project, self);
        let (instance, planned) = planner.start(id, chart, Value::Null, Value::Null, 1_000).unwrap();
        self.commit(instance, planned).await;
        self.rest().await;
    }

    async fn happen(&mut self, id: &str, stimulus: Stimulus) {
        let key = self.instance(id).unwrap().unwrap();
        self.waiting.push_back((key, stimulus));
        self.rest().await;
    }

    async fn rest(&mut self) {
        while let Some((key, stimulus)) = self.waiting.pop_front() {
            let (kept, snapshot) = self.kept.remove(&key).unwrap();
            let chart = self.project.library.resolve(&kept.new.chart_id).unwrap().chart;
            let mut instance = Instance::restore(kept, chart, &snapshot).unwrap();
            let (planned, answer) = Planner::new(&self.project, self).take(&mut instance, stimulus, 2_000);
            answer.unwrap();
            match planned {
                Some(planned) => self.commit(instance, planned).await,
                None => self.keep_instance(&instance),
            }
        }
    }

    async fn commit(&mut self, instance: Instance, planned: Planned) {
        self.note(instance.id(), &planned.commit);
        self.keep_instance(&instance);
        for child in planned.children {
            self.note(child.instance.id(), &child.commit);
            self.keep_instance(&child.instance);
        }
        for work in planned.work {
            self.perform(work).await;
        }
    }

    fn keep_instance(&mut self, instance: &Instance) {
        self.kept.insert(instance.key(), (instance.keep(), instance.snapshot_json()));
    }

    async fn perform(&mut self, work: Work) {
        match work {
            Work::Run { effect, request } => {
                let instance = Arc::clone(&self.ids.borrow()[&effect.instance]);
                let watchers = broadcast::Sender::<Progress>::new(1);
                let warden = Warden::absent();
                let call = self.project.prepare(&effect, &instance, request, &watchers, warden).unwrap();
                let result = EffectResult::of(&effect, call.answer().await.unwrap());
                let stimulus = Stimulus::Result { step: effect.step, index: effect.index, result };
                self.waiting.push_back((effect.instance, stimulus));
            }
            Work::Post { to, letter: Letter { event, child, spent }, .. } => {
                self.waiting.push_back((to, Stimulus::Letter(Letter { event, child, spent })));
            }
            Work::Fail { .. } | Work::Stop { .. } | Work::StopChild { .. } | Work::Expire { .. } => {
                panic!("nothing fails or is left here")
            }
        }
    }

    fn note(&mut self, id: &Arc<str>, commit: &Commit) {
        let lines = commit.records.iter().map(|it| line(it.step, it.kind, &it.event, &it.delta));
        self.journal.entry(Arc::clone(id)).or_default().extend(lines);
    }
}

fn line(step: u64, kind: RecordKind, event: &str, delta: &str) -> String {
    format!("{step} {kind:?} {event} {delta}")
}

fn approval() -> PersonAnswer {
    PersonAnswer { approved: true, by: Some("ada".into()), comment: None, data: Value::Null }
}

#[tokio::test]
async fn a_second_host_walks_as_the_first_does() {
    let mut paper = Paper::new();
    paper.start("i").await;
    paper.happen("i", Stimulus::Answer { invoke: None, answer: approval() }).await;
    paper.happen("i", Stimulus::Event { event: Event::named("TELL", Value::Null), key: None }).await;

    let host = Host::builder().services(project().services).gate(project().gate);
    let editions = project().library.offered();
    let host = editions.into_iter().fold(host, |host, edition| host.chart(edition)).start().await.unwrap();
    host.start(Start { chart: "parent".into(), id: Some("i".into()), ..Start::default() }).await.unwrap();
    host.answer("i", None, approval()).await.unwrap();
    assert!(matches!(host.settled("i", Default::default()).await.unwrap(), Settled::Waiting(_)));
    host.send("i", rawko_core::NamedEvent::new("TELL", Value::Null), None).await.unwrap();
    assert_eq!(host.settled("i", Default::default()).await.unwrap(), Settled::Over(rawko_core::Status::Done));

    for id in ["i", "i.kid.2"] {
        let row = host.reader().find(id).unwrap();
        let records = host.reader().store().records(row.key, 0, usize::MAX).unwrap();
        let lines: Vec<_> = records.iter().map(|it| line(it.step, it.kind, &it.event, &it.delta)).collect();
        assert!(lines.len() > 2, "{lines:?}");
        assert_eq!(paper.journal[id], lines, "{id}");
    }
}

#[tokio::test]
async fn what_cannot_be_asked_is_refused_without_a_plan() {
    let mut paper = Paper::new();
    paper.start("i").await;
    let key = paper.instance("i").unwrap().unwrap();
    let (kept, snapshot) = paper.kept[&key].clone();
    let chart = paper.project.library.resolve("parent").unwrap().chart;
    let mut instance = Instance::restore(kept, chart, &snapshot).unwrap();
    let planner = Planner::new(&paper.project, &paper);
    let (id, invoke) = ("i".to_owned(), "other".to_owned());
    let table = [
        (Stimulus::Retry, HostError::NotFailed { id: id.clone() }),
        (
            Stimulus::Answer { invoke: Some(invoke.clone()), answer: approval() },
            HostError::NotAsked { id, invoke, asked: "ask".to_owned() },
        ),
    ];
    for (stimulus, expected) in table {
        let (planned, answer) = planner.take(&mut instance, stimulus, 2_000);
        assert!(planned.is_none());
        assert_eq!(answer, Err(expected));
    }
    // Nothing is due, and nothing happened.
    let (planned, answer) = planner.take(&mut instance, Stimulus::Time, 2_000);
    assert!(planned.is_none());
    assert_eq!(answer.unwrap().step, 0);
}
