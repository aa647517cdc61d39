//! The instance machine without the host: a driver on a map, which keeps every instance as text between two inputs,
//! writes the same journal as the host. It shows everything that a driver needs.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::cell::Cell;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use rawko_core::{Chart, NamedEvent, Value, World};
use rawko_host::{
    CallProgress, ContentReader, Edition, Gate, Host, HostProject, PersonAnswer, RuntimeGate, ServiceError,
    Services, SettleReason, StartOptions, closure,
};
use rawko_instance::{
    AgentResolver, DriverAction, EffectPlace, EffectResult, Input, Instance, InstanceError,
    MachineEnvironment, NewRoot, SavedInstance, ServiceRequest, Transaction,
};
use rawko_store::{Blob, Commit, EffectKind, InstanceKey, OpenEffect, RecordKind, StoreError};
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

fn project() -> HostProject {
    let project = HostProject {
        services: Services::new().add("echo", closure(|call| async move { Ok(call.input) })),
        gate: Gate::new(&["echo"], &[], None).unwrap(),
        ..HostProject::default()
    };
    for text in [PARENT, KID] {
        project.library.offer(Edition::read("chart.yaml", text).unwrap());
    }
    project
}

/// A driver on a map: no disk, no tasks, one input at a time.
struct Paper {
    project: HostProject,
    ids: std::cell::RefCell<HashMap<InstanceKey, Arc<str>>>,
    kept: HashMap<InstanceKey, (SavedInstance, String)>,
    waiting: VecDeque<(InstanceKey, Input)>,
    journal: HashMap<Arc<str>, Vec<String>>,
    messages: Cell<i64>,
}

impl MachineEnvironment for Paper {
    fn world(&self) -> &World {
        &self.project.world
    }

    fn gate(&self) -> &Gate {
        &self.project.gate
    }

    fn agents(&self) -> Option<&dyn AgentResolver> {
        None
    }

    fn has_service(&self, name: &str, kind: EffectKind) -> bool {
        self.project.find_service(name, kind).is_some()
    }

    fn provenance(&self, name: &str, kind: EffectKind) -> Value {
        self.project.provenance(name, kind)
    }

    fn may_repeat(&self, effect: &OpenEffect, request: &ServiceRequest) -> bool {
        self.project.may_repeat(effect, request)
    }

    fn chart(&self, reference: &str) -> Result<Arc<Chart>, ServiceError> {
        let resolved = self.project.library.resolve(reference).map_err(|error| error.as_chart_error());
        Ok(resolved?.chart)
    }

    fn instance(&self, name: &str) -> Result<Option<InstanceKey>, StoreError> {
        let ids = self.ids.borrow();
        Ok(ids.iter().find(|(_, id)| &***id == name).map(|(key, _)| *key))
    }

    fn handled(&self, _: InstanceKey, _: &str) -> Result<Option<u64>, StoreError> {
        Ok(None)
    }

    fn blob(&self, _: &[u8; 16]) -> Result<Option<Blob>, StoreError> {
        Ok(None)
    }

    fn new_key(&self, id: &str) -> InstanceKey {
        let key = InstanceKey(100 + self.ids.borrow().len() as i64);
        self.ids.borrow_mut().insert(key, id.into());
        key
    }

