//! Cases about the journal: order, ranges, and the base of a snapshot. With enough records that a store with a lagging
//! index has to read both parts.

use super::sample::{begin, record, snapshot, steps};
use super::{ConformanceCase, Nonconformance, same};
use crate::store::Store;
use crate::{Commit, InstanceKey, Record, RecordKind};

pub(super) const CASES: &[ConformanceCase] = &[
    ConformanceCase { name: "records are numbered in the order of commits", run: numbered },
    ConformanceCase { name: "a record comes back as it was, of every kind", run: kinds },
    ConformanceCase { name: "records and tail give ranges", run: ranges },
    ConformanceCase { name: "steps are found wherever they are", run: found_by_step },
    ConformanceCase { name: "a base holds what rebuilds a step", run: bases },
    ConformanceCase { name: "a base leaves out failed steps", run: failed },
    ConformanceCase { name: "a long journal of many instances reads the same everywhere", run: long },
];

fn numbers(records: &[Record]) -> Vec<(u64, i64, u64)> {
    records.iter().map(|record| (record.seq, record.instance.0, record.step)).collect()
}

fn numbered(store: &dyn Store) -> Result<(), Nonconformance> {
    store.commit(&[begin(1, "a"), begin(2, "b")])?;
    store.commit(&[steps(2, [1, 2]), steps(1, [1])])?;
    let wanted = vec![(1, 1, 0), (2, 2, 0), (3, 2, 1), (4, 2, 2), (5, 1, 1)];
    same("tail", numbers(&store.tail(0, 100)?), wanted)?;
    same("of one", numbers(&store.records(InstanceKey(1), 0, 100)?), vec![(1, 1, 0), (5, 1, 1)])?;
    same("last_seq", store.last_seq()?, 5)
}

fn kinds(store: &dyn Store) -> Result<(), Nonconformance> {
    store.commit(&[Commit { records: vec![], ..begin(1, "a") }])?;
    let mut wanted = Vec::new();
    for (at, kind) in (1..).zip(RecordKind::ALL) {
        let text = format!("\"{kind:?} é € 😀 \\u0000 {}\"", "x".repeat(10_000));
        let one = Record { seq: at, kind, event: text, at_ms: -1, ..record(1, at) };
        store.commit(&[Commit { records: vec![one.clone()], ..steps(1, []) }])?;
        wanted.push(one);
    }
    same("records", store.records(InstanceKey(1), 0, 100)?, wanted)
}

fn ranges(store: &dyn Store) -> Result<(), Nonconformance> {
    store.commit(&[begin(1, "a"), begin(2, "b")])?;
    store.commit(&[steps(1, 1..=9)])?;
    let key = InstanceKey(1);
    let seqs = |records: Vec<Record>| records.iter().map(|record| record.seq).collect::<Vec<_>>();
    same("after", seqs(store.records(key, 8, 100)?), vec![9, 10, 11])?;
    same("limit", seqs(store.records(key, 0, 3)?), vec![1, 3, 4])?;
    same("past the end", seqs(store.records(key, 11, 100)?), vec![])?;
    same("no limit to speak of", store.records(key, 0, usize::MAX)?.len(), 10)?;
    same("tail", seqs(store.tail(3, 2)?), vec![4, 5])?;
    same("tail without limit", store.tail(0, usize::MAX)?.len(), 11)?;
    same("of nobody", store.records(InstanceKey(77), 0, 100)?, vec![])
}

fn found_by_step(store: &dyn Store) -> Result<(), Nonconformance> {
    store.commit(&[begin(1, "a"), begin(2, "b")])?;
    let mut commits = Vec::new();
    for step in 1..=3_000 {
        let saved = (step % 500 == 0).then(|| Box::new(snapshot(step)));
        let mut commit = Commit { snapshot: saved, ..steps(1, [step]) };
        if step % 1_000 == 7 {
            // Two failed attempts before the step that succeeded.
            let failed = Record { kind: RecordKind::Failed, ..record(1, step) };
            commit.records.splice(0..0, [failed.clone(), failed]);
        }
        commits.push(commit);
    }
    commits.chunks(250).try_for_each(|chunk| store.commit(chunk))?;
    let check = |from: u64, through: u64, limit: usize, wanted: Vec<u64>| -> Result<(), Nonconformance> {
        let found = store.steps(InstanceKey(1), from..=through, limit)?;
        let found: Vec<u64> = found.iter().map(|record| record.step).collect();
        same(&format!("steps {from} to {through}, {limit} at most"), found, wanted)
    };
    check(0, 2, 10, vec![0, 1, 2])?;
    for from in [1, 499, 500, 501, 1_999, 2_990] {
        check(from, from + 3, 100, (from..=from + 3).collect())?;
    }
    check(1_006, 1_008, 100, vec![1_006, 1_007, 1_007, 1_007, 1_008])?;
    check(1_006, 1_008, 2, vec![1_006, 1_007])?;
    check(2_999, u64::MAX, usize::MAX, vec![2_999, 3_000])?;
    check(3_001, 4_000, 100, vec![])?;
    same("of nobody", store.steps(InstanceKey(77), 0..=9, 9)?, vec![])
}

