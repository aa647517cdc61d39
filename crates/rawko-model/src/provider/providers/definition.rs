//! A provider's definition in settings, and its precedence rules.

use std::path::PathBuf;
use std::time::Duration;

use rawko_settings::Environment;
use reqwest::header::HeaderName;

use crate::provider::wire::{Dialect, ReasoningReturn, SchemaSupport};

/// The kind of provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProviderKind {
    Http(Dialect),
    Scripted,
    Replay,
}

/// `None` and empty mean not specified.
#[derive(Clone, Debug, Default)]
pub(super) struct ProviderDefinition {
    pub(super) kind: Option<ProviderKind>,
    pub(super) base_url: Option<ExpandedText>,
    pub(super) key: Option<ExpandedText>,
    pub(super) headers: Vec<(HeaderName, ExpandedText)>,
    pub(super) idle_timeout: Option<Duration>,
    pub(super) completion_timeout: Option<Duration>,
    pub(super) context_tokens: Option<u32>,
    pub(super) schema: Option<SchemaSupport>,
    pub(super) send_reasoning: Option<ReasoningReturn>,
    pub(super) file: Option<PathBuf>,
}

impl ProviderDefinition {
    /// Merges two definitions; this one takes precedence.
    pub(super) fn over(self, below: ProviderDefinition) -> ProviderDefinition {
        ProviderDefinition {
            kind: self.kind.or(below.kind),
            base_url: self.base_url.or(below.base_url),
            key: self.key.or(below.key),
            headers: if self.headers.is_empty() { below.headers } else { self.headers },
            idle_timeout: self.idle_timeout.or(below.idle_timeout),
            completion_timeout: self.completion_timeout.or(below.completion_timeout),
            context_tokens: self.context_tokens.or(below.context_tokens),
            schema: self.schema.or(below.schema),
            send_reasoning: self.send_reasoning.or(below.send_reasoning),
            file: self.file.or(below.file),
        }
    }
}

/// A text with its variables expanded, or the first one that is not set. No `Debug` of the text: it may be a key.
#[derive(Clone)]
pub(super) struct ExpandedText(pub(super) Result<String, String>);

impl std::fmt::Debug for ExpandedText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            Ok(_) => f.write_str("[hidden]"),
            Err(missing) => write!(f, "${{{missing}}} is not set"),
        }
    }
}

impl ExpandedText {
    /// Expands `${NAME}` anywhere in the text. An empty variable counts as unset.
    pub(super) fn of(text: &str, environment: &Environment) -> Self {
        let (mut filled, mut rest) = (String::new(), text);
        while let Some((before, from)) = rest.split_once("${") {
            let Some((name, after)) = from.split_once('}') else { break };
            let Some(value) = environment.get(name).filter(|value| !value.is_empty()) else {
                return Self(Err(name.to_owned()));
            };
            filled.push_str(before);
            filled.push_str(value);
            rest = after;
        }
        filled.push_str(rest);
        Self(Ok(filled))
    }
}
