//! The providers of a project, by name, from settings and from keys in the environment.
//!
//! ```yaml
//! providers:
//!   default: anthropic/claude-sonnet-4-5           # RAWKO_MODEL goes over it
//!   anthropic: {api_key: "${MY_KEY}"}              # without it: ANTHROPIC_API_KEY
//!   local: {kind: openai, base_url: "http://127.0.0.1:8080/v1"}
//!   demo: {kind: scripted, file: script.yaml}
//!   tape: {kind: replay, file: tape.jsonl}
//!   aliases: {fast: local/qwen}
//!   reasoning: medium                              # low, medium, high, or a number of tokens
//!   record: .rawko/tapes/all.jsonl
//!   prices: {local/qwen: {input: 0, output: 0}}
//!   back_off: {first: 1s, longest: 60s, retry_after_max: 1h}
//! ```

mod build;
mod definition;
mod known;
mod problem;
mod read;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use rawko_chart::{Finding, nearest};
use rawko_settings::SectionSource;

pub use problem::ProviderProblem;

use super::back_off::BackOffSettings;
use super::pricing::Prices;
use super::scripted::Scripted;
use super::tape::{Recorder, TapeProvider};
use super::{Provider, ReasoningEffort};
use known::{ALIASES, known, maker};

/// Problems in settings, grouped by file.
pub type ProviderProblems = Vec<(Arc<str>, Vec<Finding>)>;

/// A provider under its name.
#[derive(Clone)]
struct NamedProvider {
    /// True if the embedder supplied it; such a provider needs no model name.
    is_given: bool,
    provider: Result<Arc<dyn Provider>, ProviderProblem>,
    strict: Option<Strict>,
}

/// A provider whose script or tape must be used up.
#[derive(Clone)]
enum Strict {
    Scripted(Arc<Scripted>),
    Replay(Arc<TapeProvider>),
}

/// Wraps a provider, given its name.
pub type ProviderWrapper = Arc<dyn Fn(&str, Arc<dyn Provider>) -> Arc<dyn Provider> + Send + Sync>;

/// All providers of a project.
#[derive(Clone, Default)]
pub struct Providers {
    default: Option<String>,
    /// The place that names the default, for messages.
    default_from: String,
    /// The files that set the keys of providers.
    key_files: BTreeMap<String, Arc<str>>,
    aliases: BTreeMap<String, String>,
    made: BTreeMap<String, NamedProvider>,
    prices: Arc<Prices>,
    back_off: BackOffSettings,
    reasoning: Option<ReasoningEffort>,
    recorder: Option<Arc<Recorder>>,
    wrapper: Option<ProviderWrapper>,
    /// Answers for every model, regardless of settings and agent files.
    only: Option<Arc<dyn Provider>>,
}

/// The name of the provider that answers for every model.
const ONLY: &str = "scripted";

impl Providers {
    /// Builds the providers from settings and their environment, and returns all problems by file. Relative paths are
    /// resolved against the project root.
    pub fn of_settings(settings: &dyn SectionSource, project_root: &Path) -> (Self, ProviderProblems) {
        let (said, problems) = read::read(settings);
        (build::build(said, settings.environment_of(), project_root), problems)
    }

