//! `tools.search` of the settings: the service that WebSearch asks. Agents do not have the tool without it.

use rawko_chart::codes::settings::{MISSING_KEY, UNSET_VARIABLE};
use rawko_chart::{DocumentEntry, SpannedValue};
use rawko_model::provider::ApiKey;
use rawko_settings::SettingsReader;

const RESULTS: usize = 8;
const RESULTS_MAX: u64 = 20;
/// Sites of `source: docs`, unless the settings name others.
const DOCUMENTATION: [&str; 8] = [
    "docs.rs",
    "doc.rust-lang.org",
    "docs.python.org",
    "developer.mozilla.org",
    "pkg.go.dev",
    "nodejs.org",
    "readthedocs.io",
    "learn.microsoft.com",
];

/// Settings of WebSearch.
#[derive(Clone, Debug)]
pub struct SearchSettings {
    /// The engine that is asked.
    pub engine: SearchEngine,
    /// Number of results per search.
    pub results_max: usize,
    /// Hosts that `source: docs` is limited to.
    pub documentation: Vec<String>,
}

/// A search service. Keys are never printed.
#[derive(Clone, Debug)]
pub enum SearchEngine {
    /// A SearXNG server.
    Searxng {
        /// The address of the service.
        base_url: String,
    },
    /// The Brave Search API.
    Brave {
        /// The address of the service.
        base_url: String,
        /// The API key.
        key: ApiKey,
    },
    /// The Tavily API.
    Tavily {
        /// The address of the service.
        base_url: String,
        /// The API key.
        key: ApiKey,
    },
    /// The model provider's own search; `None` uses the default model.
    Model {
        /// `provider/model`.
        model: Option<String>,
    },
}

impl SearchEngine {
    /// Returns the name in the settings.
    pub fn name(&self) -> &'static str {
        match self {
            SearchEngine::Searxng { .. } => "SearXNG",
            SearchEngine::Brave { .. } => "Brave",
            SearchEngine::Tavily { .. } => "Tavily",
            SearchEngine::Model { .. } => "the model",
        }
    }

    /// Removes the key from a text.
    pub(super) fn hide(&self, text: &str) -> String {
        match self {
            SearchEngine::Brave { key, .. } | SearchEngine::Tavily { key, .. } => key.hide(text),
            SearchEngine::Searxng { .. } | SearchEngine::Model { .. } => text.to_owned(),
        }
    }
}

/// The keys as written.
#[derive(Default)]
struct SearchKeys<'d> {
    provider: Option<(&'d str, &'d DocumentEntry)>,
    base_url: Option<String>,
    key: Option<String>,
    model: Option<String>,
    results: Option<u64>,
    documentation: Option<Vec<String>>,
}

impl SearchSettings {
    pub(crate) fn read(reader: &mut SettingsReader<'_>, at: &SpannedValue) -> Option<Self> {
        const KEYS: [&str; 6] = ["provider", "base_url", "api_key", "model", "results", "documentation"];
        let mut written = SearchKeys::default();
        for entry in reader.record(at, "`tools.search`", &KEYS) {
            let what = format!("`{}` of `tools.search`", entry.key);
            match entry.key.as_str() {
                "provider" => written.provider = reader.text(&entry.value, &what).map(|it| (it, entry)),
                "base_url" => written.base_url = filled(reader, &entry.value, &what),
                "api_key" => written.key = filled(reader, &entry.value, &what),
                "model" => written.model = reader.text(&entry.value, &what).map(str::to_owned),
                "results" => written.results = reader.whole(&entry.value, &what, 1),
                _ => {
                    let hosts = reader.texts(&entry.value, &what).into_iter();
                    written.documentation = Some(hosts.map(|(host, _)| host.to_ascii_lowercase()).collect());
                }
            }
        }
        let Some((provider, entry)) = written.provider else {
            let help = "write `provider: searxng`, `brave`, `tavily` or `model`";
            reader.say(&MISSING_KEY, at.span, "`tools.search` has no `provider`", help);
            return None;
        };
        let engine = engine(reader, provider, entry, &mut written)?;
        let documentation =
            written.documentation.unwrap_or_else(|| DOCUMENTATION.map(str::to_owned).to_vec());
        let results_max = written.results.map_or(RESULTS, |count| count.min(RESULTS_MAX) as usize);
        Some(Self { engine, results_max, documentation })
    }
}

fn engine(
    reader: &mut SettingsReader<'_>,
    provider: &str,
    entry: &DocumentEntry,
    written: &mut SearchKeys<'_>,
) -> Option<SearchEngine> {
    let base_url = written.base_url.take();
    match provider {
        "searxng" => {
            let Some(base_url) = base_url else {
                let help =
                    "write `base_url: \"http://localhost:8888\"`, and list its host in `tools.web.private`";
                reader.say(&MISSING_KEY, entry.value.span, "SearXNG needs a `base_url`", help);
                return None;
            };
            Some(SearchEngine::Searxng { base_url })
        }
        "brave" => {
            let key = key(reader, written, "BRAVE_API_KEY", entry)?;
            let base_url = base_url.unwrap_or_else(|| "https://api.search.brave.com".to_owned());
            Some(SearchEngine::Brave { base_url, key })
        }
        "tavily" => {
            let key = key(reader, written, "TAVILY_API_KEY", entry)?;
            let base_url = base_url.unwrap_or_else(|| "https://api.tavily.com".to_owned());
            Some(SearchEngine::Tavily { base_url, key })
        }
        "model" => Some(SearchEngine::Model { model: written.model.take() }),
        other => {
            let help = "one of searxng, brave, tavily, model";
            reader.invalid(entry.value.span, format!("unknown search provider `{other}`"), help);
            None
        }
    }
}

/// Returns the key of the settings, or of the usual variable. A missing one disables the tool and nothing else.
fn key(
    reader: &mut SettingsReader<'_>,
    written: &mut SearchKeys<'_>,
    variable: &str,
    entry: &DocumentEntry,
) -> Option<ApiKey> {
    let of_environment =
        || reader.environment().get(variable).filter(|key| !key.is_empty()).map(str::to_owned);
    let key = written.key.take().or_else(of_environment);
    if key.is_none() {
        let message = format!("WebSearch has no key: {variable} is not set");
        reader.say(&UNSET_VARIABLE, entry.value.span, message, format!("export {variable}=…"));
    }
    key.map(ApiKey::new)
}

/// Expands `${NAME}`. An unset variable counts as not written.
fn filled(reader: &mut SettingsReader<'_>, at: &SpannedValue, what: &str) -> Option<String> {
    let text = reader.scalar(at, what)?;
    let (mut filled, mut rest) = (String::new(), text.as_str());
    while let Some((before, from)) = rest.split_once("${") {
        let Some((name, after)) = from.split_once('}') else { break };
        let Some(value) = reader.environment().get(name).filter(|value| !value.is_empty()).map(str::to_owned)
        else {
            let message = format!("{what} uses `${{{name}}}`, which is not set");
            reader.say(&UNSET_VARIABLE, at.span, message, format!("export {name}=…"));
            return None;
        };
        filled.push_str(before);
        filled.push_str(&value);
        rest = after;
    }
    filled.push_str(rest);
    Some(filled)
}
