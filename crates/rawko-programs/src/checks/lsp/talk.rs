//! The session with a language server: initialise, open the files, collect diagnostics. Servers that support pull
//! diagnostics are queried; for others this waits until every file has diagnostics and no more arrive.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::time::timeout;

use super::files::{OpenFile, uri};
use super::wire::{encode, take};

/// A server that pushes may correct itself; after this much silence its diagnostics are final.
const QUIET: Duration = Duration::from_millis(750);

pub(super) struct Talk {
    stdin: ChildStdin,
    stdout: ChildStdout,
    root: String,
    read: Vec<u8>,
    last_id: u64,
    /// The latest pushed diagnostics, by file.
    pushed: BTreeMap<String, Vec<Value>>,
}

impl Talk {
    pub(super) fn new(stdin: ChildStdin, stdout: ChildStdout, root: &Path) -> Self {
        Self { stdin, stdout, root: uri(root), read: Vec::new(), last_id: 0, pushed: BTreeMap::new() }
    }

    /// Returns the diagnostics of each file, in order.
    pub(super) async fn diagnostics(&mut self, opened: &[OpenFile]) -> Result<Vec<Vec<Value>>, String> {
        let can_be_asked = self.introduce().await?;
        for file in opened {
            let document =
                json!({ "uri": file.uri, "languageId": file.language, "version": 1, "text": file.text });
            self.notify("textDocument/didOpen", json!({ "textDocument": document })).await?;
        }
        let diagnostics = if can_be_asked { self.ask(opened).await? } else { self.wait(opened).await? };
        self.request("shutdown", Value::Null).await?;
        self.notify("exit", Value::Null).await?;
        Ok(diagnostics)
    }

    /// Initialises the server; returns true if it supports pull diagnostics.
    async fn introduce(&mut self) -> Result<bool, String> {
        let parameters = json!({
            "processId": std::process::id(),
            "rootUri": self.root,
            "workspaceFolders": [{ "uri": self.root, "name": "project" }],
            "capabilities": { "textDocument": { "publishDiagnostics": {}, "diagnostic": {} } },
        });
        let answer = self.request("initialize", parameters).await?;
        self.notify("initialized", json!({})).await?;
        Ok(answer.pointer("/capabilities/diagnosticProvider").is_some_and(|provider| !provider.is_null()))
    }

    async fn ask(&mut self, opened: &[OpenFile]) -> Result<Vec<Vec<Value>>, String> {
        let mut all = Vec::new();
        for file in opened {
            let answer = self
                .request("textDocument/diagnostic", json!({ "textDocument": { "uri": file.uri } }))
                .await?;
            let items = answer.get("items").and_then(Value::as_array);
            all.push(
                items
                    .cloned()
                    .ok_or_else(|| format!("the language server reported nothing about {}", file.shown))?,
            );
        }
        Ok(all)
    }

    async fn wait(&mut self, opened: &[OpenFile]) -> Result<Vec<Vec<Value>>, String> {
        loop {
            let is_complete = opened.iter().all(|file| self.pushed.contains_key(&file.uri));
            let heard = match is_complete {
                false => self.hear().await.map(drop),
                true => match timeout(QUIET, self.hear()).await {
                    Ok(heard) => heard.map(drop),
                    Err(_) => break,
                },
            };
            heard?;
        }
        Ok(opened.iter().map(|file| self.pushed.remove(&file.uri).unwrap_or_default()).collect())
    }

    async fn request(&mut self, method: &str, params: Value) -> Result<Value, String> {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await?;
        loop {
            let message = self.hear().await?;
            let is_answer =
                message.get("method").is_none() && message.get("id").and_then(Value::as_u64) == Some(id);
            if !is_answer {
                continue;
            }
            if let Some(error) = message.get("error") {
                let why = error.get("message").and_then(Value::as_str).unwrap_or("no reason given");
                return Err(format!("the language server refused `{method}`: {why}"));
            }
            return Ok(message.get("result").cloned().unwrap_or_default());
        }
    }

    async fn notify(&mut self, method: &str, params: Value) -> Result<(), String> {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params })).await
    }

    async fn send(&mut self, message: &Value) -> Result<(), String> {
        self.stdin.write_all(&encode(message)).await.map_err(|_| ended())
    }

    /// Returns the next message. Stores pushed diagnostics and answers requests.
    async fn hear(&mut self) -> Result<Value, String> {
        let message = loop {
            if let Some(message) = take(&mut self.read)? {
                break message;
            }
            // Safe to cancel: partial reads stay in our own buffer.
            if self.stdout.read_buf(&mut self.read).await.map_err(|_| ended())? == 0 {
                return Err(ended());
            }
        };
        match (message.get("method").and_then(Value::as_str), message.get("id")) {
            (Some("textDocument/publishDiagnostics"), None) => self.keep(&message),
            (Some(method), Some(id)) => {
                let answer = json!({ "jsonrpc": "2.0", "id": id, "result": answer(method, &message) });
                self.send(&answer).await?;
            }
            (Some(_), None) | (None, _) => {}
        }
        Ok(message)
    }

    fn keep(&mut self, message: &Value) {
        let (uri, diagnostics) = (message.pointer("/params/uri"), message.pointer("/params/diagnostics"));
        if let (Some(uri), Some(diagnostics)) =
            (uri.and_then(Value::as_str), diagnostics.and_then(Value::as_array))
        {
            self.pushed.insert(uri.to_owned(), diagnostics.clone());
        }
    }
}

fn ended() -> String {
    "the language server ended before it had answered".to_owned()
}

/// Answers a request: empty settings for configuration, null for everything else.
fn answer(method: &str, message: &Value) -> Value {
    let asked = message.pointer("/params/items").and_then(Value::as_array);
    match (method, asked) {
        ("workspace/configuration", Some(items)) => items.iter().map(|_| Value::Null).collect(),
        _ => Value::Null,
    }
}
