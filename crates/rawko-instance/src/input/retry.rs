//! `Retry` and `RetryItem`: a person retries the failed invocation, or one failed item of an `each`. If the outcome of the
//! failed attempt is unknown, the new one runs under the same idempotency key.

use std::sync::Arc;

use rawko_core::Event;

use crate::environment::MachineEnvironment;
use crate::error::InstanceError;
use crate::instance::Instance;
use crate::receipt::Receipt;
use crate::transaction::Transaction;

impl Instance {
    pub(super) fn take_retry(
        &mut self,
        env: &dyn MachineEnvironment,
        now_ms: i64,
        tx: &mut Transaction,
    ) -> Result<Receipt, InstanceError> {
        self.refuse_if_paused()?;
        self.can_retry()?;
        self.refuse_if_over()?;
        self.pace.restart();
        let failures = self.snapshot.failures().iter();
        self.retrying = failures.filter_map(|failure| Some(failure.invocation()?.id)).collect();
        let receipt = self.deliver(Event::RetryRequested, env, now_ms, tx);
        self.retrying.clear();
        receipt
    }

    pub(super) fn take_item_retry(
        &mut self,
        item: Arc<str>,
        env: &dyn MachineEnvironment,
        now_ms: i64,
        tx: &mut Transaction,
    ) -> Result<Receipt, InstanceError> {
        self.refuse_if_paused()?;
        self.refuse_if_over()?;
        if let Some(why) = self.snapshot.item_retry_problem(&self.chart, &item) {
            return Err(InstanceError::ItemNotRetried { id: self.new.id.to_string(), why });
        }
        self.pace.zero_delay_steps = 0;
        self.deliver(Event::ItemRetryRequested { item }, env, now_ms, tx)
    }
}
