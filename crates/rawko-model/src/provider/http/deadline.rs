//! Timeouts of a response: for its next part, and for the whole. Separate from the transport, because bytes alone do not
//! count: a server that pings, or sends one byte now and then, keeps a connection alive without responding.

use std::time::Duration;

use reqwest::Url;
use tokio::time::{Instant, timeout_at};

use super::fault;
use crate::provider::ProviderError;

/// The deadlines of one completion.
pub(super) struct Deadline {
    idle_timeout: Duration,
    completion_timeout: Duration,
    started: Instant,
    /// When the last part of the answer arrived.
    progressed: Instant,
}

impl Deadline {
    pub(super) fn new(idle_timeout: Duration, completion_timeout: Duration) -> Self {
        let now = Instant::now();
        Self { idle_timeout, completion_timeout, started: now, progressed: now }
    }

    /// A part of the answer arrived: the time for the next one starts now.
    pub(super) fn progress(&mut self) {
        self.progressed = Instant::now();
    }

    /// Waits for a future, or returns the reason that there was no time left.
    pub(super) async fn wait<T>(
        &self,
        url: &Url,
        future: impl Future<Output = T>,
    ) -> Result<T, ProviderError> {
        let (idle, whole) =
            (at(self.progressed, self.idle_timeout), at(self.started, self.completion_timeout));
        timeout_at(idle.min(whole), future).await.map_err(|_| {
            if whole <= idle {
                fault::unfinished(url, self.completion_timeout)
            } else {
                fault::silent(url, self.idle_timeout)
            }
        })
    }
}

/// Settings may hold durations that reach past the end of the clock.
fn at(start: Instant, after: Duration) -> Instant {
    const FAR: Duration = Duration::from_secs(60 * 60 * 24 * 365);
    start + after.min(FAR)
}
