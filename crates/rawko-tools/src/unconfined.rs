//! Decisions on calls that another program runs by itself, outside of any sandbox: Claude Code asks through its hooks.
//! Separate from `foreign.rs`, whose programs are confined: here a command that only the kernel could keep from writing
//! is refused where nothing may be written.

use std::path::{Path, PathBuf};

use rawko_core::Value;
use rawko_settings::{Environment, StateDir};

use super::alias;
use super::builtin::Builtin;
use super::confine::ProjectRoot;
use super::grant::{Grant, GrantLayer};
use super::input::text;
use super::known::is_delegation;
use super::outcome::RefusedCall;
use super::own_places::{LineReach, OwnPlaces, is_look, part_within, real, worktree_root};
use super::pattern;
use super::permissions::{PermissionEffect, Permissions, Roots, judge};
use super::shell;
use super::tree_changes;

/// Keys under which tools of other programs name a file.
const PATH_KEYS: [&str; 3] = ["file_path", "path", "notebook_path"];
const STATE: &str = "rawko's state directory holds the authority of the person";
/// Directories that decide about the calls themselves.
pub(super) const GATES: [&str; 2] = [".claude", ".rawko"];
/// Tools of Claude Code that change no file by themselves: questions, plans, lists of to-dos, output of earlier calls.
/// Those that start an agent are included: its calls are decided on one by one.
const HARMLESS: [&str; 20] = [
    "agentoutput",
    "askuserquestion",
    "bashoutput",
    "enterplanmode",
    "exitplanmode",
    "killbash",
    "killshell",
    "listmcpresources",
    "lsp",
    "notebookread",
    "sendmessage",
    "slashcommand",
    "structuredoutput",
    "taskcreate",
    "taskget",
    "tasklist",
    "taskoutput",
    "taskstop",
    "taskupdate",
    "toolsearch",
];
/// Commands of rawko that act for the person, or open a way to: `mcp` and `acp` answer requests, `serve --link` logs in. An
/// agent must not answer its own request.
pub const ACTING_COMMANDS: [&str; 30] = [
    "acp",
    "approve",
    "attach",
    "backup",
    "cancel",
    "channels",
    "chat",
    "demo",
    "deny",
    "fork",
    "hook",
    "init",
    "instance",
    "mcp",
    "migrate",
    "pause",
    "prune",
    "queue",
    "replay",
    "restore",
    "resume",
    "run",
    "send",
    "serve",
    "task",
    "top",
    "trust",
    "undo",
    "worker",
    "worktrees",
];

/// The decision on a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallVerdict {
    /// No rule is against it.
    Pass,
    /// A person has to agree; the reason.
    Ask(String),
    /// A rule refuses it; the reason.
    Deny(String),
}

/// Decides on calls in one project.
pub struct UnconfinedCalls {
    project: ProjectRoot,
    roots: Roots,
    state: Option<PathBuf>,
}

