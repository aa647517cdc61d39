//! One retry policy for arbiter and agents, against a server that speaks the provider's wire format: transient errors
//! are retried without ending the task, permanent ones are sent once and name the key to change, and a chain of models
//! falls back by error class.

use std::sync::Mutex;

use rawko_testkit::{ModelAnswer, ModelReply, ProviderServer, ReceivedRequest, WireProtocol};
use serde_json::Value as Json;

use super::project::{agent, project};
use crate::support::run;

/// The requester: the arbiter asks with a schema.
fn is_arbiter(asked: &ReceivedRequest) -> bool {
    asked.body.to_string().contains("SELECT_MODE")
}

fn model(asked: &ReceivedRequest) -> String {
    asked.body["model"].as_str().unwrap_or_default().to_owned()
}

/// Decisions for the arbiter, words for an agent.
fn answer(asked: &ReceivedRequest) -> ModelReply {
    let is_first = asked.body.to_string().contains("Iteration 1 of");
    let text = match (is_arbiter(asked), is_first) {
        (true, true) => r#"{"type":"SELECT_MODE","mode":"worker","reason":"begin"}"#,
        (true, false) => r#"{"type":"COMPLETE","reason":"done","summary":"All done."}"#,
        (false, _) => "I did it.",
    };
    WireProtocol::OpenAi.reply(&ModelAnswer::text(&[text]))
}

/// A request, and the number of equal ones before it, by requester and model.
type Failing = fn(&ReceivedRequest, usize) -> Option<ModelReply>;

fn serve(runtime: &tokio::runtime::Runtime, failing: Failing) -> ProviderServer {
    let seen: Mutex<Vec<(bool, String)>> = Mutex::default();
    let reply = move |asked: &ReceivedRequest| {
        let mut seen = seen.lock().unwrap();
        let who = (is_arbiter(asked), model(asked));
        let before = seen.iter().filter(|other| **other == who).count();
        seen.push(who);
        failing(asked, before).unwrap_or_else(|| answer(asked))
    };
    runtime.block_on(ProviderServer::new(reply)).unwrap()
}

fn settings(server: &ProviderServer, default: &str, more: &str) -> String {
    format!(
        "governance: {{allow: ['agent:*']}}\n\
         providers:\n  default: {default}\n  back_off: {{first: 1ms, longest: 5ms}}\n  \
         web: {{kind: openai, base_url: \"{}\", api_key: \"k\"}}\n\
         memories: {{remember: false}}\nphases: {{validate: {{checks: []}}}}\n{more}",
        server.url()
    )
}

/// Two agents, so that the arbiter has to be asked.
fn agents(more: &str) -> [(String, String); 2] {
    [agent("worker", more), agent("other", "")]
}

fn fail(status: u16, kind: &str) -> ModelReply {
    WireProtocol::OpenAi.failure(status, kind, "no luck")
}

#[test]
fn transient_errors_do_not_end_a_task() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let table: [(&str, Failing); 7] = [
        ("429 at the arbiter", |asked, before| {
            (is_arbiter(asked) && before < 5)
                .then(|| fail(429, "rate_limit_exceeded").header("retry-after", "0"))
        }),
        ("529 at the arbiter", |asked, before| {
            (is_arbiter(asked) && before < 5).then(|| fail(529, "overloaded_error"))
        }),
        ("500 at the arbiter", |asked, before| {
            (is_arbiter(asked) && before < 5).then(|| fail(500, "api_error"))
        }),
        ("a connection that breaks at the arbiter", |asked, before| {
            (is_arbiter(asked) && before < 4).then(|| answer(asked).cut_after(40))
        }),
        ("429 at an agent", |asked, before| {
            (!is_arbiter(asked) && before < 5).then(|| fail(429, "rate_limit_exceeded"))
        }),
        ("503 at an agent", |asked, before| {
            (!is_arbiter(asked) && before < 5).then(|| fail(503, "unavailable"))
        }),
        ("both", |_, before| (before < 3).then(|| fail(429, "rate_limit_exceeded"))),
    ];
    for (name, failing) in table {
        let server = serve(&runtime, failing);
        let dir = project(&settings(&server, "web/x", ""), &agents(""), "[]\n");
        let ran = run(dir.path(), &["task", "Do it", "--id", "t"], "");
        assert_eq!(ran.code, Some(0), "{name}: {}{}", ran.stdout, ran.stderr);
        assert!(ran.stdout.contains("complete  after 1 iteration"), "{name}: {}", ran.stdout);
    }
}

#[test]
fn a_retry_after_is_honoured_and_retries_end() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let server = serve(&runtime, |asked, before| {
        (is_arbiter(asked) && before == 0)
            .then(|| fail(429, "rate_limit_exceeded").header("retry-after", "2"))
    });
    let dir = project(&settings(&server, "web/x", ""), &agents(""), "[]\n");
    let ran = run(dir.path(), &["task", "Do it", "--id", "t"], "");
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("waiting  2."), "{}", ran.stdout);
    // Without an end: one request, and `retries_max` more.
    let server = serve(&runtime, |_, _| Some(fail(429, "rate_limit_exceeded")));
    let dir = project(&settings(&server, "web/x", "loop: {retries_max: 4}\n"), &agents(""), "[]\n");
    let ran = run(dir.path(), &["task", "Do it", "--id", "t"], "");
    assert_eq!(ran.code, Some(3), "{}{}", ran.stdout, ran.stderr);
    assert_eq!(server.asked().len(), 5, "{}", ran.stdout);
}

