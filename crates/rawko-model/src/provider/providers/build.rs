//! Builds providers from definitions.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use rawko_settings::Environment;
use reqwest::header::{HeaderMap, HeaderValue};

use super::definition::{ProviderDefinition, ProviderKind};
use super::known::{KNOWN, KnownProvider, known};
use super::read::{ProviderSettings, adapted};
use super::{NamedProvider, ProviderProblem, Providers, Strict};
use crate::provider::http::{ApiKey, HttpClients, HttpProvider};
use crate::provider::pricing::Prices;
use crate::provider::scripted::Scripted;
use crate::provider::tape::{Recorder, RecordingProvider, TapeProvider};
use crate::provider::wire::Dialect;
use crate::provider::{Provider, http};

/// State shared by all providers of a project.
struct ProviderContext<'b> {
    environment: &'b Environment,
    root: &'b Path,
    client: Arc<HttpClients>,
    prices: Arc<Prices>,
    /// Every key used, for the recorder.
    secrets: Vec<ApiKey>,
}

pub(super) fn build(said: ProviderSettings, environment: &Environment, root: &Path) -> Providers {
    let ProviderSettings {
        default,
        default_file,
        key_files,
        aliases,
        record,
        prices,
        back_off,
        reasoning,
        mut definitions,
    } = said;
    for known in &KNOWN {
        definitions.entry(known.name.to_owned()).or_default();
    }
    let prices = Arc::new(Prices { said: prices });
    let mut building = ProviderContext {
        environment,
        root,
        client: Arc::default(),
        prices: Arc::clone(&prices),
        secrets: Vec::new(),
    };
    let made = definitions.into_iter().map(|(name, definition)| {
        let made = building.made(&name, definition);
        (name, made)
    });
    let mut made: BTreeMap<String, NamedProvider> = made.collect();
    let secrets = building.secrets;
    let recorder = record.and_then(|path| recorded(&mut made, &root.join(path), secrets));
    let named = environment.get("RAWKO_MODEL").filter(|it| !it.is_empty()).map(str::to_owned);
    let default_from = match (&named, default_file) {
        (Some(_), _) => "RAWKO_MODEL".to_owned(),
        (None, Some(file)) => format!("`providers.default` in {file}"),
        (None, None) => "`providers.default` in .rawko/config.yaml".to_owned(),
    };
    let default = named.or(default);
    Providers {
        default,
        default_from,
        key_files,
        aliases,
        made,
        prices,
        back_off,
        reasoning,
        recorder,
        wrapper: None,
        only: None,
    }
}

/// Wraps all recordable providers in a recorder. If the tape cannot be written, they are disabled: the recording was
/// requested.
fn recorded(
    made: &mut BTreeMap<String, NamedProvider>,
    path: &Path,
    secrets: Vec<ApiKey>,
) -> Option<Arc<Recorder>> {
    let recorder = Recorder::open(path, secrets);
    for (name, made) in made.iter_mut().filter(|(_, made)| !matches!(made.strict, Some(Strict::Replay(_)))) {
        let Ok(inner) = made.provider.clone() else { continue };
        made.provider = match &recorder {
            Ok(recorder) => Ok(Arc::new(RecordingProvider::new(inner, Arc::clone(recorder)))),
            Err(error) => {
                let why = format!("cannot record to {}: {error}", path.display());
                Err(ProviderProblem::Unusable { provider: name.clone(), why })
            }
        };
    }
    recorder.ok()
}