impl UnconfinedCalls {
    /// Decides on calls in the project with this root.
    pub fn new(root: &Path) -> Self {
        let environment = Environment::of_process();
        let project = ProjectRoot::new(root);
        let home = environment.get("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
        let state = StateDir::of(&environment).ok().map(|state| real(state.path()));
        Self { roots: Roots { project: project.root().to_owned(), home }, project, state }
    }

    /// Returns the rules that hold in every project: rawko's state, and commands that act for the person.
    pub fn own_rules(&self) -> Permissions {
        let state = self.state.iter().map(|state| format!("Read(/{}/**)", state.display()));
        let acts = ACTING_COMMANDS.iter().map(|command| format!("Bash(rawko {command}:*)"));
        Permissions {
            file: "`rawko hook`".to_owned(),
            deny: state.chain(acts).collect(),
            ..Permissions::default()
        }
    }

    /// Decides on a call by the layers and rules of a grant. `cwd` is the directory that relative paths start at.
    pub fn judge(&self, name: &str, input: &Value, cwd: &Path, grant: &Grant) -> CallVerdict {
        let tool = named(name);
        let own = tool.map_or_else(
            || if is_delegation(name) { "Task".to_owned() } else { name.to_owned() },
            |tool| tool.name().to_owned(),
        );
        if tool.is_some()
            && let Some(why) = ambiguity(input)
        {
            return CallVerdict::Deny(why.to_owned());
        }
        let path = path_of(input, cwd, self.roots.home.as_deref());
        if matches!(tool, Some(Builtin::Write | Builtin::Edit)) && self.is_plan(path.as_deref()) {
            return CallVerdict::Pass;
        }
        if let Err(refused) = grant.check(&own) {
            return denied(refused);
        }
        let input = with_path(input, path.as_deref());
        let judgement = judge(&grant.permissions, &own, &input, &self.roots, None);
        if judgement.effect == PermissionEffect::Deny {
            return CallVerdict::Deny(format!("this call is denied by {}", judgement.rule));
        }
        let verdict = match tool {
            Some(Builtin::Write | Builtin::Edit) => self.write(path.as_deref(), cwd),
            Some(Builtin::Bash) => self.command(text(&input, "command"), cwd, grant),
            Some(Builtin::Grep) => self.search(path.as_deref().unwrap_or(cwd)),
            Some(_) => CallVerdict::Pass,
            None => unknown(name, &own, grant),
        };
        match verdict {
            CallVerdict::Pass if judgement.effect == PermissionEffect::Ask => {
                CallVerdict::Ask(format!("this call needs the approval of a person by {}", judgement.rule))
            }
            verdict => verdict,
        }
    }

    /// Claude Code writes the plan of its plan mode into a file of its own.
    fn is_plan(&self, path: Option<&Path>) -> bool {
        let (Some(path), Some(home)) = (path, &self.roots.home) else { return false };
        let is_file = path.extension().is_some_and(|ending| ending == "md") && !path.is_symlink();
        let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
        let plans = home.canonicalize().ok().map(|home| home.join(".claude/plans"));
        is_file && folder.is_some() && folder == plans
    }

    fn write(&self, path: Option<&Path>, cwd: &Path) -> CallVerdict {
        let Some(path) = path else {
            return CallVerdict::Deny("it is not known which file would be written".to_owned());
        };
        let place = real(path);
        if self.state.as_ref().is_some_and(|state| place.starts_with(state)) {
            return CallVerdict::Deny(format!("`{}` is in rawko's state directory", path.display()));
        }
        // Both the path as given, which may be a protected link, and the file that it leads to.
        let root = worktree_root(self.project.root(), cwd);
        let part = [path, &place].into_iter().find_map(|path| part_within(&root, path));
        match part {
            Some(part) if GATES.contains(&part) => CallVerdict::Deny(format!(
                "`{}` decides what agents may do: only a person may change `{part}`",
                path.display()
            )),
            Some(part) => CallVerdict::Ask(format!("`{part}` instructs agents or starts programs")),
            None => CallVerdict::Pass,
        }
    }

    /// A search prints what it finds.
    fn search(&self, path: &Path) -> CallVerdict {
        let place = real(path);
        match &self.state {
            Some(state) if place.starts_with(state) => CallVerdict::Deny(STATE.to_owned()),
            Some(state) if state.starts_with(&place) => {
                CallVerdict::Ask(format!("`{}` contains rawko's state directory", path.display()))
            }
            Some(_) | None => CallVerdict::Pass,
        }
    }

    fn command(&self, line: &str, cwd: &Path, grant: &Grant) -> CallVerdict {
        let (home, state) = (self.roots.home.as_deref(), self.state.as_deref());
        let root = worktree_root(self.project.root(), cwd);
        let places = OwnPlaces { root: &root, cwd, home, state };
        let reach = places.reach(line);
        match &reach {
            LineReach::State => return CallVerdict::Deny(STATE.to_owned()),
            LineReach::Copy(program) => {
                return CallVerdict::Deny(format!(
                    "`{program}` is a copy of rawko, which acts for the person"
                ));
            }
            LineReach::AboveState | LineReach::Gate(_) | LineReach::Nothing => {}
        }
        let permit = match shell::check(line, grant, &ProjectRoot::new(&root)) {
            Ok(permit) => permit,
            // Without a rule against writing, files outside the project are Claude's own decision.
            Err(refused) if refused.rule == "path_outside" && !grant.is_read_only() => {
                return CallVerdict::Ask(refused.why);
            }
            Err(refused) if refused.rule == "path_protected" && !grant.is_read_only() => {
                return CallVerdict::Deny(refused.why);
            }
            Err(refused) => return denied(refused),
        };
        let may_change = !permit.is_read_only && !grant.is_read_only() && !is_look(line);
        let tree_change =
            if may_change { tree_changes::of(line, &[&root, self.project.root()], cwd, home) } else { None };
        match reach {
            LineReach::Gate(part) if !permit.is_read_only && !is_look(line) => {
                return CallVerdict::Deny(format!(
                    "only a person may change `{part}`, which decides what agents may do"
                ));
            }
            LineReach::AboveState if tree_change.is_none() => {
                return CallVerdict::Ask("it concerns a directory that contains rawko's state".to_owned());
            }
            LineReach::Gate(_)
            | LineReach::AboveState
            | LineReach::State
            | LineReach::Copy(_)
            | LineReach::Nothing => {}
        }
        if let Some(change) = tree_change {
            return change.into();
        }
        if !grant.is_read_only() {
            return CallVerdict::Pass;
        }
        let why = permit.needs_kernel.or_else(|| {
            let may_write = permit.may_write || !permit.is_read_only;
            may_write.then(|| "it is not known to change nothing".to_owned())
        });
        match why {
            None => CallVerdict::Pass,
            Some(why) => CallVerdict::Deny(format!("only commands that read are allowed here: {why}")),
        }
    }
}

/// A tool that no table lists: where nothing may be written, only one that a layer names.
fn unknown(name: &str, own: &str, grant: &Grant) -> CallVerdict {
    let folded: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    let is_harmless = HARMLESS.contains(&folded.to_ascii_lowercase().as_str()) || own == "Task";
    let strict = |layer: &&GrantLayer| !layer.allows("Write") || !layer.allows("Edit");
    let names = |layer: &GrantLayer| {
        let entries = layer.allowed.iter().flatten();
        entries.filter(|entry| entry.trim() != "*").any(|entry| pattern::names(entry, own))
    };
    if is_harmless || !grant.is_read_only() || grant.layers.iter().filter(strict).all(names) {
        return CallVerdict::Pass;
    }
    CallVerdict::Deny(format!("it is not known what `{name}` does, and nothing may be written"))
}

fn named(name: &str) -> Option<Builtin> {
    if name.starts_with("mcp__") {
        return None;
    }
    match name {
        "NotebookEdit" => Some(Builtin::Edit),
        name => Builtin::named(name).or_else(|| alias::resolved(name)),
    }
}

fn denied(refused: RefusedCall) -> CallVerdict {
    CallVerdict::Deny(refused.why)
}

fn path_of(input: &Value, cwd: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let path = PATH_KEYS.into_iter().map(|key| text(input, key)).find(|path| !path.is_empty())?;
    match (path.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => Some(home.join(rest)),
        (Some(_), None) | (None, _) => Some(cwd.join(path)),
    }
}

/// Returns why the input of a known tool cannot be judged: Claude Code may read another key of it than the rules do.
fn ambiguity(input: &Value) -> Option<&'static str> {
    let is_text = |key: &str| matches!(input.get(key), Value::Null | Value::Str(_));
    if !is_text("command") {
        return Some("its `command` is not a text");
    }
    if !PATH_KEYS.into_iter().all(is_text) {
        return Some("its file is not a text");
    }
    let mut paths = PATH_KEYS.into_iter().map(|key| text(input, key)).filter(|path| !path.is_empty());
    let first = paths.next()?;
    paths.any(|path| path != first).then_some("it names several files")
}

