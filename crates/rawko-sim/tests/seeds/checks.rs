//! The invariants that hold after every run, each with its own message. That every call has its audit line is checked in
//! `world`, that a replaced host writes nothing in `run`, that nothing stalls silently in `stalls`.

use std::cell::RefCell;
use std::collections::BTreeMap;

use rawko_core::{Status, Value};
use rawko_store::{EffectKind, Filter, InstanceRow, RecordKind, Store};

use crate::fan_outs;
use crate::run::{Run, calm, receiver};
use crate::stalls;

/// The calls that the budget around the spender allows.
const BUDGET: u32 = 4;

pub(crate) fn check(run: &Run) {
    let rows = run.store.list(&Filter::default()).unwrap().rows;
    assert!(run.store.inbound(None).unwrap().is_empty(), "a message was never delivered");
    for row in &rows {
        journal_is_whole(run, row);
        nothing_is_left_open(run, row);
        stalls::check(run, row);
    }
    orders_ended_well(run);
    approvals_were_given(run);
    messages_and_ticks_were_taken_once(run);
    orders_were_paid_once(run);
    budget_was_kept(run);
    gate_was_kept(run);
    children_belong_to_their_parents(&rows);
    fan_outs::check(run, &rows);
    outcomes_are_those_without_faults(run);
}

