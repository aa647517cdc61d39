//! A client drives workflows over a stream: results, approvals in both revisions, tasks, events and resources.

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};

use rawko_core::NamedEvent;
use rawko_server::{McpOptions, serve_mcp};
use std::sync::Arc;
use std::time::Duration;

use crate::suite::serve;

/// A client that sends JSON lines and reads until the response arrives.
struct Client {
    lines: tokio::io::Lines<BufReader<ReadHalf<DuplexStream>>>,
    write: WriteHalf<DuplexStream>,
    next: u64,
    /// `_meta` of every request, for the newer revision.
    meta: Value,
    /// Answers to questions of the server.
    answer: Value,
    asked: Vec<Value>,
    progress: usize,
}

impl Client {
    async fn start(meta: Value, answer: Value) -> (Client, rawko_host::Host) {
        let (server, host) = serve().await;
        server.close().await;
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        let options =
            McpOptions { person: Some("ada".to_owned()), ..McpOptions::new(Arc::new(host.clone()), [7; 32]) };
        let (read, write) = tokio::io::split(theirs);
        tokio::spawn(serve_mcp(options, read, write));
        let (read, write) = tokio::io::split(ours);
        let lines = BufReader::new(read).lines();
        (Client { lines, write, next: 1, meta, answer, asked: Vec::new(), progress: 0 }, host)
    }

    /// A client of 2025-11-25 whose person gives this answer.
    async fn older(answer: Value) -> (Client, rawko_host::Host) {
        let (mut client, host) = Client::start(Value::Null, answer).await;
        let capabilities = json!({"elicitation": {"form": {}}});
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": {"name": "t", "version": "1"}});
        let result = client.request("initialize", params).await;
        assert_eq!(result["protocolVersion"], "2025-11-25");
        client.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        (client, host)
    }

    /// A client of 2026-07-28 with these capabilities.
    async fn newer(capabilities: Value) -> (Client, rawko_host::Host) {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": capabilities,
        });
        Client::start(meta, Value::Null).await
    }

    async fn send(&mut self, message: Value) {
        self.write.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    /// Sends a request and returns the result; errors come back as they are.
    async fn request(&mut self, method: &str, mut params: Value) -> Value {
        let id = self.next;
        self.next += 1;
        if let (Some(ours), Some(given)) = (self.meta.as_object(), params.as_object_mut()) {
            let meta = given.entry("_meta").or_insert_with(|| json!({}));
            meta.as_object_mut().unwrap().extend(ours.clone());
        }
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
        loop {
            let line = tokio::time::timeout(std::time::Duration::from_secs(60), self.lines.next_line());
            let message: Value = serde_json::from_str(&line.await.unwrap().unwrap().unwrap()).unwrap();
            if message["method"] == "elicitation/create" {
                self.asked.push(message["params"].clone());
                let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": self.answer});
                self.send(answer).await;
            } else if message["method"] == "notifications/progress" {
                self.progress += 1;
            } else if message["id"] == json!(id) {
                let error = message.get("error").cloned();
                return error.map_or_else(|| message["result"].clone(), |error| json!({"error": error}));
            }
        }
    }

    async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.request("tools/call", json!({"name": tool, "arguments": arguments})).await
    }
}

#[tokio::test]
async fn an_older_client_approves_and_denies() {
    for (answer, paid) in
        [(json!({"action": "accept", "content": {}}), 250), (json!({"action": "decline"}), 0)]
    {
        let (mut client, _host) = Client::older(answer).await;
        let result = client.call("review", json!({"amount": 250})).await;
        assert_eq!(result["structuredContent"]["output"]["paid"], paid, "{result}");
        assert_eq!(client.asked[0]["message"], "Pay 250?");
    }
}

#[tokio::test]
async fn an_undecided_person_leaves_the_request_open() {
    let (mut client, host) = Client::older(json!({"action": "cancel"})).await;
    let result = client.call("review", json!({"amount": 1})).await;
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("waits for a person"), "{text}");
    let id = result["structuredContent"]["instance"].as_str().unwrap().to_owned();
    assert!(host.activity(&id).unwrap().person);
}

#[tokio::test]
async fn a_newer_client_is_asked_by_input_required() {
    let (mut client, host) = Client::newer(json!({"elicitation": {"form": {}}})).await;
    let first = client.call("review", json!({"amount": 3})).await;
    assert_eq!(first["resultType"], "input_required", "{first}");
    assert_eq!(first["inputRequests"]["approval"]["params"]["message"], "Pay 3?");
    let answers = json!({"approval": {"action": "accept", "content": {}}});
    let state = first["requestState"].as_str().unwrap();
    let forged = state.replacen(state.chars().next().unwrap(), "!", 1);
    let params = |state: &str| json!({"name": "review", "arguments": {}, "inputResponses": answers, "requestState": state});
    let refused = client.request("tools/call", params(&forged)).await;
    assert!(refused.get("error").is_some(), "{refused}");
    let second = client.request("tools/call", params(state)).await;
    assert_eq!(second["structuredContent"]["output"]["paid"], 3, "{second}");
    let id = second["structuredContent"]["instance"].as_str().unwrap();
    let row = host.reader().find(id).unwrap();
    let context = host.reader().snapshot(&row, None).unwrap();
    let by = context.snapshot.context_map(&context.chart).get("by").clone();
    assert_eq!(by.as_str(), Some("ada"), "the answer has the name of the operator");
}

