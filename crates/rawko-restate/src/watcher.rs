//! `Watcher`: follows the live output of an instance's calls, which run in workers, and passes it on as progress.

use std::time::Duration;

use rawko_core::Value;
use rawko_host::{CallProgress, Clock, SystemClock};
use tokio::sync::broadcast;
use tokio::time::Instant;

use crate::client::{HandlerTarget, Ingress};
use crate::layout::stream::{CallOutput, KnownOutput, STREAM, WATCHED, WatchAsk, handler, stream_key};

/// Time between two reads of the stream.
const BETWEEN_READS: Duration = Duration::from_millis(250);
/// Time between two renewals of the lease.
const BETWEEN_LEASES: Duration = Duration::from_secs(5);

/// Timeout of a request.
const PATIENCE: Duration = Duration::from_secs(5);

pub(crate) struct Watcher {
    ingress: Ingress,
    stream: String,
    known: Vec<ForwardedCall>,
}

/// The part of a call that was passed on.
struct ForwardedCall {
    output: KnownOutput,
    /// The call without text, for its end.
    head: CallOutput,
}

impl Watcher {
    pub(crate) fn new(ingress: &Ingress, instance: &str) -> Watcher {
        // Live text that cannot be read now is of no use later.
        let ingress = ingress.clone().with_patience(PATIENCE, Duration::ZERO);
        Watcher { ingress, stream: stream_key(instance).to_owned(), known: Vec::new() }
    }

    /// Runs while there is a receiver. Without a server or a worker there is nothing to pass on.
    pub(crate) async fn run(mut self, sender: broadcast::Sender<CallProgress>) {
        let mut leased: Option<Instant> = None;
        while sender.receiver_count() > 0 {
            if leased.is_none_or(|at| at.elapsed() >= BETWEEN_LEASES) {
                let ask = WatchAsk { stream: self.stream.clone(), now_ms: SystemClock.now_ms() };
                let target = HandlerTarget::object(STREAM, WATCHED, handler::WATCH);
                let _ = self.ingress.look::<_, ()>(&target, &ask).await;
                leased = Some(Instant::now());
            }
            let target = HandlerTarget::object(STREAM, &self.stream, handler::READ);
            let known: Vec<&KnownOutput> = self.known.iter().map(|known| &known.output).collect();
            if let Ok(outputs) = self.ingress.look::<_, Vec<CallOutput>>(&target, &known).await {
                self.take(outputs).into_iter().for_each(|told| drop(sender.send(told)));
            }
            tokio::time::sleep(BETWEEN_READS).await;
        }
    }

    /// Returns the news in the outputs of all running calls.
    fn take(&mut self, outputs: Vec<CallOutput>) -> Vec<CallProgress> {
        let mut told = Vec::new();
        let is_over = |known: &ForwardedCall| outputs.iter().all(|output| output.run != known.output.run);
        for over in self.known.extract_if(.., |known| is_over(known)) {
            told.push(over.head.progress(Value::map([("type", Value::str("message_done"))])));
        }
        for output in outputs {
            let at = self.known.iter().position(|known| known.output.run == output.run);
            let before = at.map_or(&Value::Null, |at| &self.known[at].head.last);
            if !output.last.is_null() && *before != output.last {
                told.push(output.progress(output.last.clone()));
            }
            if !output.text.is_empty() {
                let data = [("type", Value::str("text_delta")), ("text", Value::str(&output.text))];
                told.push(output.progress(Value::map(data)));
            }
            let bytes = output.from + output.text.len();
            let known = ForwardedCall {
                output: KnownOutput { run: output.run.clone(), bytes },
                head: CallOutput { text: String::new(), ..output },
            };
            match at {
                Some(at) => self.known[at] = known,
                None => self.known.push(known),
            }
        }
        told
    }
}
