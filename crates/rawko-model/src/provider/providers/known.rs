//! Providers available without settings: their addresses and the environment variables of their keys.

use super::definition::ProviderKind;
use crate::provider::wire::{Dialect, OpenAiTraits, ReasoningReturn, SchemaSupport};

pub(super) struct KnownProvider {
    pub(super) name: &'static str,
    pub(super) kind: ProviderKind,
    pub(super) base_url: &'static str,
    /// The first variable that is set is used.
    pub(super) key_variables: &'static [&'static str],
    pub(super) base_variables: &'static [&'static str],
    /// True if the default address needs no key.
    pub(super) is_open: bool,
    /// Prefixes of model names that select this provider when none is named.
    pub(super) models: &'static [&'static str],
}

pub(super) const ORIGINAL: OpenAiTraits =
    OpenAiTraits { schema: SchemaSupport::JsonSchema, is_original: true, reasoning: ReasoningReturn::Never };
pub(super) const COMPATIBLE: OpenAiTraits = OpenAiTraits {
    schema: SchemaSupport::JsonSchema,
    is_original: false,
    reasoning: ReasoningReturn::WithTools,
};
/// Z.ai and DeepSeek support JSON output but no schema.
const JSON_ONLY: OpenAiTraits = OpenAiTraits { schema: SchemaSupport::JsonObject, ..COMPATIBLE };

pub(super) const KNOWN: [KnownProvider; 7] = [
    KnownProvider {
        name: "anthropic",
        kind: ProviderKind::Http(Dialect::Anthropic),
        base_url: "https://api.anthropic.com",
        key_variables: &["ANTHROPIC_API_KEY"],
        base_variables: &["ANTHROPIC_BASE_URL"],
        is_open: false,
        models: &["claude-"],
    },
    KnownProvider {
        name: "openai",
        kind: ProviderKind::Http(Dialect::OpenAi(ORIGINAL)),
        base_url: "https://api.openai.com/v1",
        key_variables: &["OPENAI_API_KEY"],
        base_variables: &["OPENAI_BASE_URL"],
        is_open: false,
        models: &["gpt-", "o1", "o3", "o4"],
    },
    KnownProvider {
        name: "zai",
        kind: ProviderKind::Http(Dialect::OpenAi(JSON_ONLY)),
        base_url: "https://api.z.ai/api/paas/v4",
        key_variables: &["ZAI_API_KEY", "Z_AI_API_KEY"],
        base_variables: &["ZAI_BASE_URL"],
        is_open: false,
        models: &["glm-"],
    },
    KnownProvider {
        name: "gemini",
        kind: ProviderKind::Http(Dialect::Gemini),
        base_url: "https://generativelanguage.googleapis.com",
        key_variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        base_variables: &["GEMINI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"],
        is_open: false,
        models: &["gemini-"],
    },
    KnownProvider {
        name: "ollama",
        kind: ProviderKind::Http(Dialect::Ollama),
        base_url: "http://127.0.0.1:11434",
        key_variables: &["OLLAMA_API_KEY"],
        base_variables: &["OLLAMA_HOST"],
        is_open: true,
        models: &[],
    },
    KnownProvider {
        name: "deepseek",
        kind: ProviderKind::Http(Dialect::OpenAi(JSON_ONLY)),
        base_url: "https://api.deepseek.com",
        key_variables: &["DEEPSEEK_API_KEY"],
        base_variables: &["DEEPSEEK_BASE_URL"],
        is_open: false,
        models: &["deepseek-"],
    },
    KnownProvider {
        name: "openrouter",
        kind: ProviderKind::Http(Dialect::OpenAi(COMPATIBLE)),
        base_url: "https://openrouter.ai/api/v1",
        key_variables: &["OPENROUTER_API_KEY"],
        base_variables: &[],
        is_open: false,
        models: &[],
    },
];

/// Alternative provider names.
const OTHER_NAMES: [(&str, &str); 3] = [("google", "gemini"), ("z.ai", "zai"), ("claude", "anthropic")];

/// Model names used by agents written for other programs. Settings can override them under `aliases`.
pub(super) const ALIASES: [(&str, &str); 3] = [
    ("opus", "anthropic/claude-opus-4-5"),
    ("sonnet", "anthropic/claude-sonnet-4-5"),
    ("haiku", "anthropic/claude-haiku-4-5"),
];

pub(super) fn known(name: &str) -> Option<&'static KnownProvider> {
    let name = OTHER_NAMES.iter().find(|(other, _)| *other == name).map_or(name, |(_, name)| name);
    KNOWN.iter().find(|known| known.name == name)
}

/// Returns the provider of a model given without a provider name.
pub(super) fn maker(model: &str) -> Option<&'static KnownProvider> {
    KNOWN.iter().find(|known| known.models.iter().any(|start| model.starts_with(start)))
}
