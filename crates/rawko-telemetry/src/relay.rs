//! Bounded queue from the host's threads to the thread that creates spans and log lines. Senders never block: when the
//! queue is full, observations are dropped and counted; the journal is complete.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::SystemTime;

use rawko_host::HostEvent;

/// Queue capacity. Each observation takes a few hundred bytes.
const WAITING_MAX: usize = 16_384;

/// Observation with its time.
pub(crate) struct TimedObservation {
    pub(crate) observation: HostEvent,
    pub(crate) at: SystemTime,
}

pub(crate) struct Relay {
    /// `None` once closed.
    way: Mutex<Option<SyncSender<TimedObservation>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Relay {
    /// Passes all observations to `take`, in order, on a separate thread.
    pub(crate) fn new(take: impl FnMut(TimedObservation) + Send + 'static) -> std::io::Result<Self> {
        let (way, seen) = sync_channel(WAITING_MAX);
        let thread = std::thread::Builder::new().name("rawko-telemetry".into()).spawn(|| run(seen, take))?;
        Ok(Self { way: Mutex::new(Some(way)), thread: Mutex::new(Some(thread)) })
    }

    /// Queues an observation. Returns false if the queue is full; after `close` observations are discarded.
    pub(crate) fn send(&self, observation: HostEvent) -> bool {
        let way = self.way.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = TimedObservation { observation, at: SystemTime::now() };
        way.as_ref().is_none_or(|way| way.try_send(seen).is_ok())
    }

    /// Waits until all queued observations are processed.
    pub(crate) fn close(&self) {
        drop(self.way.lock().unwrap_or_else(PoisonError::into_inner).take());
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // A panic in the thread has already printed its message.
            let _ = thread.join();
        }
    }
}

fn run(seen: Receiver<TimedObservation>, mut take: impl FnMut(TimedObservation)) {
    while let Ok(seen) = seen.recv() {
        take(seen);
    }
}
