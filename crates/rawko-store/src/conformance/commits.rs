//! Cases about commits: they are atomic, and they update effects, messages, deliveries, blobs and the audit.

use super::sample::{begin, effect, empty, inbound, snapshot, steps};
use super::{ConformanceCase, Nonconformance, refused, same};
use crate::StoreError;
use crate::store::{Filter, Store};
use crate::{
    AuditLine, Blob, Commit, EffectKind, Head, Inbound, InstanceKey, KeyedDelivery, OpenEffect, RecordKind,
    WaitReason,
};
use rawko_instance::content;

pub(super) const CASES: &[ConformanceCase] = &[
    ConformanceCase { name: "a batch with one bad commit leaves nothing", run: whole_or_nothing },
    ConformanceCase { name: "what contradicts the store is refused", run: contradictions },
    ConformanceCase { name: "each step is recorded once, in order", run: steps_once },
    ConformanceCase { name: "effects are open until they are closed", run: effects },
    ConformanceCase { name: "inbound events stay until they are taken", run: messages },
    ConformanceCase { name: "a delivery is recognised, the first one stands", run: deliveries },
    ConformanceCase { name: "a blob is kept once", run: blobs },
    ConformanceCase { name: "the audit gives its last lines, oldest first", run: audit },
    ConformanceCase { name: "marks never fall", run: marks },
];

/// Returns the whole content of a store, for comparison.
fn everything(store: &dyn Store) -> Result<String, Nonconformance> {
    Ok(format!(
        "{:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?}",
        store.list(&Filter::default())?,
        store.tail(0, usize::MAX)?,
        store.open_effects(None)?,
        store.inbound(None)?,
        store.timers()?,
        store.audit(None, usize::MAX)?,
        store.marks()?,
        store.blob(&blob().hash)?,
        store.delivered(InstanceKey(1), "k")?,
    ))
}

fn blob() -> Blob {
    let body = vec![b's', 0, 255, 10];
    Blob { hash: content::hash(&body), body }
}

/// Returns a commit of instance 1 with a value in every field.
fn busy() -> Commit {
    Commit {
        head: Some(Box::new(Head { wait: WaitReason::Timer, next_due_ms: Some(5), ..Head::default() })),
        blobs: vec![blob()],
        opened: vec![effect(1, 1, 1)],
        closed: vec![(0, 0)],
        sent: vec![inbound(8, 2)],
        taken: vec![7],
        deliveries: vec![KeyedDelivery { key: "k".into(), step: 1 }],
        audit: vec![line("a", "payment")],
        ..steps(1, [1])
    }
}

fn prepared(store: &dyn Store) -> Result<(), Nonconformance> {
    let first = Commit { opened: vec![effect(1, 0, 0)], sent: vec![inbound(7, 1)], ..begin(1, "a") };
    Ok(store.commit(&[first, begin(2, "b")])?)
}

fn whole_or_nothing(store: &dyn Store) -> Result<(), Nonconformance> {
    prepared(store)?;
    let before = everything(store)?;
    refused("an id twice", store.commit(&[busy(), begin(3, "c"), begin(4, "a")]))?;
    same("after a refused batch", everything(store)?, before)?;
    same("the new one", store.find("c")?, None)?;
    store.commit(&[busy(), begin(3, "c")])?;
    let found = (store.find("c")?.is_some(), store.open_effects(None)?, store.inbound(None)?);
    same("the same again without it", found, (true, vec![effect(1, 1, 1)], vec![inbound(8, 2)]))
}

