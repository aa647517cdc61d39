//! `ProgressFeed`: live output of running calls for other processes, so that a terminal that joins sees text as it arrives.
//! One task listens for all of them and keeps the text of unfinished responses.

use std::sync::{Arc, Mutex};

use rawko_core::Value;
use rawko_host::{CallProgress, Partials};
use tokio::sync::broadcast;
use tokio::task::JoinHandle;

/// Number of events a slow terminal may lag behind before it misses some.
const BEHIND_MAX: usize = 4_096;

/// Ends with its last owner.
pub(super) struct ProgressFeed {
    state: Arc<Mutex<FeedState>>,
    task: JoinHandle<()>,
}

struct FeedState {
    partials: Partials,
    watchers: broadcast::Sender<CallProgress>,
}

impl ProgressFeed {
    pub(super) fn new(mut heard: broadcast::Receiver<CallProgress>) -> ProgressFeed {
        let watchers = broadcast::Sender::new(BEHIND_MAX);
        let state = Arc::new(Mutex::new(FeedState { partials: Partials::default(), watchers }));
        let shared = Arc::clone(&state);
        let task = tokio::spawn(async move {
            loop {
                match heard.recv().await {
                    Ok(told) => note(&shared, told),
                    // Missed events are recoverable from the journal.
                    Err(broadcast::error::RecvError::Lagged(_)) => {}
                    Err(broadcast::error::RecvError::Closed) => return,
                }
            }
        });
        ProgressFeed { state, task }
    }

    /// Returns the text of unfinished responses as one piece each, and everything after it.
    pub(super) fn subscribe(&self) -> (Vec<CallProgress>, broadcast::Receiver<CallProgress>) {
        let state = self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut begun = state.partials.so_far();
        for told in &mut begun {
            let text = told.data.get("text").clone();
            told.data = Value::map([("type", Value::str("text_delta")), ("text", text)]);
        }
        (begun, state.watchers.subscribe())
    }
}

impl Drop for ProgressFeed {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn note(state: &Mutex<FeedState>, told: CallProgress) {
    let mut state = state.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    match told.data.get("type").as_str() {
        Some("message_done") => state.partials.forget(&told),
        _ => state.partials.note(&told),
    }
    // Sending fails only without watchers.
    let _ = state.watchers.send(told);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(kind: &str, text: &str) -> CallProgress {
        let data = Value::map([("type", Value::str(kind)), ("text", Value::str(text))]);
        CallProgress {
            instance: "t.worker.1".into(),
            id: "complete".into(),
            name: "work:complete".into(),
            step: 2,
            data,
        }
    }

    #[tokio::test]
    async fn who_joins_in_the_middle_gets_the_whole_text_once() {
        let sender = broadcast::Sender::new(8);
        let feed = ProgressFeed::new(sender.subscribe());
        let (_, mut first) = feed.subscribe();
        sender.send(event("text_delta", "Let me ")).unwrap();
        first.recv().await.unwrap();
        let (begun, mut second) = feed.subscribe();
        assert_eq!(begun, [event("text_delta", "Let me ")]);
        sender.send(event("text_delta", "see.")).unwrap();
        assert_eq!(second.recv().await.unwrap(), event("text_delta", "see."));
        sender.send(event("message_done", "")).unwrap();
        second.recv().await.unwrap();
        assert!(feed.subscribe().0.is_empty());
    }
}
