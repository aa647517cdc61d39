//! Forking: a new instance that continues from a past step of another. Reading the past is here; what a fork is, in
//! `rawko_instance`.

use rawko_core::Value;
use rawko_instance::{ForkSource, Receipt, with_budget};

use crate::error::HostError;
use crate::host::Host;
use crate::past;
use crate::reader::Reader;

/// What to fork.
#[derive(Clone, Debug, Default)]
pub struct Fork {
    /// The step to continue from; the last one, if none is given.
    pub at: Option<u64>,
    /// Context keys and the expressions that give their new values.
    pub set: Vec<(String, String)>,
    pub id: Option<String>,
}

impl Host {
    /// Makes a new instance from a past step. Calls that were running then are started anew; timers have the time left
    /// that they had, budgets what was left of them.
    pub async fn fork(&self, id: &str, fork: Fork) -> Result<Receipt, HostError> {
        self.fork_within(id, fork, &Value::Null).await
    }

    /// The same with another budget in place of the one that it had, key by key. What was spent before counts.
    pub async fn fork_within(&self, id: &str, fork: Fork, budget: &Value) -> Result<Receipt, HostError> {
        let inner = &self.inner;
        let source = past_step(&inner.reader, id, fork.at, budget)?;
        let new_id = match fork.id {
            Some(new) if inner.reader.key(&new)?.is_some() => return Err(HostError::Exists(new)),
            Some(new) => new,
            None => inner.new_id(source.chart.id())?,
        };
        let now_ms = inner.clock.now_ms();
        let (instance, tx) = source.fork(&fork.set, &new_id, &**inner, now_ms)?;
        inner.commit_new(instance, tx).await
    }
}

/// An instance as it was after a step (the last one, if none is given), with parts of its budget replaced.
pub fn past_step(
    reader: &Reader,
    id: &str,
    at: Option<u64>,
    budget: &Value,
) -> Result<ForkSource, HostError> {
    let row = reader.find(id)?;
    let restored = reader.snapshot(&row, at)?;
    let ledger = past::ledger_at(reader, &row, restored.snapshot.step_number())?;
    let mut new = row.new;
    new.policy = with_budget(&new.policy, budget);
    Ok(ForkSource { new, chart: restored.chart, snapshot: restored.snapshot, at_ms: restored.at_ms, ledger })
}
