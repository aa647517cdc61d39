//! Cases about charts and instances: created, found, listed, changed.

use rawko_core::Status;

use super::sample::{CHART, begin, begin_child, head, new, record, snapshot, steps};
use super::{ConformanceCase, Nonconformance, same};
use crate::store::{DrivenInstances, Filter, InstancePage, Store};
use crate::{
    ChartChange, ChartRow, Commit, ForkOrigin, Head, InstanceKey, InstanceStatus, NewInstance, Outcome,
    RecordKind, WaitReason,
};

pub(super) const CASES: &[ConformanceCase] = &[
    ConformanceCase { name: "an empty store answers everything", run: an_empty_store_answers },
    ConformanceCase { name: "a chart is kept once, and charts are in order", run: charts },
    ConformanceCase { name: "an instance is found by id and key as it was made", run: found },
    ConformanceCase { name: "a head changes when a commit has one", run: heads },
    ConformanceCase { name: "a migrated instance has another chart, and its past stays", run: migrated },
    ConformanceCase { name: "the step is the last one taken", run: last_steps },
    ConformanceCase { name: "lists are newest first and filtered", run: filters },
    ConformanceCase { name: "pages join without gap or overlap", run: pages },
    ConformanceCase { name: "children are found by their parent", run: children },
];

fn an_empty_store_answers(store: &dyn Store) -> Result<(), Nonconformance> {
    let key = InstanceKey(1);
    same("commit of nothing", store.commit(&[]), Ok(()))?;
    same("charts", store.charts()?, vec![])?;
    same("chart", store.chart(&CHART)?, None)?;
    same("find", store.find("a")?, None)?;
    same("instance", store.instance(key)?, None)?;
    same("list", store.list(&Filter::default())?, InstancePage::default())?;
    same("base", store.base(key, None)?, None)?;
    same("records", store.records(key, 0, 10)?, vec![])?;
    same("tail", store.tail(0, 10)?, vec![])?;
    same("last_seq", store.last_seq()?, 0)?;
    same("open_effects", store.open_effects(None)?, vec![])?;
    same("inbound", store.inbound(None)?, vec![])?;
    same("timers", store.timers()?, vec![])?;
    same("delivered", store.delivered(key, "k")?, None)?;
    same("blob", store.blob(&[0; 16])?, None)?;
    same("audit", store.audit(None, 10)?, vec![])?;
    same("marks", store.marks()?, crate::HighestNumbers::default())?;
    same("problems", store.report()?.problems, vec![])
}

fn charts(store: &dyn Store) -> Result<(), Nonconformance> {
    let row = |byte: u8, id: &str, version: &str| ChartRow {
        hash: [byte; 16],
        id: id.to_owned(),
        version: version.to_owned(),
        name: format!("{id}.yaml"),
        text: format!("id: {id}\n"),
        added_ms: byte.into(),
    };
    let (old, new, other) = (row(1, "order", "1.0.0"), row(2, "order", "1.0.0"), row(3, "agenda", "2.0.0"));
    for chart in [&old, &new, &other] {
        store.put_chart(chart)?;
    }
    store.put_chart(&ChartRow { added_ms: 99, name: "again".to_owned(), ..old.clone() })?;
    same("chart", store.chart(&[1; 16])?, Some(old.clone()))?;
    same("charts", store.charts()?, vec![other, new, old])
}

fn found(store: &dyn Store) -> Result<(), Nonconformance> {
    let origin = Some(ForkOrigin { id: "a".into(), step: 4 });
    let mut forked = begin(9, "c");
    forked.create = Some(Box::new(NewInstance { origin: origin.clone(), policy: "{}".into(), ..new("c") }));
    store.commit(&[begin(3, "a"), begin_child(5, "b", "a"), forked])?;
    for (key, id) in [(3, "a"), (5, "b"), (9, "c")] {
        same("by id", store.find(id)?.map(|row| row.key), Some(InstanceKey(key)))?;
        same("by key", store.instance(InstanceKey(key))?, store.find(id)?)?;
    }
    same(
        "the fork",
        store.find("c")?.map(|row| row.new),
        Some(NewInstance { origin, policy: "{}".into(), ..new("c") }),
    )?;
    let parent = store.find("b")?.and_then(|row| row.new.parent);
    same(
        "the parent",
        parent.map(|parent| (parent.invocation, parent.id, parent.invoke, parent.generation)),
        Some((3, "a".into(), "pack".into(), 2)),
    )?;
    same("the highest key", store.marks()?.instance, 9)
}

