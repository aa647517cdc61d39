//! Kills a task in every stable state of its own, and in every state of its agent: the resumed task decides the same,
//! and no tool is called twice. The states are read from the charts.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rawko_chart::{Registry, SourceFile, load};
use rawko_core::{Chart, NodeKind};
use serde_json::Value as Json;
use tempfile::TempDir;

use super::power::lose_power;
use super::project::{agent, configuration, decided, lines, project, running};
use crate::support::{command, repository, run};

const SETTINGS: &str = "\
governance: {allow: ['agent:*']}
providers: {default: demo/x, back_off: {first: 1ms}, demo: {kind: scripted, file: .rawko/script.yaml}}
task: {back_off_first: 1ms}
phases: {validate: {checks: [{name: held, command: 'while ls | grep -q ^hel[d]$; do sleep 0.02; done'}]}}
";

/// One selection and one completion fail first, an agent invokes another, and two tools write a line each. The words
/// after a `$` are delays.
const SCRIPT: &str = r#"
- agent: arbiter
  when: "arbiter#1"
  steps:
    - {error: {code: rate_limited, retry_after_ms: $PATIENCE}}
    - {delay_ms: $SELECT, data: {type: SELECT_MODE, mode: worker, reason: begin}}
- {agent: arbiter, when: "arbiter#2", delay_ms: $EVALUATE, data: {type: SELECT_MODE, mode: checker, reason: look at it}}
- {agent: memory, delay_ms: $REMEMBER, data: {memories: []}}
- agent: worker
  steps:
    - {error: {code: rate_limited, retry_after_ms: $AGENT_WAIT}}
    - delay_ms: $THINK
      tool_calls:
        - {name: Task, input: {agent: helper, prompt: Where?}}
        - {name: Bash, input: {command: "echo worked >> calls.txt; if [ -f hold ]; then mv hold held; fi; if [ -p gate ]; then echo here > gate; cat gate; fi"}}
    - text: It is done.
- {agent: helper, delay_ms: $HELP, text: In calls.txt.}
- agent: checker
  steps:
    - delay_ms: $CHECK
      tool_calls: [{name: Bash, input: {command: "echo checked >> calls.txt"}}]
    - text: It is right.
"#;
const WORDS: [&str; 8] =
    ["PATIENCE", "SELECT", "EVALUATE", "REMEMBER", "AGENT_WAIT", "THINK", "HELP", "CHECK"];

/// A pending wait is on disk and continues after the kill, so it cannot be shortened then: try this long, and longer if
/// a busy machine was too slow to kill within it.
const WAITS_MS: [u32; 3] = [1_500, 8_000, 40_000];

/// Returns the script with one delay so long that nothing else happens before the kill.
fn script(held: &str, wait_ms: u32) -> String {
    WORDS.iter().fold(SCRIPT.to_owned(), |script, word| {
        let ms = match (*word == held, *word) {
            (true, "PATIENCE" | "AGENT_WAIT") => wait_ms,
            (true, _) => 600_000,
            (false, _) => 1,
        };
        script.replace(&format!("${word}"), &ms.to_string())
    })
}

fn story(held: &str) -> TempDir {
    story_with(held, WAITS_MS[0])
}

fn story_with(held: &str, wait_ms: u32) -> TempDir {
    let agents =
        [agent("worker", ""), agent("helper", ""), agent("checker", "transitions: {onSuccess: complete}\n")];
    let dir = project(SETTINGS, &agents, &script(held, wait_ms));
    match held {
        HELD_BY_CHECK => fs::write(dir.path().join("hold"), "").unwrap(),
        HELD_AT_START => fs::write(dir.path().join("held"), "").unwrap(),
        _ => {}
    }
    dir
}

/// The project's check takes as long as the file `held` exists. It does not name it: a file that a check names is put
/// back. The file exists from the start, or the worker's tool renames `hold` to it.
const HELD_AT_START: &str = "START";
const HELD_BY_CHECK: &str = "CHECKS";

const TASK: [&str; 6] = ["task", "Do it", "--id", "fix", "--output-format", "stream-json"];

