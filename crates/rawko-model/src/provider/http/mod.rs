//! The transport: one request over HTTP, its response fed to the decoder as it arrives. Only this module handles
//! sockets and keys; it does not handle JSON.

mod deadline;
mod fault;
mod secret;

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Response, Url};

pub(crate) use rawko_http::HttpClients;
pub use secret::ApiKey;

use deadline::Deadline;

use super::pricing::Prices;
use super::wire::{BodyEnd, Decoder, Dialect};
use super::{
    Completion, CompletionFuture, CompletionRequest, ErrorCode, Provider, ProviderError, StreamListener,
    classify, reasoning,
};

/// Models need time before the first token; a longer silence means that the connection is dead.
pub(super) const IDLE_TIMEOUT: Duration = Duration::from_secs(300);
/// The longest answers of models that think take a quarter of an hour; a stream that takes longer drips.
pub(super) const COMPLETION_TIMEOUT: Duration = Duration::from_secs(30 * 60);
/// Of a failure, this much is read.
const FAILURE_BYTES_MAX: usize = 64 * 1024;

/// A provider over HTTP, configured by settings and environment.
#[derive(Clone)]
pub struct HttpProvider {
    /// Name of the provider in `provider/model`.
    pub name: String,
    /// Wire format.
    pub dialect: Dialect,
    /// Includes the base path, such as `https://api.openai.com/v1`.
    pub base_url: String,
    /// API key; `None` for local servers.
    pub key: Option<ApiKey>,
    /// Values marked as sensitive are never printed.
    pub headers: HeaderMap,
    /// Context size sent to servers that require it.
    pub context_tokens: Option<u32>,
    /// Between one part of the answer and the next, and before the first. Pings are no part of an answer.
    pub idle_timeout: Duration,
    /// From the request to the end of the answer.
    pub completion_timeout: Duration,
    /// Prices for the cost of each completion.
    pub prices: Arc<Prices>,
    client: Arc<HttpClients>,
}

impl fmt::Debug for HttpProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("HttpProvider");
        shown.field("name", &self.name).field("dialect", &self.dialect).field("base_url", &self.base_url);
        shown.field("key", &self.key).finish_non_exhaustive()
    }
}

impl Provider for HttpProvider {
    fn complete<'a>(
        &'a self,
        request: CompletionRequest,
        listener: StreamListener<'a>,
    ) -> CompletionFuture<'a> {
        Box::pin(async move {
            // Error responses often repeat the request.
            self.exchange(&request, listener).await.map_err(|error| self.hidden(error))
        })
    }
}

impl HttpProvider {
    /// Creates a provider with default timeouts, headers and prices.
    pub fn new(
        name: impl Into<String>,
        dialect: Dialect,
        base_url: impl Into<String>,
        key: Option<ApiKey>,
    ) -> Self {
        Self {
            name: name.into(),
            dialect,
            base_url: base_url.into(),
            key,
            headers: HeaderMap::new(),
            context_tokens: None,
            idle_timeout: IDLE_TIMEOUT,
            completion_timeout: COMPLETION_TIMEOUT,
            prices: Arc::default(),
            client: Arc::default(),
        }
    }

    /// Uses a shared client.
    pub(crate) fn with_client(self, client: Arc<HttpClients>) -> Self {
        Self { client, ..self }
    }

    async fn exchange(
        &self,
        request: &CompletionRequest,
        listener: StreamListener<'_>,
    ) -> Result<Completion, ProviderError> {
        let url = self.url(&request.model)?;
        if request.search && !self.dialect.can_search() {
            let why = "this service has no web search of its own; set `tools.search.provider` to another";
            return Err(ProviderError::new(ErrorCode::InvalidRequest, why));
        }
        let sent = self
            .client
            .for_url(&url)
            .map_err(|error| ProviderError::new(ErrorCode::InvalidRequest, error.to_string()))?
            .post(url.clone())
            .headers(self.headers(&request.idempotency)?)
            .body(self.body(request).to_string())
            .send();
        let deadline = Deadline::new(self.idle_timeout, self.completion_timeout);
        let response = deadline.wait(&url, sent).await?.map_err(|error| fault::of_send(&error, &url))?;
        if response.status().as_u16() == 200 {
            self.answer(response, request, listener, (&url, deadline)).await
        } else {
            Err(self.failure(response, &url, &deadline).await)
        }
    }

    /// Names the model and where it runs. Reasoning is only valid there.
    fn origin(&self, request: &CompletionRequest) -> String {
        format!("{}/{}", self.name, request.model)
    }

    /// Builds the body. Another model's reasoning is omitted: its signatures would be rejected.
    fn body(&self, request: &CompletionRequest) -> serde_json::Value {
        let messages = reasoning::without_foreign(request, &self.origin(request));
        self.dialect.body(&CompletionRequest { messages, ..request.clone() }, self.context_tokens)
    }

