//! Messages to and from a language server: initialise it, open and change files, collect diagnostics. Servers that
//! support pull diagnostics are queried; for others this waits until every file has diagnostics and no more arrive.

use std::collections::{BTreeMap, BTreeSet};
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

#[derive(Debug)]
pub(super) struct Talk {
    stdin: ChildStdin,
    stdout: ChildStdout,
    root: String,
    read: Vec<u8>,
    last_id: u64,
    /// True if the server supports pull diagnostics.
    can_be_asked: bool,
    /// The latest pushed diagnostics, by file.
    pushed: BTreeMap<String, Vec<Value>>,
    /// Work that the server has reported as begun, such as loading the project.
    working: BTreeSet<String>,
}

impl Talk {
    pub(super) fn new(stdin: ChildStdin, stdout: ChildStdout, root: &Path) -> Self {
        Self {
            stdin,
            stdout,
            root: uri(root),
            read: Vec::new(),
            last_id: 0,
            can_be_asked: false,
            pushed: BTreeMap::new(),
            working: BTreeSet::new(),
        }
    }

    pub(super) async fn introduce(&mut self) -> Result<(), String> {
        let parameters = json!({
            "processId": std::process::id(),
            "rootUri": self.root,
            "workspaceFolders": [{ "uri": self.root, "name": "project" }],
            "capabilities": {
                "textDocument": { "publishDiagnostics": {}, "diagnostic": {} },
                "window": { "workDoneProgress": true },
            },
        });
        let answer = self.request("initialize", parameters).await?;
        self.notify("initialized", json!({})).await?;
        let provider = answer.pointer("/capabilities/diagnosticProvider");
        self.can_be_asked = provider.is_some_and(|provider| !provider.is_null());
        Ok(())
    }

    pub(super) async fn open(&mut self, file: &OpenFile) -> Result<(), String> {
        let document =
            json!({ "uri": file.uri, "languageId": file.language, "version": 1, "text": file.text });
        self.notify("textDocument/didOpen", json!({ "textDocument": document })).await?;
        self.changed_on_disk(&file.uri, FileEvent::Changed).await
    }

    /// Sends a new text. Diagnostics of the old one no longer count.
    pub(super) async fn change(&mut self, file: &OpenFile, version: u64) -> Result<(), String> {
        self.pushed.remove(&file.uri);
        let document = json!({ "uri": file.uri, "version": version });
        let changes = json!([{ "text": file.text }]);
        let change = json!({ "textDocument": document, "contentChanges": changes });
        self.notify("textDocument/didChange", change).await?;
        let saved = json!({ "textDocument": { "uri": file.uri }, "text": file.text });
        self.notify("textDocument/didSave", saved).await?;
        self.changed_on_disk(&file.uri, FileEvent::Changed).await
    }

    pub(super) async fn close(&mut self, uri: &str) -> Result<(), String> {
        self.pushed.remove(uri);
        self.notify("textDocument/didClose", json!({ "textDocument": { "uri": uri } })).await?;
        self.changed_on_disk(uri, FileEvent::Deleted).await
    }

    async fn changed_on_disk(&mut self, uri: &str, event: FileEvent) -> Result<(), String> {
        let change = json!({ "uri": uri, "type": event as u8 });
        self.notify("workspace/didChangeWatchedFiles", json!({ "changes": [change] })).await
    }

    /// Returns the diagnostics of each open file, in order.
    pub(super) async fn diagnostics(&mut self, opened: &[OpenFile]) -> Result<Vec<Vec<Value>>, String> {
        if self.can_be_asked {
            self.until_quiet(opened, |_, _| true).await?;
            return self.ask(opened).await;
        }
        let has_all =
            |talk: &Self, opened: &[OpenFile]| opened.iter().all(|file| talk.pushed.contains_key(&file.uri));
        self.until_quiet(opened, has_all).await?;
        Ok(opened.iter().map(|file| self.pushed.get(&file.uri).cloned().unwrap_or_default()).collect())
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

    /// Waits until the server works no more, every file it must report has diagnostics, and it is silent.
    async fn until_quiet(
        &mut self,
        opened: &[OpenFile],
        has_all: fn(&Self, &[OpenFile]) -> bool,
    ) -> Result<(), String> {
        loop {
            if !has_all(self, opened) || !self.working.is_empty() {
                self.hear().await?;
                continue;
            }
            match timeout(QUIET, self.hear()).await {
                Ok(heard) => heard.map(drop)?,
                Err(_) => return Ok(()),
            }
        }
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
            (Some("$/progress"), None) => self.note_work(&message),
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

    fn note_work(&mut self, message: &Value) {
        let Some(token) = message.pointer("/params/token").map(Value::to_string) else { return };
        match message.pointer("/params/value/kind").and_then(Value::as_str) {
            Some("begin") => drop(self.working.insert(token)),
            Some("end") => drop(self.working.remove(&token)),
            Some(_) | None => {}
        }
    }
}

/// A change of a file, by its number in the protocol.
#[derive(Clone, Copy)]
#[repr(u8)]
enum FileEvent {
    Changed = 2,
    Deleted = 3,
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
