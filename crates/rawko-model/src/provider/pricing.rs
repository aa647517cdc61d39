//! Token prices. A table of well-known models that settings can override; a model that is not in it has no cost.

use std::collections::BTreeMap;

use crate::message::Usage;

/// US dollars per million tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Price {
    /// For input that is not cached.
    pub input: f64,
    /// For input read from the provider's cache.
    pub cached: f64,
    /// For input written to the provider's cache.
    pub cache_write: f64,
    /// For output, including reasoning.
    pub output: f64,
}

impl Price {
    /// Returns the cost of a completion in US dollars.
    pub fn cost_usd(self, usage: &Usage) -> f64 {
        let cached = usage.cached_tokens.min(usage.input_tokens);
        let written = usage.cache_write_tokens.min(usage.input_tokens - cached);
        let fresh = usage.input_tokens - cached - written;
        let sum = fresh as f64 * self.input
            + cached as f64 * self.cached
            + written as f64 * self.cache_write
            + usage.output_tokens as f64 * self.output;
        sum / 1_000_000.0
    }
}

/// The built-in table with the overrides of the settings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prices {
    /// By `model` or `provider/model`.
    pub said: BTreeMap<String, Price>,
}

impl Prices {
    /// Returns the price of a model, if known. Settings for `provider/model` take precedence over settings for `model`,
    /// and those over the table.
    pub fn find(&self, provider: &str, model: &str) -> Option<Price> {
        let said = self.said.get(&format!("{provider}/{model}")).or_else(|| self.said.get(model));
        said.copied().or_else(|| known(model))
    }
}

/// Looks up a model in the table. Compatible hosts prefix the maker: `openai/gpt-4o`.
fn known(model: &str) -> Option<Price> {
    let model = model.rsplit('/').next().unwrap_or(model);
    let rows = KNOWN.iter().filter(|(name, ..)| is_version_of(model, name));
    let (_, input, cached, output) = *rows.max_by_key(|(name, ..)| name.len())?;
    // Anthropic charges a quarter more for input that it caches; the others cache without charge.
    let cache_write = if model.starts_with("claude") { input * 1.25 } else { input };
    Some(Price { input, cached, cache_write, output })
}

/// `gpt-4o-2024-08-06` is a version of `gpt-4o`; `gpt-4o-mini` is another model.
fn is_version_of(model: &str, name: &str) -> bool {
    let Some(rest) = model.strip_prefix(name) else { return false };
    let version = rest.strip_prefix(['-', '@', ':']);
    rest.is_empty()
        || version.is_some_and(|it| {
            it == "latest" || it.starts_with("preview") || it.starts_with(|c: char| c.is_ascii_digit())
        })
}

