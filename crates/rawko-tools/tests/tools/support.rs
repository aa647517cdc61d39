//! A project in a temporary directory, and a toolbox on it.

use std::path::{Path, PathBuf};

use rawko_core::Value;
use rawko_tools::{Clearance, Grant, GrantLayer, ToolCall, ToolOutcome, ToolSettings, Toolbox};
use serde_json::json;

pub(crate) struct Bench {
    directory: tempfile::TempDir,
    pub(crate) toolbox: Toolbox,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self::with(ToolSettings::default())
    }

    pub(crate) fn with(settings: ToolSettings) -> Self {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("project")).unwrap();
        let toolbox = Toolbox::new(&directory.path().join("project"), settings);
        Self { directory, toolbox }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.directory.path().join("project").canonicalize().unwrap()
    }

    /// A directory beside the project, which tools must not access.
    pub(crate) fn outside(&self) -> PathBuf {
        self.directory.path().canonicalize().unwrap()
    }

    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.root().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub(crate) fn text(&self, path: &str) -> String {
        std::fs::read_to_string(self.root().join(path)).unwrap()
    }

    pub(crate) async fn run(&self, name: &str, input: serde_json::Value) -> ToolOutcome {
        self.run_in(&Grant::default(), name, input).await
    }

    pub(crate) async fn run_in(&self, grant: &Grant, name: &str, input: serde_json::Value) -> ToolOutcome {
        let input = Value::from_json(input);
        self.toolbox.run(call(name, &input, &Value::NULL), grant).await
    }

    pub(crate) async fn bash(&self, command: &str) -> ToolOutcome {
        self.run("Bash", json!({ "command": command })).await
    }
}

pub(crate) fn call<'c>(name: &'c str, input: &'c Value, plan: &'c Value) -> ToolCall<'c> {
    ToolCall {
        name,
        input,
        instance: "order-1",
        plan,
        notes: &Value::NULL,
        idempotency: "order-1/3/0",
        clearance: Clearance::default(),
    }
}

pub(crate) fn allowing(names: &[&str]) -> GrantLayer {
    let allowed = Some(names.iter().map(|name| (*name).to_owned()).collect());
    GrantLayer {
        source: "the phase `research` (`phases.research.tools`)".into(),
        allowed,
        ..GrantLayer::default()
    }
}

pub(crate) fn blocking(names: &[&str]) -> GrantLayer {
    let blocked = names.iter().map(|name| (*name).to_owned()).collect();
    GrantLayer { source: "the agent `reviewer`".into(), blocked, ..GrantLayer::default() }
}

/// Returns the rule that refused the call, `ok` or `failed`.
pub(crate) fn verdict(outcome: &ToolOutcome) -> &str {
    match (&outcome.refusal, outcome.is_error) {
        (Some(refusal), _) => &refusal.rule,
        (None, true) => "failed",
        (None, false) => "ok",
    }
}

pub(crate) fn link(to: impl AsRef<Path>, at: impl AsRef<Path>) {
    std::os::unix::fs::symlink(to, at).unwrap();
}
