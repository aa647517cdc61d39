//! Ctrl-C and SIGTERM: the first one parks what runs, the second one ends the process at once.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::failure::{Failure, Verdict};

pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    /// A signal came; what it asked for is under way.
    came: bool,
}

impl Signals {
    /// From here on signals are ours.
    pub(crate) fn new() -> Result<Signals, Failure> {
        let listen = |kind| {
            signal(kind).map_err(|error| Failure::Transient(format!("cannot listen to signals: {error}")))
        };
        Ok(Signals {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            came: false,
        })
    }

    /// The first signal. After it, another one is not waited for: it ends the process.
    pub(crate) async fn next(&mut self) -> Verdict {
        if self.came {
            return std::future::pending().await;
        }
        let verdict = tokio::select! {
            _ = self.interrupt.recv() => Verdict::Interrupted,
            _ = self.terminate.recv() => Verdict::Terminated,
        };
        self.came = true;
        tokio::spawn(async {
            if tokio::signal::ctrl_c().await.is_ok() {
                std::process::exit(130);
            }
        });
        verdict
    }
}
