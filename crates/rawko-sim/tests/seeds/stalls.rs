//! No silent stall: an instance at rest has ended, is reported as stalled, or waits for something that can still happen.

use rawko_core::{Event, Now, Status, TraceEntry, Value, step_traced};
use rawko_instance::{Instance, child_id};
use rawko_store::{EffectKind, InstanceRow, Store};

use crate::run::Run;

/// Holds once nothing is due and no call is under way.
pub(crate) fn check(run: &Run, row: &InstanceRow) {
    let id = &row.new.id;
    let instance = run.driver.restore(row).unwrap();
    for effect in instance.open_effects() {
        let may_wait = matches!(effect.kind, EffectKind::Person | EffectKind::Child | EffectKind::Unknown);
        assert!(may_wait, "{id}: a call of {} was never answered", effect.name);
    }
    match row.head.status {
        Status::Done | Status::Cancelled => {}
        Status::Error => {
            assert!(instance.snapshot().failure().is_some(), "{id} stalled and gives no reason");
            assert!(!parent_waits(run, row), "{id} stalled and its parent still waits");
        }
        Status::Active => {
            invocations_are_open(&instance);
            let is_reported = row.head.fault.is_some();
            let waits = instance.open_effects().iter().any(|effect| effect.kind == EffectKind::Person);
            let stalls = !is_reported && !waits && !handles_an_event(&instance);
            let leaves: Vec<&str> =
                instance.chart().leaf_paths(instance.snapshot().configuration()).collect();
            assert!(!stalls, "{id} stalls silently in {leaves:?}");
        }
    }
}

fn parent_waits(run: &Run, row: &InstanceRow) -> bool {
    let Some(parent) = &row.new.parent else { return false };
    let parent = run.store.find(&parent.id).unwrap().unwrap();
    let open = run.store.open_effects(Some(parent.key)).unwrap();
    open.iter()
        .any(|effect| effect.kind == EffectKind::Child && *child_id(&parent.new.id, effect) == *row.new.id)
}

/// Every pending invocation has an open effect, and after all time has passed only requests to people are unanswered.
fn invocations_are_open(instance: &Instance) {
    let id = instance.id();
    for invocation in instance.snapshot().pending() {
        let of = |effect: &&rawko_store::OpenEffect| {
            effect.invocation == Some(invocation.id) && effect.kind != EffectKind::Unknown
        };
        let name = instance.chart().invocation_name(&invocation);
        match instance.open_effects().iter().find(of).map(|effect| effect.kind) {
            Some(EffectKind::Person) => {}
            Some(kind) => panic!("{id}: invoke `{name}` ({kind:?}) was never answered"),
            None => panic!("{id}: invoke `{name}` is waited for, and nothing was asked"),
        }
    }
}

/// Returns true if an event from outside has a candidate transition.
fn handles_an_event(instance: &Instance) -> bool {
    let chart = instance.chart();
    let is_own = |name: &str| ["done.", "error.", "after."].iter().any(|prefix| name.starts_with(prefix));
    chart.event_names().filter(|name| !is_own(name)).any(|name| {
        let mut copy = instance.snapshot().clone();
        let now = Now::from(i64::MAX / 2);
        let step = step_traced(chart, &mut copy, Event::named(name, Value::Null), now);
        step.is_ok_and(|step| {
            step.trace.entries.iter().any(|entry| matches!(entry, TraceEntry::Candidate { .. }))
        })
    })
}
