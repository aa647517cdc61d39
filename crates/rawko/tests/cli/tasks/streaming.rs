//! The live output of an agent for programs: pieces as they arrive, in their place between the lines of the journal.

use std::collections::BTreeMap;
use std::io::BufRead;

use rawko_testkit::{ModelReply, ProviderServer, ReplyEnding, openai};
use serde_json::{Value as Json, json};

use super::project::{SETTINGS, lines, project, running, whole, worker};
use crate::support::run;

const TASK: [&str; 8] = ["task", "Do it", "--id", "t", "--agent", "worker", "--output-format", "stream-json"];

/// A model that streams two pieces, begins a tool call, and then stalls.
fn halting() -> ModelReply {
    let call = json!([{"index": 0, "id": "call_1", "type": "function", "function": {"name": "Read", "arguments": "{"}}]);
    let pieces = [
        openai::delta(json!({"role": "assistant", "content": ""})),
        openai::delta(json!({"content": "Let me "})),
        openai::delta(json!({"content": "see.\n"})),
        openai::delta(json!({ "tool_calls": call })),
    ];
    ModelReply::events(pieces).ending(ReplyEnding::Silent)
}

#[test]
fn text_comes_before_the_answer_is_there() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let server = runtime.block_on(ProviderServer::new(|_| halting())).unwrap();
    let web = format!("web: {{kind: openai, base_url: \"{}\"}}", server.url());
    let settings = SETTINGS.replace("default: demo/x", &format!("default: web/x, {web}"));
    let dir = project(&settings, &worker(""), "[]\n");
    let (mut child, mut out) = running(dir.path(), &TASK, 0);
    let (mut heard, mut line) = (Vec::new(), String::new());
    while heard.len() < 3 {
        line.clear();
        assert!(out.read_line(&mut line).unwrap() > 0, "it ended after {heard:#?}");
        let told: Json = serde_json::from_str(&line).unwrap();
        assert_ne!(told["type"], "said", "the model has not ended its sentence");
        if told["type"] == "delta" || told["type"] == "tool_use" {
            heard.push(told);
        }
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let id = heard[0]["id"].clone();
    assert!(id.as_str().unwrap().starts_with("t.worker."), "{id}");
    assert_eq!(
        heard,
        [
            json!({"v": 1, "type": "delta", "id": id, "agent": "worker", "text": "Let me "}),
            json!({"v": 1, "type": "delta", "id": id, "agent": "worker", "text": "see.\n"}),
            json!({"v": 1, "type": "tool_use", "id": id, "agent": "worker", "tool": "Read", "call": "call_1"}),
        ]
    );
}

/// At any speed, pieces come after the call that produces them and before the line with the whole response.
#[test]
fn pieces_stand_before_the_whole() {
    let dir = whole();
    let ran = run(dir.path(), &["task", "Make the tests pass", "--output-format", "stream-json"], "");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let (mut pieces, mut asking): (BTreeMap<String, String>, BTreeMap<String, bool>) = Default::default();
    let (mut saids, mut tools) = (0, 0);
    for line in lines(&ran.stdout) {
        let id = line["id"].as_str().unwrap().to_owned();
        match line["type"].as_str().unwrap() {
            "invoked" if line["src"] == "model:complete" => drop(asking.insert(id, true)),
            "delta" => {
                assert_eq!(asking.get(&id), Some(&true), "nobody asked for {line}");
                *pieces.entry(id).or_default() += line["text"].as_str().unwrap();
            }
            "tool_use" => tools += 1,
            "step" if line["event"]["invoke"] == "complete" => drop(asking.insert(id, false)),
            "said" => {
                assert_eq!(pieces.remove(&id).as_deref(), line["text"].as_str());
                saids += 1;
            }
            _ => {}
        }
    }
    assert_eq!(pieces, BTreeMap::new());
    assert_eq!((saids, tools), (7, 7), "{}", ran.stdout);
}
