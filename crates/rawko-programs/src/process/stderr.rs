//! The tail of a child's stderr. Read continuously, so that a noisy child never blocks; kept for the error message if
//! the child fails.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::process::ChildStderr;
use tokio::sync::watch;
use tokio::time::timeout;

/// Enough for a stack trace.
const KEPT_BYTES: usize = 4 * 1024;
/// Time to wait for the rest after the child has ended; a process outside its group may hold the pipe open.
const REST: Duration = Duration::from_millis(500);

pub(super) struct StderrTail {
    bytes: Arc<Mutex<Vec<u8>>>,
    is_whole: watch::Receiver<bool>,
}

impl StderrTail {
    pub(super) fn of(pipe: Option<ChildStderr>) -> Self {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let (tell, is_whole) = watch::channel(false);
        let into = Arc::clone(&bytes);
        tokio::spawn(async move {
            if let Some(pipe) = pipe {
                keep(pipe, &into).await;
            }
            tell.send_replace(true);
        });
        Self { bytes, is_whole }
    }

    /// Returns the tail; complete if the child has ended.
    pub(super) async fn text(&self, has_ended: bool) -> String {
        if has_ended {
            let mut is_whole = self.is_whole.clone();
            let _ = timeout(REST, is_whole.wait_for(|is_whole| *is_whole)).await;
        }
        let bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).trim().to_owned()
    }
}

async fn keep(mut pipe: ChildStderr, into: &Mutex<Vec<u8>>) {
    let mut read = vec![0; KEPT_BYTES];
    while let Ok(length @ 1..) = pipe.read(&mut read).await {
        let mut kept = into.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(&read[..length]);
        let surplus = kept.len().saturating_sub(KEPT_BYTES);
        kept.drain(..surplus);
    }
}
