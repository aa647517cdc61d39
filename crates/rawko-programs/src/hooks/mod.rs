//! Command hooks of Claude Code's settings, run around the tool calls and turns of rawko's own agents, so that a project's
//! rules hold for both. The hooks of other events are about a session of Claude Code.

mod read;
mod reply;
mod turns;

pub use turns::{HookedTurn, TurnDecision};

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rawko_core::Value;
use rawko_process::{Confinement, Launch, Profile, ProjectAccess};
use rawko_settings::Environment;
use regex::Regex;
use serde_json::{Map, Value as Json, json};

use crate::checks::process::{CheckEnd, run_with};
use reply::HookResponse;

/// The hooks of all settings files.
#[derive(Clone, Debug, Default)]
pub struct CommandHooks {
    hooks: Vec<CommandHook>,
    skipped: Vec<SkippedHook>,
}

/// A hook that does not run for rawko's agents: of another kind than `command`, or of an event of Claude Code's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedHook {
    event: String,
    kind: String,
    what: String,
    file: String,
}

impl fmt::Display for SkippedHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} `{}`) of {}", self.event, self.kind, self.what, self.file)
    }
}

#[derive(Clone, Debug)]
struct CommandHook {
    moment: HookMoment,
    /// `None` matches every tool.
    matcher: Option<Regex>,
    command: String,
    timeout: Duration,
    /// The file that contains it, as messages name it.
    file: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HookMoment {
    PreToolUse,
    PostToolUse,
    UserPromptSubmit,
    Stop,
    SubagentStop,
}

impl HookMoment {
    const ALL: [Self; 5] =
        [Self::PreToolUse, Self::PostToolUse, Self::UserPromptSubmit, Self::Stop, Self::SubagentStop];

    fn name(self) -> &'static str {
        match self {
            HookMoment::PreToolUse => "PreToolUse",
            HookMoment::PostToolUse => "PostToolUse",
            HookMoment::UserPromptSubmit => "UserPromptSubmit",
            HookMoment::Stop => "Stop",
            HookMoment::SubagentStop => "SubagentStop",
        }
    }

    /// Returns true for the end of a turn. An answer that ends the work, or none, lets it end.
    fn is_stop(self) -> bool {
        match self {
            HookMoment::Stop | HookMoment::SubagentStop => true,
            HookMoment::PreToolUse | HookMoment::PostToolUse | HookMoment::UserPromptSubmit => false,
        }
    }

    /// Returns true for the events of tool calls, whose hooks have matchers.
    fn is_about_tools(self) -> bool {
        match self {
            HookMoment::PreToolUse | HookMoment::PostToolUse => true,
            HookMoment::UserPromptSubmit | HookMoment::Stop | HookMoment::SubagentStop => false,
        }
    }
}

/// A tool call of an agent.
#[derive(Clone, Copy, Debug)]
pub struct HookedCall<'c> {
    /// The tool by its own name.
    pub tool: &'c str,
    /// The tool's input.
    pub input: &'c Value,
    /// The instance of the agent, as the id of the session.
    pub instance: &'c str,
    /// Id of the call.
    pub id: &'c str,
}

/// Where hooks run.
#[derive(Clone, Copy)]
pub struct HookScene<'s> {
    /// The root of the project.
    pub root: &'s Path,
    /// The environment of the hooks.
    pub environment: &'s Environment,
    /// The bounds of the hooks.
    pub confinement: &'s Confinement,
    /// A hook may write what the agent may.
    pub access: ProjectAccess,
}

/// The decision of the hooks before a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookDecision {
    /// No hook objects.
    Pass,
    /// A person decides on the call.
    Ask {
        /// The reason.
        why: String,
        /// The settings file of the hook.
        file: String,
    },
    /// The call must not run: the reason, and the file of the hook.
    Deny {
        /// The reason.
        why: String,
        /// The settings file of the hook.
        file: String,
    },
}

impl CommandHooks {
    /// Returns true if there are no hooks.
    pub fn is_empty(&self) -> bool {
        self.hooks.is_empty()
    }

    /// Returns the hooks that do not run here.
    pub fn skipped(&self) -> &[SkippedHook] {
        &self.skipped
    }

