//! An editor: the official client library in node, and the demo project, whose writes need a permission.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde::Deserialize;
use serde_json::Value as Json;
use tempfile::TempDir;

use crate::support::{RAWKO, command, directory, repository, run};

pub(crate) const TASK: &str = "Leave punctuation out of slugs, and number those that are taken";
const LIBRARY: &str = "target/tools/acp/node_modules/@agentclientprotocol/sdk/dist/v1/stable/acp.js";

/// What a step led to.
#[derive(Debug, Deserialize)]
pub(crate) struct Step {
    pub(crate) session: Option<String>,
    pub(crate) updates: Vec<Json>,
    pub(crate) permissions: Vec<Json>,
    #[serde(default)]
    pub(crate) response: Json,
    #[serde(default)]
    pub(crate) error: Json,
}

pub(crate) struct Editor {
    dir: TempDir,
}

impl Editor {
    pub(crate) fn new() -> Editor {
        let dir = directory(&[]);
        let made = run(dir.path(), &["init", "--demo", "slugs"], "");
        assert_eq!(made.code, Some(0), "{}", made.stderr);
        let editor = Editor { dir };
        let settings = editor.path().join(".rawko/config.yaml");
        let text = fs::read_to_string(&settings).unwrap();
        fs::write(settings, format!("{text}\npermissions: {{ask: [\"Write(slugs.py)\"]}}\n")).unwrap();
        let trusted = run(&editor.path(), &["trust", "--yes"], "");
        assert_eq!(trusted.code, Some(0), "{}", trusted.stderr);
        editor
    }

    pub(crate) fn path(&self) -> std::path::PathBuf {
        self.dir.path().join("slugs")
    }

    /// Starts the editor, plays steps, and closes it. Returns the steps that came to an end.
    pub(crate) fn play(&self, steps: &Json) -> Vec<Step> {
        let library = repository().join(LIBRARY);
        assert!(library.exists(), "run `cargo xtask tools` first: {} is missing", library.display());
        let prepared = command(&self.path(), &[]);
        let mut node = Command::new("node");
        node.arg(repository().join("tests/tools/acp/client.mjs"));
        node.args([&library, Path::new(RAWKO), &self.path()]).arg(steps.to_string());
        for (name, value) in prepared.get_envs() {
            match value {
                Some(value) => node.env(name, value),
                None => node.env_remove(name),
            };
        }
        // Trust is what `rawko trust` wrote.
        node.env_remove("RAWKO_TRUST");
        let output = node.current_dir(self.path()).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        let results: Vec<Json> =
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}\n{stderr}"));
        let steps = results.into_iter().filter(|result| result.get("updates").is_some());
        steps.map(|step| serde_json::from_value(step).unwrap()).collect()
    }
}
