//! Recording: a provider that wraps another one and writes its requests and responses to a tape.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use super::{RecordedEnd, TapeExchange, VERSION, request_hash};
use crate::provider::http::ApiKey;
use crate::provider::{
    Completion, CompletionFuture, CompletionRequest, Provider, ProviderError, StreamEvent, StreamListener,
};

/// A tape shared by several providers.
pub struct Recorder {
    state: Mutex<RecorderState>,
    /// Redacted in every line.
    secrets: Vec<ApiKey>,
}

struct RecorderState {
    file: File,
    fault: Option<String>,
}

impl Recorder {
    /// Opens the file for appending and creates missing folders.
    pub fn open(path: &Path, secrets: Vec<ApiKey>) -> io::Result<Arc<Self>> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Arc::new(Self { state: Mutex::new(RecorderState { file, fault: None }), secrets }))
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
        let written = line.and_then(|line| state.file.write_all(line.as_bytes()));
        if let Err(error) = written {
            state.fault.get_or_insert_with(|| error.to_string());
        }
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