    /// Returns true if a hook runs before some calls: it may ask a person.
    pub fn decide_on_calls(&self) -> bool {
        self.hooks.iter().any(|hook| hook.moment == HookMoment::PreToolUse)
    }

    /// Returns true if a hook runs before calls of this tool: it may ask a person.
    pub fn looks_at(&self, tool: &str) -> bool {
        self.of(HookMoment::PreToolUse, tool).next().is_some()
    }

    /// Runs the hooks before a call, in order; the first refusal counts, then the first that asks. Rules of rawko's own
    /// decide as well, so that "allow" means nothing here.
    pub async fn before(&self, call: HookedCall<'_>, scene: HookScene<'_>) -> HookDecision {
        let mut decision = HookDecision::Pass;
        for hook in self.of(HookMoment::PreToolUse, call.tool) {
            let input = message(hook.moment, call, None, scene.root);
            let deny = |why: String| HookDecision::Deny { why, file: hook.file.clone() };
            match hook.run(&input, scene).await {
                HookResponse::Pass | HookResponse::Context(_) => {}
                HookResponse::Block(why) => return deny(why),
                HookResponse::Ask(why) => {
                    if decision == HookDecision::Pass {
                        decision = HookDecision::Ask { why, file: hook.file.clone() };
                    }
                }
                HookResponse::Changed(changed) => {
                    if let Some(why) = with_changes(&changed, &input["tool_input"]) {
                        return deny(why);
                    }
                }
            }
        }
        decision
    }

    /// Runs the hooks after a call. Returns their text for the model.
    pub async fn after(&self, call: HookedCall<'_>, response: &str, scene: HookScene<'_>) -> Option<String> {
        let mut words = Vec::new();
        for hook in self.of(HookMoment::PostToolUse, call.tool) {
            let input = message(hook.moment, call, Some(response), scene.root);
            match hook.run(&input, scene).await {
                // The call has run.
                HookResponse::Pass | HookResponse::Changed(_) | HookResponse::Ask(_) => {}
                HookResponse::Context(text) | HookResponse::Block(text) => {
                    words.push(format!("[{}] {text}", hook.file))
                }
            }
        }
        (!words.is_empty()).then(|| words.join("\n"))
    }

    fn of<'h>(&'h self, moment: HookMoment, tool: &'h str) -> impl Iterator<Item = &'h CommandHook> + 'h {
        let names = theirs(tool);
        self.hooks.iter().filter(move |hook| {
            let matches = |pattern: &Regex| names.iter().any(|name| pattern.is_match(name));
            hook.moment == moment && hook.matcher.as_ref().is_none_or(matches)
        })
    }
}

impl CommandHook {
    async fn run(&self, input: &Json, scene: HookScene<'_>) -> HookResponse {
        let HookScene { root, environment, confinement, access } = scene;
        let profile = confinement.profile_of("hooks", "", Profile::Program(access));
        let root = std::path::absolute(root).unwrap_or_else(|_| root.to_owned());
        let launch = Launch {
            args: vec!["-c".to_owned(), self.command.clone()],
            inherited: environment.all(),
            set: vec![("CLAUDE_PROJECT_DIR".to_owned(), root.display().to_string())],
            ..Launch::new("sh", profile, confinement.clone())
        };
        match run_with(launch, Some(input.to_string()), self.timeout).await {
            Ok(CheckEnd::Exited { status, stdout, stderr }) => {
                reply::read(self.moment, status.code(), &stdout, &stderr)
            }
            // A hook that cannot decide refuses: it may have been meant to.
            Ok(CheckEnd::TimedOut) => self.unknown(&format!("it took longer than {:?}", self.timeout)),
            Ok(CheckEnd::TooMuchOutput) => self.unknown("it printed too much"),
            Err(error) => self.unknown(&error.to_string()),
        }
    }

    fn unknown(&self, why: &str) -> HookResponse {
        // A refusal to stop is more work.
        if self.moment.is_stop() {
            return HookResponse::Pass;
        }
        HookResponse::Block(format!("the hook `{}` did not answer: {why}", self.command))
    }
}

/// Returns the names that Claude Code has for a tool, for matchers.
fn theirs(tool: &str) -> Vec<&str> {
    match tool {
        "PlanWrite" | "PlanUpdate" => vec![tool, "TodoWrite"],
        "AskUser" => vec![tool, "AskUserQuestion"],
        "Task" => vec![tool, "Agent"],
        _ => vec![tool],
    }
}

