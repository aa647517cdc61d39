//! rawko as a language server: the findings of `check` while a person types, suggestions, explanations, and the states of
//! a chart. One thread reads, one answers in order: every answer takes milliseconds, so nothing needs to be cancelled.

mod answers;
mod documents;
mod uri;
mod wire;
mod workspace;

use std::collections::BTreeMap;
use std::io::{self, BufReader, Read, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use answers::EditedChart;
use documents::Documents;
use wire::{INVALID_PARAMS, INVALID_REQUEST, NOT_INITIALIZED, PARSE_ERROR, ResponseError, UNKNOWN_METHOD};
use workspace::{DocumentKind, Workspaces};

/// Pause after the last change before a text is checked.
const DEBOUNCE: Duration = Duration::from_millis(150);

/// The end of a conversation with an editor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// `shutdown`, then `exit`.
    Orderly,
    /// The editor went away.
    Abrupt,
}

type LspMessage = io::Result<Option<Result<Json, String>>>;

/// Serves an editor until it exits.
pub(crate) fn serve(input: impl Read + Send + 'static, output: impl Write) -> io::Result<Exit> {
    let (sender, messages) = channel::<LspMessage>();
    thread::spawn(move || {
        let mut input = BufReader::new(input);
        loop {
            let message = wire::read(&mut input);
            let is_last = !matches!(message, Ok(Some(_)));
            if sender.send(message).is_err() || is_last {
                return;
            }
        }
    });
    LspServer {
        output,
        phase: LspPhase::New,
        documents: Documents::default(),
        workspaces: Workspaces::default(),
        due: BTreeMap::new(),
    }
    .run(&messages)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LspPhase {
    New,
    Running,
    ShutDown,
}

struct LspServer<W> {
    output: W,
    phase: LspPhase,
    documents: Documents,
    workspaces: Workspaces,
    /// Documents to check, and when.
    due: BTreeMap<String, Instant>,
}

impl<W: Write> LspServer<W> {
    fn run(mut self, messages: &Receiver<LspMessage>) -> io::Result<Exit> {
        loop {
            let wait = self.due.values().min().map(|due| due.saturating_duration_since(Instant::now()));
            let message = match wait {
                Some(wait) => messages.recv_timeout(wait),
                None => messages.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match message {
                Ok(Ok(Some(Ok(message)))) if message["method"] == "exit" => break,
                Ok(Ok(Some(Ok(message)))) => self.handle(&message)?,
                Ok(Ok(Some(Err(error)))) => {
                    let error = ResponseError::new(PARSE_ERROR, format!("the message is not JSON: {error}"));
                    wire::write(&mut self.output, &wire::response(&Json::Null, Err(error)))?;
                }
                Ok(Ok(None)) | Err(RecvTimeoutError::Disconnected) => break,
                Ok(Err(error)) => return Err(error),
                Err(RecvTimeoutError::Timeout) => {}
            }
            self.check_due()?;
        }
        Ok(if self.phase == LspPhase::ShutDown { Exit::Orderly } else { Exit::Abrupt })
    }

    fn handle(&mut self, message: &Json) -> io::Result<()> {
        let params = &message["params"];
        match (message["method"].as_str(), message.get("id")) {
            (Some(method), Some(id)) => {
                let answer = self.request(method, params);
                wire::write(&mut self.output, &wire::response(id, answer))
            }
            (Some(method), None) => {
                self.notification(method, params);
                Ok(())
            }
            // A response; this server sends no requests.
            (None, _) => Ok(()),
        }
    }

    fn request(&mut self, method: &str, params: &Json) -> Result<Json, ResponseError> {
        match (self.phase, method) {
            (LspPhase::New, "initialize") => {
                self.phase = LspPhase::Running;
                return Ok(capabilities());
            }
            (LspPhase::New, _) => {
                return Err(ResponseError::new(NOT_INITIALIZED, "send `initialize` first"));
            }
            (LspPhase::ShutDown, _) => {
                return Err(ResponseError::new(INVALID_REQUEST, "the server is shut down; send `exit`"));
            }
            (LspPhase::Running, "shutdown") => {
                self.phase = LspPhase::ShutDown;
                self.due.clear();
                return Ok(Json::Null);
            }
            (LspPhase::Running, _) => {}
        }
        let about_document = [
            "textDocument/completion",
            "textDocument/hover",
            "textDocument/definition",
            "textDocument/references",
            "textDocument/prepareRename",
            "textDocument/rename",
            "textDocument/documentSymbol",
            "rawko/drawing",
        ];
        if !about_document.contains(&method) {
            return Err(ResponseError::new(UNKNOWN_METHOD, format!("there is no method `{method}`")));
        }
        let uri = params["textDocument"]["uri"].as_str().unwrap_or_default();
        let Some(document) = self.documents.get(uri) else {
            return Err(ResponseError::new(INVALID_PARAMS, format!("`{uri}` is not open")));
        };
        if !matches!(DocumentKind::of(document), DocumentKind::Chart | DocumentKind::New) {
            return Ok(Json::Null);
        }
        let workspace = self.workspaces.around(document);
        let subject = EditedChart { uri, document, workspace: &workspace, others: &self.documents };
        match method {
            "textDocument/completion" => subject.completion(params),
            "textDocument/hover" => subject.hover(params),
            "textDocument/definition" => subject.definition(params),
            "textDocument/references" => subject.references(params),
            "textDocument/prepareRename" => subject.prepare_rename(params),
            "textDocument/rename" => subject.rename(params),
            "textDocument/documentSymbol" => subject.symbols(),
            _ => subject.drawing(params),
        }
    }

    fn notification(&mut self, method: &str, params: &Json) {
        if self.phase != LspPhase::Running {
            return;
        }
        let uri = params["textDocument"]["uri"].as_str().unwrap_or_default();
        match method {
            "textDocument/didOpen" => {
                // A file that was created after the project was read.
                self.workspaces.forget();
                let uri = self.documents.handle_open(params);
                self.due.extend(uri.map(|uri| (uri, Instant::now())));
            }
            "textDocument/didChange" => {
                let uri = self.documents.handle_change(params);
                self.due.extend(uri.map(|uri| (uri, Instant::now() + DEBOUNCE)));
            }
            "textDocument/didClose" => {
                self.documents.handle_close(uri);
                // Published once more, as empty.
                self.due.insert(uri.to_owned(), Instant::now());
            }
            "textDocument/didSave" | "workspace/didChangeWatchedFiles" => {
                self.workspaces.forget();
                let now = Instant::now();
                self.due.extend(self.documents.uris().into_iter().map(|uri| (uri, now)));
            }
            _ => {}
        }
    }

    /// Checks the documents whose pause is over.
    fn check_due(&mut self) -> io::Result<()> {
        let now = Instant::now();
        let ready: Vec<String> =
            self.due.iter().filter(|(_, due)| **due <= now).map(|(uri, _)| uri.clone()).collect();
        for uri in ready {
            self.due.remove(&uri);
            let mut params = json!({ "uri": uri, "diagnostics": [] });
            if let Some(document) = self.documents.get(&uri) {
                let findings = self.workspaces.around(document).check(DocumentKind::of(document), document);
                params["version"] = document.version.clone();
                params["diagnostics"] = answers::diagnostics(&uri, &document.text, &findings);
            }
            let message = wire::notification("textDocument/publishDiagnostics", &params);
            wire::write(&mut self.output, &message)?;
        }
        Ok(())
    }
}

fn capabilities() -> Json {
    json!({
        "serverInfo": { "name": "rawko", "version": env!("CARGO_PKG_VERSION") },
        "capabilities": {
            "positionEncoding": "utf-16",
            "textDocumentSync": { "openClose": true, "change": 2, "save": true },
            "completionProvider": { "triggerCharacters": [" ", ".", ":", "#", "\"", "'"] },
            "hoverProvider": true,
            "definitionProvider": true,
            "referencesProvider": true,
            "renameProvider": { "prepareProvider": true },
            "documentSymbolProvider": true,
            "experimental": { "rawkoDrawing": true },
        },
    })
}
