//! Large stores, written without a host: ten thousand instances, or one with a journal of a hundred thousand steps.

use std::path::Path;
use std::sync::Arc;

use rawko_core::{Event, Now, Snapshot, Value, World, start, step};
use rawko_host::Edition;
use rawko_store::{
    ChartRow, Commit, Head, InstanceKey, NewInstance, Record, RecordKind, SavedSnapshot, SqliteOptions,
    SqliteStore, Store, WaitReason,
};

const COUNTER: &str = "
statechart:
  id: counter
  version: 1.0.0
  initial: even
  context: {count: 0}
  states:
    even: {on: {TICK: {target: odd, actions: [{type: assign, context_updates: {count: context.count + 1}}]}}}
    odd: {on: {TICK: {target: even, actions: [{type: assign, context_updates: {count: context.count + 1}}]}}}
";
/// About the interval that a host uses.
const STEPS_PER_SNAPSHOT: u64 = 200;
const COMMITS_AT_ONCE: usize = 2_000;

pub(crate) fn folder() -> Arc<tempfile::TempDir> {
    Arc::new(tempfile::tempdir().unwrap())
}

pub(crate) fn instances(folder: &Path, count: i64) {
    let (store, edition) = store(folder);
    let (snapshot, _) = start(&edition.chart, Value::Null, Now::new(0, &World::default())).unwrap();
    let commits: Vec<Commit> =
        (1..=count).map(|key| begin(key, &format!("made-{key:05}"), &edition, &snapshot)).collect();
    commits.chunks(COMMITS_AT_ONCE).for_each(|chunk| store.commit(chunk).unwrap());
}

/// One instance `long`; each step increments its counter.
pub(crate) fn journal(folder: &Path, steps: u64) {
    let (store, edition) = store(folder);
    let (chart, world) = (&edition.chart, World::default());
    let (mut snapshot, _) = start(chart, Value::Null, Now::new(0, &world)).unwrap();
    let mut commits = vec![begin(1, "long", &edition, &snapshot)];
    let tick = serde_json::to_string(&Event::named("TICK", Value::Null)).unwrap();
    for number in 1..=steps {
        let before = snapshot.clone();
        let now = Now::new(number as i64, &world);
        step(chart, &mut snapshot, Event::named("TICK", Value::Null), now).unwrap();
        let is_saved = number % STEPS_PER_SNAPSHOT == 0;
        let body = || SavedSnapshot { step: number, body: snapshot.to_json(chart) };
        commits.push(Commit {
            instance: InstanceKey(1),
            records: vec![Record {
                delta: snapshot.delta_json(&before, chart),
                event: tick.clone(),
                ..record(1, number, RecordKind::Stepped)
            }],
            snapshot: is_saved.then(|| Box::new(body())),
            ..Commit::default()
        });
        if commits.len() >= COMMITS_AT_ONCE {
            store.commit(&std::mem::take(&mut commits)).unwrap();
        }
    }
    store.commit(&commits).unwrap();
}

fn store(folder: &Path) -> (SqliteStore, Edition) {
    let store = SqliteStore::open(&folder.join("rawko.db"), SqliteOptions::default()).unwrap();
    let edition = Edition::read("counter.yaml", COUNTER).unwrap();
    let chart = &edition.chart;
    let row = ChartRow {
        hash: chart.hash(),
        id: chart.id().to_owned(),
        version: chart.version().to_owned(),
        name: edition.name.to_string(),
        text: edition.text.to_string(),
        added_ms: 0,
    };
    store.put_chart(&row).unwrap();
    (store, edition)
}

fn begin(key: i64, id: &str, edition: &Edition, snapshot: &Snapshot) -> Commit {
    let new = NewInstance {
        id: id.into(),
        chart: edition.chart.hash(),
        chart_id: edition.chart.id().into(),
        version: edition.chart.version().into(),
        parent: None,
        origin: None,
        created_ms: key,
        policy: Arc::default(),
    };
    Commit {
        instance: InstanceKey(key),
        create: Some(Box::new(new)),
        records: vec![Record { event: "null".to_owned(), ..record(key, 0, RecordKind::Started) }],
        head: Some(Box::new(Head { wait: WaitReason::Event, ..Head::default() })),
        snapshot: Some(Box::new(SavedSnapshot { step: 0, body: snapshot.to_json(&edition.chart) })),
        ..Commit::default()
    }
}

fn record(key: i64, step: u64, kind: RecordKind) -> Record {
    Record {
        seq: 0,
        instance: InstanceKey(key),
        step,
        at_ms: step as i64,
        kind,
        event: String::new(),
        delta: String::new(),
        effects: String::new(),
    }
}
