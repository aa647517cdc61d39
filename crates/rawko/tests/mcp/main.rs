//! MCP with the real binary: a client drives a workflow over stdio, alone and beside `rawko serve`; and a server asks the
//! person of an agent, who answers from another process.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

const RAWKO: &str = env!("CARGO_BIN_EXE_rawko");

const REVIEW: &str = r#"
statechart:
  id: review
  version: 1.0.0
  description: A person approves an amount.
  initial: asking
  context: {amount: 0}
  states:
    asking:
      invoke:
        id: approval
        src: human
        input: "{title: 'Pay ' ~ context.amount ~ '?'}"
        onDone: [{target: paid, guard: event.data.approved}, {target: refused}]
        onError: refused
    paid: {type: final, output: "{paid: context.amount}"}
    refused: {type: final, output: "{paid: 0}"}
"#;

/// A server whose tool asks for a region and returns it.
const ASKS: &str = r#"
import json, sys

def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()

calling = None
for line in sys.stdin:
    message = json.loads(line)
    number, method = message.get("id"), message.get("method")
    if method == "initialize":
        info = {"name": "crm", "version": "1"}
        version = message["params"]["protocolVersion"]
        send({"id": number, "result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}})
    elif method == "tools/list":
        send({"id": number, "result": {"tools": [{"name": "add", "inputSchema": {"type": "object"}}]}})
    elif method == "tools/call":
        calling = number
        schema = {"type": "object", "properties": {"region": {"type": "string"}}, "required": ["region"]}
        params = {"message": "Which region?", "requestedSchema": schema}
        send({"id": "q1", "method": "elicitation/create", "params": params})
    elif number == "q1":
        result = message["result"]
        words = result["action"] + " " + json.dumps(result.get("content"))
        send({"id": calling, "result": {"content": [{"type": "text", "text": words}]}})
    elif number is not None:
        send({"id": number, "error": {"code": -32601, "message": "unknown"}})
"#;

/// A server that asks about each of its calls, and only when the first two run together.
const ASKS_TOGETHER: &str = r#"
import json, os, sys

def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()

def ask(number, place):
    schema = {"type": "object", "properties": {"region": {"type": "string"}}, "required": ["region"]}
    params = {"message": "Which region is " + place + "?", "requestedSchema": schema}
    send({"id": "q" + str(number), "method": "elicitation/create", "params": params})

calls, held = {}, []
for line in sys.stdin:
    message = json.loads(line)
    number, method = message.get("id"), message.get("method")
    if method == "initialize":
        info = {"name": "crm", "version": "1"}
        version = message["params"]["protocolVersion"]
        send({"id": number, "result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}})
    elif method == "tools/list":
        tool = {"name": "find", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}
        send({"id": number, "result": {"tools": [tool]}})
    elif method == "tools/call":
        place = message["params"]["arguments"]["place"]
        calls["q" + str(number)] = (number, place)
        held.append((number, place))
        if not os.path.exists("together") and len(held) < 2:
            continue
        open("together", "w").close()
        for one in held:
            ask(*one)
        held.clear()
    elif number in calls:
        call, place = calls.pop(number)
        result = message["result"]
        words = place + ": " + result["action"] + " " + json.dumps(result.get("content"))
        send({"id": call, "result": {"content": [{"type": "text", "text": words}]}})
    elif method is not None and number is not None:
        send({"id": number, "error": {"code": -32601, "message": "unknown method"}})
"#;

struct Project {
    dir: TempDir,
    state: TempDir,
}

impl Project {
    fn new(files: &[(&str, &str)]) -> Project {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Project { dir, state: tempfile::tempdir().unwrap() }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(RAWKO);
        command.args(args).current_dir(self.dir.path());
        command.env("USER", "ada").env("HOME", self.dir.path()).env_remove("XDG_CONFIG_HOME");
        command.env("RAWKO_STATE_DIR", self.state.path()).env_remove("RAWKO_CALL").env_remove("RAWKO_TOKEN");
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).stdin(Stdio::null()).output().unwrap()
    }
}

/// `rawko mcp` with a client that accepts every question.
struct Client {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    next: u64,
    asked: Vec<String>,
}

impl Client {
    fn start(project: &Project) -> Client {
        let mut command = project.command(&["mcp"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        let mut client = Client { child, input, output, next: 0, asked: Vec::new() };
        let info = json!({"name": "test", "version": "1"});
        let capabilities = json!({"elicitation": {"form": {}}});
        let params =
            json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": info});
        assert_eq!(client.request("initialize", params)["serverInfo"]["name"], "rawko");
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input.as_mut().unwrap(), "{message}").unwrap();
    }

    fn request(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let id = self.next;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "the server ended");
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["method"] == "elicitation/create" {
                self.asked.push(message["params"]["message"].as_str().unwrap().to_owned());
                let result = json!({"action": "accept", "content": {}});
                self.send(&json!({"jsonrpc": "2.0", "id": message["id"], "result": result}));
            } else if message["id"] == json!(id) {
                return message["result"].clone();
            }
        }
    }

    fn end(mut self) {
        drop(self.input.take());
        assert!(self.child.wait().unwrap().success());
    }
}

fn drives_a_workflow(project: &Project, amount: u64) {
    let mut client = Client::start(project);
    let tools = client.request("tools/list", json!({}));
    let names: Vec<&str> =
        tools["tools"].as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert!(names.contains(&"review"), "{names:?}");
    let result = client.request("tools/call", json!({"name": "review", "arguments": {"amount": amount}}));
    assert_eq!(result["structuredContent"]["output"], json!({"paid": amount}), "{result}");
    assert_eq!(client.asked, [format!("Pay {amount}?")]);
    let id = result["structuredContent"]["instance"].as_str().unwrap().to_owned();
    let read = client.request("resources/read", json!({"uri": format!("rawko://instances/{id}/journal")}));
    assert!(read["contents"][0]["text"].as_str().unwrap().contains("approval"), "{read}");
    client.end();
    let audit = project.run(&["logs", &id, "--audit"]);
    let audit = String::from_utf8_lossy(&audit.stdout).into_owned();
    assert!(audit.contains("approved human "), "the answer has the name of the operator: {audit}");
}

#[test]
fn a_client_drives_a_workflow_over_stdio() {
    drives_a_workflow(&Project::new(&[(".rawko/charts/review.yaml", REVIEW)]), 7);
}

#[test]
fn a_client_drives_a_workflow_of_a_running_server() {
    let project = Project::new(&[(".rawko/charts/review.yaml", REVIEW)]);
    let mut serve = project.command(&["serve", "--listen", "127.0.0.1:0"]);
    let mut serve = serve.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let mut address = String::new();
    BufReader::new(serve.stdout.take().unwrap()).read_line(&mut address).unwrap();
    assert!(address.starts_with("http://"), "{address}");
    drives_a_workflow(&project, 8);
    serve.kill().unwrap();
    serve.wait().unwrap();
}

/// A task of the project's agents is a tool; the permission that an agent needs is a question to the client.
#[test]
fn a_client_gives_a_task_to_the_agents() {
    let settings = "governance: {allow: ['agent:*']}\nproviders: {default: demo/x, demo: {kind: scripted, file: .rawko/script.yaml}}\n\
                    memories: {remember: false}\nphases: {validate: {checks: []}}\npermissions: {ask: ['Write(made.txt)']}\n";
    let agent = "---\nname: worker\nwhenToUse: Always.\ntransitions: {onSuccess: complete}\n---\nYou are the worker.\n";
    let script = "- agent: worker\n  steps:\n    - tool_calls: [{name: Write, input: {path: made.txt, content: made}}]\n    \
                  - text: The file is made.\n";
    let project = Project::new(&[
        (".rawko/config.yaml", settings),
        (".rawko/agents/worker.md", agent),
        (".rawko/script.yaml", script),
    ]);
    let mut client = Client::start(&project);
    let tools = client.request("tools/list", json!({}));
    let names: Vec<&str> =
        tools["tools"].as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert!(names.contains(&"rawko_task") && names.contains(&"review_diff"), "{names:?}");
    for internal in ["rawko", "agent", "task_queue", "trigger_log"] {
        assert!(!names.contains(&internal), "{names:?}");
    }
    let arguments = json!({"task": "Make the file", "agent": "worker"});
    let result = client.request("tools/call", json!({"name": "rawko_task", "arguments": arguments}));
    assert_eq!(result["structuredContent"]["output"]["outcome"], "complete", "{result}");
    assert_eq!(client.asked.len(), 1, "{:?}", client.asked);
    assert!(client.asked[0].contains("made.txt"), "{:?}", client.asked);
    assert_eq!(fs::read_to_string(project.dir.path().join("made.txt")).unwrap(), "made");
    let refused = client.request("tools/call", json!({"name": "rawko_task", "arguments": {"task": " "}}));
    assert_eq!(refused["isError"], true, "{refused}");
    client.end();
}

#[test]
fn a_question_of_a_server_waits_for_a_person() {
    let settings = "governance: {allow: ['agent:*']}\nproviders: {default: demo/x, demo: {kind: scripted, file: .rawko/script.yaml}}\n\
                    memories: {remember: false}\nphases: {validate: {checks: []}}\n";
    let agent = "---\nname: worker\nwhenToUse: Always.\ntransitions: {onSuccess: complete}\n---\nYou are the worker.\n";
    let script = "- agent: worker\n  steps:\n    - tool_calls: [{name: mcp__crm__add, input: {}}]\n    \
                  - expect: 'accept {\"region\": \"eu\"}'\n      text: It is in Europe.\n";
    let servers =
        json!({"mcpServers": {"crm": {"command": "python3", "args": ["-B", "crm.py"]}}}).to_string();
    let project = Project::new(&[
        (".rawko/config.yaml", settings),
        (".rawko/agents/worker.md", agent),
        (".rawko/script.yaml", script),
        (".mcp.json", &servers),
        ("crm.py", ASKS),
    ]);
    let words = |output: &Output| {
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
    };
    let waits = project.run(&["task", "Do it", "--id", "t", "--agent", "worker"]);
    assert_eq!(waits.status.code(), Some(55), "{}", words(&waits));
    assert!(words(&waits).contains("Which region?"), "{}", words(&waits));
    let wrong = project.run(&["approve", "t", "--data", "colour=red"]);
    assert_eq!(wrong.status.code(), Some(1), "{}", words(&wrong));
    let answered = project.run(&["approve", "t", "--data", "region=eu"]);
    assert_eq!(answered.status.code(), Some(0), "{}", words(&answered));
    let shown = project.run(&["show", "t"]);
    assert!(words(&shown).contains("complete") || words(&shown).contains("done"), "{}", words(&shown));
}

/// A question does not name its call: those of two calls are cancelled, the model reads why, and its next calls are made one
/// at a time, each with its own question and answer.
#[test]
fn questions_of_calls_that_run_together_are_asked_one_by_one() {
    let settings = "governance: {allow: ['agent:*']}\nproviders: {default: demo/x, demo: {kind: scripted, file: .rawko/script.yaml}}\n\
                    memories: {remember: false}\nphases: {validate: {checks: []}}\n";
    let agent = "---\nname: worker\nwhenToUse: Always.\ntransitions: {onSuccess: complete}\n---\nYou are the worker.\n";
    let calls = "[{name: mcp__crm__find, input: {place: A}}, {name: mcp__crm__find, input: {place: B}}]";
    let script = format!(
        "- agent: worker\n  steps:\n    - tool_calls: {calls}\n    - expect: Call the tool again, on its own\n      tool_calls: {calls}\n    \
         - expect: 'B: accept {{\"region\": \"us\"}}'\n      text: Found.\n"
    );
    let servers =
        json!({"mcpServers": {"crm": {"command": "python3", "args": ["-B", "crm.py"]}}}).to_string();
    let project = Project::new(&[
        (".rawko/config.yaml", settings),
        (".rawko/agents/worker.md", agent),
        (".rawko/script.yaml", &script),
        (".mcp.json", &servers),
        ("crm.py", ASKS_TOGETHER),
    ]);
    let words = |output: &Output| {
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
    };
    let first = project.run(&["task", "Do it", "--id", "t", "--agent", "worker"]);
    assert!(words(&first).contains("Which region is A?"), "{}", words(&first));
    let second = project.run(&["approve", "t", "--data", "region=eu"]);
    assert!(words(&second).contains("Which region is B?"), "{}", words(&second));
    let ended = project.run(&["approve", "t", "--data", "region=us"]);
    assert_eq!(ended.status.code(), Some(0), "{}", words(&ended));
    let shown = project.run(&["history", "t.worker.1.2", "--json"]);
    let text = words(&shown);
    assert!(text.contains(r#"A: accept {\"region\": \"eu\"}"#), "{text}");
    assert!(text.contains(r#"B: accept {\"region\": \"us\"}"#), "{text}");
}
