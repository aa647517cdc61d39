//! Fills a store with many records, written as the host would write them but without an fsync per step. Separate from
//! the tests, because it knows the format of a journal.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use rawko_chart::{Registry, SourceFile, load};
use rawko_core::{Chart, Event, Snapshot, Value, start, step};
use rawko_settings::{Environment, StateDir};
use rawko_store::{
    ChartRow, Commit, Head, InstanceKey, NewInstance, Record, RecordKind, SavedSnapshot, SqliteOptions,
    SqliteStore, Store, WaitReason,
};

const NAME: &str = "counter.yaml";
const TEXT: &str = "\
statechart:
  id: counter
  version: \"1.0.0\"
  initial: even
  context: {count: 0}
  states:
    even:
      on: {COUNTED: {target: odd, actions: [count]}}
    odd:
      on: {COUNTED: {target: even, actions: [count]}, STOPPED: stopped}
    stopped: {type: final}
  actions:
    count: {type: assign, context_updates: {count: context.count + 1}}
";

/// Records per commit.
const BATCH: usize = 2_000;
const BEGAN_MS: i64 = 1_767_600_000_000;

/// Creates a project with this many instances, and one called `long` with this many steps.
pub(crate) fn fill(project: &Path, state: &Path, instances: i64, steps: u64) {
    let environment: Environment = [("RAWKO_STATE_DIR", state.to_str().unwrap())].into_iter().collect();
    let path = StateDir::of(&environment).unwrap().store(project);
    fs::create_dir_all(project.join(".rawko/charts")).unwrap();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(project.join(".rawko/charts").join(NAME), TEXT).unwrap();
    let store = SqliteStore::open(&path, SqliteOptions::default()).unwrap();
    let chart = load(&SourceFile::new(NAME, TEXT), &Registry::default()).chart.unwrap();
    store.put_chart(&row(&chart)).unwrap();
    let many: Vec<Commit> =
        (1..=instances).map(|key| begin(&chart, key, &format!("count-{key:05}")).0).collect();
    for part in many.chunks(BATCH) {
        store.commit(part).unwrap();
    }
    journal(&store, &chart, InstanceKey(instances + 1), steps);
}

fn journal(store: &SqliteStore, chart: &Chart, key: InstanceKey, steps: u64) {
    let (first, mut snapshot) = begin(chart, key.0, "long");
    store.commit(&[first]).unwrap();
    let mut records = Vec::with_capacity(BATCH);
    while snapshot.step_number() < steps {
        records.push(count(chart, key, &mut snapshot));
        if records.len() == BATCH || snapshot.step_number() == steps {
            let body = snapshot.to_json(chart);
            let saved = SavedSnapshot { step: snapshot.step_number(), body };
            let records = std::mem::take(&mut records);
            let snapshot = Some(Box::new(saved));
            store.commit(&[Commit { instance: key, records, snapshot, ..Commit::default() }]).unwrap();
        }
    }
}

fn count(chart: &Chart, key: InstanceKey, snapshot: &mut Snapshot) -> Record {
    let (event, before) = (Event::named("COUNTED", Value::Null), snapshot.clone());
    let at_ms = BEGAN_MS + i64::try_from(snapshot.step_number()).unwrap() * 1_000;
    let taken = step(chart, snapshot, event.clone(), at_ms).unwrap();
    Record {
        seq: 0,
        instance: key,
        step: taken.number,
        at_ms,
        kind: RecordKind::Stepped,
        event: serde_json::to_string(&event).unwrap(),
        delta: snapshot.delta_json(&before, chart),
        effects: String::new(),
    }
}

fn begin(chart: &Chart, key: i64, id: &str) -> (Commit, Snapshot) {
    let (snapshot, _) = start(chart, Value::Null, BEGAN_MS).unwrap();
    let new = NewInstance {
        id: id.into(),
        chart: chart.hash(),
        chart_id: chart.id().into(),
        version: chart.version().into(),
        parent: None,
        origin: None,
        created_ms: BEGAN_MS + key,
        policy: Arc::default(),
    };
    let record = Record {
        seq: 0,
        instance: InstanceKey(key),
        step: 0,
        at_ms: BEGAN_MS,
        kind: RecordKind::Started,
        event: "null".to_owned(),
        delta: String::new(),
        effects: String::new(),
    };
    let saved = SavedSnapshot { step: 0, body: snapshot.to_json(chart) };
    let commit = Commit {
        instance: InstanceKey(key),
        create: Some(Box::new(new)),
        records: vec![record],
        head: Some(Box::new(Head { wait: WaitReason::Event, ..Head::default() })),
        snapshot: Some(Box::new(saved)),
        ..Commit::default()
    };
    (commit, snapshot)
}

fn row(chart: &Chart) -> ChartRow {
    ChartRow {
        hash: chart.hash(),
        id: chart.id().to_owned(),
        version: chart.version().to_owned(),
        name: NAME.to_owned(),
        text: TEXT.to_owned(),
        added_ms: BEGAN_MS,
    }
}