    async fn answer(
        &self,
        mut response: Response,
        request: &CompletionRequest,
        listener: StreamListener<'_>,
        (url, mut deadline): (&Url, Deadline),
    ) -> Result<Completion, ProviderError> {
        let price = self.prices.find(&self.name, &request.model);
        let mut decoder = Decoder::new(self.dialect, request, price, &self.origin(request));
        let mut end = BodyEnd::Announced;
        while !decoder.is_over() {
            let chunk = match deadline.wait(url, response.chunk()).await {
                Ok(chunk) => chunk,
                Err(_) if decoder.is_whole() => break,
                Err(error) => return Err(error),
            };
            // A broken connection ends the body; the decoder knows if it was too early.
            let bytes = match chunk {
                Ok(Some(bytes)) => bytes,
                Ok(None) => break,
                Err(_) => {
                    end = BodyEnd::Broken;
                    break;
                }
            };
            let handled = decoder.handle_bytes(&bytes);
            decoder.take_events().into_iter().for_each(&mut *listener);
            handled?;
            if decoder.take_progress() {
                deadline.progress();
            }
        }
        let (completion, events) = decoder.finish(end)?;
        events.into_iter().for_each(listener);
        Ok(completion)
    }

    /// Classifies an error response by its status, even if the body times out.
    async fn failure(&self, mut response: Response, url: &Url, deadline: &Deadline) -> ProviderError {
        let status = response.status().as_u16();
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let now_ms = i64::try_from(now.as_millis()).unwrap_or(i64::MAX);
        let retry_after_ms = rawko_http::retry_after_ms(response.headers(), now_ms);
        let mut body = Vec::new();
        while let Ok(Ok(Some(bytes))) = deadline.wait(url, response.chunk()).await {
            body.extend_from_slice(&bytes);
            if body.len() > FAILURE_BYTES_MAX {
                break;
            }
        }
        // Redacted before truncation, so that no part of a key remains at the cut.
        let body = self.shown(&String::from_utf8_lossy(&body));
        classify::response(status, retry_after_ms, &body)
    }

    fn hidden(&self, mut error: ProviderError) -> ProviderError {
        error.message = format!("{}: {}", self.name, self.shown(&error.message));
        error
    }

    fn shown(&self, text: &str) -> String {
        self.secrets().iter().fold(text.to_owned(), |text, secret| secret.hide(&text))
    }

    /// Returns all values to redact: the key, and headers filled from settings.
    pub(crate) fn secrets(&self) -> Vec<ApiKey> {
        let sensitive = self.headers.values().filter(|value| value.is_sensitive());
        let headers = sensitive.filter_map(|value| value.to_str().ok()).map(ApiKey::new);
        self.key.iter().cloned().chain(headers).collect()
    }

    fn url(&self, model: &str) -> Result<Url, ProviderError> {
        let invalid = |why: &str| ProviderError::new(ErrorCode::InvalidRequest, why.to_owned());
        if model.is_empty() || model.contains(['?', '#', '\\']) || model.contains("..") {
            return Err(invalid(&format!("`{model}` is not a valid model name")));
        }
        let base = self.base_url.trim_end_matches('/');
        let base = match self.dialect {
            // Both spellings are common.
            Dialect::Anthropic => base.strip_suffix("/v1").unwrap_or(base),
            Dialect::Gemini => base.strip_suffix("/v1beta").unwrap_or(base),
            Dialect::OpenAi(_) | Dialect::Responses | Dialect::Ollama => base,
        };
        let url = Url::parse(&format!("{base}/{}", self.dialect.path(model)));
        url.map_err(|error| invalid(&format!("`{base}` is not a valid URL: {error}")))
    }

    fn headers(&self, idempotency: &str) -> Result<HeaderMap, ProviderError> {
        let mut headers = self.headers.clone();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(key) = HeaderValue::from_str(idempotency).ok().filter(|key| !key.is_empty()) {
            headers.insert(HeaderName::from_static("idempotency-key"), key);
        }
        let (name, before) = match self.dialect {
            Dialect::OpenAi(_) | Dialect::Responses | Dialect::Ollama => (AUTHORIZATION, "Bearer "),
            Dialect::Anthropic => {
                headers.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
                (HeaderName::from_static("x-api-key"), "")
            }
            Dialect::Gemini => (HeaderName::from_static("x-goog-api-key"), ""),
        };
        if let Some(key) = &self.key {
            let cannot = || {
                ProviderError::new(ErrorCode::AuthenticationFailed, "the API key is not a valid header value")
            };
            headers.insert(name, key.header(before).ok_or_else(cannot)?);
        }
        Ok(headers)
    }
}
