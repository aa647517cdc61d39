//! Leftovers of a program when its call ends and when rawko is killed; and that an agent that may not write does not
//! write through another program.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::scene::{Scene, User};

const TIME_MAX: Duration = Duration::from_secs(30);

/// Ways to outlive a call. `WORD` is an argument by which the process is found.
const LEFTOVERS: [(&str, &str); 5] = [
    ("in the background", "sleep WORD &"),
    ("in another session", "setsid sleep WORD > /dev/null 2>&1 &"),
    ("a daemon", "(setsid nohup sleep WORD > /dev/null 2>&1 < /dev/null &)"),
    ("without its environment", "env -i setsid --fork sleep WORD > /dev/null 2>&1 < /dev/null"),
    ("that ignores signals", "(trap '' TERM HUP INT; setsid sleep WORD > /dev/null 2>&1 &)"),
];

const CHART: &str = "
statechart:
  id: ends
  initial: bash
  states:
    bash: {invoke: {src: agent:dev, input: {prompt: \"'Work.'\"}, onDone: service, onError: service}}
    service: {invoke: {src: ends, onDone: over, onError: over}}
    over: {type: final}
";

pub(crate) fn run(user: User) -> (usize, usize, Vec<String>) {
    let mut results = Vec::new();
    left_behind(user, &mut results);
    killed(user, &mut results);
    read_only(user, &mut results);
    let tried = results.len();
    let wrong: Vec<String> = results
        .into_iter()
        .filter_map(|(name, held)| (!held).then(|| format!("as {user:?}: {name}")))
        .collect();
    (tried - wrong.len(), tried, wrong)
}

fn scene(user: User, command: &str) -> Scene {
    let scene = Scene::new(user);
    scene.write("ends.yaml", CHART);
    let settings = "
governance: {allow: ['agent:*', ends]}
providers: {default: demo/scripted, demo: {kind: scripted, file: .rawko/script.json}}
services: {ends: {command: [bash, ends.sh, service]}}
";
    scene.write(".rawko/config.yaml", settings);
    scene.write(".mcp.json", "{}");
    scene.write("ends.sh", command);
    calls(&scene, "dev", &[("Bash", json!({"command": "bash ends.sh bash"}))]);
    scene
}

fn calls(scene: &Scene, agent: &str, calls: &[(&str, Value)]) {
    let mut steps: Vec<Value> =
        calls.iter().map(|(name, input)| json!({"tool_calls": [{"name": name, "input": input}]})).collect();
    steps.push(json!({"text": "done"}));
    scene.write(".rawko/script.json", &json!([{"agent": agent, "steps": steps}]).to_string());
    scene.own();
}

/// Returns true if a process with this argument is running.
fn runs(word: &str) -> bool {
    let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    processes
        .filter_map(|process| fs::read(process.path().join("cmdline")).ok())
        .any(|line| line.split(|byte| *byte == 0).any(|argument| argument == word.as_bytes()))
}

fn until(is_so: impl Fn() -> bool) -> bool {
    let start = Instant::now();
    while !is_so() && start.elapsed() < TIME_MAX {
        std::thread::sleep(Duration::from_millis(10));
    }
    is_so()
}

/// Nothing runs any more when rawko has ended; each was seen running by the program itself.
fn left_behind(user: User, results: &mut Vec<(String, bool)>) {
    let word = |number: usize| format!("8{number}.{}{}", std::process::id(), u8::from(user == User::Nobody));
    let mut script = String::new();
    for (number, (_, line)) in LEFTOVERS.iter().enumerate() {
        script.push_str(&line.replace("WORD", &word(number)));
        script.push('\n');
    }
    script.push_str("sleep 0.3; pgrep -c sleep > results/seen-$1; echo null\n");
    let scene = scene(user, &script);
    scene.trusted();
    let done = scene.rawko(&["run", "ends.yaml", "--id", "e"]);
    for kind in ["bash", "service"] {
        let seen = fs::read_to_string(scene.root.join(format!("results/seen-{kind}"))).unwrap_or_default();
        let has_run = seen.trim().parse::<usize>().is_ok_and(|seen| seen >= LEFTOVERS.len());
        results.push((format!("control: {kind} started processes ({seen}): {done:?}"), has_run));
        for (number, (name, _)) in LEFTOVERS.iter().enumerate() {
            results.push((format!("{kind}: a process {name} outlived its call"), !runs(&word(number))));
        }
    }
}

/// A killed rawko takes its programs with it.
fn killed(user: User, results: &mut Vec<(String, bool)>) {
    let word = format!("9{}.{}", std::process::id(), u8::from(user == User::Nobody));
    let scene = scene(user, &format!("setsid sleep {word} & sleep {word}\n"));
    scene.trusted();
    let mut rawko = scene.prepared(&["run", "ends.yaml", "--id", "k"]).spawn().unwrap();
    let has_begun = until(|| runs(&word));
    rawko.kill().unwrap();
    rawko.wait().unwrap();
    results.push(("control: the program of a killed rawko was running".to_owned(), has_begun));
    results.push(("the program of a killed rawko goes on".to_owned(), until(|| !runs(&word))));
}

/// An agent that only reads gets nothing written by a process agent, an MCP server or a command.
fn read_only(user: User, results: &mut Vec<(String, bool)>) {
    for (limits, may_write) in [("tools: [Read, Bash, Task, 'mcp__*']\n", false), ("", true)] {
        let scene = scene(user, "echo\n");
        let agent = |name: &str, more: &str| {
            let text = format!("---\nname: {name}\nwhenToUse: always\n{more}{limits}---\nYou work.\n");
            scene.write(&format!(".rawko/agents/{name}.md"), &text);
        };
        agent("dev", "");
        agent("prog", "kind: process\ncommand: [bash, -c, 'echo x > made-by-process; echo ran > /tmp/x']\n");
        let helper = "kind: process\ncommand: [bash, -c, 'echo x > made-by-task']\n";
        scene.write(
            ".rawko/agents/helper.md",
            &format!("---\nname: helper\nwhenToUse: always\n{helper}---\nYou help.\n"),
        );
        agent("coder", "kind: acp\ncommand: [bash, -c, 'echo x > made-by-acp']\n");
        let server = json!({"command": "bash", "args": ["-c", "echo x > made-by-mcp"]});
        scene.write(".mcp.json", &json!({"mcpServers": {"m": server}}).to_string());
        let chart = "
statechart:
  id: ends
  initial: bash
  states:
    bash: {invoke: {src: agent:dev, input: {prompt: \"'Work.'\"}, onDone: process, onError: process}}
    process: {invoke: {src: agent:prog, input: {prompt: \"'Work.'\"}, onDone: acp, onError: acp}}
    acp: {invoke: {src: agent:coder, input: {prompt: \"'Work.'\"}, onDone: over, onError: over}}
    over: {type: final}
";
        scene.write("ends.yaml", chart);
        calls(&scene, "dev", &[("Task", json!({"agent": "helper", "prompt": "Write it."}))]);
        scene.trusted();
        let done = scene.rawko(&["run", "ends.yaml", "--id", "r"]);
        for kind in ["process", "acp", "mcp", "task"] {
            let is_made = scene.root.join(format!("made-by-{kind}")).exists();
            let name = if may_write { "control: may write, and did not" } else { "may not write, and wrote" };
            results.push((format!("{kind} {name}: {done:?}"), is_made == may_write));
        }
    }
}
