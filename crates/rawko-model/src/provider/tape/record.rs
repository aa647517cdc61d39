//! Recording: a provider that wraps another one and writes its requests and responses to a tape.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::{RecordedEnd, TapeExchange, VERSION, request_hash};
use crate::provider::http::ApiKey;
use crate::provider::{
    Completion, CompletionFuture, CompletionRequest, ErrorCode, Provider, ProviderError, StreamEvent,
    StreamListener,
};

/// A tape shared by several providers.
pub struct Recorder {
    path: PathBuf,
    state: Mutex<RecorderState>,
    /// Redacted in every line.
    secrets: Vec<ApiKey>,
}

#[derive(Default)]
struct RecorderState {
    /// Opened by the first completion: reading settings writes nothing.
    file: Option<File>,
    fault: Option<String>,
}

impl Recorder {
    /// Creates a tape at a path to which a file can be written. Nothing is written before the first completion.
    pub fn open(path: &Path, secrets: Vec<ApiKey>) -> io::Result<Arc<Self>> {
        check(path)?;
        Ok(Arc::new(Self { path: path.to_owned(), state: Mutex::default(), secrets }))
    }

    /// Opens the file for appending and creates missing folders.
    fn ready(&self) -> io::Result<()> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.file.is_none() {
            check(&self.path)?;
            if let Some(folder) = self.path.parent() {
                std::fs::create_dir_all(folder)?;
            }
            state.file = Some(OpenOptions::new().create(true).append(true).open(&self.path)?);
        }
        Ok(())
    }

    /// Returns the error that made the tape incomplete, if any. A failed write does not discard a completion that was
    /// paid for.
    pub fn fault(&self) -> Option<String> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).fault.clone()
    }

    /// Writes each line in one call, so that lines of several processes do not mix.
    fn write(&self, exchange: &TapeExchange) {
        let line = serde_json::to_string(exchange).map_err(io::Error::other);
        let line = line.map(|line| self.secrets.iter().fold(line, |line, secret| secret.hide(&line)) + "\n");
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let written = line.and_then(|line| match &mut state.file {
            Some(file) => file.write_all(line.as_bytes()),
            None => Err(io::Error::from(io::ErrorKind::NotFound)),
        });
        if let Err(error) = written {
            state.fault.get_or_insert_with(|| error.to_string());
        }
    }
}

/// Rejects a path that is a link, which would lead the text of models to another file, and one that no file can have.
fn check(path: &Path) -> io::Result<()> {
    let found = path.ancestors().find_map(|at| Some((at, at.symlink_metadata().ok()?)));
    match found {
        Some((at, about)) if at == path && about.is_symlink() => {
            Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a link"))
        }
        Some((at, about)) if at == path && !about.is_file() => {
            Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"))
        }
        Some((at, _)) if at != path && !at.is_dir() => Err(io::ErrorKind::NotADirectory.into()),
        Some(_) | None => Ok(()),
    }
}

/// A provider whose exchanges are recorded. An abandoned exchange is not.
pub struct RecordingProvider {
    inner: Arc<dyn Provider>,
    recorder: Arc<Recorder>,
}

impl RecordingProvider {
    /// Creates a provider that forwards to `inner` and writes to `recorder`.
    pub fn new(inner: Arc<dyn Provider>, recorder: Arc<Recorder>) -> Self {
        Self { inner, recorder }
    }
}

impl Provider for RecordingProvider {
    fn complete<'a>(
        &'a self,
        request: CompletionRequest,
        listener: StreamListener<'a>,
    ) -> CompletionFuture<'a> {
        Box::pin(async move {
            // The recording was requested: without it no model is asked.
            if let Err(error) = self.recorder.ready() {
                let why = format!("cannot record to {}: {error}", self.recorder.path.display());
                return Err(ProviderError::new(ErrorCode::InvalidRequest, why));
            }
            let mut events = Vec::new();
            let mut hear = |event: StreamEvent| {
                events.push(event.clone());
                listener(event);
            };
            let result = self.inner.complete(request.clone(), &mut hear).await;
            self.recorder.write(&exchange(request, events, &result));
            result
        })
    }
}

fn exchange(
    request: CompletionRequest,
    events: Vec<StreamEvent>,
    result: &Result<Completion, ProviderError>,
) -> TapeExchange {
    let result = match result {
        Ok(completion) => RecordedEnd::Completion(completion.clone()),
        Err(error) => RecordedEnd::Error(error.clone()),
    };
    TapeExchange { version: VERSION, hash: request_hash(&request), request, events, result }
}
