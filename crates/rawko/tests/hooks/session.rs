//! A session of Claude Code: sends hooks the way it does.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value as Json, json};
use tempfile::TempDir;

use crate::support::{RAWKO, command, directory, run};

pub(crate) const ID: &str = "1f0c5bb2-0d6e-4a59-9c6b-2f6d1d0a7f11";
pub(crate) const RUN: &str = "claude-1f0c5bb2-0d6e-4a59-9c6b-2f6d1d0a7f11";

/// A failing test, and the function that it tests.
const PROJECT: [(&str, &str); 2] = [
    ("sums.py", "def add(a, b):\n    return a - b\n"),
    (
        "test_sums.py",
        "import unittest\nfrom sums import add\n\n\nclass Sums(unittest.TestCase):\n    def test_add(self):\n        \
         self.assertEqual(add(1, 2), 3)\n",
    ),
];

/// A project that `rawko init --claude` has set up.
pub(crate) struct Session {
    pub(crate) dir: TempDir,
}

/// What Claude Code gets from a hook.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: Option<i32>,
    pub(crate) json: Json,
    pub(crate) stderr: String,
}

impl Answer {
    /// Returns `deny`, `ask`, or nothing if Claude Code's own rules decide.
    pub(crate) fn decision(&self) -> Option<&str> {
        assert_eq!(self.code, Some(0), "{}", self.stderr);
        self.json["hookSpecificOutput"]["permissionDecision"].as_str()
    }

    pub(crate) fn reason(&self) -> &str {
        let output = &self.json["hookSpecificOutput"];
        output["permissionDecisionReason"]
            .as_str()
            .or_else(|| self.json["reason"].as_str())
            .unwrap_or_default()
    }

    pub(crate) fn context(&self) -> &str {
        self.json["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default()
    }
}

impl Session {
    pub(crate) fn new() -> Session {
        let dir = directory(&PROJECT);
        let set_up = run(dir.path(), &["init", "--claude"], "");
        assert_eq!(set_up.code, Some(0), "{}", set_up.stderr);
        Session { dir }
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.path().canonicalize().unwrap()
    }

    /// Returns the command that Claude Code runs for an event.
    pub(crate) fn hook_command(&self, event: &str) -> String {
        let settings = fs::read_to_string(self.path().join(".claude/settings.json")).unwrap();
        let settings: Json = serde_json::from_str(&settings).unwrap();
        settings["hooks"][event][0]["hooks"][0]["command"].as_str().unwrap().to_owned()
    }

    /// The fields that every hook has.
    pub(crate) fn common(&self, event: &str) -> Json {
        let root = self.root();
        json!({
            "session_id": ID,
            "transcript_path": root.join("transcript.jsonl"),
            "cwd": root,
            "permission_mode": "default",
            "hook_event_name": event,
        })
    }

    pub(crate) fn send(&self, event: &str, more: &Json) -> Answer {
        let mut input = self.common(event);
        let fields = input.as_object_mut().unwrap();
        fields.extend(more.as_object().unwrap().clone());
        self.raw(event, &input.to_string())
    }

    /// Runs the configured command with any text as input.
    pub(crate) fn raw(&self, event: &str, input: &str) -> Answer {
        let folder = Path::new(RAWKO).parent().unwrap();
        let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
        self.in_shell(&self.hook_command(event), input, &path)
    }

    pub(crate) fn in_shell(&self, line: &str, input: &str, path: &str) -> Answer {
        let prepared = command(self.path(), &[]);
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", line]).current_dir(self.path());
        for (name, value) in prepared.get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        // Trust is what `rawko init` wrote.
        shell.env("PATH", path).env("CLAUDE_PROJECT_DIR", self.root()).env_remove("RAWKO_TRUST");
        let mut child =
            shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        let output = child.wait_with_output().unwrap();
        Answer {
            code: output.status.code(),
            json: serde_json::from_slice(&output.stdout).unwrap_or_default(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    pub(crate) fn before(&self, tool: &str, input: &Json) -> Answer {
        let more = json!({"tool_name": tool, "tool_input": input, "tool_use_id": format!("toolu_{tool}")});
        self.send("PreToolUse", &more)
    }

    pub(crate) fn after(&self, tool: &str, input: &Json, response: &Json) -> Answer {
        let more = json!({
            "tool_name": tool, "tool_input": input, "tool_response": response,
            "tool_use_id": format!("toolu_{tool}"),
        });
        self.send("PostToolUse", &more)
    }

    /// The edit that makes the test pass.
    pub(crate) fn edit(&self) -> Json {
        json!({"file_path": self.root().join("sums.py"), "old_string": "a - b", "new_string": "a + b"})
    }

    pub(crate) fn state(&self) -> String {
        let shown = run(self.path(), &["show", RUN, "--json"], "");
        let shown: Json = serde_json::from_str(&shown.stdout).unwrap();
        shown["configuration"][0].as_str().unwrap().to_owned()
    }

    /// Takes the session to the state in which files may change.
    pub(crate) fn approved() -> Session {
        let session = Session::new();
        session.before("ExitPlanMode", &json!({"plan": "Add instead of subtract."}));
        let approved = run(session.path(), &["approve", RUN], "");
        assert_eq!(approved.code, Some(0), "{}", approved.stderr);
        session
    }
}