fn heads(store: &dyn Store) -> Result<(), Nonconformance> {
    let full = Head {
        status: Status::Error,
        wait: WaitReason::Timer,
        next_due_ms: Some(70),
        fault: Some("too deep".into()),
        ledger: Some("{\"total\":{\"tokens\":7}}".into()),
        outcome: Some(Outcome::Limit),
    };
    let early = Head { next_due_ms: Some(20), wait: WaitReason::Person, ..Head::default() };
    store.commit(&[begin(1, "a"), begin(2, "b"), begin(3, "c")])?;
    store.commit(&[head(1, full.clone()), head(2, early)])?;
    store.commit(&[steps(1, [1])])?;
    same("kept by a commit without one", store.find("a")?.map(|row| row.head), Some(full))?;
    same("timers, earliest first", store.timers()?, vec![(InstanceKey(2), 20), (InstanceKey(1), 70)])?;
    store.commit(&[head(1, Head::default())])?;
    same("cleared", store.find("a")?.map(|row| row.head), Some(Head::default()))?;
    same("timers", store.timers()?, vec![(InstanceKey(2), 20)])
}

fn migrated(store: &dyn Store) -> Result<(), Nonconformance> {
    store.commit(&[begin(1, "a"), begin(2, "b")])?;
    let change = ChartChange { chart: [7; 16], chart_id: "other".into(), version: "2.0.0".into() };
    let mut commit = steps(1, [1]);
    commit.records[0].kind = RecordKind::Migrated;
    commit.snapshot = Some(Box::new(snapshot(1)));
    commit.migrated = Some(Box::new(change));
    store.commit(&[commit])?;
    let chart = |id: &str| -> Result<_, Nonconformance> {
        Ok(store.find(id)?.map(|row| (row.new.chart, row.new.chart_id, row.new.version)))
    };
    same("its chart", chart("a")?, Some(([7; 16], "other".into(), "2.0.0".into())))?;
    let before = new("b");
    same("the other one", chart("b")?, Some((before.chart, before.chart_id, before.version)))?;
    let other = Filter { chart: Some("other".to_owned()), ..Filter::default() };
    same("listed by chart", store.list(&other)?.rows.len(), 1)?;
    let base =
        |at| -> Result<_, Nonconformance> { Ok(store.base(InstanceKey(1), at)?.map(|base| base.snapshot)) };
    same("the past", base(Some(0))?, Some(snapshot(0)))?;
    same("the present", base(None)?, Some(snapshot(1)))
}

fn last_steps(store: &dyn Store) -> Result<(), Nonconformance> {
    let standing =
        |id: &str| -> Result<_, Nonconformance> { Ok(store.find(id)?.map(|row| (row.step, row.updated_ms))) };
    store.commit(&[begin(1, "a"), begin(2, "b")])?;
    same("at the start", standing("a")?, Some((0, 1_000)))?;
    store.commit(&[steps(1, 1..=3)])?;
    let mut failed = steps(1, [4]);
    failed.records[0].kind = RecordKind::Failed;
    failed.records[0].at_ms = 5_000;
    store.commit(&[failed])?;
    same("a failed step is no step, but a change", standing("a")?, Some((3, 5_000)))?;
    same("the other", standing("b")?, Some((0, 1_000)))?;
    let bare = Commit { records: vec![], ..begin(3, "c") };
    store.commit(&[bare])?;
    same("without any record", standing("c")?, Some((0, 1_000)))
}

fn filters(store: &dyn Store) -> Result<(), Nonconformance> {
    let other = {
        let mut commit = begin(4, "d");
        commit.create = Some(Box::new(NewInstance { chart_id: "agenda".into(), ..new("d") }));
        commit
    };
    store.commit(&[begin(1, "a"), begin_child(2, "b", "a"), begin(3, "c"), other])?;
    let over = |status, outcome| Head { status, outcome: Some(outcome), ..Head::default() };
    store.commit(&[
        head(1, over(Status::Done, Outcome::Succeeded)),
        head(2, over(Status::Cancelled, Outcome::Cancelled)),
    ])?;
    store.commit(&[head(3, Head { wait: WaitReason::Person, ..Head::default() })])?;
    let check = |what: &str, filter: Filter, wanted: &[&str]| -> Result<(), Nonconformance> {
        let page = store.list(&filter)?;
        let ids: Vec<&str> = page.rows.iter().map(|row| &*row.new.id).collect();
        same(what, ids, wanted.to_vec())?;
        same(what, (page.total, page.next), (wanted.len() as u64, None))
    };
    let any = Filter::default;
    check("all", any(), &["d", "c", "b", "a"])?;
    check("done", Filter { statuses: vec![Status::Done], ..any() }, &["a"])?;
    check("over", Filter { statuses: vec![Status::Done, Status::Cancelled], ..any() }, &["b", "a"])?;
    check("succeeded", Filter { outcomes: vec![Outcome::Succeeded, Outcome::Stuck], ..any() }, &["a"])?;
    check("waiting for a person", Filter { waits: vec![WaitReason::Person], ..any() }, &["c"])?;
    check("of a chart", Filter { chart: Some("agenda".to_owned()), ..any() }, &["d"])?;
    check("of other charts", Filter { except: vec!["agenda".to_owned()], ..any() }, &["c", "b", "a"])?;
    check("roots", Filter { roots_only: true, ..any() }, &["d", "c", "a"])?;
    check("all at once", Filter { statuses: vec![Status::Active], roots_only: true, ..any() }, &["d", "c"])?;
    check("with this in the id", Filter { part: Some("D".to_owned()), ..any() }, &["d"])?;
    check("with what is no part of any", Filter { part: Some("%".to_owned()), ..any() }, &[])?;
    shown(store)?;
    let counts = |filter: Filter| -> Result<_, Nonconformance> {
        let mut counts: Vec<_> = store
            .tally(&filter)?
            .iter()
            .map(|one| (one.status.as_str(), one.wait.as_str(), one.is_root, one.count))
            .collect();
        counts.sort_unstable();
        Ok(counts)
    };
    let (d, c, a) =
        (("active", "nothing", true, 1), ("active", "person", true, 1), ("done", "nothing", true, 1));
    let b = ("cancelled", "nothing", false, 1);
    same("counted", counts(any())?, vec![d, c, b, a])?;
    let done = Filter {
        statuses: vec![Status::Done],
        outcomes: vec![Outcome::Succeeded],
        limit: 1,
        roots_only: true,
        ..any()
    };
    same("whatever status and page are asked for", counts(done)?, vec![d, c, a])?;
    same("of a chart", counts(Filter { chart: Some("agenda".to_owned()), ..any() })?, vec![d])?;
    check("none", Filter { chart: Some("nobody's".to_owned()), ..any() }, &[])
}

