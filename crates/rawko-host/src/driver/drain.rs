//! Graceful shutdown: no new call begins, running calls get time to finish, and calls requested meanwhile are parked
//! for the next host.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use rawko_instance::{DriverAction, EffectPlace};
use rawko_store::InstanceKey;

use super::dispatch::DispatchJob;
use crate::host::{Host, HostInner};

/// Interval at which a draining host checks for running calls.
const LOOK: Duration = Duration::from_millis(20);

/// The running calls that a stopping host waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DrainWait {
    /// All of them.
    All,
    /// Calls that the next host could not repeat safely.
    Unrepeatable,
}

impl Host {
    /// Stops beginning calls, firing timers and delivering messages, which are all stored, and waits up to `grace` for the running ones. [`Host::close`] then parks the rest.
    pub async fn drain(&self, wait: DrainWait, grace: Duration) {
        self.inner.draining.store(true, Ordering::SeqCst);
        self.inner.stopping.store(true, Ordering::SeqCst);
        let drained = async {
            while self.inner.is_busy(wait) {
                tokio::time::sleep(LOOK).await;
            }
        };
        // After the grace period, `close` aborts the calls that still run.
        let _ = tokio::time::timeout(grace, drained).await;
    }

    /// Returns the number of running calls that a stopping host would wait for.
    pub fn running_calls(&self, wait: DrainWait) -> usize {
        self.inner.running().values().filter(|call| call.counts(wait)).count()
    }

    /// Parks calls that have not begun, aborts running ones, waits until the descendants of ended instances have ended too,
    /// for the clean-up after all of them, and until every commit is on disk.
    pub async fn close(self) {
        let inner = self.inner;
        inner.draining.store(true, Ordering::SeqCst);
        inner.running().drain().for_each(|(_, call)| call.task.abort());
        inner.families_over().await;
        inner.dispatch.send(DispatchJob::Stop);
        // Waiting for the disk would block an async thread.
        let parked = tokio::task::spawn_blocking(move || {
            inner.writer.flush();
            inner.park_unbegun();
            inner.writer.flush();
        });
        let _ = parked.await;
    }
}

/// A running call.
pub(crate) struct DrainingCall {
    pub(crate) task: tokio::task::AbortHandle,
    pub(crate) may_repeat: bool,
}

impl DrainingCall {
    fn counts(&self, wait: DrainWait) -> bool {
        match wait {
            DrainWait::All => true,
            DrainWait::Unrepeatable => !self.may_repeat,
        }
    }
}

impl HostInner {
    fn is_busy(&self, wait: DrainWait) -> bool {
        self.unperformed.load(Ordering::SeqCst) > 0 || self.running().values().any(|call| call.counts(wait))
    }

    /// Returns true if an action is kept for the next host instead of being performed.
    pub(crate) fn defers(&self, action: &DriverAction) -> bool {
        let effect = match action {
            DriverAction::Run { effect, .. } => effect,
            DriverAction::Deliver { .. } => return self.leaves_rest(),
            DriverAction::Stop { .. } => return false,
        };
        if !self.draining.load(Ordering::SeqCst) {
            return false;
        }
        let mut unbegun = self.unbegun.lock().unwrap_or_else(PoisonError::into_inner);
        unbegun.push((effect.instance, EffectPlace::of(effect)));
        true
    }

    /// Returns true if messages and timers are left to the next host.
    pub(crate) fn leaves_rest(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    fn park_unbegun(self: &Arc<Self>) {
        let unbegun = std::mem::take(&mut *self.unbegun.lock().unwrap_or_else(PoisonError::into_inner));
        let mut by_instance: BTreeMap<InstanceKey, Vec<EffectPlace>> = BTreeMap::new();
        for (key, place) in unbegun {
            by_instance.entry(key).or_default().push(place);
        }
        for (key, places) in by_instance {
            self.park(key, &places);
        }
    }
}
