//! Clean-up after instances that have ended, however they did. Separate from effects, because a chart that was cancelled
//! has none any more.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::slot::InstanceSlot;
use crate::host::HostInner;

/// Rounds without an ending after which none follows: a message that reaches an instance during its commit is handled in
/// the round after that.
const QUIET_ROUNDS: u32 = 2;
/// Limit on rounds. A family has fewer generations.
const GENERATIONS_MAX: u32 = 1_000;

impl HostInner {
    /// Begins the clean-up if the instance is over.
    pub(crate) fn clean_up(self: &Arc<Self>, slot: &InstanceSlot) {
        let Some(hook) = self.project.services.end_hook() else { return };
        if !slot.lock().machine.snapshot().status().is_over() {
            return;
        }
        self.endings.fetch_add(1, Ordering::SeqCst);
        self.endings_begun.fetch_add(1, Ordering::SeqCst);
        let running = CleanUp(Arc::clone(self));
        let cleaning = hook(Arc::clone(&slot.id));
        self.runtime.spawn(async move {
            cleaning.await;
            drop(running);
        });
    }

    /// Waits until the descendants of ended instances have ended as well, and for all clean-ups. A parent ends before its
    /// children, which end by messages: each round delivers those of one generation.
    pub(crate) async fn families_over(self: &Arc<Self>) {
        let mut quiet = 0;
        for _ in 0..GENERATIONS_MAX {
            self.endings_over().await;
            if quiet == QUIET_ROUNDS {
                return;
            }
            let begun = self.endings_begun.load(Ordering::SeqCst);
            let inner = Arc::clone(self);
            // Waiting for the disk would block an async thread.
            let settled = tokio::task::spawn_blocking(move || {
                inner.dispatch.wait();
                inner.writer.flush();
            });
            if settled.await.is_err() {
                return;
            }
            let is_quiet = begun == self.endings_begun.load(Ordering::SeqCst);
            quiet = if is_quiet { quiet + 1 } else { 0 };
        }
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
