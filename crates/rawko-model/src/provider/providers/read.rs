//! The section `providers` of settings.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use rawko_chart::codes::settings::{MISSING_KEY, UNSET_VARIABLE};
use rawko_chart::{DocumentData, DocumentEntry, SpannedValue};
use rawko_settings::{Section, SectionSource, SettingsReader};
use reqwest::header::HeaderName;

use super::ProviderProblems;
use super::definition::{ExpandedText, ProviderDefinition, ProviderKind};
use super::known::{COMPATIBLE, ORIGINAL, known};
use crate::provider::ReasoningEffort;
use crate::provider::back_off::BackOffSettings;
use crate::provider::pricing::Price;
use crate::provider::reasoning::effort;
use crate::provider::wire::{Dialect, OpenAiTraits, ReasoningReturn, SchemaSupport};

/// The merged sections.
#[derive(Debug, Default)]
pub(super) struct ProviderSettings {
    pub(super) default: Option<String>,
    /// The file that names the default.
    pub(super) default_file: Option<Arc<str>>,
    /// The files that set the keys of providers.
    pub(super) key_files: BTreeMap<String, Arc<str>>,
    pub(super) aliases: BTreeMap<String, String>,
    pub(super) record: Option<PathBuf>,
    pub(super) prices: BTreeMap<String, Price>,
    pub(super) back_off: BackOffSettings,
    pub(super) reasoning: Option<ReasoningEffort>,
    pub(super) definitions: BTreeMap<String, ProviderDefinition>,
}

const KEYS: [&str; 10] = [
    "kind",
    "base_url",
    "api_key",
    "headers",
    "timeout",
    "completion_timeout",
    "context_tokens",
    "schema",
    "send_reasoning",
    "file",
];
/// The project's settings, as messages name them.
const PROJECT: &str = ".rawko/config.yaml";
const KINDS: [&str; 7] =
    ["anthropic", "openai", "openai_responses", "gemini", "ollama", "scripted", "replay"];

/// The project's section overrides the user's, key by key.
pub(super) fn read(settings: &dyn SectionSource) -> (ProviderSettings, ProviderProblems) {
    let sections: Vec<&Section> = settings.sections_of("providers");
    let (mut said, mut problems) = (ProviderSettings::default(), Vec::new());
    for section in sections.into_iter().rev() {
        let mut reading = ProviderReader {
            reader: SettingsReader::new(settings.environment_of()),
            settings,
            file: &section.file,
            said: &mut said,
        };
        reading.section(&section.document);
        let findings = reading.reader.findings;
        if !findings.is_empty() {
            problems.push((Arc::clone(&section.file), findings));
        }
    }
    (said, problems)
}

fn is_inside(path: &Path) -> bool {
    path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

struct ProviderReader<'s> {
    reader: SettingsReader<'s>,
    settings: &'s dyn SectionSource,
    file: &'s Arc<str>,
    said: &'s mut ProviderSettings,
}