/// The way in which the process ends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    /// Killed on the given visit of the state, while this delay of the script holds it there.
    Kill { held: &'static str, visit: usize },
    /// Killed while a tool runs, which reports when it does.
    KillWithTool,
    /// A state that is left at once: a kill, and a disk that lost the last commits.
    PowerCut { held: &'static str, visit: usize, until: &'static str },
    /// A task that was reset, in a process that keeps hosting.
    Reset,
    /// A task that continues with a higher limit.
    Raised,
}

/// The state of the task, the state of the agent `worker`, and how the process ends there.
const DEATHS: [(&str, &str, Way); 13] = [
    ("idle", "", Way::Reset),
    ("preparing", "", Way::Kill { held: HELD_AT_START, visit: 1 }),
    ("selecting", "", Way::Kill { held: "SELECT", visit: 2 }),
    ("backing_off", "", Way::Kill { held: "PATIENCE", visit: 1 }),
    ("executing", "opening", Way::PowerCut { held: "AGENT_WAIT", visit: 1, until: "working.backing_off" }),
    ("executing", "working.thinking", Way::Kill { held: "THINK", visit: 2 }),
    ("executing", "working.backing_off", Way::Kill { held: "AGENT_WAIT", visit: 1 }),
    ("executing", "working.calling.delegating", Way::Kill { held: "HELP", visit: 1 }),
    ("executing", "working.calling.running", Way::KillWithTool),
    ("remembering", "", Way::Kill { held: "REMEMBER", visit: 1 }),
    ("checking", "", Way::Kill { held: HELD_BY_CHECK, visit: 1 }),
    ("evaluating", "", Way::Kill { held: "EVALUATE", visit: 1 }),
    ("at_limit", "", Way::Raised),
];

/// States that this script never stays in: it has no image, no conversation that is too long, no permission rules, no
/// worktree, no Stop hook, no person who stops a turn, nor calls that run at the same time (`crates/rawko/tests/cli/fleet.rs`).
const NOT_IN_THIS_STORY: [&str; 12] = [
    "working.looking",
    "working.compacting",
    "working.stopping",
    "working.closing",
    "working.calling.permitting",
    "working.calling.grouping",
    "working.calling.together",
    "working.calling.helping",
    "working.calling.collecting",
    "asking",
    "connecting",
    "held",
];

/// States of the task that nothing holds it in: they only read files, or a person was asked.
const NOT_HELD: [&str; 4] = ["verifying", "closing", "cancelling", "asking"];

fn chart(name: &str) -> Chart {
    let path = repository().join("charts").join(name);
    let loaded = load(&SourceFile::new(name, &*fs::read_to_string(path).unwrap()), &Registry::default());
    loaded.chart.unwrap()
}

/// Returns the states that can be on disk: not final, without children, and not left in the step that entered them.
fn resting(chart: &Chart) -> Vec<String> {
    let passes = |node| {
        let of = chart.transition_ids().map(|id| chart.transition(id)).filter(|it| it.source == node);
        of.into_iter().any(|it| &*it.label == "always" && it.guard.is_none())
    };
    // The event `TAKEN` is raised before `deciding` is entered, so no step ends there.
    let is_raised = |node| &*chart.node(node).path == "working.deciding";
    let rests = |node: &_| chart.node(*node).kind == NodeKind::Atomic && !passes(*node) && !is_raised(*node);
    chart.node_ids().filter(rests).map(|node| chart.node(node).path.to_string()).collect()
}

#[test]
fn every_state_of_the_charts_is_one_to_die_in() {
    let mut states: Vec<String> = DEATHS.iter().map(|(state, ..)| (*state).to_owned()).collect();
    states.dedup();
    states.extend(NOT_HELD.map(str::to_owned));
    let mut expected = resting(&chart("orchestrator.yaml"));
    states.sort();
    expected.sort();
    assert_eq!(states, expected);

    let within = DEATHS.iter().map(|(_, within, _)| *within).filter(|within| !within.is_empty());
    let mut within: Vec<&str> = within.chain(NOT_IN_THIS_STORY).collect();
    let agents = resting(&chart("agent.yaml"));
    let mut agents: Vec<&str> = agents.iter().map(String::as_str).collect();
    within.sort_unstable();
    agents.sort_unstable();
    assert_eq!(within, agents);
}

