//! The calls that run in this worker, by the invocation that asked for each. When the way to the server breaks, a call goes on;
//! whoever is sent to run it again finds it here instead of beginning it a second time.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rawko_host::planning::EffectResult;
use tokio::sync::watch;

/// A result that nobody has come for in this time was given to another worker to find out.
const KEPT_FOR: Duration = Duration::from_secs(600);

/// How a call ended; `None`: nobody waited any more.
pub(super) type Ended = Option<EffectResult>;

#[derive(Default)]
pub(super) struct Calls {
    table: Mutex<HashMap<String, Running>>,
}

struct Running {
    ended: watch::Receiver<Option<Ended>>,
    begun: Instant,
}

/// A call of this worker's, to wait for.
pub(super) struct Call(watch::Receiver<Option<Ended>>);

impl Calls {
    fn table(&self) -> MutexGuard<'_, HashMap<String, Running>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn find(&self, invocation: &str) -> Option<Call> {
        self.table().get(invocation).map(|running| Call(running.ended.clone()))
    }

    /// Lets a call run by itself.
    pub(super) fn begin(&self, invocation: &str, call: impl Future<Output = Ended> + Send + 'static) -> Call {
        let (tell, ended) = watch::channel(None);
        tokio::spawn(async move {
            let result = call.await;
            // Nobody may be there to hear it: it is kept for a while.
            tell.send_replace(Some(result));
        });
        let mut table = self.table();
        let is_left =
            |running: &Running| running.ended.borrow().is_some() && running.begun.elapsed() > KEPT_FOR;
        table.retain(|_, running| !is_left(running));
        table.insert(invocation.to_owned(), Running { ended: ended.clone(), begun: Instant::now() });
        Call(ended)
    }

    /// Its result is in the journal.
    pub(super) fn forget(&self, invocation: &str) {
        self.table().remove(invocation);
    }
}

impl Call {
    /// `Err`: the task that ran it is gone.
    pub(super) async fn ended(mut self) -> Result<Ended, watch::error::RecvError> {
        let ended = self.0.wait_for(Option::is_some).await?;
        Ok(ended.clone().flatten())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_comes_again_finds_the_call_that_runs() {
        let calls = Calls::default();
        let (answer, waiting) = tokio::sync::oneshot::channel::<()>();
        let first = calls.begin("inv_1", async move {
            let _ = waiting.await;
            None
        });
        // The way broke: whoever waited is gone, the call is not.
        drop(first);
        let again = calls.find("inv_1").expect("it still runs");
        answer.send(()).expect("the call waits");
        assert_eq!(again.ended().await.expect("it ends"), None);
        calls.forget("inv_1");
        assert!(calls.find("inv_1").is_none());
    }
}
