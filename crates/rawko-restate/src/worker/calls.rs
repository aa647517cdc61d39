//! The calls running in this worker, by invocation. A call continues when the connection to the server breaks; the
//! retried invocation finds it here instead of starting it a second time.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rawko_instance::EffectResult;
use tokio::sync::watch;

/// After this time, an unclaimed result is dropped: another worker has taken over the invocation.
const KEPT_FOR: Duration = Duration::from_secs(600);
/// Maximum number of remembered calls whose results were dropped.
const LOST_MAX: usize = 10_000;

/// The result of a call; `None` if it was no longer awaited.
pub(super) type EndedResult = Option<EffectResult>;

#[derive(Default)]
pub(super) struct WorkerCalls {
    table: Mutex<CallTable>,
}

#[derive(Default)]
struct CallTable {
    running: HashMap<String, watch::Receiver<Option<ClaimableResult>>>,
    /// Calls that were made and whose results were dropped, oldest first.
    lost: VecDeque<String>,
}

/// A completed call and its time: a call may run for hours before its result can be claimed.
struct ClaimableResult {
    ended: EndedResult,
    at: Instant,
}

/// A handle to wait for a call of this worker.
pub(super) struct CallHandle(watch::Receiver<Option<ClaimableResult>>);

impl WorkerCalls {
    fn table(&self) -> MutexGuard<'_, CallTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn find(&self, invocation: &str) -> Option<CallHandle> {
        self.table().running.get(invocation).cloned().map(CallHandle)
    }

    /// Returns true if the call was made here and its result was dropped.
    pub(super) fn is_lost(&self, invocation: &str) -> bool {
        self.table().lost.iter().any(|lost| lost == invocation)
    }

    /// Starts a call in the background.
    pub(super) fn begin(
        &self,
        invocation: &str,
        call: impl Future<Output = EndedResult> + Send + 'static,
    ) -> CallHandle {
        let (tell, over) = watch::channel(None);
        tokio::spawn(async move {
            let ended = call.await;
            // The receiver may be gone: the result is kept for a while.
            tell.send_replace(Some(ClaimableResult { ended, at: Instant::now() }));
        });
        let mut table = self.table();
        table.sweep(Instant::now());
        table.running.insert(invocation.to_owned(), over.clone());
        CallHandle(over)
    }

    /// Removes a call whose result is in the journal.
    pub(super) fn forget(&self, invocation: &str) {
        self.table().running.remove(invocation);
    }
}

impl CallTable {
    /// Drops unclaimed results.
    fn sweep(&mut self, now: Instant) {
        let is_left = |call: &watch::Receiver<Option<ClaimableResult>>| {
            call.borrow().as_ref().is_some_and(|over| now.saturating_duration_since(over.at) > KEPT_FOR)
        };
        let left = self.running.extract_if(|_, call| is_left(call));
        self.lost.extend(left.map(|(invocation, _)| invocation));
        let surplus = self.lost.len().saturating_sub(LOST_MAX);
        self.lost.drain(..surplus);
    }
}

impl CallHandle {
    /// Returns `Err` if the task of the call is gone.
    pub(super) async fn ended(mut self) -> Result<EndedResult, watch::error::RecvError> {
        let over = self.0.wait_for(Option::is_some).await?;
        Ok(over.as_ref().and_then(|over| over.ended.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_comes_again_finds_the_call_that_runs() {
        let calls = WorkerCalls::default();
        let (answer, waiting) = tokio::sync::oneshot::channel::<()>();
        let first = calls.begin("inv_1", async move {
            let _ = waiting.await;
            None
        });
        // The connection broke: the waiting invocation is gone, the call is not.
        drop(first);
        let again = calls.find("inv_1").expect("it still runs");
        answer.send(()).expect("the call waits");
        assert_eq!(again.ended().await.expect("it ends"), None);
        calls.forget("inv_1");
        assert!(calls.find("inv_1").is_none());
    }
    #[tokio::test]
    async fn a_result_is_kept_from_when_the_call_ended() {
        let calls = WorkerCalls::default();
        let (answer, waiting) = tokio::sync::oneshot::channel::<()>();
        let call = calls.begin("inv_1", async move {
            let _ = waiting.await;
            None
        });
        let hours_later = Instant::now() + 10 * KEPT_FOR;
        calls.table().sweep(hours_later);
        assert!(calls.find("inv_1").is_some(), "it still runs");
        answer.send(()).expect("the call waits");
        call.ended().await.expect("it ends");

        calls.table().sweep(Instant::now() + KEPT_FOR / 2);
        assert!(calls.find("inv_1").is_some() && !calls.is_lost("inv_1"), "somebody may still come for it");
        calls.table().sweep(hours_later);
        assert!(calls.find("inv_1").is_none());
        assert!(calls.is_lost("inv_1"), "that it was made is not forgotten");
        assert!(!calls.is_lost("inv_2"));
    }

    #[test]
    fn the_oldest_of_the_lost_are_forgotten_first() {
        let mut table = CallTable::default();
        table.lost.extend((0..=LOST_MAX).map(|number| format!("inv_{number}")));
        table.sweep(Instant::now());
        assert_eq!((table.lost.len(), table.lost.front().map(String::as_str)), (LOST_MAX, Some("inv_1")));
    }
}