/// Returns true if a line is about `fix` itself, or about the instance of its worker.
fn is_about(line: &Json, within: &str) -> bool {
    let id = line["id"].as_str().unwrap_or_default();
    match id.strip_prefix("fix.worker.") {
        Some(rest) => !within.is_empty() && rest.split('.').all(|part| part.parse::<u64>().is_ok()),
        None => within.is_empty() && id == "fix",
    }
}

/// A process, the instance that reached the state, and the output, which stays open while a process holds it.
struct ReachedState<R> {
    child: Child,
    id: String,
    _out: R,
}

/// Runs until the state is entered for the `visit`-th time.
fn until(dir: &Path, (state, within): (&str, &str), visit: usize) -> ReachedState<impl BufRead + use<>> {
    let (mut child, mut out) = running(dir, &TASK, 0);
    let wanted = serde_json::json!([if within.is_empty() { state } else { within }]);
    let (mut visits, mut before, mut line) = (0, Json::Null, String::new());
    loop {
        line.clear();
        assert!(out.read_line(&mut line).unwrap() > 0, "it ended: {:?}", child.wait());
        let told: Json = serde_json::from_str(&line).unwrap();
        if !is_about(&told, within) || !told["configuration"].is_array() {
            continue;
        }
        visits += usize::from(told["configuration"] == wanted && before != wanted);
        before = told["configuration"].clone();
        if visits == visit {
            let id = told["id"].as_str().unwrap().to_owned();
            return ReachedState { child, id, _out: out };
        }
    }
}

/// Returns a project whose task was killed in this state, and the instance in it.
fn killed_in((state, within): (&str, &str), held: &str, visit: usize) -> (TempDir, String) {
    for wait_ms in WAITS_MS {
        let dir = story_with(held, wait_ms);
        let mut reached = until(dir.path(), (state, within), visit);
        reached.child.kill().unwrap();
        reached.child.wait().unwrap();
        if stands(dir.path(), &reached.id, if within.is_empty() { state } else { within }) {
            return (dir, reached.id);
        }
    }
    panic!("{state} {within} was over before every kill");
}

fn kill(mut child: Child) {
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().code(), None, "it was not killed, it had ended");
}

fn stands(dir: &Path, id: &str, state: &str) -> bool {
    configuration(dir, id) == format!("[\"{state}\"]")
}

fn mkfifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// Waits until the tool has written its line, then kills the process.
fn kill_with_tool(dir: &Path) -> String {
    let gate = dir.join("gate");
    mkfifo(&gate);
    let reached = until(dir, ("executing", "working.calling.running"), 1);
    let mut told = String::new();
    File::open(&gate).unwrap().read_to_string(&mut told).unwrap();
    assert_eq!(told, "here\n");
    kill(reached.child);
    // The tool has ended with the process.
    fs::remove_file(&gate).unwrap();
    reached.id
}

/// Returns the decisions, the tool calls by effect, and the lines that the tools wrote.
fn outcome(dir: &Path, ids: &[&str]) -> (Vec<String>, Vec<String>, String) {
    let told = ids.iter().map(|id| run(dir, &["replay", id, "--decisions", "--json"], "").stdout);
    let decisions = lines(&told.collect::<String>()).iter().map(|line| decided(&line["decision"])).collect();
    let audit = lines(&run(dir, &["logs", "--audit", "--json"], "").stdout);
    let called = audit.iter().filter(|line| line["decision"] == "allowed");
    let called = called.filter_map(|line| line["service"].as_str()).filter(|it| it.starts_with("tool:"));
    let mut called: Vec<String> = called.map(str::to_owned).collect();
    called.sort();
    (decisions, called, fs::read_to_string(dir.join("calls.txt")).unwrap())
}

fn undisturbed() -> (Vec<String>, Vec<String>, String) {
    let dir = story("");
    let ran = run(dir.path(), &TASK, "");
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let outcome = outcome(dir.path(), &["fix"]);
    assert_eq!(outcome.1, ["tool:Bash", "tool:Bash"]);
    assert_eq!(outcome.2, "worked\nchecked\n");
    outcome
}

