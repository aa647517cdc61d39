//! The wire formats of search services: a request, and the results in an answer. Pure.

use reqwest::{Client, RequestBuilder, Url};
use serde_json::{Value, json};

use super::{Hit, SearchEngine};
use crate::web::html;

/// A query as the services take it.
pub(super) struct WebQuery<'q> {
    pub(super) words: &'q str,
    /// Only results of these hosts and those below them; empty for all.
    pub(super) sites: &'q [String],
    pub(super) count: usize,
}

impl WebQuery<'_> {
    /// Writes the sites into the words, for services without a parameter for them.
    fn with_sites(&self) -> String {
        let sites: Vec<String> = self.sites.iter().map(|site| format!("site:{site}")).collect();
        match sites.as_slice() {
            [] => self.words.to_owned(),
            [one] => format!("{} {one}", self.words),
            several => format!("{} ({})", self.words, several.join(" OR ")),
        }
    }

    /// Services treat `site:` as a hint.
    pub(super) fn admits(&self, url: &str) -> bool {
        let Ok(url) = Url::parse(url) else { return false };
        let host = url.host_str().unwrap_or_default();
        let is_of = |site: &String| host == site || host.ends_with(&format!(".{site}"));
        ["http", "https"].contains(&url.scheme()) && (self.sites.is_empty() || self.sites.iter().any(is_of))
    }
}

pub(super) fn url(engine: &SearchEngine, query: &WebQuery<'_>) -> Result<Url, String> {
    let (base, path) = match engine {
        SearchEngine::Searxng { base_url } => (base_url, "search"),
        SearchEngine::Brave { base_url, .. } => (base_url, "res/v1/web/search"),
        SearchEngine::Tavily { base_url, .. } => (base_url, "search"),
        SearchEngine::Model { .. } => return Err("a model has no address of its own".to_owned()),
    };
    let url = format!("{}/{path}", base.trim_end_matches('/'));
    let mut url = Url::parse(&url).map_err(|error| format!("`{base}` is not a valid URL: {error}"))?;
    match engine {
        SearchEngine::Searxng { .. } => {
            url.query_pairs_mut().append_pair("q", &query.with_sites()).append_pair("format", "json");
        }
        SearchEngine::Brave { .. } => {
            let count = query.count.min(20).to_string();
            url.query_pairs_mut().append_pair("q", &query.with_sites()).append_pair("count", &count);
        }
        SearchEngine::Tavily { .. } | SearchEngine::Model { .. } => {}
    }
    Ok(url)
}

pub(super) fn request(
    engine: &SearchEngine,
    client: &Client,
    url: &Url,
    query: &WebQuery<'_>,
) -> Result<RequestBuilder, String> {
    let header = |key: &rawko_model::provider::ApiKey, before: &str| {
        key.header(before).ok_or_else(|| "the key of `tools.search` is not a valid header value".to_owned())
    };
    let request = match engine {
        SearchEngine::Searxng { .. } | SearchEngine::Model { .. } => client.get(url.clone()),
        SearchEngine::Brave { key, .. } => {
            client.get(url.clone()).header("x-subscription-token", header(key, "")?)
        }
        SearchEngine::Tavily { key, .. } => {
            let body =
                json!({"query": query.words, "max_results": query.count, "include_domains": query.sites});
            client
                .post(url.clone())
                .header("authorization", header(key, "Bearer ")?)
                .header("content-type", "application/json")
                .body(body.to_string())
        }
    };
    Ok(request.header("accept", "application/json"))
}

pub(super) fn hits(engine: &SearchEngine, answer: &Value) -> Vec<Hit> {
    let (place, snippet) = match engine {
        SearchEngine::Searxng { .. } | SearchEngine::Tavily { .. } => ("/results", "content"),
        SearchEngine::Brave { .. } => ("/web/results", "description"),
        SearchEngine::Model { .. } => return Vec::new(),
    };
    let results = answer.pointer(place).and_then(Value::as_array).into_iter().flatten();
    let hit = |result: &Value| {
        let text = |key: &str| result.get(key).and_then(Value::as_str).unwrap_or_default();
        // Titles and snippets come with marks in HTML.
        let plain = |key: &str| html::text(text(key)).trim().to_owned();
        Some(Hit { title: plain("title"), url: text("url").to_owned(), snippet: plain(snippet) })
            .filter(|hit| !hit.url.is_empty())
    };
    results.filter_map(hit).collect()
}

/// Explains the usual reason for an answer that is not JSON.
pub(super) fn hint(engine: &SearchEngine) -> &'static str {
    match engine {
        SearchEngine::Searxng { .. } => "; enable `json` under `search.formats` of its settings.yml",
        SearchEngine::Brave { .. } | SearchEngine::Tavily { .. } | SearchEngine::Model { .. } => "",
    }
}
