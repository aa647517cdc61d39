//! `Publisher`: sends the live output of this worker's calls to the streams that are watched. One request a second asks
//! which those are, and none while no call has output, so that unwatched work costs nothing.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rawko_core::Value;
use rawko_host::CallProgress;
use tokio::sync::broadcast;
use tokio::time::Instant;

use super::state::WorkerState;
use crate::client::{HandlerTarget, Ingress};
use crate::layout::stream::{CallOutput, CallRun, STREAM, WATCHED, handler, stream_key};

/// Time between two writes of a stream.
const BETWEEN_WRITES: Duration = Duration::from_millis(200);
/// Time between two reads of the list of watched streams.
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);
/// Text beyond this size waits for the journal.
const TEXT_MAX: usize = 256 * 1024;
/// Limit on tracked calls; later ones have no live output.
const CALLS_MAX: usize = 1_024;
/// The end of a thought that is kept, in characters.
const THOUGHT_MAX: usize = 400;

/// Timeout of a request.
const PATIENCE: Duration = Duration::from_secs(5);

/// Instance and invoke.
type PublishedKey = (Arc<str>, Arc<str>);

pub(super) struct Publisher {
    state: Arc<WorkerState>,
    ingress: Ingress,
    outputs: Mutex<HashMap<PublishedKey, TrackedOutput>>,
}

struct TrackedOutput {
    output: CallOutput,
    is_changed: bool,
    is_written: bool,
}

impl Publisher {
    pub(super) fn new(state: &Arc<WorkerState>) -> Publisher {
        // Live text that cannot be sent now is of no use later.
        let ingress = state.ingress.clone().with_patience(PATIENCE, Duration::ZERO);
        Publisher { state: Arc::clone(state), ingress, outputs: Mutex::default() }
    }

    /// Runs until it is dropped.
    pub(super) async fn run(self) {
        let heard = self.state.watchers.subscribe();
        tokio::join!(self.collect(heard), self.send());
    }

    fn outputs(&self) -> MutexGuard<'_, HashMap<PublishedKey, TrackedOutput>> {
        self.outputs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn collect(&self, mut heard: broadcast::Receiver<CallProgress>) {
        loop {
            match heard.recv().await {
                Ok(told) => note(&mut self.outputs(), &told, &self.state.boot),
                // Missed text is in the journal once the response is complete.
                Err(broadcast::error::RecvError::Lagged(_)) => {}
                Err(broadcast::error::RecvError::Closed) => return,
            }
        }
    }

    async fn send(&self) {
        let (mut watched, mut looked): (HashSet<String>, Option<Instant>) = (HashSet::new(), None);
        loop {
            tokio::time::sleep(BETWEEN_WRITES).await;
            if self.outputs().is_empty() {
                continue;
            }
            if looked.is_none_or(|at| at.elapsed() >= BETWEEN_LOOKS) {
                watched = self.watched().await;
                looked = Some(Instant::now());
            }
            let changed = take(&mut self.outputs(), &watched);
            for (stream, outputs) in changed {
                let target = HandlerTarget::object(STREAM, &stream, handler::WRITE);
                // A write that fails is repeated with the next change; nothing depends on it.
                let _ = self.ingress.look::<_, ()>(&target, &outputs).await;
            }
        }
    }

    async fn watched(&self) -> HashSet<String> {
        let target = HandlerTarget::object(STREAM, WATCHED, handler::WATCHED);
        let found = self.ingress.look::<_, Vec<String>>(&target, &self.state.now_ms()).await;
        found.unwrap_or_default().into_iter().collect()
    }
}