/// `(model, input, cached, output)`. Prices change; settings can override them.
const KNOWN: [(&str, f64, f64, f64); 52] = [
    ("claude-fable-5-1", 10.0, 0.25, 50.0),
    ("claude-fable-5", 10.0, 1.0, 50.0),
    ("claude-mythos-5-1", 10.0, 0.25, 50.0),
    ("claude-mythos-5", 10.0, 1.0, 50.0),
    ("claude-opus-5-5", 4.0, 0.2, 20.0),
    ("claude-opus-5", 5.0, 0.5, 25.0),
    ("claude-opus-4-8", 5.0, 0.5, 25.0),
    ("claude-opus-4-7", 5.0, 0.5, 25.0),
    ("claude-sonnet-5-5", 2.0, 0.1, 10.0),
    ("claude-sonnet-5", 2.0, 0.2, 10.0),
    // At peak hours; half of it at others.
    ("deepseek-v4-pro", 1.32, 0.044, 3.96),
    ("deepseek-flash", 0.3, 0.006, 1.2),
    ("claude-opus-4-6", 5.0, 0.5, 25.0),
    ("claude-opus-4-5", 5.0, 0.5, 25.0),
    ("claude-opus-4-1", 15.0, 1.5, 75.0),
    ("claude-opus-4", 15.0, 1.5, 75.0),
    ("claude-sonnet-4-6", 3.0, 0.3, 15.0),
    ("claude-sonnet-4-5", 3.0, 0.3, 15.0),
    ("claude-sonnet-4", 3.0, 0.3, 15.0),
    ("claude-haiku-4-5", 1.0, 0.1, 5.0),
    ("claude-3-7-sonnet", 3.0, 0.3, 15.0),
    ("claude-3-5-sonnet", 3.0, 0.3, 15.0),
    ("claude-3-5-haiku", 0.8, 0.08, 4.0),
    ("claude-3-opus", 15.0, 1.5, 75.0),
    ("claude-3-haiku", 0.25, 0.03, 1.25),
    ("gpt-5.2", 1.75, 0.175, 14.0),
    ("gpt-5.1", 1.25, 0.125, 10.0),
    ("gpt-5.1-codex", 1.25, 0.125, 10.0),
    ("gpt-5", 1.25, 0.125, 10.0),
    ("gpt-5-codex", 1.25, 0.125, 10.0),
    ("gpt-5-mini", 0.25, 0.025, 2.0),
    ("gpt-5-nano", 0.05, 0.005, 0.4),
    ("gpt-4.1", 2.0, 0.5, 8.0),
    ("gpt-4.1-mini", 0.4, 0.1, 1.6),
    ("gpt-4.1-nano", 0.1, 0.025, 0.4),
    ("gpt-4o", 2.5, 1.25, 10.0),
    ("gpt-4o-mini", 0.15, 0.075, 0.6),
    ("o3", 2.0, 0.5, 8.0),
    ("o3-mini", 1.1, 0.55, 4.4),
    ("o4-mini", 1.1, 0.275, 4.4),
    ("gemini-3-pro", 2.0, 0.2, 12.0),
    ("gemini-3-flash", 0.5, 0.05, 3.0),
    ("gemini-2.5-pro", 1.25, 0.125, 10.0),
    ("gemini-2.5-flash", 0.3, 0.03, 2.5),
    ("gemini-2.5-flash-lite", 0.1, 0.01, 0.4),
    ("gemini-2.0-flash", 0.1, 0.025, 0.4),
    ("gemini-2.0-flash-lite", 0.075, 0.075, 0.3),
    ("glm-4.7", 0.6, 0.11, 2.2),
    ("glm-4.6", 0.6, 0.11, 2.2),
    ("glm-4.5", 0.6, 0.11, 2.2),
    ("glm-4.5-air", 0.2, 0.03, 1.1),
    ("glm-4.5-flash", 0.0, 0.0, 0.0),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{Price, Prices};
    use crate::message::Usage;

    #[test]
    fn a_price_is_found_for_versions_and_never_for_other_models() {
        let said = Price { input: 7.0, cached: 7.0, cache_write: 7.0, output: 7.0 };
        let prices =
            Prices { said: BTreeMap::from([("local/gpt-4o".to_owned(), said), ("mine".to_owned(), said)]) };
        let table = [
            ("openai", "gpt-4o", Some(2.5)),
            ("openai", "gpt-4o-2024-08-06", Some(2.5)),
            ("openai", "gpt-4o-mini", Some(0.15)),
            ("openai", "gpt-4o-audio", None),
            ("openai", "gpt-5.1", Some(1.25)),
            ("openai", "gpt-5.9", None),
            ("anthropic", "claude-sonnet-4-5-20250929", Some(3.0)),
            ("anthropic", "claude-opus-4-20250514", Some(15.0)),
            ("anthropic", "claude-opus-4-5", Some(5.0)),
            ("anthropic", "claude-opus-5-5-20261001", Some(4.0)),
            ("deepseek", "deepseek-v4-pro", Some(1.32)),
            ("gemini", "gemini-3-pro-preview", Some(2.0)),
            ("openrouter", "openai/gpt-4o", Some(2.5)),
            ("local", "gpt-4o", Some(7.0)),
            ("anywhere", "mine", Some(7.0)),
            ("local", "qwen2.5-coder", None),
        ];
        for (provider, model, expected) in table {
            assert_eq!(prices.find(provider, model).map(|price| price.input), expected, "{provider}/{model}");
        }
    }

    #[test]
    fn cached_input_costs_what_cached_input_costs() {
        let price = super::known("claude-sonnet-4-5").unwrap();
        let usage = |input_tokens, cached_tokens, cache_write_tokens, output_tokens| Usage {
            input_tokens,
            cached_tokens,
            cache_write_tokens,
            output_tokens,
            ..Usage::default()
        };
        let table = [
            (usage(1_000_000, 0, 0, 0), 3.0),
            (usage(1_000_000, 1_000_000, 0, 0), 0.3),
            (usage(1_000_000, 0, 1_000_000, 0), 3.75),
            (usage(1_000_000, 500_000, 250_000, 0), 0.15 + 0.9375 + 0.75),
            (usage(0, 0, 0, 1_000_000), 15.0),
            (usage(0, 9, 9, 0), 0.0),
        ];
        for (usage, expected) in table {
            assert!((price.cost_usd(&usage) - expected).abs() < 1e-9, "{usage:?}");
        }
    }
}
