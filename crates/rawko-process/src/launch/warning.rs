//! The warning about a missing layer: loud, and once per process and reason.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use super::layers::Layers;

static PRINTED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

pub(crate) fn missing(layers: &Layers) {
    for (layer, why) in layers.missing() {
        say(&format!("the sandbox has no {layer} ({why}): {}", layer.without_it()));
    }
}

/// Prints to stderr in every output format: this must not be lost in a log.
#[expect(clippy::print_stderr, reason = "a sandbox that is not there must be noticed")]
pub(crate) fn say(text: &str) {
    let mut printed = PRINTED.lock().unwrap_or_else(PoisonError::into_inner);
    if printed.insert(text.to_owned()) {
        eprintln!("warning: {text}; set `tools.bash.sandbox: require` to refuse instead");
    }
}

/// Prints the names of renamed files, where no result of a call has them.
#[expect(clippy::print_stderr, reason = "a person may look for the file")]
pub(crate) fn set_aside(lines: &[String]) {
    lines.iter().for_each(|line| eprintln!("warning: {line}"));
}
