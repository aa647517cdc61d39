//! Clean-up after instances that have ended, however they did. Separate from effects, because a chart that was cancelled
//! has none any more.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::slot::InstanceSlot;
use crate::host::HostInner;

impl HostInner {
    /// Begins the clean-up if the instance is over.
    pub(crate) fn clean_up(self: &Arc<Self>, slot: &InstanceSlot) {
        let Some(hook) = self.project.services.end_hook() else { return };
        if !slot.lock().machine.snapshot().status().is_over() {
            return;
        }
        self.endings.fetch_add(1, Ordering::SeqCst);
        let running = CleanUp(Arc::clone(self));
        let cleaning = hook(Arc::clone(&slot.id));
        self.runtime.spawn(async move {
            cleaning.await;
            drop(running);
        });
    }

    /// Waits for all clean-ups.
    pub(crate) async fn endings_over(&self) {
        let mut changes = self.changes.subscribe();
        while self.endings.load(Ordering::SeqCst) > 0 {
            if changes.changed().await.is_err() {
                return;
            }
        }
    }
}

/// A clean-up that runs; also one that panics ends.
struct CleanUp(Arc<HostInner>);

impl Drop for CleanUp {
    fn drop(&mut self) {
        self.0.endings.fetch_sub(1, Ordering::SeqCst);
        self.0.tell_waiting();
    }
}