fn let_go(dir: &Path) {
    fs::write(dir.join(".rawko/script.yaml"), script("", 1)).unwrap();
    let _ = fs::remove_file(dir.join("held"));
}

#[test]
fn a_task_that_is_killed_in_any_state_goes_on_as_if_nothing_had_been() {
    let expected = undisturbed();
    for (state, within, way) in DEATHS {
        let name = format!("{state} {within}");
        let (dir, id) = match way {
            Way::Kill { held, visit } => killed_in((state, within), held, visit),
            Way::KillWithTool => {
                let dir = story("");
                let id = kill_with_tool(dir.path());
                (dir, id)
            }
            Way::PowerCut { held, visit, until: later } => {
                let dir = story(held);
                let reached = until(dir.path(), (state, later), visit);
                let id = reached.id;
                kill(reached.child);
                assert!(lose_power(dir.path(), || stands(dir.path(), &id, within)), "{name}");
                (dir, id)
            }
            Way::Reset | Way::Raised => continue,
        };
        assert!(stands(dir.path(), "fix", state), "{name}: {}", configuration(dir.path(), "fix"));
        assert!(within.is_empty() || stands(dir.path(), &id, within), "{name}");
        let_go(dir.path());
        let on = run(dir.path(), &["resume", "fix"], "");
        assert_eq!(on.code, Some(0), "{name}: {}{}", on.stdout, on.stderr);
        assert_eq!(outcome(dir.path(), &["fix"]), expected, "{name}");
    }
}

/// A reset task waits for an event; after a kill of its host it is unchanged.
#[test]
fn a_task_that_is_killed_while_it_waits_for_a_task() {
    let dir = story("SELECT");
    let mut serving = command(dir.path(), &["serve", "--listen", "127.0.0.1:0"]);
    let mut serving = serving.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut first = String::new();
    BufReader::new(serving.stdout.take().unwrap()).read_line(&mut first).unwrap();
    assert!(first.starts_with("http://"), "{first}");
    let mut task = until(dir.path(), ("selecting", ""), 2);
    assert_eq!(run(dir.path(), &["send", "fix", "RESET"], "").code, Some(0));
    assert_eq!(task.child.wait().unwrap().code(), Some(55));
    kill(serving);
    assert!(stands(dir.path(), "fix", "idle"));

    let_go(dir.path());
    let waits = run(dir.path(), &["resume", "fix"], "");
    assert_eq!(waits.code, Some(55), "{}{}", waits.stdout, waits.stderr);
    let sent = run(dir.path(), &["send", "fix", "START_TASK", "--data", "task=Do it"], "");
    assert_eq!(sent.code, Some(0), "{}{}", sent.stdout, sent.stderr);
    // The sender may exit before the task is done.
    run(dir.path(), &["resume", "fix"], "");
    assert_eq!(outcome(dir.path(), &["fix"]), undisturbed());
}

/// A raised limit is on disk before it is used.
#[test]
fn a_task_that_is_killed_where_it_goes_on_from_a_limit() {
    let dir = story("CHECK");
    let limited = run(dir.path(), &[&TASK[..], &["--max-iterations", "1"]].concat(), "");
    assert_eq!(limited.code, Some(53), "{}{}", limited.stdout, limited.stderr);
    let raise = ["resume", "fix", "--max-iterations", "4", "--output-format", "stream-json"];
    let (child, mut out) = running(dir.path(), &raise, 0);
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    let forked: Json = serde_json::from_str(&line).unwrap();
    assert_eq!(forked["type"], "forked", "{line}");
    let forked = forked["id"].as_str().unwrap();
    while !line.contains("\"working.thinking\"") {
        line.clear();
        assert!(out.read_line(&mut line).unwrap() > 0);
    }
    kill(child);
    assert!(stands(dir.path(), forked, "executing"));
    assert!(lose_power(dir.path(), || stands(dir.path(), forked, "at_limit")));

    let_go(dir.path());
    let on = run(dir.path(), &["resume", forked], "");
    assert_eq!(on.code, Some(0), "{}{}", on.stdout, on.stderr);
    assert_eq!(outcome(dir.path(), &["fix", forked]), undisturbed());
}
