//! Network errors as messages. The client's own messages contain the whole URL.

use std::time::Duration;

use rawko_core::duration::format_ms;
use rawko_http::{chain, host, innermost, is_refused};
use reqwest::Url;

use crate::provider::{ErrorCode, ProviderError};

/// No response: unreachable, or the connection was closed.
pub(super) fn of_send(error: &reqwest::Error, url: &Url) -> ProviderError {
    let host = host(url);
    let message = if error.is_timeout() {
        format!("connecting to {host} timed out")
    } else if !error.is_connect() {
        format!("the connection to {host} was closed before a response arrived")
    } else if chain(error).any(|cause| cause.to_string().starts_with("dns error")) {
        format!("cannot resolve the host {host}")
    } else if chain(error).any(is_refused) {
        format!("{host} refused the connection")
    } else {
        format!("{host} cannot be reached: {}", innermost(error))
    };
    ProviderError::new(ErrorCode::NetworkError, message)
}

pub(super) fn silent(url: &Url, limit: Duration) -> ProviderError {
    let message = format!("{} sent no part of a response for {}", host(url), in_words(limit));
    ProviderError::new(ErrorCode::NetworkError, message)
}

pub(super) fn unfinished(url: &Url, limit: Duration) -> ProviderError {
    let message = format!(
        "{} did not finish its response within {}; raise `completion_timeout` of the provider to allow more",
        host(url),
        in_words(limit)
    );
    ProviderError::new(ErrorCode::NetworkError, message)
}

fn in_words(limit: Duration) -> String {
    format_ms(u64::try_from(limit.as_millis()).unwrap_or(u64::MAX))
}
