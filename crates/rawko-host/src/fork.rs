//! Forking: a new instance that continues from a past step of another. This file reads the past; `rawko_instance`
//! defines the fork itself.

use rawko_core::Value;
use rawko_instance::{ForkSource, Receipt, with_budget};

use crate::error::HostError;
use crate::host::Host;
use crate::past_usage;
use crate::reader::SnapshotReader;

/// The options of a fork.
#[derive(Clone, Debug, Default)]
pub struct Fork {
    /// The step to continue from (default: the last).
    pub at: Option<u64>,
    /// Context keys and the expressions that give their new values.
    pub set: Vec<(String, String)>,
    /// Id of the new instance (generated if omitted).
    pub id: Option<String>,
}

impl Host {
    /// Creates a new instance from a past step. Calls that were running then are started again; timers and budgets keep
    /// the remainder they had at that step.
    pub async fn fork(&self, id: &str, fork: Fork) -> Result<Receipt, HostError> {
        self.fork_within(id, fork, &Value::Null).await
    }

    /// Like [`Host::fork`], with parts of the budget replaced, key by key. Earlier spending counts.
    pub async fn fork_within(&self, id: &str, fork: Fork, budget: &Value) -> Result<Receipt, HostError> {
        let inner = &self.inner;
        let source = past_step(&inner.reader, id, fork.at, budget)?;
        let new_id = match fork.id {
            Some(new) if inner.reader.key(&new)?.is_some() => return Err(HostError::Exists(new)),
            Some(new) => new,
            None => inner.new_id(source.chart.id())?,
        };
        let now_ms = inner.clock.now_ms();
        inner.scope.add_new(&new_id);
        let (instance, tx) = source.fork(&fork.set, &new_id, &**inner, now_ms)?;
        inner.commit_new(instance, tx).await
    }
}

/// Returns an instance as it was after a step (default: the last), with parts of its budget replaced.
pub fn past_step(
    reader: &SnapshotReader,
    id: &str,
    at: Option<u64>,
    budget: &Value,
) -> Result<ForkSource, HostError> {
    let row = reader.find(id)?;
    let restored = reader.snapshot(&row, at)?;
    let ledger = past_usage::ledger_at(reader, &row, restored.snapshot.step_number())?;
    let mut new = row.new;
    // The step may lie before a migration.
    let chart = &restored.chart;
    (new.chart, new.chart_id, new.version) = (chart.hash(), chart.id().into(), chart.version().into());
    new.policy = with_budget(&new.policy, budget);
    Ok(ForkSource { new, chart: restored.chart, snapshot: restored.snapshot, at_ms: restored.at_ms, ledger })
}
