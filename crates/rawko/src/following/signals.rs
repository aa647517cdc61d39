//! Ctrl-C and SIGTERM: the first one pauses or parks the running work, the second one ends the process at once.

use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use rawko_host::DrainWait;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::console::abandon_session;
use crate::failure::{CommandFailure, CommandVerdict};

/// The signal that stopped this process, for the shutdown code.
static LAST: AtomicU8 = AtomicU8::new(0);
const INTERRUPTED: u8 = 1;
const TERMINATED: u8 = 2;

/// Returns the calls to wait for at shutdown, if a signal was received.
pub(crate) fn wait_for() -> Option<DrainWait> {
    match LAST.load(Ordering::SeqCst) {
        TERMINATED => Some(DrainWait::All),
        INTERRUPTED => Some(DrainWait::Unrepeatable),
        _ => None,
    }
}

/// Notes that a person paused the work with a key instead of a signal.
pub(crate) fn note_interrupt() {
    LAST.store(INTERRUPTED, Ordering::SeqCst);
}

/// A terminal and `timeout` signal the process and its group, so that one stop may arrive twice at nearly the same time.
const SAME_STOP: Duration = Duration::from_millis(500);

async fn exit_on_the_next() {
    tokio::time::sleep(SAME_STOP).await;
    let Ok(mut terminate) = signal(SignalKind::terminate()) else { return };
    let code = tokio::select! {
        _ = tokio::signal::ctrl_c() => 130,
        _ = terminate.recv() => 143,
    };
    abandon_session();
    std::process::exit(code);
}

pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    /// A signal was received and is being handled.
    came: bool,
}

impl Signals {
    /// Installs the signal handlers.
    pub(crate) fn new() -> Result<Signals, CommandFailure> {
        let listen = |kind| {
            signal(kind)
                .map_err(|error| CommandFailure::Transient(format!("cannot listen to signals: {error}")))
        };
        Ok(Signals {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            came: false,
        })
    }

    /// Waits for the first signal. Afterwards the next signal ends the process.
    pub(crate) async fn next(&mut self) -> CommandVerdict {
        if self.came {
            return std::future::pending().await;
        }
        let verdict = tokio::select! {
            _ = self.interrupt.recv() => CommandVerdict::Interrupted,
            _ = self.terminate.recv() => CommandVerdict::Terminated,
        };
        self.came = true;
        LAST.store(
            if verdict == CommandVerdict::Terminated { TERMINATED } else { INTERRUPTED },
            Ordering::SeqCst,
        );
        tokio::spawn(exit_on_the_next());
        verdict
    }
}
