//! The model of an agent, as its file names it. Names stay text: the providers resolve them.

use std::fmt;

use rawko_chart::codes::agents::CONFLICTING_KEYS;
use rawko_chart::{DocumentData, DocumentEntry, SpannedValue};
use serde::Serialize;

use super::fields::{Fields, Reader};

/// A model by provider and name, either of which may default to the settings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ModelChoice {
    /// Provider name; the default provider if omitted.
    pub provider: Option<String>,
    /// The provider's name of the model, or an alias such as `sonnet`.
    pub model: Option<String>,
}

/// Model names in Claude's agent files.
const CLAUDE_ALIASES: [&str; 3] = ["sonnet", "opus", "haiku"];
/// Common prefix of Claude's model names.
const CLAUDE_MODELS: &str = "claude-";
const CLAUDE_PROVIDER: &str = "anthropic";
/// The caller's model.
const INHERIT: &str = "inherit";

impl ModelChoice {
    /// Parses `provider/model`, a model alone, or one of Claude's names; `None` for `inherit`.
    pub fn parse(text: &str) -> Option<Self> {
        let some = |provider: &str, model: &str| {
            Some(Self { provider: Some(provider.to_owned()), model: Some(model.to_owned()) })
        };
        match text.split_once('/') {
            _ if text == INHERIT => None,
            Some((provider, model)) => some(provider, model),
            None if CLAUDE_ALIASES.contains(&text) || text.starts_with(CLAUDE_MODELS) => {
                some(CLAUDE_PROVIDER, text)
            }
            None => Some(Self { provider: None, model: Some(text.to_owned()) }),
        }
    }
}

impl fmt::Display for ModelChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.provider, &self.model) {
            (Some(provider), Some(model)) => write!(f, "{provider}/{model}"),
            (Some(one), None) | (None, Some(one)) => f.write_str(one),
            (None, None) => Ok(()),
        }
    }
}

/// Reads `model`, `provider`, or `provider` as a name with `model` beside it.
pub(super) fn choice(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<ModelChoice> {
    match (fields.entry("provider"), fields.entry("model")) {
        (None, None) => None,
        (None, Some(model)) => match model.value.items() {
            Some(models) => {
                let what = "`model`";
                if models.is_empty() {
                    reader.invalid(
                        model.value.span,
                        "`model` is empty".to_owned(),
                        "write at least one model",
                    );
                }
                models.first().and_then(|first| choice_at(reader, first, what))
            }
            None => text_choice(reader, model),
        },
        (Some(provider), model) => match &provider.value.data {
            DocumentData::Str(name) => {
                let model = model.and_then(|model| model_name(reader, &model.value, "`model`"));
                Some(ModelChoice { provider: Some(name.clone()), model })
            }
            DocumentData::Null
            | DocumentData::Bool(_)
            | DocumentData::Int(_)
            | DocumentData::Float(_)
            | DocumentData::List(_)
            | DocumentData::Map(_) => {
                if let Some(model) = model {
                    let finding = CONFLICTING_KEYS.at(model.key_span, "the model is given twice");
                    let help = "keep `provider: {name, model}` or `model: provider/model`";
                    reader.report(finding.related(provider.key_span, "and here").help(help));
                }
                map_choice(reader, &provider.value)
            }
        },
    }
}

/// Reads the models after the first of `model: [a, b]`.
pub(super) fn fallbacks(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Vec<ModelChoice> {
    let models = fields.get("model").and_then(SpannedValue::items).unwrap_or_default();
    models.iter().skip(1).filter_map(|model| choice_at(reader, model, "`model`")).collect()
}

/// Reads `model` and `visionModel`.
pub(super) fn text_choice(reader: &mut Reader<'_>, entry: &DocumentEntry) -> Option<ModelChoice> {
    choice_at(reader, &entry.value, &format!("`{}`", entry.key))
}

fn choice_at(reader: &mut Reader<'_>, at: &SpannedValue, what: &str) -> Option<ModelChoice> {
    if at.entries().is_some() {
        return map_choice(reader, at);
    }
    let text = model_name(reader, at, what)?;
    let choice = ModelChoice::parse(&text)?;
    let is_whole = [&choice.provider, &choice.model]
        .into_iter()
        .flatten()
        .all(|part| !part.is_empty() && !part.contains(char::is_whitespace));
    if !is_whole {
        reader.invalid(
            at.span,
            format!("{what} cannot be `{text}`"),
            "write `provider/model`, for example `openai/gpt-5`, or a model's name alone",
        );
    }
    is_whole.then_some(choice)
}

fn map_choice(reader: &mut Reader<'_>, at: &SpannedValue) -> Option<ModelChoice> {
    let fields = Fields::read(reader, at, "`provider`", &["name", "model"]);
    let provider =
        fields.get("name").and_then(|at| reader.text(at, "`name` of `provider`")).map(str::to_owned);
    let model = fields.get("model").and_then(|at| model_name(reader, at, "`model` of `provider`"));
    (provider.is_some() || model.is_some()).then_some(ModelChoice { provider, model })
}

fn model_name(reader: &mut Reader<'_>, at: &SpannedValue, what: &str) -> Option<String> {
    let text = reader.text(at, what)?.trim();
    if text.is_empty() {
        reader.invalid(at.span, format!("{what} is empty"), "write a model's name, or leave the key out");
        return None;
    }
    Some(text.to_owned())
}
