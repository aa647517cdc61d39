//! Fan-outs in the storm: every item is started once per attempt and paid once, no more run at the same time than
//! allowed, and results are in the order of the list.

use std::collections::{BTreeMap, BTreeSet};

use rawko_core::{Effect, Status, Value, split_item_name};
use rawko_sim::driver::CallRequest;
use rawko_store::{EffectKind, InstanceRow, Store};

use crate::run::Run;

/// `max_concurrent` of the payer's bills.
const BILLS_AT_ONCE: usize = 3;

/// Holds at the moment of every call.
pub(crate) fn check_concurrency(store: &dyn Store, request: &CallRequest) {
    if &*request.instance != "payer" || &*request.effect.name != "charge" {
        return;
    }
    let open = store.open_effects(Some(request.effect.instance)).unwrap();
    let running = open.iter().filter(|effect| effect.kind == EffectKind::Service).count();
    assert!(running <= BILLS_AT_ONCE, "{running} bills are paid at the same time");
}

pub(crate) fn check(run: &Run, rows: &[InstanceRow]) {
    items_start_once_per_attempt(run, rows);
    bills_were_paid_once(run);
    let row = run.store.find("payer").unwrap().unwrap();
    assert_eq!(row.head.status, Status::Done, "the payer did not end: {:?}", row.head);
    let output = run.driver.restore(&row).unwrap().snapshot().output().clone();
    let list = |numbers: &[i64]| Value::list(numbers.iter().map(|number| Value::Int(*number)).collect());
    assert_eq!(*output.get("paid"), list(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]), "results are out of order");
    assert_eq!(output.get("seen").as_i64(), Some(10), "items were handled twice or not at all");
    let settled = |numbers: &[i64]| Value::map([("status", Value::str("done")), ("data", list(numbers))]);
    let folders = Value::list([[101, 102], [201, 202], [301, 302]].iter().map(|one| settled(one)).collect());
    assert_eq!(*output.get("folders"), folders, "results of nested fan-outs");
}

/// The journal has one start per item, attempt and visit.
fn items_start_once_per_attempt(run: &Run, rows: &[InstanceRow]) {
    for row in rows {
        let mut started: BTreeSet<(u64, u32)> = BTreeSet::new();
        for record in run.store.records(row.key, 0, usize::MAX).unwrap() {
            let effects: Vec<Effect> = serde_json::from_str(&record.effects).unwrap_or_default();
            for effect in effects {
                if let Effect::Invoke(invoke) = effect
                    && split_item_name(&invoke.id).is_some()
                {
                    let is_new = started.insert((invoke.invocation, invoke.attempt));
                    assert!(is_new, "{}: {} was started twice", row.new.id, invoke.id);
                }
            }
        }
    }
}

fn bills_were_paid_once(run: &Run) {
    let world = run.world.borrow();
    let mut keys: BTreeMap<&str, usize> = BTreeMap::new();
    for bill in world.payments.values().filter(|order| order.starts_with("bill-")) {
        *keys.entry(bill).or_default() += 1;
    }
    assert_eq!(keys.len(), 16, "bills that were paid: {keys:?}");
    assert!(keys.values().all(|count| *count == 1), "bills that were paid twice: {keys:?}");
}