    fn next_message(&self) -> i64 {
        self.messages.set(self.messages.get() + 1);
        self.messages.get()
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
            messages: Cell::new(0),
        }
    }

    async fn start(&mut self, id: &str) {
        let chart = self.project.library.resolve("parent").unwrap().chart;
        let root = NewRoot { id: id.into(), chart, input: Value::Null, budget: Value::Null };
        let (instance, tx) = rawko_instance::start(root, self, 1_000).unwrap();
        self.commit(instance, tx).await;
        self.rest().await;
    }

    async fn happen(&mut self, id: &str, input: Input) {
        let key = self.instance(id).unwrap().unwrap();
        self.waiting.push_back((key, input));
        self.rest().await;
    }

    fn restored(&self, key: InstanceKey) -> Instance {
        let (saved, snapshot) = self.kept[&key].clone();
        let chart = self.project.library.resolve(&saved.new.chart_id).unwrap().chart;
        Instance::restore_json(saved, chart, &snapshot).unwrap()
    }

    async fn rest(&mut self) {
        while let Some((key, input)) = self.waiting.pop_front() {
            let mut instance = self.restored(key);
            let mut tx = instance.handle(input, self, 2_000);
            tx.reply.take().unwrap().unwrap();
            self.commit(instance, tx).await;
        }
    }

    async fn commit(&mut self, instance: Instance, tx: Transaction) {
        self.note(instance.id(), &tx.commit);
        self.save(&instance);
        for child in tx.children {
            self.note(child.instance.id(), &child.commit);
            self.save(&child.instance);
        }
        for action in tx.actions {
            self.perform(action).await;
        }
    }

    fn save(&mut self, instance: &Instance) {
        self.kept.insert(instance.key(), (instance.save(), instance.snapshot_json()));
    }

    async fn perform(&mut self, action: DriverAction) {
        match action {
            DriverAction::Run { effect, request } => {
                let instance = Arc::clone(&self.ids.borrow()[&effect.instance]);
                let watchers = broadcast::Sender::<CallProgress>::new(1);
                let handles = (RuntimeGate::absent(), ContentReader::default());
                let call = self.project.prepare(&effect, &instance, request, &watchers, handles).unwrap();
                let result = EffectResult::of(&effect, call.answer().await.unwrap());
                let input = Input::Result { effect: EffectPlace::of(&effect), result };
                self.waiting.push_back((effect.instance, input));
            }
            DriverAction::Deliver { to, seq, message } => {
                self.waiting.push_back((to, Input::Message { seq, message }));
            }
            DriverAction::Stop { .. } => panic!("no call is left behind here"),
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
    PersonAnswer {
        approved: true,
        by: Some("ada".into()),
        claimed: None,
        asked_ms: None,
        comment: None,
        data: Value::Null,
    }
}

#[tokio::test]
async fn a_second_host_walks_as_the_first_does() {
    let mut paper = Paper::new();
    paper.start("i").await;
    paper.happen("i", Input::Answer { invoke: None, answer: approval(), key: None }).await;
    paper.happen("i", Input::Event { event: NamedEvent::new("TELL", Value::Null), key: None }).await;

    let host = Host::builder().services(project().services).gate(project().gate);
    let editions = project().library.offered();
    let host = editions.into_iter().fold(host, |host, edition| host.chart(edition)).start().await.unwrap();
    host.start(StartOptions { chart: "parent".into(), id: Some("i".into()), ..StartOptions::default() })
        .await
        .unwrap();
    host.answer("i", None, approval()).await.unwrap();
    assert!(matches!(host.settled("i", Default::default()).await.unwrap(), SettleReason::Waiting(_)));
    host.send("i", rawko_core::NamedEvent::new("TELL", Value::Null), None).await.unwrap();
    assert_eq!(
        host.settled("i", Default::default()).await.unwrap(),
        SettleReason::Over(rawko_core::Status::Done)
    );

    for id in ["i", "i.kid.2"] {
        let row = host.reader().find(id).unwrap();
        let records = host.reader().store().records(row.key, 0, usize::MAX).unwrap();
        let lines: Vec<_> = records.iter().map(|it| line(it.step, it.kind, &it.event, &it.delta)).collect();
        assert!(lines.len() > 2, "{lines:?}");
        assert_eq!(paper.journal[id], lines, "{id}");
    }
}

#[tokio::test]
async fn an_input_that_cannot_be_taken_is_refused_without_a_commit() {
    let mut paper = Paper::new();
    paper.start("i").await;
    let mut instance = paper.restored(paper.instance("i").unwrap().unwrap());
    let (id, invoke) = ("i".to_owned(), "other".to_owned());
    let table = [
        (Input::Retry, InstanceError::NotFailed { id: id.clone() }),
        (
            Input::Answer { invoke: Some(invoke.clone()), answer: approval(), key: None },
            InstanceError::NotAsked { id, invoke, asked: "ask".to_owned() },
        ),
    ];
    for (input, expected) in table {
        let tx = instance.handle(input, &paper, 2_000);
        assert!(tx.is_empty());
        assert_eq!(tx.reply, Some(Err(expected)));
    }
    // No timer is due, so nothing happens.
    let tx = instance.handle(Input::Time, &paper, 2_000);
    assert!(tx.is_empty());
    assert_eq!(tx.reply.unwrap().unwrap().step, 0);
}
