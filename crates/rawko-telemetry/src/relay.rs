//! The way from the host's threads to the one that makes spans and log lines: bounded, and never waited for. What does not
//! fit is dropped and counted; the journal has it all.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::SystemTime;

use rawko_host::Observation;

/// Observations that wait. Some hundred bytes each.
const WAITING_MAX: usize = 16_384;

/// An observation and when it was made.
pub(crate) struct Seen {
    pub(crate) observation: Observation,
    pub(crate) at: SystemTime,
}

pub(crate) struct Relay {
    /// `None` once it is closed.
    way: Mutex<Option<SyncSender<Seen>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Relay {
    /// Hands everything to `take`, in order, on a thread of its own.
    pub(crate) fn new(take: impl FnMut(Seen) + Send + 'static) -> std::io::Result<Self> {
        let (way, seen) = sync_channel(WAITING_MAX);
        let thread = std::thread::Builder::new().name("rawko-telemetry".into()).spawn(|| run(seen, take))?;
        Ok(Self { way: Mutex::new(Some(way)), thread: Mutex::new(Some(thread)) })
    }

    /// Whether there was room.
    pub(crate) fn send(&self, observation: Observation) -> bool {
        let way = self.way.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = Seen { observation, at: SystemTime::now() };
        way.as_ref().is_none_or(|way| way.try_send(seen).is_ok())
    }

    /// Waits until everything sent so far is taken.
    pub(crate) fn close(&self) {
        drop(self.way.lock().unwrap_or_else(PoisonError::into_inner).take());
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // A panic in there has been told by its own message.
            let _ = thread.join();
        }
    }
}

fn run(seen: Receiver<Seen>, mut take: impl FnMut(Seen)) {
    while let Ok(seen) = seen.recv() {
        take(seen);
    }
}
