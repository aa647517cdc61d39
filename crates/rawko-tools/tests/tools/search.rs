//! WebSearch against servers on real sockets that answer as the search services document it.

use std::sync::Arc;

use expect_test::expect;
use rawko_chart::SpannedValue;
use rawko_model::provider::{Dialect, HttpProvider};
use rawko_settings::{Environment, SettingsReader};
use rawko_testkit::{ModelReply, ProviderServer, anthropic, gemini, responses};
use rawko_tools::{Grant, SearchModel, ToolSettings, Toolbox};
use serde_json::json;

use super::support::{Bench, call, verdict};

const KEY: &str = "search-key-0123456789";

/// Reads `tools` from text; `SERVER` stands for the address of the server.
fn settings(text: &str, server: &ProviderServer) -> (ToolSettings, Vec<String>) {
    let host = server.url().replace("http://", "");
    let text = text.replace("SERVER", &server.url()).replace("HOST", &host);
    let environment: Environment = [("BRAVE_API_KEY", KEY), ("MY_KEY", KEY)].into_iter().collect();
    let mut reader = SettingsReader::new(&environment);
    let settings = ToolSettings::read(&mut reader, &SpannedValue::read(&text).unwrap());
    (settings, reader.findings.into_iter().map(|finding| finding.message).collect())
}

async fn searched(text: &str, reply: ModelReply, input: serde_json::Value) -> (String, ProviderServer) {
    let server = ProviderServer::replying([reply]).await.unwrap();
    let (settings, findings) = settings(text, &server);
    assert_eq!(findings, [""; 0], "{text}");
    let outcome = Bench::with(settings).run("WebSearch", input).await;
    assert!(!outcome.content.contains(KEY), "{}", outcome.content);
    let host = server.url().replace("http://", "");
    (format!("{}: {}", verdict(&outcome), outcome.content.replace(&host, "HOST")), server)
}

