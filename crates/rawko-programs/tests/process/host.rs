//! A host that records requests and events.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use rawko_model::ToolUse;
use rawko_model::provider::StreamEvent;
use rawko_programs::program::{CancelFuture, ProgramHost};
use rawko_tools::{ToolFuture, ToolOutcome};
use tokio::sync::Notify;

#[derive(Default)]
pub(crate) struct Host {
    pub(crate) seen: Mutex<String>,
    pub(crate) text: Mutex<String>,
    pub(crate) text_came: Notify,
    /// Duration of the tool `Slow`.
    pub(crate) slow: Duration,
    /// Cancel the turn at the agent's first text.
    pub(crate) cancels_at_text: bool,
}

pub(crate) enum Runs {
    ToItsEnd,
    UntilItSpeaks,
}

impl Host {
    pub(crate) fn seen(&self) -> String {
        self.seen.lock().unwrap().clone()
    }

    pub(crate) fn text(&self) -> String {
        self.text.lock().unwrap().clone()
    }

    pub(crate) async fn text_came(&self) {
        self.text_came.notified().await;
    }

    fn see(&self, line: &str) {
        let mut seen = self.seen.lock().unwrap();
        seen.push_str(line);
        seen.push('\n');
    }
}

impl ProgramHost for Host {
    fn tool(&self, tool_use: ToolUse) -> ToolFuture<'_> {
        self.see(&format!("tool {} {}", tool_use.name, tool_use.input));
        Box::pin(async move {
            if tool_use.name == "Slow" {
                tokio::time::sleep(self.slow).await;
            }
            let is_error = tool_use.name == "Refused";
            let content = if is_error { "not in this phase" } else { "text of the file" };
            ToolOutcome { content: content.into(), is_error, ..ToolOutcome::default() }
        })
    }

    fn heard(&self, event: StreamEvent) {
        self.see(&format!("heard {}", serde_json::to_string(&event).unwrap()));
        if let StreamEvent::TextDelta { text } = event {
            self.text.lock().unwrap().push_str(&text);
            self.text_came.notify_one();
        }
    }

    fn cancelled(&self) -> CancelFuture<'_> {
        Box::pin(async {
            if !self.cancels_at_text {
                std::future::pending::<()>().await;
            }
            self.text_came().await;
        })
    }
}

/// Waits until no process has this argument. Process ids of the agent are those of its own namespace.
pub(crate) fn until_dead(case: &str, argument: &str) {
    let start = Instant::now();
    let is_alive = || {
        let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
        let lines = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
        lines.into_iter().any(|line| line.split(|byte| *byte == 0).any(|word| word == argument.as_bytes()))
    };
    while is_alive() {
        assert!(start.elapsed() < Duration::from_secs(60), "{case}: {argument} still runs");
        std::thread::yield_now();
    }
}
