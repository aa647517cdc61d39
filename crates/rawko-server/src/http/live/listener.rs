//! `LiveListener`: one stream, on its client's side. First the missed entries, then live ones.

use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::body::Bytes;
use futures_util::Stream;
use futures_util::stream::unfold;
use rawko_telemetry::StreamClient;
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot, watch};

use super::backlog::Backlog;
use super::frames;
use super::hangup::Hangup;
use super::hub::HubCommand;
use super::members::{Group, StreamQueue, queue};
use crate::http::app::App;

const STILL_HERE_EVERY: Duration = Duration::from_secs(15);

/// Source of listener ids.
static NEXT: AtomicU64 = AtomicU64::new(0);

pub(super) struct LiveListener {
    app: App,
    group: Group,
    hangup: Hangup,
    closing: watch::Receiver<bool>,
    phase: StreamPhase,
    /// Permit of the stream limit.
    _place: OwnedSemaphorePermit,
    /// Counts the client in the metrics.
    _counted: Option<StreamClient>,
}

enum StreamPhase {
    /// Nothing was sent yet; `after` is the client's position.
    New {
        after: Option<u64>,
    },
    /// Sends missed entries; not yet registered with the hub.
    Behind(Backlog),
    /// The hub queues new entries; those before `from` are still to be sent.
    Joined {
        backlog: Backlog,
        from: u64,
        ticket: HubRegistration,
    },
    Live(HubRegistration),
    Ended,
}

/// Registration with the hub. Removed when dropped, however the stream ends.
struct HubRegistration {
    queue: StreamQueue,
    id: u64,
    group: Group,
    hub: mpsc::UnboundedSender<HubCommand>,
}

impl Drop for HubRegistration {
    fn drop(&mut self) {
        // Fails only if the hub has ended.
        let _ = self.hub.send(HubCommand::Leave { group: self.group.clone(), id: self.id });
    }
}

impl LiveListener {
    pub(super) fn new(
        app: App,
        group: Group,
        after: Option<u64>,
        hangup: Hangup,
        place: OwnedSemaphorePermit,
    ) -> LiveListener {
        let closing = app.closing();
        let counted = app.metrics().map(rawko_telemetry::Metrics::stream_client);
        let phase = StreamPhase::New { after };
        LiveListener { app, group, hangup, closing, phase, _place: place, _counted: counted }
    }

    /// Streams frames at the client's pace.
    pub(super) fn frames(self) -> impl Stream<Item = Result<Bytes, Infallible>> + Send {
        unfold(self, |mut listener| async move {
            let mut closing = listener.closing.clone();
            let frames = tokio::select! {
                _ = closing.wait_for(|closing| *closing) => None,
                frames = listener.next() => frames,
            };
            frames.map(|frames| (Ok(frames), listener))
        })
    }

    /// `None`: the stream ends, and the client reconnects.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            match std::mem::replace(&mut self.phase, StreamPhase::Ended) {
                StreamPhase::New { after } => {
                    let at = self.begin(after).await?;
                    return Some(frames::hello(at, self.app.version()));
                }
                StreamPhase::Behind(backlog) => {
                    let (backlog, frames) = read(backlog, None).await?;
                    if frames.is_some() {
                        self.phase = StreamPhase::Behind(backlog);
                        return frames;
                    }
                    let (ticket, from) = self.join(backlog.at()).await?;
                    self.phase = StreamPhase::Joined { backlog, from, ticket };
                }
                StreamPhase::Joined { backlog, from, ticket } => {
                    let (backlog, frames) = read(backlog, Some(from)).await?;
                    if frames.is_some() {
                        self.phase = StreamPhase::Joined { backlog, from, ticket };
                        return frames;
                    }
                    self.phase = StreamPhase::Live(ticket);
                }
                StreamPhase::Live(mut ticket) => {
                    let next = tokio::time::timeout(STILL_HERE_EVERY, ticket.queue.next()).await;
                    let frames = next.unwrap_or_else(|_| Some(frames::still_here()))?;
                    self.phase = StreamPhase::Live(ticket);
                    return Some(frames);
                }
                StreamPhase::Ended => return None,
            }
        }
    }

    /// Returns the start position: after the client's last entry, or the end of the journal.
    async fn begin(&mut self, after: Option<u64>) -> Option<u64> {
        let last = self.app.read(|app| app.reader().store().last_seq()).await.ok()?;
        let at = match after {
            // The number may belong to another store; it must not exceed the end.
            Some(after) => after.min(last),
            None => last,
        };
        self.phase = StreamPhase::Behind(Backlog::new(self.app.clone(), self.group.clone(), at));
        Some(at)
    }

    async fn join(&self, at: u64) -> Option<(HubRegistration, u64)> {
        let hub = self.app.live().hub(&self.app).clone();
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let (member, queue) = queue(id, self.hangup.clone());
        let (reply, from) = oneshot::channel();
        let group = self.group.clone();
        hub.send(HubCommand::Join { group: group.clone(), member, at, reply }).ok()?;
        let ticket = HubRegistration { queue, id, group, hub };
        Some((ticket, from.await.ok()?))
    }
}

async fn read(mut backlog: Backlog, through: Option<u64>) -> Option<(Backlog, Option<Bytes>)> {
    let reading = tokio::task::spawn_blocking(move || backlog.read(through).map(|frames| (backlog, frames)));
    reading.await.ok()?.ok()
}