fn contradictions(store: &dyn Store) -> Result<(), Nonconformance> {
    prepared(store)?;
    let before = everything(store)?;
    refused("an id in use", store.commit(&[begin(3, "a")]))?;
    refused("a key in use", store.commit(&[begin(1, "c")]))?;
    refused("twice in one batch", store.commit(&[begin(3, "c"), begin(4, "c")]))?;
    refused("a key twice in one batch", store.commit(&[begin(3, "c"), begin(3, "d")]))?;
    refused("an unknown instance", store.commit(&[steps(77, [1])]))?;
    refused("not begun yet", store.commit(&[steps(3, [1]), begin(3, "c")]))?;
    refused("an inbound number in use", store.commit(&[Commit { sent: vec![inbound(7, 2)], ..empty(1) }]))?;
    refused("a record of another", store.commit(&[Commit { records: steps(2, [1]).records, ..empty(1) }]))?;
    refused("an effect of another", store.commit(&[Commit { opened: vec![effect(2, 1, 1)], ..empty(1) }]))?;
    same("nothing of these", everything(store)?, before)?;
    same("begun in the same batch", store.commit(&[begin(3, "c"), steps(3, [1])]), Ok(()))
}

fn steps_once(store: &dyn Store) -> Result<(), Nonconformance> {
    let failed = |step| {
        let mut commit = steps(1, [step]);
        commit.records[0].kind = RecordKind::Failed;
        commit
    };
    store.commit(&[begin(1, "a"), begin(2, "b"), steps(1, [1])])?;
    let before = everything(store)?;
    refused("a step again", store.commit(&[steps(1, [1])]))?;
    refused("an earlier one", store.commit(&[steps(1, [0])]))?;
    refused("one left out", store.commit(&[steps(1, [3])]))?;
    refused("twice in one commit", store.commit(&[steps(1, [2, 2])]))?;
    refused("twice in one batch", store.commit(&[steps(1, [2]), steps(1, [2])]))?;
    refused("a failed one out of order", store.commit(&[failed(1)]))?;
    refused("beside a good one", store.commit(&[steps(2, [1]), steps(1, [1])]))?;
    let Err(StoreError::Refused(words)) = store.commit(&[steps(1, [7])]) else {
        return Err(Nonconformance("step 7 after step 1 was taken".to_owned()));
    };
    same("instance and step are named", words.contains("`a`") && words.contains('7'), true)?;
    same("nothing of these", everything(store)?, before)?;
    same("the next one", store.commit(&[failed(2), failed(2), steps(1, [2, 3]), steps(2, [1])]), Ok(()))?;
    let mut forked = begin(3, "c");
    forked.records[0].step = 40;
    forked.snapshot = Some(Box::new(snapshot(40)));
    store.commit(&[forked])?;
    refused("a fork that begins again", store.commit(&[steps(3, [1])]))?;
    same("a fork continues where it began", store.commit(&[steps(3, [41])]), Ok(()))
}

fn effects(store: &dyn Store) -> Result<(), Nonconformance> {
    store.commit(&[begin(1, "a"), begin(2, "b")])?;
    let all = [effect(1, 1, 0), effect(1, 1, 1), effect(1, 2, 0)];
    let other = effect(2, 1, 0);
    store.commit(&[
        Commit { opened: vec![other.clone()], ..empty(2) },
        Commit { opened: all.to_vec(), ..empty(1) },
    ])?;
    same("of one", store.open_effects(Some(InstanceKey(1)))?, all.to_vec())?;
    same("of all", store.open_effects(None)?, [&all[..], std::slice::from_ref(&other)].concat())?;
    let again = OpenEffect { kind: EffectKind::Unknown, ..all[1].clone() };
    store.commit(&[Commit { opened: vec![again.clone()], closed: vec![(1, 0), (9, 9)], ..empty(1) }])?;
    same("closed and replaced", store.open_effects(Some(InstanceKey(1)))?, vec![again, all[2].clone()])?;
    store.commit(&[Commit { opened: vec![effect(2, 5, 0)], closed: vec![(5, 0)], ..empty(2) }])?;
    same("opened and closed at once", store.open_effects(Some(InstanceKey(2)))?, vec![other])?;
    for (index, kind) in (0..).zip(EffectKind::ALL) {
        let one = OpenEffect { kind, ..effect(2, 6, index) };
        store.commit(&[Commit { opened: vec![one.clone()], ..empty(2) }])?;
        same("every kind", store.open_effects(Some(InstanceKey(2)))?.pop(), Some(one))?;
    }
    Ok(())
}

