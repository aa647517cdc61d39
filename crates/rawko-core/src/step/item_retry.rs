//! Retrying one item of an `each` on request. Separate from the retries of the chart (`items.rs`): a person or a
//! supervisor names an item that has failed, and everything else stays as it is.

use super::StepError;
use super::items::split_item_name;
use super::run::Macrostep;
use super::trace::TraceEntry;
use crate::chart::Chart;
use crate::snapshot::{FailedWork, FanOut, ItemState, Snapshot};

/// The fan-out of an item that can be retried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FanOutHolder {
    /// It runs.
    Running(u64),
    /// It has failed, and the state is still active.
    Failed(u64),
}

impl Snapshot {
    /// Returns why an item (`reviews[3]`) cannot be retried; `None` if it can.
    pub fn item_retry_problem(&self, chart: &Chart, item: &str) -> Option<String> {
        find(self, chart, item).err()
    }
}

fn find(snapshot: &Snapshot, chart: &Chart, item: &str) -> Result<(FanOutHolder, u32), String> {
    let Some((id, index)) = split_item_name(item) else {
        return Err(format!("`{item}` is not the name of an item; write for example `reviews[3]`"));
    };
    let failed = snapshot.failures().iter().filter_map(|failure| match &failure.work {
        FailedWork::FanOut(fan_out) => Some((&**fan_out, FanOutHolder::Failed(fan_out.id))),
        FailedWork::Invocation(_) | FailedWork::Timer { .. } => None,
    });
    let running = snapshot.fan_outs().iter().map(|fan_out| (fan_out, FanOutHolder::Running(fan_out.id)));
    let mut named =
        running.chain(failed).filter(|(fan_out, _)| &*chart.tables.invoke(fan_out.invoke).id == id);
    let Some((fan_out, holder)) = named.next() else {
        return Err(format!("no `each` with the id `{id}` is active"));
    };
    if index as usize >= fan_out.len() {
        return Err(format!("`{id}` has {} items, counted from 0", fan_out.len()));
    }
    let word = match (fan_out.state(index), holder) {
        (ItemState::Failed(_), _) | (ItemState::Stopped, FanOutHolder::Failed(_)) => {
            return Ok((holder, index));
        }
        (ItemState::Waiting, _) => "has not started yet",
        (ItemState::Running(_), _) => "is running",
        (ItemState::Done(_), _) => "is done",
        (ItemState::Stopped, FanOutHolder::Running(_)) => "was stopped",
    };
    Err(format!("`{item}` {word}; only a failed item can be retried"))
}

impl Macrostep<'_> {
    /// Starts one failed item again. Items that are done or running are not touched.
    pub(super) fn handle_item_retry(&mut self, item: &str) -> Result<(), StepError> {
        let Ok((holder, index)) = find(self.snapshot, self.chart, item) else {
            self.trace(|| TraceEntry::Stale);
            return Ok(());
        };
        self.handled = true;
        match holder {
            FanOutHolder::Running(id) => {
                if let Some(fan_out) = self.fan_out_mut(id) {
                    fan_out.wait_again(index);
                }
                self.to_advance.push_back((id, None));
            }
            FanOutHolder::Failed(id) => self.retry_in_failed(id, index),
        }
        self.settle()
    }

    /// Continues a fan-out that failed as a whole: the item starts again, and so do those that the failure stopped.
    fn retry_in_failed(&mut self, id: u64, index: u32) {
        let is_its = |work: &FailedWork| matches!(work, FailedWork::FanOut(known) if known.id == id);
        let found = self.snapshot.failures().iter().find_map(|failure| match &failure.work {
            FailedWork::FanOut(known) if known.id == id => Some((**known).clone()),
            FailedWork::FanOut(_) | FailedWork::Invocation(_) | FailedWork::Timer { .. } => None,
        });
        let Some(fan_out) = found else { return };
        self.end_stall(|failure| is_its(&failure.work));
        let first = self.next_ids(fan_out.len());
        self.more_mut().fan_outs.push(FanOut::again_with(fan_out, first, index));
        self.to_advance.push_back((id, None));
    }
}
