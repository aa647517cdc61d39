//! Classifies provider failures by status and body. One set of rules serves all services: compatible servers use each
//! other's error formats, also on paths that are not theirs.

use serde_json::Value;

use super::{ErrorCode, ProviderError};

/// Longer messages are truncated.
const MESSAGE_BYTES_MAX: usize = 500;

/// Classifies a response with a failure status.
pub(super) fn response(status: u16, retry_after_ms: Option<u64>, body: &str) -> ProviderError {
    let json: Value = serde_json::from_str(body).unwrap_or(Value::Null);
    let said = ProviderErrorBody::of(&json, body);
    let code = said.code(status);
    let retry_after_ms = retry_after_ms.or_else(|| retry_info_ms(said.error));
    let message = if said.message.is_empty() {
        format!("the provider returned {status}")
    } else {
        format!("the provider returned {status}: {}", head(&said.message, MESSAGE_BYTES_MAX))
    };
    ProviderError { code, message, retry_after_ms, status: Some(status) }
}

/// Classifies an error that arrives in the middle of a successful stream.
pub(super) fn in_stream(json: &Value) -> ProviderError {
    let said = ProviderErrorBody::of(json, "");
    let status = said.status();
    // An accepted request that fails without a reason counts as a server error.
    let code = said.code(status.unwrap_or(500));
    let message =
        format!("the provider failed during its response: {}", head(&said.message, MESSAGE_BYTES_MAX));
    ProviderError { code, message, retry_after_ms: retry_info_ms(said.error), status }
}

/// The error in a body: `{error: {message, type, code, status}}`, `{error: "…"}`, `{message}`, `{detail}`, a list that
/// holds one of these, or plain text.
struct ProviderErrorBody<'j> {
    error: &'j Value,
    message: String,
    /// `type`, `code` and `status`, in lower case.
    kinds: Vec<String>,
}

impl<'j> ProviderErrorBody<'j> {
    fn of(json: &'j Value, body: &str) -> Self {
        let json = json.get(0).unwrap_or(json);
        let error = json.get("error").filter(|error| !error.is_null()).unwrap_or(json);
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        let message = text(Some(error))
            .or_else(|| text(error.get("message")))
            .or_else(|| text(error.get("detail")))
            .or_else(|| text(json.get("message")));
        let message = message.unwrap_or_else(|| if json.is_null() { plain(body) } else { json.to_string() });
        Self { error, message, kinds: kinds(error) }
    }

    fn is(&self, kind: &str) -> bool {
        self.kinds.iter().any(|it| it == kind)
    }

    fn mentions(&self, words: &[&str]) -> bool {
        let message = self.message.to_lowercase();
        words.iter().any(|word| message.contains(word))
    }

    fn code(&self, status: u16) -> ErrorCode {
        let may_be_length = !matches!(status, 401 | 403 | 429);
        match status {
            _ if self.is_out_of_credit() => ErrorCode::AuthenticationFailed,
            _ if may_be_length && self.is_too_long() => ErrorCode::ContextLengthExceeded,
            _ if self.is_bad_key() => ErrorCode::AuthenticationFailed,
            401..=403 => ErrorCode::AuthenticationFailed,
            404 | 410 => ErrorCode::ModelUnavailable,
            408 | 504 => ErrorCode::NetworkError,
            413 => ErrorCode::ContextLengthExceeded,
            429 => ErrorCode::RateLimited,
            300..=499 => ErrorCode::InvalidRequest,
            500..=599 => ErrorCode::ModelUnavailable,
            _ => ErrorCode::Unknown,
        }
    }

    /// Returns true if the account has no credit, which a retry cannot fix.
    fn is_out_of_credit(&self) -> bool {
        self.is("insufficient_quota")
            || self.is("billing_error")
            || self.mentions(&["insufficient balance", "credit balance is too low"])
    }

    fn is_bad_key(&self) -> bool {
        self.is("invalid_api_key") || self.mentions(&["api key not valid", "api_key_invalid"])
    }

    fn is_too_long(&self) -> bool {
        TOO_LONG_KINDS.iter().any(|kind| self.is(kind)) || self.mentions(&TOO_LONG_WORDS)
    }

    /// Returns the status the response would have had if the error had been known before streaming began.
    fn status(&self) -> Option<u16> {
        let number =
            self.kinds.iter().find_map(|kind| kind.parse().ok().filter(|code| (400..600).contains(code)));
        number.or_else(|| {
            let known = STATUS_OF_KIND.iter().find(|(kind, _)| self.is(kind));
            known.map(|(_, status)| *status)
        })
    }
}

const TOO_LONG_KINDS: [&str; 4] =
    ["context_length_exceeded", "exceed_context_size_error", "request_too_large", "1261"];

/// Phrases used by OpenAI, Anthropic, Gemini, llama.cpp, vLLM, Ollama and Z.ai.
const TOO_LONG_WORDS: [&str; 11] = [
    "maximum context length",
    "context_length_exceeded",
    "prompt is too long",
    "input is too long",
    "input length and `max_tokens` exceed context limit",
    "exceeds the maximum number of tokens",
    "exceeds the available context size",
    "exceeds the context window",
    "exceed context window",
    "exceeds the context length",
    "prompt exceeds max length",
];

const STATUS_OF_KIND: [(&str, u16); 19] = [
    ("authentication_error", 401),
    ("unauthenticated", 401),
    ("billing_error", 402),
    ("permission_error", 403),
    ("permission_denied", 403),
    ("not_found_error", 404),
    ("model_not_found", 404),
    ("not_found", 404),
    ("request_too_large", 413),
    ("rate_limit_error", 429),
    ("rate_limit_exceeded", 429),
    ("resource_exhausted", 429),
    ("invalid_request_error", 400),
    ("invalid_argument", 400),
    ("overloaded_error", 529),
    ("unavailable", 503),
    ("deadline_exceeded", 504),
    ("timeout_error", 504),
    ("api_error", 500),
];

fn kinds(error: &Value) -> Vec<String> {
    let kind = |key: &str| match error.get(key) {
        Some(Value::String(text)) => Some(text.to_lowercase()),
        Some(Value::Number(number)) => Some(number.to_string()),
        _ => None,
    };
    ["type", "code", "status"].into_iter().filter_map(kind).collect()
}

/// Strips the tags of a body that is not JSON, such as a proxy's error page.
fn plain(body: &str) -> String {
    let mut is_tag = false;
    let shown = body.chars().filter(|&letter| {
        let was_tag = is_tag;
        is_tag = (is_tag || letter == '<') && letter != '>';
        !was_tag && !is_tag
    });
    shown.collect::<String>().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Parses the retry delay that Gemini puts in the body: `retryDelay: "34.5s"`.
fn retry_info_ms(error: &Value) -> Option<u64> {
    let details = error.get("details").and_then(Value::as_array).into_iter().flatten();
    let delay = details.filter_map(|detail| detail.get("retryDelay")?.as_str()).next()?;
    let seconds: f64 = delay.strip_suffix('s')?.parse().ok()?;
    (seconds.is_finite() && seconds >= 0.0).then_some((seconds * 1000.0).ceil() as u64)
}

/// Truncates a text at a character boundary.
pub(super) fn head(text: &str, bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return text.to_owned();
    }
    format!("{}…", &text[..text.floor_char_boundary(bytes_max)])
}