fn messages(store: &dyn Store) -> Result<(), Nonconformance> {
    store.commit(&[begin(1, "a"), begin(2, "b")])?;
    let sent: Vec<Inbound> = vec![inbound(5, 2), inbound(3, 1), inbound(4, 2)];
    store.commit(&[Commit { sent, ..empty(1) }])?;
    same("in order", store.inbound(None)?, vec![inbound(3, 1), inbound(4, 2), inbound(5, 2)])?;
    same("to one", store.inbound(Some(InstanceKey(2)))?, vec![inbound(4, 2), inbound(5, 2)])?;
    store.commit(&[Commit { taken: vec![4, 99], ..empty(2) }])?;
    same("one is taken", store.inbound(Some(InstanceKey(2)))?, vec![inbound(5, 2)])?;
    store.commit(&[Commit { sent: vec![inbound(6, 1)], taken: vec![6], ..empty(1) }])?;
    same("sent and taken at once", store.inbound(Some(InstanceKey(1)))?, vec![inbound(3, 1)])
}

fn deliveries(store: &dyn Store) -> Result<(), Nonconformance> {
    store.commit(&[begin(1, "a"), begin(2, "b")])?;
    let delivered = |key: &str, step| vec![KeyedDelivery { key: key.into(), step }];
    store.commit(&[Commit { deliveries: delivered("k", 4), ..empty(1) }])?;
    store.commit(&[Commit { deliveries: delivered("k", 9), ..empty(1) }])?;
    same("the first one", store.delivered(InstanceKey(1), "k")?, Some(4))?;
    same("of another key", store.delivered(InstanceKey(1), "x")?, None)?;
    same("of another instance", store.delivered(InstanceKey(2), "k")?, None)
}

fn blobs(store: &dyn Store) -> Result<(), Nonconformance> {
    store.commit(&[Commit { blobs: vec![blob(), blob()], ..begin(1, "a") }])?;
    store.commit(&[Commit { blobs: vec![blob()], ..empty(1) }])?;
    same("blob", store.blob(&blob().hash)?, Some(blob()))?;
    same("another", store.blob(&[2; 16])?, None)
}

fn line(instance: &str, service: &str) -> AuditLine {
    AuditLine {
        at_ms: 3_000,
        instance: instance.into(),
        effect: "a/1/0".into(),
        service: service.into(),
        decision: "refused".into(),
        reason: "not on the list".to_owned(),
        provenance: "{}".to_owned(),
    }
}

fn audit(store: &dyn Store) -> Result<(), Nonconformance> {
    let lines = [line("a", "1"), line("b", "2"), line("a", "3"), line("b", "4")];
    store.commit(&[begin(1, "a"), begin(2, "b")])?;
    for one in &lines {
        store.commit(&[Commit { audit: vec![one.clone()], ..empty(1) }])?;
    }
    same("all", store.audit(None, 100)?, lines.to_vec())?;
    same("the last", store.audit(None, 2)?, lines[2..].to_vec())?;
    same("of one", store.audit(Some("a"), 100)?, vec![lines[0].clone(), lines[2].clone()])?;
    same("the last of one", store.audit(Some("a"), 1)?, vec![lines[2].clone()])
}

fn marks(store: &dyn Store) -> Result<(), Nonconformance> {
    store.commit(&[begin(6, "a"), begin(2, "b")])?;
    store.commit(&[Commit { sent: vec![inbound(40, 6), inbound(30, 6)], ..empty(2) }])?;
    store.commit(&[Commit { taken: vec![30, 40], ..empty(6) }])?;
    store.commit(&[Commit { sent: vec![inbound(10, 6)], taken: vec![10], ..empty(2) }])?;
    let marks = store.marks()?;
    same("instances and inbound events", (marks.instance, marks.inbound), (6, 40))
}