impl ProviderContext<'_> {
    fn made(&mut self, name: &str, definition: ProviderDefinition) -> NamedProvider {
        let known = known(name);
        let kind = definition.kind.or_else(|| known.map(|known| known.kind));
        let unusable = |why: String| ProviderProblem::Unusable { provider: name.to_owned(), why };
        let (provider, strict) = match kind {
            Some(ProviderKind::Http(dialect)) => (self.http(name, dialect, definition, known), None),
            Some(ProviderKind::Scripted) => {
                let scripted = self.file(&definition).and_then(|file| {
                    Scripted::read(&file).map(Arc::new).map_err(|problem| problem.to_string())
                });
                let strict = scripted.as_ref().ok().map(|it| Strict::Scripted(Arc::clone(it)));
                (scripted.map(|it| it as Arc<dyn Provider>).map_err(unusable), strict)
            }
            Some(ProviderKind::Replay) => {
                let replay = self.file(&definition).and_then(|file| TapeProvider::read(&file).map(Arc::new));
                let strict = replay.as_ref().ok().map(|it| Strict::Replay(Arc::clone(it)));
                (replay.map(|it| it as Arc<dyn Provider>).map_err(unusable), strict)
            }
            None => (Err(unusable("the settings do not set its `kind`".to_owned())), None),
        };
        NamedProvider { is_given: false, provider, strict }
    }

    fn file(&self, definition: &ProviderDefinition) -> Result<std::path::PathBuf, String> {
        definition
            .file
            .as_ref()
            .map(|file| self.root.join(file))
            .ok_or_else(|| "the settings do not set its `file`".to_owned())
    }

    fn http(
        &mut self,
        name: &str,
        dialect: Dialect,
        definition: ProviderDefinition,
        known: Option<&KnownProvider>,
    ) -> Result<Arc<dyn Provider>, ProviderProblem> {
        let (base_url, is_default) = self.base_url(name, &definition, known)?;
        let key = self.key(name, &definition, known)?;
        if key.is_none() && is_default && known.is_some_and(|known| !known.is_open) {
            return Err(missing_key(name, known));
        }
        let dialect = adapted(dialect, &base_url, &definition);
        let mut provider =
            HttpProvider::new(name, dialect, base_url, key).with_client(Arc::clone(&self.client));
        provider.headers = headers(name, &definition)?;
        provider.context_tokens = definition.context_tokens;
        provider.idle_timeout = definition.idle_timeout.unwrap_or(http::IDLE_TIMEOUT);
        provider.completion_timeout = definition.completion_timeout.unwrap_or(http::COMPLETION_TIMEOUT);
        provider.prices = Arc::clone(&self.prices);
        self.secrets.extend(provider.secrets());
        Ok(Arc::new(provider))
    }

    /// Returns the base URL, and true if it is the default.
    fn base_url(
        &self,
        name: &str,
        definition: &ProviderDefinition,
        known: Option<&KnownProvider>,
    ) -> Result<(String, bool), ProviderProblem> {
        if let Some(base_url) = &definition.base_url {
            let missing = |variable: String| unset(name, "base_url", &variable);
            return Ok((base_url.0.clone().map_err(missing)?, false));
        }
        let variables = known.map_or(&[] as &[&str], |known| known.base_variables);
        if let Some(base_url) = self.variable(variables) {
            return Ok((with_scheme(base_url), false));
        }
        let base_url = known.map(|known| (known.base_url.to_owned(), true));
        let why = "the settings do not set its `base_url`".to_owned();
        base_url.ok_or_else(|| ProviderProblem::Unusable { provider: name.to_owned(), why })
    }

    fn key(
        &self,
        name: &str,
        definition: &ProviderDefinition,
        known: Option<&KnownProvider>,
    ) -> Result<Option<ApiKey>, ProviderProblem> {
        if let Some(key) = &definition.key {
            let missing = |variable: String| ProviderProblem::MissingKey {
                provider: name.to_owned(),
                variables: vec![variable],
            };
            return key.0.clone().map(|key| Some(ApiKey::new(key))).map_err(missing);
        }
        let variables = known.map_or(&[] as &[&str], |known| known.key_variables);
        Ok(self.variable(variables).map(ApiKey::new))
    }

    fn variable(&self, names: &[&str]) -> Option<&str> {
        names.iter().find_map(|name| self.environment.get(name).filter(|value| !value.trim().is_empty()))
    }
}

fn missing_key(name: &str, known: Option<&KnownProvider>) -> ProviderProblem {
    let variables = known.map_or(&[] as &[&str], |known| known.key_variables);
    let variables = variables.iter().map(|variable| (*variable).to_owned()).collect();
    ProviderProblem::MissingKey { provider: name.to_owned(), variables }
}

fn unset(name: &str, key: &str, variable: &str) -> ProviderProblem {
    let why = format!("its `{key}` uses `${{{variable}}}`, which is not set");
    ProviderProblem::Unusable { provider: name.to_owned(), why }
}

fn headers(name: &str, definition: &ProviderDefinition) -> Result<HeaderMap, ProviderProblem> {
    let mut headers = HeaderMap::new();
    for (header, value) in &definition.headers {
        let value = value.0.clone().map_err(|variable| unset(name, header.as_str(), &variable))?;
        let mut value = HeaderValue::from_str(&value).map_err(|_| {
            let why = format!("the value of its header `{header}` is not valid");
            ProviderProblem::Unusable { provider: name.to_owned(), why }
        })?;
        value.set_sensitive(true);
        headers.insert(header.clone(), value);
    }
    Ok(headers)
}

/// Ollama's variable is a listen address: possibly without a scheme, for all interfaces, or without a port.
fn with_scheme(address: &str) -> String {
    if address.contains("://") {
        return address.to_owned();
    }
    let address = address.replace("0.0.0.0", "127.0.0.1");
    let has_port = address.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    if has_port { format!("http://{address}") } else { format!("http://{address}:11434") }
}
