//! Sample records for the cases: small, and all different.

use std::sync::Arc;

use crate::{
    Commit, EffectKind, Head, Inbound, InstanceKey, NewInstance, OpenEffect, ParentInvocation, Record,
    RecordKind, SavedSnapshot,
};

pub(super) const CHART: [u8; 16] = [7; 16];

pub(super) fn new(id: &str) -> NewInstance {
    NewInstance {
        id: id.into(),
        chart: CHART,
        chart_id: "order".into(),
        version: "1.0.0".into(),
        parent: None,
        origin: None,
        created_ms: 1_000,
        policy: Arc::default(),
    }
}

/// Creates an instance, with its first record and a snapshot at step 0.
pub(super) fn begin(key: i64, id: &str) -> Commit {
    Commit {
        instance: InstanceKey(key),
        create: Some(Box::new(new(id))),
        records: vec![Record { kind: RecordKind::Started, ..record(key, 0) }],
        head: Some(Box::default()),
        snapshot: Some(Box::new(snapshot(0))),
        ..Commit::default()
    }
}

pub(super) fn begin_child(key: i64, id: &str, parent: &str) -> Commit {
    let parent = ParentInvocation { id: parent.into(), invocation: 3, invoke: "pack".into(), generation: 2 };
    let mut commit = begin(key, id);
    commit.create = Some(Box::new(NewInstance { parent: Some(parent), ..new(id) }));
    commit
}

pub(super) fn record(key: i64, step: u64) -> Record {
    Record {
        seq: 0,
        instance: InstanceKey(key),
        step,
        at_ms: 1_000 + step as i64,
        kind: RecordKind::Stepped,
        event: format!(r#"{{"type":"E{step}"}}"#),
        delta: format!(r#"{{"step":{step}}}"#),
        effects: if step.is_multiple_of(2) { String::new() } else { "[]".to_owned() },
    }
}

pub(super) fn snapshot(step: u64) -> SavedSnapshot {
    SavedSnapshot { step, body: format!(r#"{{"whole":{step}}}"#) }
}

/// Returns a commit with the next steps of an instance, one record each.
pub(super) fn steps(key: i64, steps: impl IntoIterator<Item = u64>) -> Commit {
    Commit {
        instance: InstanceKey(key),
        records: steps.into_iter().map(|step| record(key, step)).collect(),
        ..Commit::default()
    }
}

/// Returns an empty commit of an instance.
pub(super) fn empty(key: i64) -> Commit {
    Commit { instance: InstanceKey(key), ..Commit::default() }
}

pub(super) fn head(key: i64, head: Head) -> Commit {
    Commit { head: Some(Box::new(head)), ..empty(key) }
}

pub(super) fn effect(key: i64, step: u64, index: u32) -> OpenEffect {
    OpenEffect {
        instance: InstanceKey(key),
        step,
        index,
        kind: EffectKind::Service,
        invocation: index.is_multiple_of(2).then_some(5),
        name: Arc::from("payment"),
        body: "{}".to_owned(),
        opened_ms: 2_000,
        due_ms: (!index.is_multiple_of(2)).then_some(9_000),
        idempotency: format!("i/{step}/{index}").into(),
        result: if index == 3 { "{}".to_owned() } else { String::new() },
        parked: index == 1,
        in_doubt: index == 2,
    }
}

pub(super) fn inbound(seq: i64, to: i64) -> Inbound {
    Inbound { seq, to: InstanceKey(to), event: format!(r#"{{"type":"M{seq}"}}"#) }
}