/// Every status of [`InstanceStatus`] selects the instances that have it, with the right total.
fn shown(store: &dyn Store) -> Result<(), Nonconformance> {
    let all = store.list(&Filter::default())?.rows;
    let drivens = [
        DrivenInstances::All,
        DrivenInstances::Only(Vec::new()),
        DrivenInstances::Only(vec!["a".to_owned()]),
        DrivenInstances::Only(vec!["c".to_owned(), "d".to_owned()]),
    ];
    let heads = [
        WaitReason::Work,
        WaitReason::Person,
        WaitReason::Timer,
        WaitReason::Event,
        WaitReason::Paused,
        WaitReason::Nothing,
    ]
    .into_iter()
    .flat_map(|wait| [None, Some("broken")].map(|fault| (wait, fault)))
    .flat_map(|(wait, fault)| [Status::Active, Status::Error].map(|status| (wait, fault, status)));
    let (key, was) = (all[1].key.0, all[1].head.clone());
    for (wait, fault, status) in heads {
        store.commit(&[head(key, Head { status, wait, fault: fault.map(Into::into), ..Head::default() })])?;
        for (status, driven) in
            InstanceStatus::ALL.into_iter().flat_map(|one| drivens.iter().map(move |it| (one, it)))
        {
            let filter = Filter { shown: vec![status], driven: driven.clone(), ..Filter::default() };
            let page = store.list(&filter)?;
            let rows = store.list(&Filter::default())?.rows;
            let wanted: Vec<_> = rows.iter().filter(|row| filter.shows(&row.new, &row.head)).collect();
            let what = format!("{status:?} {driven:?} with {wait:?} {fault:?}");
            same(&what, page.rows.iter().collect(), wanted)?;
            same(&what, page.total, page.rows.len() as u64)?;
        }
    }
    store.commit(&[head(key, was)]).map_err(Nonconformance::from)
}

fn pages(store: &dyn Store) -> Result<(), Nonconformance> {
    let commits: Vec<Commit> = (1..=25).map(|key| begin(key, &format!("i{key}"))).collect();
    store.commit(&commits)?;
    for limit in [1, 7, 24, 25, 26] {
        let mut filter = Filter { limit, ..Filter::default() };
        let mut keys = Vec::new();
        loop {
            let page = store.list(&filter)?;
            same("total", page.total, 25)?;
            same("no page is longer than asked for", page.rows.len() <= limit, true)?;
            keys.extend(page.rows.iter().map(|row| row.key.0));
            filter.before = page.next;
            if page.next.is_none() {
                break;
            }
        }
        same(&format!("pages of {limit}"), keys, (1..=25).rev().collect())?;
    }
    Ok(())
}

fn children(store: &dyn Store) -> Result<(), Nonconformance> {
    store.commit(&[begin(1, "a"), begin_child(2, "b", "a"), begin(3, "c"), begin_child(4, "d", "a")])?;
    store.commit(&[Commit { records: vec![record(4, 1)], ..super::sample::empty(4) }])?;
    let found = store.children("a")?;
    same("oldest first", found.iter().map(|row| (row.key.0, row.step)).collect(), vec![(2, 0), (4, 1)])?;
    same("of a child", store.children("b")?, vec![])
}