#[test]
fn permanent_errors_end_at_once_and_name_the_key_to_change() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let default = "change `providers.default` in .rawko/config.yaml";
    let own = "change `model` in .rawko/agents/worker.md";
    let key = "change `providers.web.api_key` in .rawko/config.yaml";
    let table: [(&str, Failing, &str, i32, &str, usize); 8] = [
        ("400", |_, _| Some(fail(400, "invalid_request_error")), "", 1, default, 1),
        ("401", |_, _| Some(fail(401, "authentication_error")), "", 41, key, 1),
        ("403", |_, _| Some(fail(403, "permission_error")), "", 41, key, 1),
        ("404", |_, _| Some(fail(404, "model_not_found")), "", 1, default, 1),
        ("no credit", |_, _| Some(fail(429, "insufficient_quota")), "", 41, key, 1),
        (
            "an agent's model",
            |asked, _| (!is_arbiter(asked)).then(|| fail(404, "model_not_found")),
            "model: web/gone\n",
            1,
            own,
            2,
        ),
        (
            "an agent's request",
            |asked, _| (!is_arbiter(asked)).then(|| fail(400, "invalid_request_error")),
            "model: web/gone\n",
            1,
            own,
            2,
        ),
        ("an agent's provider", |_, _| None, "model: nowhere/x\n", 1, own, 1),
    ];
    for (name, failing, more, code, words, requests) in table {
        let server = serve(&runtime, failing);
        let dir = project(&settings(&server, "web/x", ""), &agents(more), "[]\n");
        let ran = run(dir.path(), &["task", "Do it", "--id", "t"], "");
        assert_eq!(ran.code, Some(code), "{name}: {}{}", ran.stdout, ran.stderr);
        assert!(ran.stdout.contains(words), "{name}: {}{}", ran.stdout, ran.stderr);
        assert_eq!(server.asked().len(), requests, "{name}: {}", ran.stdout);
    }
}

#[test]
fn a_chain_of_models_falls_back_by_error_class() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    // Default, the agent's file, more settings, failures, exit code, words of the output.
    type Row<'a> = (&'a str, &'a str, &'a str, &'a str, Failing, i32, &'a str);
    let table: [Row<'_>; 9] = [
        (
            "not found",
            "[web/a, web/b]",
            "",
            "",
            |asked, _| (model(asked) == "a").then(|| fail(404, "model_not_found")),
            0,
            "web/a → web/b",
        ),
        (
            "overloaded",
            "web/x",
            "model: [web/a, web/b]\n",
            "loop: {retries_max: 2}\n",
            |asked, _| (model(asked) == "a").then(|| fail(529, "overloaded_error")),
            0,
            "web/a → web/b",
        ),
        (
            "rate limited",
            "web/x",
            "model: [web/a, web/b]\n",
            "loop: {retries_max: 2}\n",
            |asked, _| (model(asked) == "a").then(|| fail(429, "rate_limit_exceeded")),
            0,
            "web/a → web/b",
        ),
        (
            "too long",
            "web/x",
            "model: [web/a, web/b]\n",
            "",
            |asked, _| (model(asked) == "a").then(|| fail(400, "context_length_exceeded")),
            0,
            "web/a → web/b",
        ),
        (
            "the arbiter's",
            "web/x",
            "",
            "arbiter: {model: [web/a, web/b]}\n",
            |asked, _| (model(asked) == "a").then(|| fail(404, "model_not_found")),
            0,
            "web/a → web/b",
        ),
        (
            "three",
            "web/x",
            "model: [web/a, web/b, web/c]\n",
            "",
            |asked, _| (["a", "b"].contains(&&*model(asked))).then(|| fail(404, "model_not_found")),
            0,
            "web/b → web/c",
        ),
        (
            "our request is invalid",
            "web/x",
            "model: [web/a, web/b]\n",
            "",
            |asked, _| (model(asked) == "a").then(|| fail(400, "invalid_request_error")),
            1,
            "change `model` in .rawko/agents/worker.md",
        ),
        (
            "none is left",
            "web/x",
            "model: [web/a, web/b]\n",
            "",
            |asked, _| (model(asked) != "x").then(|| fail(404, "model_not_found")),
            1,
            "change `model` in .rawko/agents/worker.md",
        ),
        (
            "a filtered answer",
            "web/x",
            "model: [web/a, web/b]\n",
            "task: {max_failures: 1}\n",
            |asked, _| {
                let filtered = ModelAnswer::text(&["no"]).because(rawko_testkit::Reason::Filter);
                (model(asked) == "a").then(|| WireProtocol::OpenAi.reply(&filtered))
            },
            1,
            "filtered",
        ),
    ];
    for (name, default, more, settings_more, failing, code, words) in table {
        let server = serve(&runtime, failing);
        let dir = project(&settings(&server, default, settings_more), &agents(more), "[]\n");
        let ran = run(dir.path(), &["task", "Do it", "--id", "t"], "");
        assert_eq!(ran.code, Some(code), "{name}: {}{}", ran.stdout, ran.stderr);
        assert!(ran.stdout.contains(words), "{name}: {}", ran.stdout);
        let asked_b = server.asked().iter().any(|asked| model(asked) == "b");
        assert_eq!(asked_b, !["our request is invalid", "a filtered answer"].contains(&name), "{name}");
        if code == 0 {
            let shown = run(dir.path(), &["show", "t", "--json"], "");
            let shown: Json = serde_json::from_str(&shown.stdout).unwrap();
            assert_eq!(shown["context"]["switches"][0]["from"], "web/a", "{name}: {shown}");
        }
    }
}
