//! The last line of a command's output while it runs, for people who watch. It belongs to the task that makes the call, so
//! that no tool has to pass it on.

use std::future::Future;
use std::sync::Arc;

/// Receives the last line of each piece of output.
pub type OutputWatch = Arc<dyn Fn(&str) + Send + Sync>;

/// Longer lines are cut.
const LINE_CHARS_MAX: usize = 200;

tokio::task_local! {
    static WATCH: OutputWatch;
}

/// Runs a call whose output is watched.
pub async fn with_output_watch<T>(watch: OutputWatch, call: impl Future<Output = T>) -> T {
    WATCH.scope(watch, call).await
}

/// Reports a piece of output.
pub(super) fn report(piece: &[u8]) {
    let send = |watch: &OutputWatch| {
        let text = String::from_utf8_lossy(piece);
        if let Some(line) = text.lines().rev().find(|line| !line.trim().is_empty()) {
            watch(&line.trim().chars().take(LINE_CHARS_MAX).collect::<String>());
        }
    };
    // Without a watch there is nothing to do.
    let _ = WATCH.try_with(send);
}
