//! Deadlines: when each instance needs attention next. Absolute times in an ordered set; one task sleeps until the
//! earliest. The meaning of a deadline is in the store, so a lost one is found again at the next start.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use rawko_store::InstanceKey;
use tokio::sync::Notify;

use super::dispatch::DispatchJob;
use crate::host::HostInner;

/// The longest sleep: after a suspended machine or a moved clock, deadlines are late by no more than this.
const SLEEP_MAX: Duration = Duration::from_secs(30);

/// The subject of a deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum DeadlineKind {
    /// The next timer or expiring approval of an instance.
    Instance(InstanceKey),
    /// The retry of a refused commit.
    Again(InstanceKey),
}

#[derive(Default)]
pub(crate) struct Deadlines {
    inner: Mutex<DeadlineTable>,
    earlier: Notify,
}

#[derive(Default)]
struct DeadlineTable {
    by_time: BTreeSet<(i64, DeadlineKind)>,
    by_due: HashMap<DeadlineKind, i64>,
}

impl Deadlines {
    /// Sets or clears a deadline.
    pub(crate) fn set(&self, due: DeadlineKind, at_ms: Option<i64>) {
        let mut table = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if table.by_due.get(&due).copied() == at_ms {
            return;
        }
        if let Some(old) = table.by_due.remove(&due) {
            table.by_time.remove(&(old, due));
        }
        let Some(at_ms) = at_ms else { return };
        let first = table.by_time.first().is_none_or(|(first, _)| at_ms < *first);
        table.by_due.insert(due, at_ms);
        table.by_time.insert((at_ms, due));
        drop(table);
        if first {
            self.earlier.notify_one();
        }
    }

    /// Sets a deadline unless an earlier one is set.
    pub(crate) fn set_earlier(&self, due: DeadlineKind, at_ms: i64) {
        let known = self.inner.lock().unwrap_or_else(PoisonError::into_inner).by_due.get(&due).copied();
        if known.is_none_or(|known| at_ms < known) {
            self.set(due, Some(at_ms));
        }
    }

    /// Removes and returns the deadlines that are due, with the time of the next one.
    fn take_due(&self, now_ms: i64) -> (Vec<DeadlineKind>, Option<i64>) {
        let mut table = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let mut due = Vec::new();
        while let Some((at_ms, what)) = table.by_time.first().copied().filter(|(at_ms, _)| *at_ms <= now_ms) {
            table.by_time.remove(&(at_ms, what));
            table.by_due.remove(&what);
            due.push(what);
        }
        (due, table.by_time.first().map(|(at_ms, _)| *at_ms))
    }

    /// Rechecks the deadlines at once, after the clock was moved.
    pub(crate) fn wake(&self) {
        self.earlier.notify_one();
    }
}

/// Sleeps until the next deadline, for as long as the host exists.
pub(crate) async fn watch(host: Weak<HostInner>, deadlines: Arc<Deadlines>) {
    loop {
        let Some(next) = host.upgrade().map(|host| {
            let now_ms = host.clock.now_ms();
            let (due, next) = deadlines.take_due(now_ms);
            due.into_iter().for_each(|due| host.dispatch.send(DispatchJob::Due(due)));
            next.map(|at_ms| Duration::from_millis(u64::try_from(at_ms - now_ms).unwrap_or(0)))
        }) else {
            return;
        };
        let sleep = next.map_or(SLEEP_MAX, |next| next.min(SLEEP_MAX));
        tokio::select! {
            () = tokio::time::sleep(sleep) => {}
            () = deadlines.earlier.notified() => {}
        }
    }
}
