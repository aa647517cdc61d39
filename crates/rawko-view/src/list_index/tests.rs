//! The index agrees with adding up children one by one, after each of their steps.

use std::sync::Arc;

use rawko_store::{
    Commit, Head, MemoryStore, NewInstance, ParentInvocation, Record, RecordKind, Store, WaitReason,
};

use super::*;

/// One step of an instance: it begins, or its status and usage change.
fn commit(store: &dyn Store, key: i64, parent: Option<i64>, status: Status, tokens: u64, step: u64) {
    let id = |key: i64| -> Arc<str> { format!("i{key}").into() };
    let parent = parent.map(|parent| ParentInvocation {
        id: id(parent),
        invocation: 0,
        invoke: "run".into(),
        generation: 1,
    });
    let new = NewInstance {
        id: id(key),
        chart: [7; 16],
        chart_id: "any".into(),
        version: "1.0.0".into(),
        parent,
        origin: None,
        created_ms: key,
        policy: "".into(),
    };
    let wait = if status.is_over() { WaitReason::Nothing } else { WaitReason::Work };
    let ledger = format!(r#"{{"total":{{"tokens":{tokens},"cost_usd":{}}}}}"#, tokens as f64 / 1000.0);
    let head = Head { status, wait, ledger: Some(ledger.into()), ..Head::default() };
    let record = Record {
        seq: 0,
        instance: InstanceKey(key),
        step,
        at_ms: 1_000,
        kind: if step == 0 { RecordKind::Started } else { RecordKind::Stepped },
        event: String::new(),
        delta: String::new(),
        effects: String::new(),
    };
    let create = (step == 0).then(|| Box::new(new));
    let commit = Commit {
        instance: InstanceKey(key),
        create,
        head: Some(Box::new(head)),
        records: vec![record],
        ..Commit::default()
    };
    store.commit(&[commit]).unwrap();
}

/// Changes the head without a record, as the result of a call does.
fn commit_head(store: &dyn Store, key: i64, wait: WaitReason) {
    let head = Head { status: Status::Active, wait, ..Head::default() };
    let commit = Commit { instance: InstanceKey(key), head: Some(Box::new(head)), ..Commit::default() };
    store.commit(&[commit]).unwrap();
}

#[test]
fn a_head_that_changes_without_a_record_moves_between_lists() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    for key in 1..=2 {
        commit(&*store, key, None, Status::Active, 0, 0);
    }
    let (reader, index) = (SnapshotReader::new(Arc::clone(&store)), ListIndex::default());
    let order = ListOrder { key: SortKey::Outcome, is_descending: false };
    let waiting = || {
        let filter =
            Filter { statuses: vec![Status::Active], waits: vec![WaitReason::Event], ..Filter::default() };
        index.page(&reader, &filter, order, None, &Corrections::default()).unwrap().page.total
    };
    assert_eq!(waiting(), 0);
    commit_head(&*store, 2, WaitReason::Event);
    assert_eq!(waiting(), 1);
    commit_head(&*store, 2, WaitReason::Work);
    assert_eq!(waiting(), 0);
}

#[test]
fn sums_follow_what_happens_below() {
    let store = Arc::new(MemoryStore::new());
    let reader = SnapshotReader::new(Arc::clone(&store) as Arc<dyn Store>);
    let index = ListIndex::default();
    let active = Status::Active;
    // A task, an agent with two helpers, and another task.
    let moves: [(i64, Option<i64>, Status, u64); 12] = [
        (1, None, active, 10),
        (2, Some(1), active, 5),
        (3, Some(2), active, 3),
        (4, Some(2), active, 2),
        (5, None, active, 7),
        (3, Some(2), active, 30),
        (2, Some(1), active, 6),
        // It ends: its parent has its usage now.
        (3, Some(2), Status::Done, 40),
        (2, Some(1), active, 46),
        (4, Some(2), Status::Error, 2),
        (2, Some(1), Status::Done, 50),
        (1, None, active, 60),
    ];
    let mut steps = HashMap::new();
    for (at, (key, parent, status, tokens)) in moves.into_iter().enumerate() {
        let step = steps.entry(key).and_modify(|step| *step += 1).or_insert(0);
        commit(&*store, key, parent, status, tokens, *step);
        let rows = store.list(&Filter::default()).unwrap().rows;
        let live: Vec<InstanceRow> = rows.into_iter().filter(|row| !row.head.status.is_over()).collect();
        let sums = index.spent(&reader, &live).unwrap();
        for (row, sum) in live.iter().zip(sums) {
            let one_by_one = spent_until_now(&reader, row).unwrap();
            let dollars = |spent: Spent| (spent.cost_usd * 1e6).round() as i64;
            assert_eq!(
                (sum.tokens, dollars(sum)),
                (one_by_one.tokens, dollars(one_by_one)),
                "{} after {at}",
                row.new.id
            );
        }
    }
    // By cost, with what runs below: the first task has 60, the other 7.
    let order = ListOrder { key: SortKey::Cost, is_descending: true };
    let filter = Filter { roots_only: true, limit: 1, ..Filter::default() };
    let first = index.page(&reader, &filter, order, None, &Corrections::default()).unwrap();
    assert_eq!((&*first.page.rows[0].new.id, first.page.total), ("i1", 2));
    commit(&*store, 6, Some(5), active, 100, 0);
    let first = index.page(&reader, &filter, order, None, &Corrections::default()).unwrap();
    assert_eq!(&*first.page.rows[0].new.id, "i5");
    let rest = index.page(&reader, &filter, order, first.next.as_ref(), &Corrections::default()).unwrap();
    assert_eq!((&*rest.page.rows[0].new.id, rest.next), ("i1", None));
}

#[test]
fn a_position_comes_back_from_its_cursor() {
    let table = [
        (SortKey::Cost, SortValue::Cost(-3, 7)),
        (SortKey::Steps, SortValue::Whole(i64::MIN)),
        (SortKey::Title, SortValue::Text("two words  ".into())),
        (SortKey::Title, SortValue::Text("".into())),
    ];
    for (key, value) in table {
        let position = SortPosition { value, key: InstanceKey(9) };
        let order = ListOrder { key, is_descending: true };
        assert_eq!(SortPosition::parse(&position.to_string(), order), Some(position.clone()));
        let other = if key == SortKey::Title { SortKey::Steps } else { SortKey::Title };
        let other = ListOrder { key: other, is_descending: true };
        assert_eq!(SortPosition::parse(&position.to_string(), other), None, "{position}");
    }
}
