//! A host that records requests and events, and responds as configured.

use std::path::PathBuf;
use std::sync::Mutex;

use rawko_model::ToolUse;
use rawko_model::provider::StreamEvent;
use rawko_programs::program::{
    AgentOperation, CancelFuture, DecisionFuture, OperationVerdict, ProgramHost, ReadFuture, WriteFuture,
};
use rawko_tools::ToolFuture;
use tokio::sync::Notify;

pub(crate) struct Host {
    pub(crate) seen: Mutex<String>,
    pub(crate) text_came: Notify,
    pub(crate) verdict: OperationVerdict,
    pub(crate) writes: Result<(), String>,
    /// Cancel the turn at the agent's first text.
    pub(crate) cancels_at_text: bool,
}

impl Default for Host {
    fn default() -> Self {
        Self {
            seen: Mutex::default(),
            text_came: Notify::new(),
            verdict: OperationVerdict::Allow,
            writes: Ok(()),
            cancels_at_text: false,
        }
    }
}

impl Host {
    pub(crate) fn seen(&self) -> String {
        self.seen.lock().unwrap().clone()
    }

    fn see(&self, line: &str) {
        let mut seen = self.seen.lock().unwrap();
        seen.push_str(line);
        seen.push('\n');
    }
}

/// Returns the file name only, because the folder varies.
fn name(path: &std::path::Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

impl ProgramHost for Host {
    fn tool(&self, tool_use: ToolUse) -> ToolFuture<'_> {
        panic!("a coding agent has its own tools: {tool_use:?}")
    }

    fn heard(&self, event: StreamEvent) {
        self.see(&format!("heard {}", serde_json::to_string(&event).unwrap()));
        if let StreamEvent::TextDelta { .. } = event {
            self.text_came.notify_one();
        }
    }

    fn cancelled(&self) -> CancelFuture<'_> {
        Box::pin(async {
            if !self.cancels_at_text {
                std::future::pending::<()>().await;
            }
            self.text_came.notified().await;
        })
    }

    fn permit(&self, asked: AgentOperation) -> DecisionFuture<'_> {
        self.see(&format!("asked {:?} {:?} {} {}", asked.kind, asked.tool, asked.title, asked.input));
        Box::pin(async { self.verdict.clone() })
    }

    fn read_file(&self, path: PathBuf, line: Option<u32>, limit: Option<u32>) -> ReadFuture<'_> {
        self.see(&format!("read {} from {line:?}, {limit:?} lines", name(&path)));
        Box::pin(async { Ok("the second line".to_owned()) })
    }

    fn write_file(&self, path: PathBuf, content: String) -> WriteFuture<'_> {
        self.see(&format!("write {}: {content}", name(&path)));
        Box::pin(async { self.writes.clone() })
    }
}