/// Steps are numbered without a gap or a repetition, time does not go back, and replaying gives the same instance.
fn journal_is_whole(run: &Run, row: &InstanceRow) {
    let records = run.store.records(row.key, 0, usize::MAX).unwrap();
    let (mut expected, mut last_ms) = (0, i64::MIN);
    for record in &records {
        let (id, step) = (&row.new.id, record.step);
        assert_eq!(step, expected, "{id}: a step was taken twice or left out");
        assert!(record.at_ms >= last_ms, "{id}: time went back at step {step}");
        last_ms = record.at_ms;
        if record.kind != RecordKind::Failed {
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
    let open = run.store.open_effects(Some(row.key)).unwrap();
    let left = open.iter().filter(|effect| effect.kind != EffectKind::Unknown).count();
    assert_eq!(left, 0, "{} ended with open effects: {open:?}", row.new.id);
}

fn output(run: &Run, id: &str) -> Value {
    let row = run.store.find(id).unwrap().unwrap();
    run.driver.restore(&row).unwrap().snapshot().output().clone()
}

fn orders_ended_well(run: &Run) {
    for id in &run.orders {
        let row = run.store.find(id).unwrap().unwrap();
        assert_eq!(row.head.status, Status::Done, "{id} did not end: {:?}", row.head);
        let output = output(run, id);
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

/// An order passes its approval by the answer of a person or when it expires, and in no other way.
fn approvals_were_given(run: &Run) {
    for id in &run.orders {
        let audit = run.store.audit(Some(id), usize::MAX).unwrap();
        let ends = ["approved", "denied", "failed"];
        let of_person = audit.iter().filter(|line| &*line.service == "human");
        let decisions: Vec<_> = of_person.filter(|line| ends.contains(&&*line.decision)).collect();
        let [line] = decisions[..] else { panic!("{id}: the approval ended {decisions:?}") };
        let decision = &*line.decision;
        let given = run.answers.get(id).cloned().unwrap_or_default();
        let expected = match decision {
            "approved" => Value::Bool(true),
            "denied" => Value::Bool(false),
            _ if line.reason.starts_with("expired:") => Value::Null,
            _ => panic!("{id}: the approval ended with {}", line.reason),
        };
        let shown = output(run, id).get("approved").clone();
        assert_eq!(shown, expected, "{id}: the approval ended with `{decision}`");
        let was_given = shown.is_null() || given.iter().any(|approved| Value::Bool(*approved) == shown);
        assert!(was_given, "{id}: approved is {shown}, and people answered {given:?}");
    }
}

/// Returns a list in an instance's context, sorted.
fn collected(run: &Run, id: &str, key: &str) -> Vec<String> {
    let row = run.store.find(id).unwrap().unwrap();
    let restored = run.driver.restore(&row).unwrap();
    let context = restored.snapshot().context_map(restored.chart());
    let list = context.get(key).as_list().unwrap_or_default();
    let mut all: Vec<String> = list.iter().map(Value::to_string).collect();
    all.sort_unstable();
    all
}

fn messages_and_ticks_were_taken_once(run: &Run) {
    let mut orders: Vec<String> = run.orders.iter().map(|id| Value::str(id).to_string()).collect();
    orders.sort_unstable();
    assert_eq!(collected(run, "hub", "reports"), orders, "reports of orders to the hub");
    for id in ["hub", "clock"] {
        let of = run.ticks.keys().filter(|number| receiver(**number) == id);
        let mut ticks: Vec<String> = of.map(u64::to_string).collect();
        ticks.sort_unstable();
        assert_eq!(collected(run, id, "ticks"), ticks, "acknowledged ticks of the {id}");
    }
}

fn orders_were_paid_once(run: &Run) {
    let world = run.world.borrow();
    let mut payments: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (key, order) in &world.payments {
        payments.entry(order).or_default().push(key);
    }
    for id in &run.orders {
        let keys = payments.get(id.as_str()).cloned().unwrap_or_default();
        assert_eq!(keys.len(), 1, "{id} was paid under {keys:?}");
        let stamps = world.stamps.get(id).copied().unwrap_or_default();
        assert!(stamps <= 1, "{id} was stamped {stamps} times, which is not safe to repeat");
        let notices = world.notices.get(id).copied().unwrap_or_default();
        assert!(notices <= 1, "{id} was noticed {notices} times, which is not safe to repeat");
    }
}

/// Calls of the spender and its children together: no more than the budget in the world, exactly the budget in the audit.
fn budget_was_kept(run: &Run) {
    let made = run.world.borrow().purchases.get("spender").copied().unwrap_or_default();
    assert!(made <= BUDGET, "{made} calls were made with a budget of {BUDGET}");
    let audit = run.store.audit(None, usize::MAX).unwrap();
    let allowed = audit.iter().filter(|line| &*line.service == "buy" && &*line.decision == "allowed").count();
    assert_eq!(allowed, BUDGET as usize, "calls that were allowed with a budget of {BUDGET}");
}

/// Refused calls do not reach the world, which panics about unknown names, and the chart hears of each.
fn gate_was_kept(run: &Run) {
    let bought = run.world.borrow().purchases.get("warden").copied().unwrap_or_default();
    assert_eq!(bought, 0, "the child of a state that blocks `buy` bought something");
    let refused = ["refused", "refused", "refused", "error.communication"].map(Value::str);
    assert_eq!(output(run, "warden"), Value::list(refused.to_vec()), "what the warden heard");
    let audit = run.store.audit(None, usize::MAX).unwrap();
    for name in ["steal_all", "borrow", "agent:scout", "steal_one"] {
        let decisions: Vec<_> =
            audit.iter().filter(|line| &*line.service == name).map(|line| &*line.decision).collect();
        assert!(decisions.first() == Some(&"refused"), "{name}: {decisions:?}");
        assert!(!decisions.contains(&"allowed"), "{name}: {decisions:?}");
    }
}

fn children_belong_to_their_parents(rows: &[InstanceRow]) {
    let status: BTreeMap<&str, Status> = rows.iter().map(|row| (&*row.new.id, row.head.status)).collect();
    for row in rows {
        let Some(parent) = &row.new.parent else { continue };
        // Left before they could end: they must not end later by themselves.
        if ["slow", "trip"].contains(&&*parent.invoke) {
            assert_eq!(row.head.status, Status::Cancelled, "{} was not stopped with its parent", row.new.id);
        }
        let (id, parent) = (&row.new.id, status.get(&*parent.id));
        // A child that stalled has failed for its parent, and stays for a person to look at.
        let is_at_rest = row.head.status.is_over() || row.head.status == Status::Error;
        assert!(is_at_rest, "{id} still runs, its parent is {parent:?}");
    }
}

thread_local! {
    /// Outcomes of runs without faults, by the number of orders.
    static CALM: RefCell<BTreeMap<usize, Outcomes>> = const { RefCell::new(BTreeMap::new()) };
}

type Outcomes = BTreeMap<String, String>;

/// Returns the outcome of each root instance, without the parts that people or unprotected services decide.
fn outcomes(run: &Run) -> Outcomes {
    let roots = run.store.list(&Filter { roots_only: true, ..Filter::default() }).unwrap().rows;
    let outcome = |row: &InstanceRow| {
        let restored = run.driver.restore(row).unwrap();
        let places: Vec<&str> = restored.chart().leaf_paths(restored.snapshot().configuration()).collect();
        let output = restored.snapshot().output().clone();
        let output = match &*row.new.chart_id {
            "order" => Value::list(vec![output.get("late").clone(), output.get("acks").clone()]),
            _ => output,
        };
        let head = &row.head;
        (row.new.id.to_string(), format!("{:?} {:?} at {places:?}: {output}", head.status, head.outcome))
    };
    roots.iter().map(outcome).collect()
}

fn outcomes_are_those_without_faults(run: &Run) {
    let orders = run.orders.len();
    let known = CALM.with_borrow(|known| known.get(&orders).cloned());
    let expected = known.unwrap_or_else(|| {
        let expected = outcomes(&calm(orders as u64));
        CALM.with_borrow_mut(|known| known.insert(orders, expected.clone()));
        expected
    });
    assert_eq!(outcomes(run), expected, "outcomes differ from a run without faults");
}
