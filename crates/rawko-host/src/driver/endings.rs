//! Clean-up after instances that have ended, however they did. Separate from effects, because a chart that was cancelled
//! has none any more.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::slot::Slot;
use crate::host::Inner;

impl Inner {
    /// Begins the clean-up if the instance is over.
    pub(crate) fn clean_up(self: &Arc<Self>, slot: &Slot) {
        let Some(hook) = self.project.services.end_hook() else { return };
        if !slot.lock().machine.snapshot().status().is_over() {
            return;
        }
        self.endings.fetch_add(1, Ordering::SeqCst);
        let running = Ending(Arc::clone(self));
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
struct Ending(Arc<Inner>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.endings.fetch_sub(1, Ordering::SeqCst);
        self.0.tell_waiting();
    }
}
