//! Errors of HTTP requests as plain messages. The client's own messages contain the whole URL, which may hold a secret.

use std::error::Error;
use std::io;

use rawko_http::{chain, host, innermost, is_refused};
use reqwest::Url;

use crate::services::{AttemptOutcome, Category, ServiceError};

/// Converts an error without a response: the connection failed or was closed.
pub(super) fn of_send(error: &reqwest::Error, url: &Url) -> ServiceError {
    let host = host(url);
    let message = if !error.is_connect() {
        format!("the connection to {host} was closed before a response arrived")
    } else if chain(error).any(|cause| cause.is::<rustls::Error>() || wraps_tls(cause)) {
        format!("the TLS connection to {host} failed: {}", innermost(error))
    } else if chain(error).any(|cause| cause.to_string().starts_with("dns error")) {
        format!("cannot resolve the host {host}")
    } else if chain(error).any(is_refused) {
        format!("the connection to {host} was refused")
    } else {
        format!("cannot reach {host}: {}", innermost(error))
    };
    // A request is sent only after connecting, so a failed connection means that nothing was sent.
    let outcome = if error.is_connect() { AttemptOutcome::Definite } else { AttemptOutcome::Unknown };
    ServiceError::new(Category::Network, message).with_outcome(outcome)
}

/// The error of a response that ended early.
pub(super) fn cut_off() -> ServiceError {
    ServiceError::new(Category::Network, "the response was cut off")
}

/// TLS errors are nested inside IO errors, possibly several levels deep, and are not listed as their source.
fn wraps_tls<'e>(cause: &'e (dyn Error + 'static)) -> bool {
    let inside = |error: &&'e io::Error| (*error).get_ref()?.downcast_ref::<io::Error>();
    let mut wrappers = std::iter::successors(cause.downcast_ref::<io::Error>(), inside);
    wrappers.any(|error| error.get_ref().is_some_and(|inner| inner.is::<rustls::Error>()))
}