/// While the person reads the first request, the amount is raised: the same invoke asks again.
#[tokio::test]
async fn an_answer_to_an_earlier_request_of_the_same_name_approves_nothing() {
    let (mut client, host) = Client::newer(json!({"elicitation": {"form": {}}})).await;
    let first = client.call("review", json!({"amount": 3})).await;
    let id = first["requestState"].as_str().unwrap().splitn(3, '.').nth(2).unwrap();
    tokio::time::sleep(Duration::from_millis(5)).await;
    let raised = NamedEvent::new("RAISED", json!({"amount": 9_000}).into());
    host.send(id, raised, None).await.unwrap();
    let answers = json!({"approval": {"action": "accept", "content": {}}});
    let params = |result: &Value| json!({"name": "review", "arguments": {}, "inputResponses": answers, "requestState": result["requestState"]});
    let second = client.request("tools/call", params(&first)).await;
    assert_eq!(second["inputRequests"]["approval"]["params"]["message"], "Pay 9000?", "{second}");
    let third = client.request("tools/call", params(&second)).await;
    assert_eq!(third["structuredContent"]["output"]["paid"], 9_000, "{third}");
}

#[tokio::test]
async fn an_instance_is_a_task() {
    let capabilities =
        json!({"extensions": {"io.modelcontextprotocol/tasks": {}}, "elicitation": {"form": {}}});
    let (mut client, _host) = Client::newer(capabilities).await;
    let created = client.call("review", json!({"amount": 5})).await;
    assert_eq!(created["resultType"], "task", "{created}");
    let id = created["taskId"].clone();
    let mut task = client.request("tasks/get", json!({"taskId": id})).await;
    while task["status"] == "working" {
        task = client.request("tasks/get", json!({"taskId": id})).await;
    }
    assert_eq!(task["status"], "input_required", "{task}");
    let key = task["inputRequests"].as_object().unwrap().keys().next().unwrap().clone();
    let answers = json!({key: {"action": "accept", "content": {}}});
    client.request("tasks/update", json!({"taskId": id, "inputResponses": answers})).await;
    while task["status"] == "working" || task["status"] == "input_required" {
        task = client.request("tasks/get", json!({"taskId": id})).await;
    }
    assert_eq!(task["status"], "completed", "{task}");
    assert_eq!(task["result"]["structuredContent"]["output"]["paid"], 5);
    let other = client.call("review", json!({"amount": 6})).await["taskId"].clone();
    client.request("tasks/cancel", json!({"taskId": other})).await;
    let mut task = client.request("tasks/get", json!({"taskId": other})).await;
    while task["status"] != "cancelled" {
        assert!(task.get("error").is_none(), "{task}");
        task = client.request("tasks/get", json!({"taskId": other})).await;
    }
}

#[tokio::test]
async fn events_progress_and_resources() {
    let (mut client, _host) = Client::older(Value::Null).await;
    let waiting = client.call("letter", json!({})).await;
    let text = waiting["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("LETTER") && text.contains("rawko_send"), "{text}");
    let id = waiting["structuredContent"]["instance"].as_str().unwrap().to_owned();
    let sent = json!({"instance": id, "event": "LETTER", "data": {"text": "hello"}});
    assert_eq!(client.call("rawko_send", sent).await["content"][0]["text"], "hello");

    let params = json!({"name": "test_tool_with_progress", "arguments": {}, "_meta": {"progressToken": "p"}});
    client.request("tools/call", params).await;
    assert!(client.progress >= 3, "{}", client.progress);

    let listed = client.request("resources/list", json!({})).await;
    let uris: Vec<&str> =
        listed["resources"].as_array().unwrap().iter().filter_map(|it| it["uri"].as_str()).collect();
    assert!(uris.contains(&"rawko://charts/review/drawing"), "{uris:?}");
    assert!(uris.contains(&&*format!("rawko://instances/{id}/journal")), "{uris:?}");
    let mut read = async |uri: String| {
        let read = client.request("resources/read", json!({"uri": uri})).await;
        read["contents"][0]["text"].as_str().unwrap_or_default().to_owned()
    };
    let journal = read(format!("rawko://instances/{id}/journal")).await;
    assert!(
        journal.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()) && journal.contains("LETTER")
    );
    assert!(read(format!("rawko://instances/{id}/drawing")).await.contains("<svg"));
    assert!(read("rawko://charts/review/drawing".to_owned()).await.contains("<svg"));
    assert!(read("rawko://charts/review".to_owned()).await.contains("id: review"));
    let missing = client.request("resources/read", json!({"uri": "rawko://instances/none/journal"})).await;
    assert!(missing.get("error").is_some(), "{missing}");
}

#[tokio::test]
async fn what_cannot_be_called_is_refused() {
    let (mut client, _host) = Client::older(Value::Null).await;
    let unknown = client.call("no_such_chart", json!({})).await;
    assert!(unknown.get("error").is_some(), "{unknown}");
    let listed = client.request("tools/list", json!({})).await;
    let review =
        listed["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == "review").unwrap().clone();
    assert_eq!(review["inputSchema"]["properties"]["amount"], json!({"type": "integer", "default": 0}));
    assert_eq!(review["description"], "A person approves an amount.");
}