#[tokio::test]
async fn each_service_in_its_own_format() {
    let searxng = "{search: {provider: searxng, base_url: 'SERVER'}, web: {private: ['HOST']}}";
    let brave = "{search: {provider: brave, base_url: 'SERVER', results: 2}, web: {private: ['HOST']}}";
    let tavily = "{search: {provider: tavily, base_url: 'SERVER', api_key: '${MY_KEY}', documentation: [docs.rs]}, web: {private: ['HOST']}}";
    let results = |snippet: &str| {
        json!([
            {"title": "One &amp; only", "url": "https://docs.rs/one", snippet: "About <strong>one</strong>."},
            {"title": "Two", "url": "https://example.com/two", snippet: "About two."},
            {"title": "No address", "url": "", snippet: "x"},
            {"title": "Script", "url": "javascript:alert(1)", snippet: "x"},
            {"title": "Three", "url": "https://api.docs.rs/three"},
        ])
    };
    let plain = json!({"results": results("content")});
    let nested = json!({"web": {"results": results("description")}});
    let table = [
        ("SearXNG", searxng, &plain, json!({"query": "rust queue"})),
        ("SearXNG, documentation", searxng, &plain, json!({"query": "queue", "source": "docs"})),
        ("Brave", brave, &nested, json!({"query": "rust queue", "count": 9})),
        ("Tavily", tavily, &plain, json!({"query": "rust queue", "count": 1})),
        ("Tavily, documentation", tavily, &plain, json!({"query": "queue", "source": "docs"})),
        ("nothing found", searxng, &json!({"results": []}), json!({"query": "x"})),
        ("nothing in the documentation", tavily, &json!({}), json!({"query": "x", "source": "docs"})),
    ];
    let mut shown = String::new();
    for (name, settings, answer, input) in table {
        let (outcome, server) = searched(settings, ModelReply::json(200, answer), input).await;
        let asked = server.asked().remove(0);
        shown += &format!("{name}\n{} {}\n", asked.method, asked.path);
        for header in ["x-subscription-token", "authorization"] {
            if let Some(value) = asked.headers.get(header) {
                shown += &format!("{header}: {}\n", value.replace(KEY, "KEY"));
            }
        }
        if !asked.body.is_null() {
            shown += &format!("{}\n", asked.body);
        }
        shown += &format!("{outcome}\n\n");
    }
    expect![[r#"
        SearXNG
        GET /search?q=rust+queue&format=json
        ok: 1. One & only
           https://docs.rs/one
           About one.
        2. Two
           https://example.com/two
           About two.
        3. Three
           https://api.docs.rs/three

        SearXNG, documentation
        GET /search?q=queue+%28site%3Adocs.rs+OR+site%3Adoc.rust-lang.org+OR+site%3Adocs.python.org+OR+site%3Adeveloper.mozilla.org+OR+site%3Apkg.go.dev+OR+site%3Anodejs.org+OR+site%3Areadthedocs.io+OR+site%3Alearn.microsoft.com%29&format=json
        ok: 1. One & only
           https://docs.rs/one
           About one.
        2. Three
           https://api.docs.rs/three

        Brave
        GET /res/v1/web/search?q=rust+queue&count=2
        x-subscription-token: KEY
        ok: 1. One & only
           https://docs.rs/one
           About one.
        2. Two
           https://example.com/two
           About two.

        Tavily
        POST /search
        authorization: Bearer KEY
        {"query":"rust queue","max_results":1,"include_domains":[]}
        ok: 1. One & only
           https://docs.rs/one
           About one.

        Tavily, documentation
        POST /search
        authorization: Bearer KEY
        {"query":"queue","max_results":8,"include_domains":["docs.rs"]}
        ok: 1. One & only
           https://docs.rs/one
           About one.
        2. Three
           https://api.docs.rs/three

        nothing found
        GET /search?q=x&format=json
        ok: no results; use other words

        nothing in the documentation
        POST /search
        authorization: Bearer KEY
        {"query":"x","max_results":8,"include_domains":["docs.rs"]}
        ok: no results in docs.rs; search the web instead

    "#]].assert_eq(&shown);
}

#[tokio::test]
async fn failures_say_what_to_do() {
    let brave = "{search: {provider: brave, base_url: 'SERVER'}, web: {private: ['HOST']}}";
    let searxng = "{search: {provider: searxng, base_url: 'SERVER'}, web: {private: ['HOST']}}";
    let unlisted = "{search: {provider: searxng, base_url: 'SERVER'}}";
    let elsewhere = "{search: {provider: searxng, base_url: 'SERVER'}, web: {hosts: [docs.rs]}}";
    let echo = format!("bad key {KEY}");
    let mut shown = String::new();
    for (name, settings, reply, input) in [
        ("a wrong key, repeated by the service", brave, ModelReply::text(401, &echo), json!({"query": "x"})),
        ("a page instead of JSON", searxng, ModelReply::text(200, "<html>"), json!({"query": "x"})),
        (
            "a private address that is not listed",
            unlisted,
            ModelReply::text(200, "{}"),
            json!({"query": "x"}),
        ),
        ("a host that is not listed", elsewhere, ModelReply::text(200, "{}"), json!({"query": "x"})),
        ("no words", searxng, ModelReply::text(200, "{}"), json!({"query": "  "})),
        ("a wrong source", searxng, ModelReply::text(200, "{}"), json!({"query": "x", "source": "news"})),
    ] {
        let (outcome, server) = searched(settings, reply, input).await;
        let asked = server.asked().len();
        shown += &format!("{name}\n    asked {asked}, {outcome}\n");
    }
    expect![[r#"
        a wrong key, repeated by the service
            asked 1, failed: Brave at http://HOST returned status 401 Unauthorized: bad key [hidden]
        a page instead of JSON
            asked 1, failed: SearXNG at http://HOST did not return JSON; enable `json` under `search.formats` of its settings.yml
        a private address that is not listed
            asked 0, address_private: refused: `127.0.0.1` is at 127.0.0.1, an address of this machine or a private network (rule address_private, from the project's settings (`tools.web` in .rawko/config.yaml)).
        a host that is not listed
            asked 0, host_not_allowed: refused: the host `127.0.0.1` is not among those allowed: docs.rs (rule host_not_allowed, from the project's settings (`tools.web` in .rawko/config.yaml)).
        no words
            asked 0, failed: the query is empty
        a wrong source
            asked 0, failed: the input of `WebSearch` is wrong: /source: "news" is not one of "web" or "docs". It takes query, count (optional), source (optional).
    "#]].assert_eq(&shown);
}

#[tokio::test]
async fn is_offered_only_if_it_is_configured() {
    let server = ProviderServer::replying([] as [ModelReply; 0]).await.unwrap();
    let mut shown = String::new();
    for text in [
        "{}",
        "{search: {provider: searxng, base_url: 'SERVER'}}",
        "{search: {provider: brave}}",
        "{search: {provider: tavily}}",
        "{search: {provider: searxng}}",
        "{search: {base_url: 'SERVER'}}",
        "{search: {provider: altavista}}",
        "{search: {provider: tavily, api_key: '${NOT_SET}'}}",
        "{search: {provider: model}}",
    ] {
        let (settings, findings) = settings(text, &server);
        let specs = Bench::with(settings).toolbox.specs(&Grant::default()).await;
        let is_offered = specs.iter().any(|spec| spec.name == "WebSearch");
        shown += &format!("{text}: {is_offered} {findings:?}\n");
    }
    expect![[r#"
        {}: false []
        {search: {provider: searxng, base_url: 'SERVER'}}: true []
        {search: {provider: brave}}: true []
        {search: {provider: tavily}}: false ["WebSearch has no key: TAVILY_API_KEY is not set"]
        {search: {provider: searxng}}: false ["SearXNG needs a `base_url`"]
        {search: {base_url: 'SERVER'}}: false ["`tools.search` has no `provider`"]
        {search: {provider: altavista}}: false ["unknown search provider `altavista`"]
        {search: {provider: tavily, api_key: '${NOT_SET}'}}: false ["`api_key` of `tools.search` uses `${NOT_SET}`, which is not set", "WebSearch has no key: TAVILY_API_KEY is not set"]
        {search: {provider: model}}: false []
    "#]].assert_eq(&shown);
}

/// The model provider's own search, in the formats that have one.
#[tokio::test]
async fn a_model_searches_itself() {
    let citation =
        json!({"type": "citations_delta", "citation": {"url": "https://docs.rs/one", "title": "One"}});
    let claude = ModelReply::events([
        anthropic::start(5),
        anthropic::block_start(
            0,
            json!({"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}),
        ),
        anthropic::block_delta(0, json!({"type": "input_json_delta", "partial_json": "{\"query\":\"x\"}"})),
        anthropic::block_stop(0),
        anthropic::block_start(
            1,
            json!({"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}),
        ),
        anthropic::block_stop(1),
        anthropic::block_start(2, json!({"type": "text", "text": ""})),
        anthropic::block_delta(2, json!({"type": "text_delta", "text": "It is one."})),
        anthropic::block_delta(2, citation),
        anthropic::block_stop(2),
        anthropic::end("end_turn", 7),
        anthropic::stop(),
    ]);
    let grounding = json!({"candidates": [{"content": {"parts": [{"text": "It is one."}]}, "finishReason": "STOP",
        "groundingMetadata": {"groundingChunks": [{"web": {"uri": "https://docs.rs/one", "title": "One"}}]}}],
        "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 7}});
    let google = ModelReply::events([gemini::event(&grounding)]);
    let annotation = json!({"type": "response.output_text.annotation.added", "output_index": 1,
        "annotation": {"type": "url_citation", "url": "https://docs.rs/one", "title": "One"}});
    let openai = ModelReply::events([
        responses::added(0, json!({"type": "web_search_call", "id": "ws_1"})),
        responses::delta("output_text", 1, "It is one."),
        responses::event(&annotation),
        responses::end(None, json!({"input_tokens": 5, "output_tokens": 7})),
    ]);
    let mut shown = String::new();
    for (name, dialect, reply) in [
        ("Anthropic", Dialect::Anthropic, claude),
        ("Gemini", Dialect::Gemini, google),
        ("OpenAI", Dialect::Responses, openai),
    ] {
        let server = ProviderServer::replying([reply]).await.unwrap();
        let provider = Arc::new(HttpProvider::new("p", dialect, server.url(), None));
        let (settings, _) = settings("{search: {provider: model}}", &server);
        let directory = tempfile::tempdir().unwrap();
        let toolbox = Toolbox::new(directory.path(), settings)
            .with_search_model(SearchModel { provider, model: "m".to_owned() });
        let input = rawko_core::Value::from_json(json!({"query": "what is it"}));
        let outcome =
            toolbox.run(call("WebSearch", &input, &rawko_core::Value::NULL), &Grant::default()).await;
        let asked = server.asked().remove(0).body;
        let usage = outcome.data.get("usage");
        let tokens = (usage.get("input_tokens").as_i64(), usage.get("output_tokens").as_i64());
        shown += &format!("{name} {}\n{}\n{tokens:?}\n", asked["tools"], outcome.content);
    }
    expect![[r#"
        Anthropic [{"type":"web_search_20250305","name":"web_search","max_uses":5,"cache_control":{"type":"ephemeral"}}]
        It is one.

        Sources:
        - One https://docs.rs/one
        (Some(5), Some(7))
        Gemini [{"google_search":{}}]
        It is one.

        Sources:
        - One https://docs.rs/one
        (Some(5), Some(7))
        OpenAI [{"type":"web_search"}]
        It is one.

        Sources:
        - One https://docs.rs/one
        (Some(5), Some(7))
    "#]].assert_eq(&shown);
    let server = ProviderServer::replying([] as [ModelReply; 0]).await.unwrap();
    let provider = Arc::new(HttpProvider::new("p", Dialect::Ollama, server.url(), None));
    let (settings, _) = settings("{search: {provider: model}}", &server);
    let directory = tempfile::tempdir().unwrap();
    let toolbox = Toolbox::new(directory.path(), settings)
        .with_search_model(SearchModel { provider, model: "m".to_owned() });
    let input = rawko_core::Value::from_json(json!({"query": "x"}));
    let outcome = toolbox.run(call("WebSearch", &input, &rawko_core::Value::NULL), &Grant::default()).await;
    assert!(outcome.is_error && outcome.content.contains("no web search of its own"), "{}", outcome.content);
}
