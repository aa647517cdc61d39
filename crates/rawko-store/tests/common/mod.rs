//! A wrapper around a store with its own `commit`, and sample commits.

#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests; not every file uses all of it"
)]

use rawko_store::*;

type OnCommit<S> = Box<dyn Fn(&S, &[Commit]) -> Result<(), StoreError> + Send + Sync>;

pub(crate) struct With<S> {
    pub(crate) store: S,
    pub(crate) on_commit: OnCommit<S>,
}

macro_rules! forward {
    ($($name:ident($($arg:ident: $kind:ty),*) -> $out:ty;)*) => {
        impl<S: Store> Store for With<S> {
            fn commit(&self, commits: &[Commit]) -> Result<(), StoreError> {
                (self.on_commit)(&self.store, commits)
            }
            $(fn $name(&self, $($arg: $kind),*) -> Result<$out, StoreError> { self.store.$name($($arg),*) })*
        }
    };
}

forward! {
    put_chart(chart: &ChartRow) -> ();
    chart(hash: &ChartHash) -> Option<ChartRow>;
    charts() -> Vec<ChartRow>;
    find(id: &str) -> Option<InstanceRow>;
    instance(key: InstanceKey) -> Option<InstanceRow>;
    list(filter: &Filter) -> InstancePage;
    tally(filter: &Filter) -> Vec<InstanceTally>;
    children(id: &str) -> Vec<InstanceRow>;
    base(key: InstanceKey, at: Option<u64>) -> Option<SnapshotBase>;
    bases(keys: &[InstanceKey]) -> Vec<Result<Option<SnapshotBase>, StoreError>>;
    records(key: InstanceKey, after: u64, limit: usize) -> Vec<Record>;
    steps(key: InstanceKey, steps: std::ops::RangeInclusive<u64>, limit: usize) -> Vec<Record>;
    tail(after: u64, limit: usize) -> Vec<Record>;
    last_seq() -> u64;
    open_effects(key: Option<InstanceKey>) -> Vec<OpenEffect>;
    inbound(key: Option<InstanceKey>) -> Vec<Inbound>;
    timers() -> Vec<(InstanceKey, i64)>;
    delivered(key: InstanceKey, delivery: &str) -> Option<u64>;
    blob(hash: &[u8; 16]) -> Option<Blob>;
    audit(instance: Option<&str>, limit: usize) -> Vec<AuditLine>;
    marks() -> HighestNumbers;
    probe() -> ();
    report() -> StoreReport;
}

pub(crate) fn chart() -> ChartRow {
    ChartRow {
        hash: [7; 16],
        id: "order".to_owned(),
        version: "1.0.0".to_owned(),
        name: "order.yaml".to_owned(),
        text: "id: order\n".to_owned(),
        added_ms: 1,
    }
}

/// Returns the first commit of an instance.
pub(crate) fn begin(key: i64) -> Commit {
    let new = NewInstance {
        id: format!("i{key}").into(),
        chart: [7; 16],
        chart_id: "order".into(),
        version: "1.0.0".into(),
        parent: None,
        origin: None,
        created_ms: 1,
        policy: Default::default(),
    };
    Commit {
        create: Some(Box::new(new)),
        snapshot: Some(Box::new(SavedSnapshot { step: 0, body: "{}".to_owned() })),
        ..step(key, 0)
    }
}

/// Returns a step with a record of some 200 bytes.
pub(crate) fn step(key: i64, step: u64) -> Commit {
    let record = Record {
        seq: 0,
        instance: InstanceKey(key),
        step,
        at_ms: 1_000 + step as i64,
        kind: if step == 0 { RecordKind::Started } else { RecordKind::Stepped },
        event: r#"{"type":"ITEM_ADDED","data":{"sku":"a-1","count":2}}"#.to_owned(),
        delta: format!(r#"{{"step":{step},"configuration":["order.open"],"context":{{"count":{step}}}}}"#),
        effects: String::new(),
    };
    Commit { instance: InstanceKey(key), records: vec![record], ..Commit::default() }
}
