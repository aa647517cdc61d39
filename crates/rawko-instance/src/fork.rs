//! Forking: a new instance that continues from a past step of another, optionally with other values.

use std::sync::Arc;

use rawko_core::{Chart, Invoke, Now, Snapshot, TimerPurpose, Value};

use crate::consequences::work_kind;
use crate::effects::EffectPosition;
use crate::environment::MachineEnvironment;
use crate::error::InstanceError;
use crate::instance::Instance;
use crate::ledger::Ledger;
use crate::policy::policy_from;
use crate::records::{ForkOrigin, NewInstance, Record, RecordKind};
use crate::start::created;
use crate::transaction::Transaction;

/// An instance as it was after a step.
pub struct ForkSource {
    /// Identity of the new instance.
    pub new: NewInstance,
    /// Chart of the past step.
    pub chart: Arc<Chart>,
    /// State after the past step.
    pub snapshot: Snapshot,
    /// The time of that step.
    pub at_ms: i64,
    /// Its usage up to that step.
    pub ledger: Ledger,
}

impl ForkSource {
    /// Starts an instance that continues from here, with context keys set to the values of expressions. Calls that were
    /// running start anew; timers and budgets keep their remainder.
    pub fn fork(
        self,
        set: &[(String, String)],
        id: &str,
        env: &dyn MachineEnvironment,
        now_ms: i64,
    ) -> Result<(Instance, Transaction), InstanceError> {
        let status = self.snapshot.status();
        if status.is_over() {
            let id = format!("{} at step {}", self.new.id, self.snapshot.step_number());
            return Err(InstanceError::Over { id, status });
        }
        let edits = self.evaluate(set, env, now_ms)?;
        let past = now_ms.saturating_sub(self.at_ms);
        let snapshot = self
            .snapshot
            .clone()
            .forked(&self.chart, &edits, past)
            .map_err(|why| InstanceError::Snapshot { id: self.new.id.to_string(), why })?;
        Ok(self.begin(id, snapshot, &edits, env, now_ms))
    }

    fn evaluate(
        &self,
        set: &[(String, String)],
        env: &dyn MachineEnvironment,
        now_ms: i64,
    ) -> Result<Vec<(String, Value)>, InstanceError> {
        let facts = self.new.facts();
        let now = Now::new(now_ms, env.world()).of(&facts);
        let mut edits = Vec::with_capacity(set.len());
        for (key, text) in set {
            let names = self.chart.context_names();
            if !names.iter().any(|name| &**name == key) {
                let known: Vec<&str> = names.iter().map(|name| &**name).collect();
                let why = format!("the context has no such key; it has {}", known.join(", "));
                return Err(InstanceError::BadEdit { key: key.clone(), why });
            }
            let value = self.chart.evaluate(&self.snapshot, text, now);
            let value = value.map_err(|why| InstanceError::BadEdit { key: key.clone(), why })?;
            if let Some(why) = self.chart.refuse_value(&self.snapshot, key, &value) {
                return Err(InstanceError::BadEdit { key: key.clone(), why });
            }
            edits.push((key.clone(), value));
        }
        Ok(edits)
    }

    fn begin(
        self,
        id: &str,
        snapshot: Snapshot,
        edits: &[(String, Value)],
        env: &dyn MachineEnvironment,
        now_ms: i64,
    ) -> (Instance, Transaction) {
        let step = snapshot.step_number();
        let new = NewInstance {
            id: id.into(),
            parent: None,
            origin: Some(ForkOrigin { id: Arc::clone(&self.new.id), step }),
            created_ms: now_ms,
            ..self.new
        };
        let key = env.new_key(id);
        let (mut instance, mut tx) = created(key, new, self.chart, snapshot, None, now_ms);
        instance.ledger = self.ledger;
        instance.forget_left_scopes();
        let edits = Value::map(edits.iter().map(|(name, value)| (name.as_str(), value.clone())));
        let event = tx.pack(serde_json::to_string(&edits).unwrap_or_default());
        tx.commit.records.push(Record {
            seq: 0,
            instance: key,
            step,
            at_ms: now_ms,
            kind: RecordKind::Forked,
            event,
            delta: String::new(),
            effects: String::new(),
        });
        instance.save_snapshot(&mut tx);
        for (index, invoke) in running(&instance).into_iter().enumerate() {
            let at = EffectPosition { step, index: index as u32, ms: now_ms, sends: 1 };
            let kind = work_kind(&invoke.src);
            instance.plan_invoke((invoke, kind), at, env, &mut tx);
        }
        instance.settle(env, now_ms, &mut tx);
        (instance, tx)
    }
}

/// Returns the stored form of a policy with some parts of its budget replaced.
pub fn with_budget(policy: &Arc<str>, budget: &Value) -> Arc<str> {
    let Some(parts) = budget.as_map().filter(|parts| !parts.is_empty()) else { return Arc::clone(policy) };
    let policy = policy_from(policy);
    let mut merged = policy.get("budget").as_map().cloned().unwrap_or_default();
    for (key, limit) in parts {
        merged.insert(Arc::clone(key), limit.clone());
    }
    let mut policy = policy.as_map().cloned().unwrap_or_default();
    policy.insert("budget".into(), Value::Map(merged.into()));
    serde_json::to_string(&Value::Map(policy.into())).unwrap_or_default().into()
}

/// Returns the running invocations, without those waiting for their next attempt.
fn running(instance: &Instance) -> Vec<Invoke> {
    let (chart, snapshot) = (instance.chart(), instance.snapshot());
    let waits = |id: u64| {
        let is_retry = |purpose: &TimerPurpose| matches!(purpose, TimerPurpose::InvokeRetry { invocation } if *invocation == id);
        snapshot.timers().iter().any(|timer| is_retry(&timer.purpose))
    };
    let running = snapshot.pending().filter(|known| !waits(known.id));
    running
        .map(|known| Invoke {
            invocation: known.id,
            id: chart.invocation_name(&known),
            src: known.src,
            input: known.input,
            attempt: known.attempt,
            policy: chart.node(known.node).policy.clone(),
        })
        .collect()
}