/// Returns the input as the rules read it: the file under one key.
fn with_path(input: &Value, path: Option<&Path>) -> Value {
    let Some(path) = path.and_then(Path::to_str) else { return input.clone() };
    let mut map = input.as_map().cloned().unwrap_or_default();
    map.insert("path".into(), Value::str(path));
    Value::Map(map.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(grant: &Grant, tool: &str, input: &str) -> CallVerdict {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join(".rawko")).unwrap();
        std::os::unix::fs::symlink(".rawko", root.join("link")).unwrap();
        let input = input.replace("ROOT", root.to_str().unwrap());
        let calls = UnconfinedCalls::new(&root);
        let mut grant = grant.clone();
        grant.add_permissions([calls.own_rules()]);
        calls.judge(tool, &serde_json::from_str(&input).unwrap(), &root, &grant)
    }

    fn word(verdict: &CallVerdict) -> &'static str {
        match verdict {
            CallVerdict::Pass => "pass",
            CallVerdict::Ask(_) => "ask",
            CallVerdict::Deny(_) => "deny",
        }
    }

    #[test]
    fn where_nothing_may_be_written_only_what_reads_passes() {
        let allowed =
            ["Read", "Bash", "ExitPlanMode", "Task", "TodoWrite", "NotebookEdit", "mcp__docs__find"];
        let allowed = Some(allowed.map(str::to_owned).to_vec());
        let reading =
            Grant::new([GrantLayer { source: "the state".into(), allowed, ..GrantLayer::default() }]);
        for (tool, input, expected) in [
            ("Read", r#"{"file_path": "ROOT/a"}"#, "pass"),
            ("Edit", r#"{"file_path": "ROOT/a"}"#, "deny"),
            ("Write", r#"{"file_path": "ROOT/a"}"#, "deny"),
            ("MultiEdit", r#"{"file_path": "ROOT/a"}"#, "deny"),
            ("NotebookEdit", r#"{"notebook_path": "ROOT/a.ipynb"}"#, "deny"),
            ("ExitPlanMode", r#"{"plan": "p"}"#, "pass"),
            ("TodoWrite", "{}", "pass"),
            ("Task", "{}", "pass"),
            ("Agent", "{}", "pass"),
            ("mcp__docs__find", "{}", "pass"),
            ("mcp__disk__write", "{}", "deny"),
            ("Bash", r#"{"command": "git status && ls"}"#, "pass"),
            ("Bash", r#"{"command": "ls > a"}"#, "deny"),
            ("Bash", r#"{"command": "cargo test"}"#, "deny"),
            ("Bash", r#"{"command": "ls; rm a"}"#, "deny"),
            ("Bash", r#"{"command": "python3 -c 'open(\"a\",\"w\")'"}"#, "deny"),
            ("Bash", r#"{"command": "rawko approve x"}"#, "deny"),
            ("Bash", "{}", "pass"),
            ("Bash", r#"{"command": ["rm", "a"]}"#, "deny"),
            ("Read", r#"{"file_path": ["ROOT/a"]}"#, "deny"),
        ] {
            let found = verdict(&reading, tool, input);
            assert_eq!(word(&found), expected, "{tool} {input}: {found:?}");
        }
        let blocked = Grant::new([GrantLayer {
            source: "the state".into(),
            blocked: ["Write", "Edit"].map(str::to_owned).to_vec(),
            ..GrantLayer::default()
        }]);
        for (tool, expected) in [("mcp__disk__write", "deny"), ("Glob", "pass"), ("BashOutput", "pass")] {
            assert_eq!(word(&verdict(&blocked, tool, "{}")), expected, "{tool}");
        }
    }

    #[test]
    fn the_gate_and_rawkos_own_commands_are_out_of_reach_where_writing_is_allowed() {
        let free = Grant::default();
        for (tool, input, expected) in [
            ("Edit", r#"{"file_path": "ROOT/src/a.rs"}"#, "pass"),
            ("Write", r#"{"file_path": "src/a.rs"}"#, "pass"),
            ("Edit", r#"{"file_path": "ROOT/.claude/settings.json"}"#, "deny"),
            ("Edit", r#"{"file_path": "ROOT/.rawko/config.yaml"}"#, "deny"),
            ("Edit", r#"{"file_path": "ROOT/src/../.rawko/config.yaml"}"#, "deny"),
            ("Write", r#"{"file_path": "ROOT/link/config.yaml"}"#, "deny"),
            ("Edit", r#"{"file_path": "ROOT/CLAUDE.md"}"#, "ask"),
            ("Write", r#"{"file_path": "/srv/x/.claude/settings.json"}"#, "deny"),
            ("Write", "{}", "deny"),
            ("NotebookEdit", r#"{"file_path": "a", "notebook_path": "ROOT/.claude/settings.json"}"#, "deny"),
            ("Edit", r#"{"file_path": "ROOT/a", "path": "ROOT/a"}"#, "pass"),
            ("Bash", r#"{"command": {"line": "rawko trust --yes"}}"#, "deny"),
            ("Bash", r#"{"command": "cargo test && git commit -m x"}"#, "pass"),
            ("Bash", r#"{"command": "rawko approve claude-1"}"#, "deny"),
            ("Bash", r#"{"command": "cd x && env A=1 rawko  send claude-1 APPROVE"}"#, "deny"),
            ("Bash", r#"{"command": "sh -c 'rawko trust --yes'"}"#, "deny"),
            ("Bash", r#"{"command": "rawko show claude-1"}"#, "pass"),
            ("Bash", r#"{"command": "rawko check .rawko/charts/a.yaml"}"#, "pass"),
            ("Bash", r#"{"command": "rawko check .rawko/charts; rm -r .rawko"}"#, "deny"),
            ("Bash", r#"{"command": "rawko mcp < calls.json"}"#, "deny"),
            ("Bash", r#"{"command": "rawko serve --link"}"#, "deny"),
            ("Bash", r#"{"command": "sed -i s/a/b/ .claude/settings.json"}"#, "deny"),
            ("Bash", r#"{"command": "mv .claude/ c"}"#, "deny"),
            ("Bash", r#"{"command": "cat .claude/settings.json"}"#, "pass"),
            ("Bash", r#"{"command": "echo x > .rawko/config.yaml"}"#, "deny"),
            ("mcp__disk__write", "{}", "pass"),
        ] {
            let found = verdict(&free, tool, input);
            assert_eq!(word(&found), expected, "{tool} {input}: {found:?}");
        }
    }
}