/// Adds a progress event to the output of its call.
fn note(outputs: &mut HashMap<PublishedKey, TrackedOutput>, told: &CallProgress, boot: &str) {
    let key = (Arc::clone(&told.instance), Arc::clone(&told.id));
    let (kind, text) = (told.data.get("type").as_str(), told.data.get("text").as_str().unwrap_or_default());
    if kind == Some("message_done") {
        if let Some(tracked) = outputs.get_mut(&key) {
            tracked.output.is_over = true;
            tracked.is_changed = true;
        }
        return;
    }
    if !outputs.contains_key(&key) && outputs.len() >= CALLS_MAX {
        return;
    }
    let new = || TrackedOutput::of(told, boot);
    let tracked = outputs.entry(key).or_insert_with(new);
    if tracked.output.run.step != told.step || tracked.output.is_over {
        let is_written = tracked.is_written;
        *tracked = TrackedOutput { is_written, ..new() };
    }
    let output = &mut tracked.output;
    match kind {
        Some("text_delta") => {
            if output.text.len() + text.len() <= TEXT_MAX {
                output.text.push_str(text);
            }
            output.last = Value::Null;
        }
        Some("reasoning_delta") => output.last = thought(&output.last, text),
        _ => output.last = told.data.clone(),
    }
    tracked.is_changed = true;
}

impl TrackedOutput {
    fn of(told: &CallProgress, boot: &str) -> TrackedOutput {
        let run = CallRun {
            instance: Arc::clone(&told.instance),
            id: Arc::clone(&told.id),
            step: told.step,
            boot: boot.to_owned(),
        };
        let name = Arc::clone(&told.name);
        let output =
            CallOutput { run, name, from: 0, text: String::new(), last: Value::Null, is_over: false };
        TrackedOutput { output, is_changed: true, is_written: false }
    }
}

/// Returns the end of a thought as one event, so that a watcher that missed pieces shows the last words too.
fn thought(last: &Value, text: &str) -> Value {
    let before = last.get("text").as_str().unwrap_or_default();
    let whole = format!("{before}{text}");
    let skipped = whole.chars().count().saturating_sub(THOUGHT_MAX);
    let end: String = whole.chars().skip(skipped).collect();
    Value::map([("type", Value::str("reasoning_delta")), ("text", Value::str(&end))])
}

/// Takes what has changed in watched streams, and removes calls that are over. The end of a call whose output was
/// written is always sent, so that nothing is left behind.
fn take(
    outputs: &mut HashMap<PublishedKey, TrackedOutput>,
    watched: &HashSet<String>,
) -> BTreeMap<String, Vec<CallOutput>> {
    let mut taken: BTreeMap<String, Vec<CallOutput>> = BTreeMap::new();
    outputs.retain(|(instance, _), tracked| {
        let stream = stream_key(instance);
        let is_wanted = if tracked.output.is_over { tracked.is_written } else { watched.contains(stream) };
        if is_wanted && tracked.is_changed {
            tracked.is_changed = false;
            tracked.is_written = true;
            taken.entry(stream.to_owned()).or_default().push(tracked.output.clone());
        }
        !tracked.output.is_over
    });
    taken
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::layout::stream::KnownOutput;

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

    #[test]
    fn only_watched_text_is_sent_and_nothing_is_left_behind() {
        let (mut outputs, none, all) = (HashMap::new(), HashSet::new(), HashSet::from(["t".to_owned()]));
        note(&mut outputs, &event("text_delta", "Let me "), "boot");
        assert!(take(&mut outputs, &none).is_empty());
        note(&mut outputs, &event("text_delta", "see."), "boot");
        let sent = take(&mut outputs, &all);
        assert_eq!(sent["t"][0].text, "Let me see.", "also the part from before it was watched");
        assert!(take(&mut outputs, &all).is_empty(), "nothing has changed");
        note(&mut outputs, &event("message_done", ""), "boot");
        let sent = take(&mut outputs, &none);
        assert!(sent["t"][0].is_over, "the end is sent even if the watcher left");
        assert!(outputs.is_empty());
    }

    #[test]
    fn a_watcher_gets_only_what_it_does_not_have() {
        let mut outputs = HashMap::new();
        note(&mut outputs, &event("text_delta", "Grüße"), "boot");
        let output = outputs.values().next().unwrap().output.clone();
        let known = |bytes: usize| [KnownOutput { run: output.run.clone(), bytes }];
        assert_eq!(output.clone().after(&known(4)).text, "ße");
        assert_eq!(output.clone().after(&[]).text, "Grüße");
        assert_eq!(output.clone().after(&known(99)).text, "Grüße", "a repeated call begins again");
        let other = KnownOutput { run: CallRun { boot: "other".into(), ..output.run.clone() }, bytes: 4 };
        assert_eq!(output.clone().after(&[other]).text, "Grüße");
    }
}
