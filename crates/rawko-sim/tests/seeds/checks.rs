//! The invariants that hold after every run, each with its own message.

use std::collections::{BTreeMap, BTreeSet};

use rawko_core::{Status, Value};
use rawko_store::{EffectKind, Filter, InstanceRow, RecordKind};

use crate::run::Run;
use crate::world::World;

pub(crate) fn check(run: &Run) {
    let store = run.driver.store();
    let rows = store.list(&Filter::default()).unwrap().rows;
    assert!(store.inbound(None).unwrap().is_empty(), "a message was never delivered");
    for row in &rows {
        journal_is_whole(run, row);
        nothing_is_left_open(run, row);
    }
    orders_ended_well(run);
    hub_heard_everything_once(run);
    every_call_was_audited_and_paid_once(run);
    children_belong_to_their_parents(&rows);
}

/// Steps are numbered without a gap or a repetition, time does not go back, and replaying gives the same instance.
fn journal_is_whole(run: &Run, row: &InstanceRow) {
    let records = run.driver.store().records(row.key, 0, usize::MAX).unwrap();
    let (mut expected, mut last_ms) = (0, i64::MIN);
    for record in &records {
        assert!(record.at_ms >= last_ms, "{}: time went back at step {}", row.new.id, record.step);
        last_ms = record.at_ms;
        if record.kind != RecordKind::Failed {
            assert_eq!(record.step, expected, "{}: steps {:?}", row.new.id, record.kind);
            expected += 1;
        }
    }
    let restored = run.driver.restore(row).unwrap();
    assert_eq!(restored.step() + 1, expected, "{}: the snapshot is of another step", row.new.id);
}

fn nothing_is_left_open(run: &Run, row: &InstanceRow) {
    if !row.head.status.is_over() {
        return;
    }
    let open = run.driver.store().open_effects(Some(row.key)).unwrap();
    let left = open.iter().filter(|effect| effect.kind != EffectKind::Unknown).count();
    assert_eq!(left, 0, "{} ended with open effects: {open:?}", row.new.id);
}

fn orders_ended_well(run: &Run) {
    for id in &run.orders {
        let row = run.driver.store().find(id).unwrap().unwrap();
        assert_eq!(row.head.status, Status::Done, "{id} did not end: {:?}", row.head);
        let restored = run.driver.restore(&row).unwrap();
        let output = restored.snapshot().output();
        let number = |key: &str| output.get(key).as_i64();
        assert_eq!(number("late"), Some(1), "{id}: a delayed send fired {:?} times", number("late"));
        assert_eq!(number("acks"), Some(1), "{id}: the hub's answer was taken {:?} times", number("acks"));
        let progress = output.get("progress").as_list().unwrap_or_default();
        let mut at: Vec<&str> = progress.iter().filter_map(Value::as_str).collect();
        at.sort_unstable();
        // The second parcel is stopped while it is filled.
        assert!(
            at == ["filled", "folded"] || at == ["filled", "folded", "folded"],
            "{id}: messages of its children: {at:?}"
        );
    }
}

fn hub_heard_everything_once(run: &Run) {
    let row = run.driver.store().find("hub").unwrap().unwrap();
    let restored = run.driver.restore(&row).unwrap();
    let context = restored.snapshot().context_map(restored.chart());
    let list = |key: &str| {
        let mut all: Vec<String> =
            context.get(key).as_list().unwrap_or_default().iter().map(Value::to_string).collect();
        all.sort_unstable();
        all
    };
    let mut orders: Vec<String> = run.orders.iter().map(|id| Value::str(id).to_string()).collect();
    orders.sort_unstable();
    assert_eq!(list("reports"), orders, "reports of orders to the hub");
    let mut ticks: Vec<String> = run.ticks.keys().map(u64::to_string).collect();
    ticks.sort_unstable();
    assert_eq!(list("ticks"), ticks, "acknowledged ticks");
}

fn every_call_was_audited_and_paid_once(run: &Run) {
    let services = run.driver.services();
    let world = services.as_any().downcast_ref::<World>().unwrap();
    let audit = run.driver.store().audit(None, usize::MAX).unwrap();
    let allowed: BTreeSet<&str> =
        audit.iter().filter(|line| &*line.decision == "allowed").map(|line| &*line.effect).collect();
    let mut payments: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (key, order) in &world.payments {
        assert!(allowed.contains(key.as_str()), "{key} was called without an audit line");
        payments.entry(order).or_default().push(key);
    }
    for id in &run.orders {
        let keys = payments.get(id.as_str()).cloned().unwrap_or_default();
        assert_eq!(keys.len(), 1, "{id} was paid under {keys:?}");
        let stamps = world.stamps.get(id).copied().unwrap_or_default();
        assert!(stamps <= 1, "{id} was stamped {stamps} times, which is not safe to repeat");
    }
}

fn children_belong_to_their_parents(rows: &[InstanceRow]) {
    let status: BTreeMap<&str, Status> = rows.iter().map(|row| (&*row.new.id, row.head.status)).collect();
    for row in rows {
        let Some(parent) = &row.new.parent else { continue };
        assert!(
            row.head.status.is_over(),
            "{} still runs, its parent is {:?}",
            row.new.id,
            status.get(&*parent.id)
        );
    }
}