impl ProviderReader<'_> {
    fn section(&mut self, at: &SpannedValue) {
        for entry in self.reader.entries(at, "`providers`") {
            let value = &entry.value;
            match entry.key.as_str() {
                "default" => {
                    if let Some(models) = self.reader.models(value, "`default` of `providers`") {
                        self.said.default = Some(models);
                        self.said.default_file = Some(Arc::clone(self.file));
                    }
                }
                "record" => {
                    let path = self.record(value);
                    self.said.record = path.or(self.said.record.take());
                }
                "reasoning" => {
                    let effort = effort(&mut self.reader, value, "`reasoning` of `providers`");
                    self.said.reasoning = effort.or(self.said.reasoning);
                }
                "aliases" => self.aliases(value),
                "prices" => self.prices(value),
                "back_off" => self.back_off(value),
                name => {
                    let definition = self.definition(entry);
                    if definition.key.is_some() {
                        self.said.key_files.insert(name.to_owned(), Arc::clone(self.file));
                    }
                    let below = self.said.definitions.remove(name).unwrap_or_default();
                    self.said.definitions.insert(name.to_owned(), definition.over(below));
                }
            }
        }
    }

    /// The text of models is written there: a project names a file that is its own and that no program obeys.
    fn record(&mut self, at: &SpannedValue) -> Option<PathBuf> {
        let path = PathBuf::from(self.reader.text(at, "`record` of `providers`")?);
        let is_own = is_inside(&path)
            && path.starts_with(".rawko/tapes")
            && path.extension().is_some_and(|extension| extension == "jsonl");
        if &**self.file == PROJECT && !is_own {
            let help = "write `.rawko/tapes/NAME.jsonl`; your own settings may name any file";
            self.reader.invalid(at.span, "a project cannot choose this file for `record`", help);
            return None;
        }
        Some(path)
    }

    /// The file of a script or a tape.
    fn file(&mut self, at: &SpannedValue, named: &str) -> Option<PathBuf> {
        let path = PathBuf::from(self.reader.text(at, named)?);
        if &**self.file == PROJECT && !is_inside(&path) {
            let help = "use a file of the project, without `..`; your own settings may name any file";
            self.reader.invalid(at.span, format!("{named} is outside the project"), help);
            return None;
        }
        Some(path)
    }

    fn aliases(&mut self, at: &SpannedValue) {
        for entry in self.reader.entries(at, "`aliases`") {
            if let Some(model) = self.reader.text(&entry.value, &format!("alias `{}`", entry.key)) {
                self.said.aliases.insert(entry.key.clone(), model.to_owned());
            }
        }
    }

    fn prices(&mut self, at: &SpannedValue) {
        for entry in self.reader.entries(at, "`prices`") {
            let what = format!("the price of `{}`", entry.key);
            let (mut input, mut cached, mut cache_write, mut output) = (None, None, None, None);
            for part in self.reader.record(&entry.value, &what, &["input", "cached", "cache_write", "output"])
            {
                let price = self.dollars(&part.value, &format!("`{}` of {what}", part.key));
                match part.key.as_str() {
                    "input" => input = price,
                    "cached" => cached = price,
                    "cache_write" => cache_write = price,
                    _ => output = price,
                }
            }
            match (input, output) {
                (Some(input), Some(output)) => {
                    let cached = cached.unwrap_or(input);
                    let price = Price { input, cached, cache_write: cache_write.unwrap_or(input), output };
                    self.said.prices.insert(entry.key.clone(), price);
                }
                _ => self.reader.say(
                    &MISSING_KEY,
                    entry.key_span,
                    format!("{what} needs `input` and `output`"),
                    "US dollars for a million tokens: `{input: 3, cached: 0.3, output: 15}`",
                ),
            }
        }
    }

    fn dollars(&mut self, at: &SpannedValue, what: &str) -> Option<f64> {
        let dollars = match at.data {
            DocumentData::Int(number) => number as f64,
            DocumentData::Float(number) => number,
            _ => {
                self.reader.wrong_type(at, what, "a number");
                return None;
            }
        };
        if dollars < 0.0 {
            self.reader.invalid(at.span, format!("{what} must not be negative"), "write 0 or more");
        }
        Some(dollars)
    }

    fn back_off(&mut self, at: &SpannedValue) {
        for entry in self.reader.record(at, "`back_off`", &["first", "longest", "retry_after_max"]) {
            let wait = self.reader.duration(&entry.value, &format!("`{}` of `back_off`", entry.key));
            let Some(ms) = wait.and_then(|wait| u64::try_from(wait.as_millis()).ok()) else { continue };
            match entry.key.as_str() {
                "first" => self.said.back_off.first_ms = ms,
                "longest" => self.said.back_off.longest_ms = ms,
                _ => self.said.back_off.retry_after_max_ms = ms,
            }
        }
    }

    fn definition(&mut self, entry: &DocumentEntry) -> ProviderDefinition {
        let what = format!("provider `{}`", entry.key);
        if entry.key.contains('/') || entry.key.is_empty() {
            let help = "the part of a model before the first `/` is its provider";
            self.reader.invalid(
                entry.key_span,
                format!("`{}` is not a valid provider name", entry.key),
                help,
            );
        }
        let mut definition = ProviderDefinition::default();
        for part in self.reader.record(&entry.value, &what, &KEYS) {
            self.take(&mut definition, part, &format!("`{}` of {what}", part.key));
        }
        self.check(entry, &definition, &what);
        definition
    }

    fn take(&mut self, definition: &mut ProviderDefinition, part: &DocumentEntry, named: &str) {
        let at = &part.value;
        match part.key.as_str() {
            "kind" => definition.kind = self.kind(at, named),
            "base_url" => definition.base_url = self.filled(at, named),
            "api_key" => definition.key = self.filled(at, named),
            "headers" => definition.headers = self.headers(at, named),
            "timeout" => definition.idle_timeout = self.reader.duration(at, named),
            "completion_timeout" => definition.completion_timeout = self.reader.duration(at, named),
            "context_tokens" => {
                let tokens = self.reader.whole(at, named, 1);
                definition.context_tokens = tokens.and_then(|tokens| u32::try_from(tokens).ok());
            }
            "schema" => definition.schema = self.schema(at, named),
            "send_reasoning" => definition.send_reasoning = self.send_reasoning(at, named),
            _ => definition.file = self.file(at, named),
        }
    }

    fn kind(&mut self, at: &SpannedValue, named: &str) -> Option<ProviderKind> {
        let kind = match self.reader.text(at, named)? {
            "openai" => ProviderKind::Http(Dialect::OpenAi(COMPATIBLE)),
            "openai_responses" => ProviderKind::Http(Dialect::Responses),
            "anthropic" => ProviderKind::Http(Dialect::Anthropic),
            "gemini" => ProviderKind::Http(Dialect::Gemini),
            "ollama" => ProviderKind::Http(Dialect::Ollama),
            "scripted" => ProviderKind::Scripted,
            "replay" => ProviderKind::Replay,
            other => {
                let help = format!("one of {}", KINDS.join(", "));
                self.reader.invalid(at.span, format!("unknown provider kind `{other}`"), help);
                return None;
            }
        };
        Some(kind)
    }

    fn filled(&mut self, at: &SpannedValue, named: &str) -> Option<ExpandedText> {
        let text = self.reader.scalar(at, named)?;
        let filled = ExpandedText::of(&text, self.settings.environment_of());
        if let Err(missing) = &filled.0 {
            let message = format!("{named} uses `${{{missing}}}`, which is not set");
            self.reader.say(&UNSET_VARIABLE, at.span, message, format!("export {missing}=…"));
        }
        Some(filled)
    }

    fn headers(&mut self, at: &SpannedValue, named: &str) -> Vec<(HeaderName, ExpandedText)> {
        let mut headers = Vec::new();
        for entry in self.reader.entries(at, named) {
            let value = self.filled(&entry.value, &format!("`{}` in {named}", entry.key));
            match HeaderName::from_bytes(entry.key.as_bytes()) {
                Ok(name) => headers.extend(value.map(|value| (name, value))),
                Err(_) => {
                    let message = format!("`{}` is not a valid header name", entry.key);
                    self.reader.invalid(entry.key_span, message, "letters, digits and `-`");
                }
            }
        }
        headers
    }

    fn schema(&mut self, at: &SpannedValue, named: &str) -> Option<SchemaSupport> {
        match self.reader.text(at, named)? {
            "json_schema" => Some(SchemaSupport::JsonSchema),
            "json_object" => Some(SchemaSupport::JsonObject),
            "prompt" => Some(SchemaSupport::Prompt),
            other => {
                let help = "`json_schema`, `json_object` or `prompt`";
                self.reader.invalid(at.span, format!("{named} cannot be `{other}`"), help);
                None
            }
        }
    }

    fn send_reasoning(&mut self, at: &SpannedValue, named: &str) -> Option<ReasoningReturn> {
        match self.reader.text(at, named)? {
            "never" => Some(ReasoningReturn::Never),
            "with_tools" => Some(ReasoningReturn::WithTools),
            "always" => Some(ReasoningReturn::Always),
            other => {
                let help = "`never`, `with_tools` or `always`";
                self.reader.invalid(at.span, format!("{named} cannot be `{other}`"), help);
                None
            }
        }
    }

    /// An unknown name must have a kind and an address.
    fn check(&mut self, entry: &DocumentEntry, definition: &ProviderDefinition, what: &str) {
        let has = |key: &str| entry.value.get(key).is_some();
        let needs = match definition.kind {
            Some(ProviderKind::Scripted | ProviderKind::Replay) if !has("file") => "`file`",
            Some(ProviderKind::Scripted | ProviderKind::Replay) => return,
            Some(ProviderKind::Http(_)) | None if known(&entry.key).is_some() => return,
            None if !has("kind") => "`kind`",
            Some(ProviderKind::Http(_)) if !has("base_url") => "`base_url`",
            Some(ProviderKind::Http(_)) | None => return,
        };
        let help = "for example `{kind: openai, base_url: \"http://127.0.0.1:8080/v1\"}`";
        self.reader.say(&MISSING_KEY, entry.key_span, format!("{what} has no {needs}"), help);
    }
}

/// OpenAI's format counts as the original only at its own address.
pub(super) fn adapted(dialect: Dialect, base_url: &str, definition: &ProviderDefinition) -> Dialect {
    match dialect {
        Dialect::OpenAi(traits) => {
            let is_original = base_url.starts_with("https://api.openai.com/");
            // A server of one's own at the name `openai` is a compatible one.
            let traits = match (is_original, traits.is_original) {
                (true, _) => ORIGINAL,
                (false, true) => OpenAiTraits { reasoning: COMPATIBLE.reasoning, is_original, ..traits },
                (false, false) => traits,
            };
            Dialect::OpenAi(OpenAiTraits {
                schema: definition.schema.unwrap_or(traits.schema),
                reasoning: definition.send_reasoning.unwrap_or(traits.reasoning),
                ..traits
            })
        }
        Dialect::Responses | Dialect::Anthropic | Dialect::Gemini | Dialect::Ollama => dialect,
    }
}