fn bases(store: &dyn Store) -> Result<(), Nonconformance> {
    store.commit(&[begin(1, "a"), begin(2, "b")])?;
    for step in 1..=20 {
        let saved = (step % 8 == 0).then(|| Box::new(snapshot(step)));
        store.commit(&[Commit { snapshot: saved, ..steps(1, [step]) }, steps(2, [step])])?;
    }
    let check = |at: Option<u64>, from: u64, through: u64| -> Result<(), Nonconformance> {
        let what = format!("at {at:?}");
        let Some(base) = store.base(InstanceKey(1), at)? else {
            return Err(Nonconformance(format!("{what}: no base")));
        };
        same(&what, base.snapshot, snapshot(from))?;
        let found: Vec<u64> = base.records.iter().map(|record| record.step).collect();
        same(&what, found, (from + 1..=through).collect())
    };
    for step in 0..=20 {
        check(Some(step), step / 8 * 8, step)?;
    }
    check(Some(99), 16, 20)?;
    check(None, 16, 20)?;
    store.commit(&[Commit { snapshot: Some(Box::new(snapshot(19))), ..steps(1, []) }])?;
    check(None, 19, 20)?;
    let many = Commit { snapshot: Some(Box::new(snapshot(22))), ..steps(1, 21..=24) };
    store.commit(&[many])?;
    check(None, 22, 24)?;
    same("of nobody", store.base(InstanceKey(77), None)?, None)?;
    let keys = [2, 77, 1].map(InstanceKey);
    let each: Vec<_> = keys.iter().map(|key| store.base(*key, None)).collect();
    same("read together", store.bases(&keys)?, each)
}

fn failed(store: &dyn Store) -> Result<(), Nonconformance> {
    store.commit(&[begin(1, "a")])?;
    let mut commit = steps(1, [1, 1, 2, 2]);
    commit.records[0].kind = RecordKind::Failed;
    commit.records[3].kind = RecordKind::Ignored;
    commit.records[3].step = 3;
    store.commit(&[commit])?;
    let base = store.base(InstanceKey(1), None)?;
    let found = base.map(|base| base.records.iter().map(|record| (record.step, record.kind)).collect());
    same("records", found, {
        let wanted = vec![(1, RecordKind::Stepped), (2, RecordKind::Stepped), (3, RecordKind::Ignored)];
        Some(wanted)
    })?;
    same("the journal has them", store.records(InstanceKey(1), 0, 100)?.len(), 5)
}

fn long(store: &dyn Store) -> Result<(), Nonconformance> {
    const INSTANCES: i64 = 40;
    const STEPS: u64 = 150;
    let begun: Vec<Commit> = (1..=INSTANCES).map(|key| begin(key, &format!("i{key}"))).collect();
    store.commit(&begun)?;
    for step in 1..=STEPS {
        let batch: Vec<Commit> = (1..=INSTANCES).map(|key| steps(key, [step])).collect();
        store.commit(&batch)?;
    }
    let key = InstanceKey(17);
    let all = store.records(key, 0, usize::MAX)?;
    same("all", all.iter().map(|record| record.step).collect(), (0..=STEPS).collect::<Vec<_>>())?;
    let mut joined = Vec::new();
    while let Some(next) = Some(store.records(key, joined.last().map_or(0, |one: &Record| one.seq), 13)?)
        .filter(|next| !next.is_empty())
    {
        joined.extend(next);
    }
    same("in pieces", joined, all)?;
    same("tail", store.tail(0, usize::MAX)?.len() as u64, INSTANCES as u64 * (STEPS + 1))?;
    for at in [1, 60, STEPS] {
        let found = store.base(key, Some(at))?.map(|base| base.records.len() as u64);
        same("base", found, Some(at))?;
    }
    let together = store.bases(&[InstanceKey(40), key])?;
    same("read together", together, vec![store.base(InstanceKey(40), None), store.base(key, None)])?;
    let page = store.list(&crate::Filter::default())?;
    same("every step", page.rows.iter().all(|row| row.step == STEPS), true)
}