    /// Adds a provider, replacing any other of that name: for embedders and tests.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, provider: Arc<dyn Provider>) -> Self {
        self.made.insert(name.into(), NamedProvider { is_given: true, provider: Ok(provider), strict: None });
        self
    }

    /// Has one provider answer for every model, regardless of settings and agent files: for tests with a script. No key is
    /// needed and no service is contacted.
    #[must_use]
    pub fn only(mut self, provider: Arc<dyn Provider>) -> Self {
        self.default.get_or_insert_with(|| ONLY.to_owned());
        self.only = Some(provider);
        self
    }

    /// Wraps every provider at lookup, for example in one that reports its completions.
    #[must_use]
    pub fn wrapped_by(mut self, wrapper: ProviderWrapper) -> Self {
        self.wrapper = Some(wrapper);
        self
    }

    /// Returns the models of a chain `a, b`, of which later ones are used if earlier ones are unavailable. An empty name,
    /// `default` and `inherit` mean the default; empty without one.
    pub fn chain(&self, models: &str) -> Vec<String> {
        let named = |models: &str| -> Vec<String> {
            models.split(',').map(str::trim).filter(|model| !model.is_empty()).map(str::to_owned).collect()
        };
        match models.trim() {
            "" | "default" | "inherit" => self.default.as_deref().map(named).unwrap_or_default(),
            models => named(models),
        }
    }

    /// Returns the place that names the default model, for messages.
    pub fn default_from(&self) -> &str {
        &self.default_from
    }

    /// Returns the place of the key that a model is used with, for messages.
    pub fn key_from(&self, model: &str) -> String {
        let provider = match model.split_once('/') {
            Some((provider, _)) => provider,
            None => maker(model).map_or(model, |maker| maker.name),
        };
        let name = self.made(provider).map_or(provider, |(name, _)| name);
        if let Some(file) = self.key_files.get(name) {
            return format!("`providers.{name}.api_key` in {file}");
        }
        let variables = known(name).map_or(&[] as &[&str], |known| known.key_variables);
        let variables: String = variables.iter().map(|variable| format!("{variable} or ")).collect();
        format!("{variables}`providers.{name}.api_key` in .rawko/config.yaml")
    }

    /// Returns the provider of a model and the provider's name for it. Accepts `provider/model`, an alias, or a model
    /// whose maker is known; an empty name, `default` and `inherit` mean the default.
    pub fn find(&self, model: &str) -> Result<(Arc<dyn Provider>, String), ProviderProblem> {
        if let Some(only) = &self.only {
            let model = self.chain(model).into_iter().next().ok_or(ProviderProblem::NoDefault)?;
            return Ok((self.wrapped(ONLY, Arc::clone(only)), model));
        }
        let (name, made, model) = self.resolve(model)?;
        let provider = made.provider.clone()?;
        Ok((self.wrapped(name, provider), model))
    }

    /// Returns true if a model is played from a script or a tape.
    pub fn is_played(&self, model: &str) -> Result<bool, ProviderProblem> {
        if self.only.is_some() {
            return Ok(true);
        }
        self.resolve(model).map(|(_, made, _)| made.strict.is_some())
    }

    /// Returns true if the cost of a model is known: it has a price, or a script or tape states it.
    pub fn has_cost(&self, model: &str) -> Result<bool, ProviderProblem> {
        if self.only.is_some() {
            return Ok(true);
        }
        let (name, made, model) = self.resolve(model)?;
        Ok(made.strict.is_some() || made.is_given || self.prices.find(name, &model).is_some())
    }

    /// Returns the provider of a model with its name, and the provider's name for the model.
    fn resolve(&self, model: &str) -> Result<(&str, &NamedProvider, String), ProviderProblem> {
        let chain = self.chain(model);
        let model = chain.first().map(String::as_str).ok_or(ProviderProblem::NoDefault)?;
        // Aliases are resolved once: chains of aliases would only obscure the model.
        let model = self.alias(model).unwrap_or(model);
        let (provider, model) = match model.split_once('/') {
            // `anthropic/sonnet`: an alias within one provider.
            Some((provider, model)) => match self.alias(model).and_then(|whole| whole.split_once('/')) {
                Some((of, whole)) if of == provider => (provider, whole),
                Some(_) | None => (provider, model),
            },
            None if self.made.contains_key(model) => (model, ""),
            None => {
                let maker =
                    maker(model).ok_or_else(|| ProviderProblem::NoProvider { model: model.to_owned() })?;
                (maker.name, model)
            }
        };
        let (name, made) = self.made(provider)?;
        if model.is_empty() && made.strict.is_none() && !made.is_given {
            return Err(ProviderProblem::NoModel { provider: name.to_owned() });
        }
        let model = if model.is_empty() { name } else { model };
        Ok((name, made, model.to_owned()))
    }

    fn wrapped(&self, name: &str, provider: Arc<dyn Provider>) -> Arc<dyn Provider> {
        match &self.wrapper {
            Some(wrap) => wrap(name, provider),
            None => provider,
        }
    }

    fn alias(&self, name: &str) -> Option<&str> {
        let built_in = || ALIASES.iter().find(|(alias, _)| *alias == name).map(|(_, model)| *model);
        self.aliases.get(name).map(String::as_str).or_else(built_in)
    }

    fn made(&self, name: &str) -> Result<(&str, &NamedProvider), ProviderProblem> {
        let own = self.made.get_key_value(name);
        let other = || self.made.get_key_value(known(name)?.name);
        own.or_else(other).map(|(name, made)| (name.as_str(), made)).ok_or_else(|| {
            let known: Vec<String> = self.made.keys().cloned().collect();
            let near = nearest(name, known.iter().map(String::as_str)).map(str::to_owned);
            ProviderProblem::UnknownProvider { name: name.to_owned(), near, known }
        })
    }

    /// All names, sorted, each with the problem that makes it unusable, if any.
    pub fn names(&self) -> impl Iterator<Item = (&str, Option<&ProviderProblem>)> {
        self.made.iter().map(|(name, made)| (name.as_str(), made.provider.as_ref().err()))
    }

    /// The model used when none is named.
    pub fn default_model(&self) -> Option<&str> {
        self.default.as_deref()
    }

    /// Returns the retry policy for failed completions.
    pub fn back_off(&self) -> BackOffSettings {
        self.back_off
    }

    /// How much models think, unless an agent or a phase sets it.
    pub fn reasoning(&self) -> Option<ReasoningEffort> {
        self.reasoning
    }

    /// Returns the price table, with overrides of the settings.
    pub fn prices(&self) -> &Prices {
        &self.prices
    }

    /// Returns the unused steps of scripts and exchanges of tapes.
    pub fn unused(&self) -> Vec<String> {
        let strict = self.made.values().filter_map(|made| made.strict.as_ref());
        strict
            .flat_map(|strict| match strict {
                Strict::Scripted(scripted) => scripted.unused(),
                Strict::Replay(replay) => replay.unused(),
            })
            .collect()
    }

    /// Returns the error that made the recording incomplete, if any.
    pub fn recording_fault(&self) -> Option<String> {
        self.recorder.as_ref()?.fault()
    }
}
