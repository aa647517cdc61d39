//! Forking: a new instance that goes on from a past step of another, with other values if wanted.

use std::collections::VecDeque;
use std::sync::Arc;

use rawko_core::{Chart, Invoke, Now, Snapshot, TimerPurpose, Value};
use rawko_store::{Commit, Head, InstanceRow, NewInstance, Origin, Record, RecordKind};

use crate::effects::At;
use crate::error::HostError;
use crate::host::Host;
use crate::instance::plan::Plan;
use crate::instance::{Live, Receipt, Slot, policy_of, save_snapshot};
use crate::ledger::Ledger;
use crate::past;
use crate::planning::Planner;
use crate::reader::{Reader, Restored};

/// What to fork.
#[derive(Clone, Debug, Default)]
pub struct Fork {
    /// The step to go on from; the last one, if none is given.
    pub at: Option<u64>,
    /// Context keys and the expressions that give their new values.
    pub set: Vec<(String, String)>,
    pub id: Option<String>,
}

impl Host {
    /// Makes a new instance from a past step. What was running then is started anew; timers have the time left that
    /// they had, budgets what was left of them.
    pub async fn fork(&self, id: &str, fork: Fork) -> Result<Receipt, HostError> {
        self.fork_within(id, fork, &Value::Null).await
    }

    /// The same with another budget in place of the one that it had, key by key. What was spent before counts.
    pub async fn fork_within(&self, id: &str, fork: Fork, budget: &Value) -> Result<Receipt, HostError> {
        let inner = &self.inner;
        let past = Past::read(&inner.reader, id, fork.at)?.within(budget);
        let new_id = match fork.id {
            Some(new) if inner.reader.key(&new)?.is_some() => return Err(HostError::Exists(new)),
            Some(new) => new,
            None => inner.new_id(past.restored.chart.id())?,
        };
        let now_ms = inner.clock.now_ms();
        let (slot, plan) = inner.planner().fork_slot(past, &fork.set, &new_id, now_ms)?;
        inner.commit_new(slot, plan).await
    }
}

/// An instance as it was after a step, for going on from there.
pub struct Past {
    row: InstanceRow,
    restored: Restored,
    /// What it had spent.
    ledger: Ledger,
}

impl Past {
    /// The last step, if none is given.
    pub fn read(reader: &Reader, id: &str, at: Option<u64>) -> Result<Self, HostError> {
        let row = reader.find(id)?;
        let restored = reader.snapshot(&row, at)?;
        let ledger = past::ledger_at(reader, &row, restored.snapshot.step_number())?;
        Ok(Self { row, restored, ledger })
    }

    /// With another budget in place of the one that it had, key by key.
    #[must_use]
    pub fn within(mut self, budget: &Value) -> Self {
        self.row.new.policy = with_budget(&self.row.new.policy, budget);
        self
    }
}