/// Returns the input of a hook, in Claude Code's format.
fn message(moment: HookMoment, call: HookedCall<'_>, response: Option<&str>, root: &Path) -> Json {
    let root = std::path::absolute(root).unwrap_or_else(|_| root.to_owned());
    let mut all = json!({
        "session_id": call.instance,
        "transcript_path": "",
        "cwd": root,
        "permission_mode": "default",
        "hook_event_name": moment.name(),
        "tool_name": theirs(call.tool).last().copied().unwrap_or(call.tool),
        "tool_input": input(call, &root),
        "tool_use_id": call.id,
    });
    if let (Some(all), Some(response)) = (all.as_object_mut(), response) {
        all.insert("tool_response".to_owned(), json!({"content": response}));
    }
    all
}

/// Returns the reason for a call whose input a hook changed; `None` if it is the same. The agent makes the changed call
/// itself, so that all rules judge it.
fn with_changes(changed: &Json, given: &Json) -> Option<String> {
    let (mut changed, mut given) = (changed.clone(), given.clone());
    name_file_once(&mut changed, &mut given);
    if changed == given {
        return None;
    }
    let text = changed.to_string();
    Some(match text.chars().count() > reply::TEXT_CHARS_MAX {
        true => "a hook requires another input of this call, which is too long to show".to_owned(),
        false => format!(
            "a hook requires another input of this call; make the call again with exactly this input: {text}"
        ),
    })
}

/// Removes Claude Code's key of the file, which [`input`] added: a hook may return either key, or both.
fn name_file_once(changed: &mut Json, given: &mut Json) {
    let (Some(changed), Some(given)) = (changed.as_object_mut(), given.as_object_mut()) else { return };
    let Some(path) = given.get("path").cloned() else { return };
    let known = given.remove("file_path");
    let Some(file) = changed.remove("file_path") else { return };
    let is_same = |known: &Json| match (known.as_str(), file.as_str()) {
        (Some(known), Some(file)) => Path::new(known) == Path::new(file),
        _ => *known == file,
    };
    if [known.as_ref(), Some(&path)].into_iter().flatten().any(is_same) {
        changed.entry("path").or_insert(path);
    } else {
        changed.insert("path".to_owned(), file);
    }
}

/// Adds the key under which Claude Code names a file, with an absolute path.
fn input(call: HookedCall<'_>, root: &Path) -> Json {
    let mut input: Map<String, Json> = match call.input.to_json() {
        Json::Object(map) => map,
        other => return other,
    };
    let is_file_tool = ["Read", "Write", "Edit"].contains(&call.tool);
    let path = input.get("path").and_then(Json::as_str).filter(|_| is_file_tool).map(PathBuf::from);
    if let Some(path) = path {
        input.insert("file_path".to_owned(), json!(root.join(path)));
    }
    Json::Object(input)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_hook_returns_unchanged_is_the_same_call() {
        let call = Value::from_json(json!({"path": "src/a", "content": "x"}));
        let call = HookedCall { tool: "Write", input: &call, instance: "i", id: "c" };
        let given = input(call, Path::new("/project"));
        for (changed, expected) in [
            (given.clone(), None),
            (json!({"file_path": "/project/src/a", "content": "x"}), None),
            (json!({"file_path": "/project/./src/a", "content": "x"}), None),
            (json!({"file_path": "src/a", "content": "x"}), None),
            (json!({"path": "src/a", "content": "x"}), None),
            (
                json!({"file_path": "/project/src/a", "content": "y"}),
                Some(json!({"path": "src/a", "content": "y"})),
            ),
            (
                json!({"file_path": "/project/src/b", "path": "src/a", "content": "x"}),
                Some(json!({"path": "/project/src/b", "content": "x"})),
            ),
            (
                json!({"file_path": "/project/src/a", "path": "src/b", "content": "x"}),
                Some(json!({"path": "src/b", "content": "x"})),
            ),
        ] {
            let why = with_changes(&changed, &given);
            let shown = why.map(|why| serde_json::from_str::<Json>(&why[why.find('{').unwrap()..]).unwrap());
            assert_eq!(shown, expected, "{changed}");
        }
    }
}
