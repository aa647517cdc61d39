//! Causes of failed requests. The client's own messages contain the whole URL, which may hold a secret, so callers build
//! theirs from these parts.

use std::error::Error;
use std::io;

use reqwest::Url;

/// Returns the quoted host of an address, with its port if one is given.
pub fn host(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| format!("`{host}`"), |port| format!("`{host}:{port}`"))
}

/// Returns an error and its sources, outermost first.
pub fn chain<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error: &&'e (dyn Error + 'static)| (*error).source())
}

/// Returns the message of the innermost source.
pub fn innermost(error: &reqwest::Error) -> String {
    chain(error).last().map(ToString::to_string).unwrap_or_default()
}

/// Reports whether a cause is a refused connection.
pub fn is_refused(cause: &(dyn Error + 'static)) -> bool {
    cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
}
