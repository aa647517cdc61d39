//! `Listener`: one stream, from its client's side. First what it missed, then what happens.

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
use super::hub::Command;
use super::members::{Group, Queue, queue};
use crate::http::app::App;

const STILL_HERE_EVERY: Duration = Duration::from_secs(15);

/// Tells listeners apart.
static NEXT: AtomicU64 = AtomicU64::new(0);

pub(super) struct Listener {
    app: App,
    group: Group,
    hangup: Hangup,
    closing: watch::Receiver<bool>,
    phase: Phase,
    /// One of the places for streams.
    _place: OwnedSemaphorePermit,
    /// Counted while it is there.
    _counted: Option<StreamClient>,
}

enum Phase {
    /// It has said nothing yet; `after` is where the client was.
    New {
        after: Option<u64>,
    },
    /// It tells what was missed, without being known to the hub.
    Behind(Backlog),
    /// The hub keeps what happens meanwhile; what came before `from` is still to be told.
    Joined {
        backlog: Backlog,
        from: u64,
        ticket: Ticket,
    },
    Live(Ticket),
    Ended,
}

/// A place among those who are told. Given back when the stream ends, however it does.
struct Ticket {
    queue: Queue,
    id: u64,
    group: Group,
    hub: mpsc::UnboundedSender<Command>,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        // A hub that has gone has forgotten everybody.
        let _ = self.hub.send(Command::Leave { group: self.group.clone(), id: self.id });
    }
}

impl Listener {
    pub(super) fn new(
        app: App,
        group: Group,
        after: Option<u64>,
        hangup: Hangup,
        place: OwnedSemaphorePermit,
    ) -> Listener {
        let closing = app.closing();
        let counted = app.metrics().map(rawko_telemetry::Metrics::stream_client);
        let phase = Phase::New { after };
        Listener { app, group, hangup, closing, phase, _place: place, _counted: counted }
    }

    /// Read as fast as the client takes it.
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

    /// `None`: the stream ends, and its client comes again.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            match std::mem::replace(&mut self.phase, Phase::Ended) {
                Phase::New { after } => {
                    let at = self.begin(after).await?;
                    return Some(frames::hello(at, self.app.version()));
                }
                Phase::Behind(backlog) => {
                    let (backlog, frames) = read(backlog, None).await?;
                    if frames.is_some() {
                        self.phase = Phase::Behind(backlog);
                        return frames;
                    }
                    let (ticket, from) = self.join(backlog.at()).await?;
                    self.phase = Phase::Joined { backlog, from, ticket };
                }
                Phase::Joined { backlog, from, ticket } => {
                    let (backlog, frames) = read(backlog, Some(from)).await?;
                    if frames.is_some() {
                        self.phase = Phase::Joined { backlog, from, ticket };
                        return frames;
                    }
                    self.phase = Phase::Live(ticket);
                }
                Phase::Live(mut ticket) => {
                    let next = tokio::time::timeout(STILL_HERE_EVERY, ticket.queue.next()).await;
                    let frames = next.unwrap_or_else(|_| Some(frames::still_here()))?;
                    self.phase = Phase::Live(ticket);
                    return Some(frames);
                }
                Phase::Ended => return None,
            }
        }
    }

    /// Where it begins: after what the client saw, or with what comes now.
    async fn begin(&mut self, after: Option<u64>) -> Option<u64> {
        let last = self.app.read(|app| app.reader().store().last_seq()).await.ok()?;
        let at = match after {
            // Another store's number, perhaps; nothing comes after the end.
            Some(after) => after.min(last),
            None => last,
        };
        self.phase = Phase::Behind(Backlog::new(self.app.clone(), self.group.clone(), at));
        Some(at)
    }

    async fn join(&self, at: u64) -> Option<(Ticket, u64)> {
        let hub = self.app.live().hub(&self.app).clone();
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let (member, queue) = queue(id, self.hangup.clone());
        let (reply, from) = oneshot::channel();
        let group = self.group.clone();
        hub.send(Command::Join { group: group.clone(), member, at, reply }).ok()?;
        let ticket = Ticket { queue, id, group, hub };
        Some((ticket, from.await.ok()?))
    }
}

async fn read(mut backlog: Backlog, through: Option<u64>) -> Option<(Backlog, Option<Bytes>)> {
    let reading = tokio::task::spawn_blocking(move || backlog.read(through).map(|frames| (backlog, frames)));
    reading.await.ok()?.ok()
}
