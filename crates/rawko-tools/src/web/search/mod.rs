//! WebSearch: one query to the search service of the settings. It passes the same rule on addresses as WebFetch; the
//! results are untrusted text. Separate from fetching, because the address is the settings', not the model's.

mod engines;
mod settings;

pub use settings::{SearchEngine, SearchSettings};

use std::sync::Arc;
use std::time::Duration;

use rawko_core::Value;
use rawko_model::provider::{CompletionRequest, Provider};
use rawko_model::{Message, MessagePart, Role};
use rawko_process::Egress;
use rawko_settings::Redactor;
use reqwest::Url;

use super::{address, body, in_words};
use crate::input::{text, whole};
use crate::outcome::{ToolFailure, ToolOutcome};
use engines::WebQuery;

const TIME_MAX: Duration = Duration::from_secs(30);
/// A search with a model reads pages itself.
const MODEL_TIME_MAX: Duration = Duration::from_secs(300);
const SNIPPET_CHARS_MAX: usize = 600;
const QUERY_CHARS_MAX: usize = 400;

/// A model whose service searches the web itself.
#[derive(Clone)]
pub struct SearchModel {
    /// The provider of the model.
    pub provider: Arc<dyn Provider>,
    /// The provider's name of the model.
    pub model: String,
}

/// One search result.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Hit {
    title: String,
    url: String,
    snippet: String,
}

pub(crate) async fn search(
    egress: &Egress,
    settings: &SearchSettings,
    model: Option<&SearchModel>,
    input: &Value,
) -> Result<ToolOutcome, ToolFailure> {
    let words = text(input, "query").trim();
    if words.is_empty() {
        return Err("the query is empty".to_owned().into());
    }
    let count = whole(input, "count").and_then(|count| usize::try_from(count).ok());
    let count = count.unwrap_or(settings.results_max).min(settings.results_max);
    let is_docs = text(input, "source") == "docs";
    let sites = if is_docs { settings.documentation.as_slice() } else { &[] };
    let words: String = Redactor::hide_credentials(words).chars().take(QUERY_CHARS_MAX).collect();
    let query = WebQuery { words: &words, sites, count };
    let engine = settings.engine.name();
    let (limit, searching) = match &settings.engine {
        SearchEngine::Model { .. } => (MODEL_TIME_MAX, None),
        SearchEngine::Searxng { .. } | SearchEngine::Brave { .. } | SearchEngine::Tavily { .. } => {
            (TIME_MAX, Some(ask(egress, settings, &query)))
        }
    };
    let done = tokio::time::timeout(limit, async {
        match searching {
            Some(searching) => searching.await.map(|hits| shown(&hits, engine, &query)),
            None => ask_model(model, &query).await,
        }
    });
    done.await.unwrap_or_else(|_| Err(format!("{engine} did not answer within {} s", limit.as_secs()).into()))
}

async fn ask(
    egress: &Egress,
    settings: &SearchSettings,
    query: &WebQuery<'_>,
) -> Result<Vec<Hit>, ToolFailure> {
    let engine = &settings.engine;
    let url = engines::url(engine, query)?;
    let addresses = address::checked(egress, &url).await?;
    let host = url.host_str().unwrap_or_default();
    let client = super::client(host, &addresses, false).or_else(|_| super::client(host, &addresses, true));
    let client = client.map_err(|error| format!("HTTP cannot be set up: {error}"))?;
    let request = engines::request(engine, &client, &url, query)?;
    let name = engine.name();
    let hidden = |text: String| engine.hide(&text);
    let failed = |error: reqwest::Error| {
        hidden(format!("{name} at {} cannot be asked: {}", origin(&url), in_words(&error)))
    };
    let response = request.send().await.map_err(failed)?;
    let status = response.status();
    let read = body::read(response).await.map_err(failed)?;
    let answer = String::from_utf8_lossy(&read.bytes);
    if !status.is_success() {
        let head: String = answer.chars().take(300).collect();
        return Err(hidden(format!("{name} at {} returned status {status}: {head}", origin(&url))).into());
    }
    let json: serde_json::Value = serde_json::from_str(&answer)
        .map_err(|_| format!("{name} at {} did not return JSON{}", origin(&url), engines::hint(engine)))?;
    let hits = engines::hits(engine, &json).into_iter().filter(|hit| query.admits(&hit.url));
    Ok(hits.take(query.count).collect())
}

/// Names the address without the query.
fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}

fn shown(hits: &[Hit], engine: &str, query: &WebQuery<'_>) -> ToolOutcome {
    let line = |(number, hit): (usize, &Hit)| {
        let snippet: String = hit.snippet.chars().take(SNIPPET_CHARS_MAX).collect();
        let mut line = format!("{}. {}\n   {}", number + 1, hit.title, hit.url);
        for part in snippet.lines().filter(|part| !part.trim().is_empty()) {
            line.push_str("\n   ");
            line.push_str(part);
        }
        line
    };
    let lines: Vec<String> = hits.iter().enumerate().map(line).collect();
    let entry = |hit: &Hit| Value::map([("title", Value::str(&hit.title)), ("url", Value::str(&hit.url))]);
    let data = Value::map([
        ("engine", Value::str(engine)),
        ("results", Value::list(hits.iter().map(entry).collect())),
    ]);
    let content = match (lines.is_empty(), query.sites.is_empty()) {
        (false, _) => lines.join("\n"),
        (true, true) => "no results; use other words".to_owned(),
        (true, false) => format!("no results in {}; search the web instead", query.sites.join(", ")),
    };
    ToolOutcome::ok(content).with_data(data)
}

async fn ask_model(model: Option<&SearchModel>, query: &WebQuery<'_>) -> Result<ToolOutcome, ToolFailure> {
    let Some(SearchModel { provider, model }) = model else {
        return Err("the model of `tools.search` cannot be used; run `rawko doctor`".to_owned().into());
    };
    let within = match query.sites {
        [] => String::new(),
        sites => format!(" Use only documentation from these sites: {}.", sites.join(", ")),
    };
    let prompt = format!(
        "Search the web for: {}\nReport at most {} results: for each the title, the address and the facts in it that \
         answer the query. Report nothing that you did not find.{within}",
        query.words, query.count
    );
    let request = CompletionRequest {
        model: model.clone(),
        messages: vec![Message::text(Role::User, prompt)].into(),
        search: true,
        ..CompletionRequest::default()
    };
    let completion = provider.complete(request, &mut |_| {}).await;
    let completion = completion.map_err(|error| ToolFailure::Said(format!("the search failed: {error}")))?;
    let texts = completion.message.parts.iter().filter_map(|part| match part {
        MessagePart::Text { text } => Some(text.as_str()),
        MessagePart::Image { .. }
        | MessagePart::ImageRef { .. }
        | MessagePart::ToolUse(_)
        | MessagePart::ToolResult(_)
        | MessagePart::Reasoning(_) => None,
    });
    let usage = serde_json::to_value(completion.usage).map(Value::from_json).unwrap_or_default();
    let data = Value::map([("engine", Value::str("model")), ("usage", usage)]);
    Ok(ToolOutcome::ok(texts.collect::<Vec<_>>().join("\n")).with_data(data))
}
