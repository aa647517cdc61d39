//! The first step of an instance, for every way to start one: from outside or as a child.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use rawko_core::{Chart, Now, Snapshot, Value, start as start_untraced, start_traced};
use rustc_hash::FxHashMap;

use crate::environment::MachineEnvironment;
use crate::error::InstanceError;
use crate::fan_out::FanOutBudget;
use crate::input::effects_text;
use crate::instance::{Instance, Pace, SavedInstance};
use crate::ledger::Ledger;
use crate::policy::{policy_from, policy_text};
use crate::records::{Head, InstanceKey, NewInstance, Record, RecordKind};
use crate::transaction::Transaction;

/// An instance started from outside.
#[derive(Clone, Debug)]
pub struct NewRoot {
    /// Instance id, unique within the store.
    pub id: Arc<str>,
    /// Chart to run.
    pub chart: Arc<Chart>,
    /// Input, checked against the chart's input schema.
    pub input: Value,
    /// `{cost_usd, tokens, time, tool_calls}` for its lifetime, including all descendants; null for none.
    pub budget: Value,
}

/// Starts an instance. It does not exist until the transaction is committed.
pub fn start(
    root: NewRoot,
    env: &dyn MachineEnvironment,
    now_ms: i64,
) -> Result<(Instance, Transaction), InstanceError> {
    let NewRoot { id, chart, input, budget } = root;
    let policy = policy(budget);
    let new = NewInstance {
        id,
        chart: chart.hash(),
        chart_id: chart.id().into(),
        version: chart.version().into(),
        parent: None,
        origin: None,
        created_ms: now_ms,
        policy: policy_text(&policy),
    };
    begin(new, chart, input, None, &mut FxHashMap::default(), now_ms, env)
}

/// Begins an instance. `uncommitted` are the instances of the same commit; it is added to them.
pub(crate) fn begin(
    new: NewInstance,
    chart: Arc<Chart>,
    input: Value,
    parent: Option<InstanceKey>,
    uncommitted: &mut FxHashMap<Arc<str>, InstanceKey>,
    at_ms: i64,
    env: &dyn MachineEnvironment,
) -> Result<(Instance, Transaction), InstanceError> {
    let event = serde_json::to_string(&input).unwrap_or_default();
    let facts = new.facts();
    let (inherited, ledger) = (policy_from(&new.policy), Ledger::default());
    let gate = env.gate();
    let budget = FanOutBudget {
        instance: &new.id,
        chart: &chart,
        policy: &inherited,
        ledger: &ledger,
        calls: 0,
        gate,
    };
    let now = Now::new(at_ms, env.world()).of(&facts).admitting(&budget);
    // A panic is a bug of rawko, and stays within this instance.
    let start_chart = if env.wants_traces() { start_traced } else { start_untraced };
    let started = catch_unwind(AssertUnwindSafe(|| start_chart(&chart, input, now)));
    let (snapshot, mut step) = started.map_err(|_| InstanceError::Internal(new.id.to_string()))??;
    let key = env.new_key(&new.id);
    let (mut instance, mut tx) = created(key, new, Arc::clone(&chart), snapshot, parent, at_ms);
    tx.uncommitted = std::mem::take(uncommitted);
    tx.uncommitted.insert(Arc::clone(&instance.new.id), key);
    tx.note_trace(&chart, &mut step, env.wants_traces());
    let effects = effects_text(&step.effects);
    let record = Record {
        seq: 0,
        instance: key,
        step: step.number,
        at_ms,
        kind: RecordKind::Started,
        event: tx.pack(event),
        delta: String::new(),
        effects: tx.pack(effects.clone()),
    };
    tx.commit.records.push(record);
    // Before the effects: the snapshot is that of the first step, and its consequences have records of their own.
    instance.save_snapshot(&mut tx);
    instance.plan_effects(step, env, at_ms, &mut tx);
    tx.record_faults(|| effects);
    instance.settle(env, at_ms, &mut tx);
    *uncommitted = std::mem::take(&mut tx.uncommitted);
    Ok((instance, tx))
}

/// Creates an instance without effects, and its transaction.
pub(crate) fn created(
    key: InstanceKey,
    new: NewInstance,
    chart: Arc<Chart>,
    snapshot: Snapshot,
    parent: Option<InstanceKey>,
    at_ms: i64,
) -> (Instance, Transaction) {
    let mut tx = Transaction::new(key);
    tx.commit.create = Some(Box::new(new.clone()));
    tx.commit.head = Some(Box::default());
    let saved = SavedInstance {
        key,
        new,
        parent,
        head: Head::default(),
        open: Vec::new(),
        calls: 0,
        last_ms: at_ms,
        snapshot_bytes: 0,
        delta_bytes: 0,
        pace: Pace::default(),
    };
    (Instance::restore(saved, chart, snapshot), tx)
}

/// Returns the policy of a root: its budget, and the handling of requests to people (`permission_mode`), which callers
/// pass with the budget.
fn policy(budget: Value) -> Value {
    let mode = budget.get("permission_mode").clone();
    if mode.is_null() {
        return if budget.is_null() { Value::Null } else { Value::map([("budget", budget)]) };
    }
    let mut rest = budget.as_map().cloned().unwrap_or_default();
    rest.shift_remove("permission_mode");
    let budget = if rest.is_empty() { Value::Null } else { Value::Map(rest.into()) };
    let parts = [("budget", budget), ("permission_mode", mode)];
    Value::map(parts.into_iter().filter(|(_, part)| !part.is_null()))
}