impl Planner<'_> {
    pub(crate) fn fork_slot(
        &self,
        past: Past,
        set: &[(String, String)],
        id: &str,
        now_ms: i64,
    ) -> Result<(Arc<Slot>, Plan), HostError> {
        let Past { row, restored: Restored { chart, snapshot, at_ms, .. }, ledger } = past;
        let status = snapshot.status();
        if status.is_over() {
            let id = format!("{} at step {}", row.new.id, snapshot.step_number());
            return Err(HostError::Over { id, status });
        }
        let edits = self.evaluate(&chart, &snapshot, set, now_ms)?;
        let snapshot = snapshot
            .forked(&chart, &edits, now_ms.saturating_sub(at_ms))
            .map_err(|why| HostError::Snapshot { id: row.new.id.to_string(), why })?;
        Ok(self.begin_fork(&row, id, (chart, snapshot, ledger), &edits, now_ms))
    }

    fn evaluate(
        &self,
        chart: &Chart,
        snapshot: &Snapshot,
        set: &[(String, String)],
        now_ms: i64,
    ) -> Result<Vec<(String, Value)>, HostError> {
        let now = Now { ms: now_ms, world: &self.project.world };
        let mut edits = Vec::with_capacity(set.len());
        for (key, text) in set {
            if !chart.context_names().iter().any(|name| &**name == key) {
                let known: Vec<&str> = chart.context_names().iter().map(|name| &**name).collect();
                let why = format!("the context has no such key; it has {}", known.join(", "));
                return Err(HostError::BadEdit { key: key.clone(), why });
            }
            let value = chart.evaluate(snapshot, text, now);
            edits.push((key.clone(), value.map_err(|why| HostError::BadEdit { key: key.clone(), why })?));
        }
        Ok(edits)
    }

    fn begin_fork(
        &self,
        from: &InstanceRow,
        id: &str,
        (chart, snapshot, ledger): (Arc<Chart>, Snapshot, Ledger),
        edits: &[(String, Value)],
        now_ms: i64,
    ) -> (Arc<Slot>, Plan) {
        let key = self.around.new_key(id);
        let step = snapshot.step_number();
        let new = Arc::new(NewInstance {
            id: id.into(),
            chart: chart.hash(),
            chart_id: chart.id().into(),
            version: chart.version().into(),
            parent: None,
            origin: Some(Origin { id: Arc::clone(&from.new.id), step }),
            created_ms: now_ms,
            policy: Arc::clone(&from.new.policy),
        });
        let mut live = Live {
            chart,
            snapshot,
            new: Arc::clone(&new),
            parent: None,
            head: Head::default(),
            open: Vec::new(),
            mailbox: VecDeque::new(),
            committing: true,
            evicted: false,
            armed_ms: None,
            rests: false,
            last_ms: now_ms,
            snapshot_bytes: 0,
            delta_bytes: 0,
            calls: 0,
            policy: policy_of(&from.new.policy),
            ledger,
        };
        live.forget_left_scopes();
        let mut plan = Plan::new(key, &live);
        plan.commit = Commit { instance: key, create: Some(Box::new((*new).clone())), ..Commit::default() };
        let edits = Value::map(edits.iter().map(|(name, value)| (name.as_str(), value.clone())));
        let event = plan.pack(serde_json::to_string(&edits).unwrap_or_default());
        plan.commit.records.push(Record {
            seq: 0,
            instance: key,
            step,
            at_ms: now_ms,
            kind: RecordKind::Forked,
            event,
            delta: String::new(),
            effects: String::new(),
        });
        for (index, invoke) in running(&live).into_iter().enumerate() {
            let at = At { key, step, index: index as u32, ms: now_ms };
            self.plan_invoke(&mut live, invoke, at, &mut plan);
        }
        live.head = live.head_now();
        plan.commit.head = Some(Box::new(live.head.clone()));
        save_snapshot(&mut live, &mut plan);
        (Slot::new(key, live), plan)
    }
}

/// A policy as it is stored, with some parts of its budget replaced.
fn with_budget(policy: &Arc<str>, budget: &Value) -> Arc<str> {
    let Some(parts) = budget.as_map().filter(|parts| !parts.is_empty()) else { return Arc::clone(policy) };
    let policy = policy_of(policy);
    let mut merged = policy.get("budget").as_map().cloned().unwrap_or_default();
    for (key, limit) in parts {
        merged.insert(Arc::clone(key), limit.clone());
    }
    let mut policy = policy.as_map().cloned().unwrap_or_default();
    policy.insert("budget".into(), Value::Map(merged.into()));
    serde_json::to_string(&Value::Map(policy.into())).unwrap_or_default().into()
}

/// The invocations that were under way: not those that waited for their next attempt.
fn running(live: &Live) -> Vec<Invoke> {
    let waits = |id: u64| {
        live.snapshot.timers().iter().any(
            |timer| matches!(timer.purpose, TimerPurpose::InvokeRetry { invocation } if invocation == id),
        )
    };
    let running = live.snapshot.invocations().iter().filter(|known| !waits(known.id));
    running
        .map(|known| Invoke {
            invocation: known.id,
            id: live.chart.invoke_name(known.invoke).into(),
            src: Arc::clone(&known.src),
            input: known.input.clone(),
            attempt: known.attempt,
            policy: live.chart.node(known.node).policy.clone(),
        })
        .collect()
}
