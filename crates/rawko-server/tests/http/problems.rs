//! Errors are reported as problems, always in the same format, and never contain a secret.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use expect_test::expect;
use rawko_server::{Role, ServerTokens};
use rawko_telemetry::{LogFormat, LogLevel, LogSettings, Logs, Redactor};
use serde_json::json;

use crate::support::{Ask, SECRETS, guarded, open, start};

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_has_a_code() {
    let server = open().await;
    let post = |path: &str, kind: &str, body: &str| {
        server.ask("POST", path).header("content-type", kind).body(body.as_bytes().to_vec())
    };
    let json = "application/json";
    let table: Vec<(&str, Ask)> = vec![
        ("a path that is nothing", server.get("/v1/nothing")),
        ("a folder", server.get("/v1/")),
        ("a method that is not for it", server.ask("DELETE", "/v1/charts")),
        ("a method nobody knows", server.ask("BREW", "/v1/charts")),
        ("no such chart", server.get("/v1/charts/nobody")),
        ("no such version", server.get("/v1/charts/door?version=9")),
        ("not a version", server.get("/v1/charts/door?version=!!")),
        ("no such channel", server.get("/v1/channels/nobody")),
        ("a path that is no text", server.get("/v1/charts/%ff")),
        ("a limit of nothing", server.get("/v1/audit?limit=0")),
        ("a limit beyond all bounds", server.get("/v1/audit?limit=501")),
        ("a limit that is no number", server.get("/v1/audit?limit=many")),
        ("a key that nobody knows", server.get("/v1/audit?limt=5")),
        ("a format that nobody draws", server.get("/v1/charts/door/graph?format=gif")),
        ("no type", server.ask("POST", "/v1/charts/check").body(b"{}".to_vec())),
        ("another type", post("/v1/charts/check", "text/plain", "{}")),
        ("a form", post("/v1/charts/check", "application/x-www-form-urlencoded", "text=a")),
        ("nothing at all", post("/v1/charts/check", json, "")),
        ("half a body", post("/v1/charts/check", json, "{\"text\": \"a")),
        ("no JSON", post("/v1/charts/check", json, "id: a")),
        ("a list", post("/v1/charts/check", json, "[]")),
        ("a key too few", post("/v1/charts/check", json, "{}")),
        ("a key too many", post("/v1/charts/check", json, "{\"text\": \"\", \"txt\": 1}")),
        ("another type of value", post("/v1/charts/check", json, "{\"text\": 5}")),
        ("very deep", post("/v1/charts/check", json, &"[".repeat(10_000))),
        ("a chart that cannot run", post("/v1/charts", json, "{\"text\": \"id: a\"}")),
        ("a name that is none", post("/v1/channels", json, "{\"name\": \"a b\"}")),
        ("a socket that is none", server.get("/v1/agents").header("upgrade", "websocket")),
    ];
    let mut shown = String::new();
    for (name, ask) in table {
        let answer = ask.send().await;
        shown.push_str(&format!("{name:<28} {} {}\n", answer.status, answer.problem()));
    }
    expect![[r#"
        a path that is nothing       404 not_found
        a folder                     404 not_found
        a method that is not for it  405 method_not_allowed
        a method nobody knows        405 method_not_allowed
        no such chart                404 no_chart
        no such version              404 no_version
        not a version                400 invalid_request
        no such channel              404 no_channel
        a path that is no text       400 invalid_request
        a limit of nothing           400 invalid_request
        a limit beyond all bounds    400 invalid_request
        a limit that is no number    400 invalid_request
        a key that nobody knows      400 invalid_request
        a format that nobody draws   400 invalid_request
        no type                      415 unsupported_media_type
        another type                 415 unsupported_media_type
        a form                       415 unsupported_media_type
        nothing at all               400 invalid_json
        half a body                  400 invalid_json
        no JSON                      400 invalid_json
        a list                       422 invalid_body
        a key too few                422 invalid_body
        a key too many               422 invalid_body
        another type of value        422 invalid_body
        very deep                    422 invalid_body
        a chart that cannot run      422 invalid_chart
        a name that is none          422 invalid_name
        a socket that is none        400 invalid_request
    "#]]
    .assert_eq(&shown);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_method_that_is_not_for_it_hears_which_are() {
    let server = open().await;
    let answer = server.ask("DELETE", "/v1/charts").send().await;
    let mut allowed: Vec<&str> = answer.header("allow").unwrap().split(',').collect();
    allowed.sort();
    assert_eq!(allowed, ["GET", "HEAD", "POST"]);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_answer_carries_what_keeps_browsers_honest() {
    let server = guarded().await;
    let asks = [
        server.get("/v1/session"),
        server.get("/v1/charts"),
        server.get("/v1/nothing").role(Role::Read),
        server.get("/v1/openapi.json"),
        server.get("/no/such/file.js"),
        server.get("/v1/charts").header("origin", "https://evil.example"),
        server.ask("POST", "/v1/session").body(vec![b'x'; 2_000_000]),
    ];
    for ask in asks {
        let answer = ask.send().await;
        let policy = answer.header("content-security-policy").unwrap();
        assert!(
            policy.starts_with("default-src 'none'; script-src 'self'") && !policy.contains("unsafe"),
            "{policy}"
        );
        assert!(policy.contains("frame-ancestors 'none'"), "{policy}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(answer.header("referrer-policy"), Some("no-referrer"));
        assert_eq!(answer.header("cross-origin-resource-policy"), Some("same-origin"));
        assert!(["no-store", "no-cache"].contains(&answer.header("cache-control").unwrap()));
        assert_eq!(answer.header("server"), None);
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_answer_has_a_secret_in_it() {
    let server = guarded().await;
    let secret = SECRETS[2].1;
    let asks = [
        server.get(&format!("/v1/charts/{secret}x")).token(secret),
        server.get("/v1/charts").token(&format!("{secret}x")),
        server.post("/v1/session", json!({"token": secret, "more": 1})),
        server.post("/v1/session", json!({"tokn": secret})),
        server.post("/v1/session", json!({"token": secret})),
        server.get("/v1/session").token(secret),
        server.get("/v1/health").token(secret),
        server.get("/v1/openapi.json").token(secret),
        server.post("/v1/charts", json!({"text": "id: a"})).token(secret),
    ];
    for (number, ask) in asks.into_iter().enumerate() {
        let answer = ask.send().await;
        // The path is the caller's own input, so it may be repeated.
        if number > 0 {
            assert!(!format!("{answer:?}").contains(secret), "{answer:?}");
        }
    }
    server.stop().await;
}

#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_went_wrong_inside_is_in_the_log_and_not_in_the_answer() {
    let kept = Kept::default();
    let settings = LogSettings { level: LogLevel::Warn, format: LogFormat::Text };
    let redactor = Redactor::of_values([SECRETS[2].1.to_owned()]);
    let logs = Arc::new(Logs::to(Box::new(kept.clone()), settings, redactor));
    let server = start(ServerTokens::default(), |app| app.logs = Some(logs)).await;
    for task in ["break", "panic"] {
        let ask = server.post("/v1/tasks", json!({"task": task}));
        for answer in [ask.clone().send().await, ask.header("idempotency-key", task).send().await] {
            assert_eq!((answer.status, answer.problem().as_str()), (500, "internal"));
            assert!(!answer.text.contains("disk"), "{answer:?}");
        }
    }
    assert_eq!(server.get("/v1/charts/nobody").send().await.status, 404);
    let text = String::from_utf8(kept.0.lock().unwrap().clone()).unwrap();
    let shown: String = text.lines().map(|line| format!("{}\n", line.split_once(' ').unwrap().1)).collect();
    expect![[r#"
        ERROR request failed: disk 7 is gone, says [hidden] request=POST /v1/tasks status=500
        ERROR request failed: disk 7 is gone, says [hidden] request=POST /v1/tasks status=500
        ERROR request failed: panic: disk 8 is gone request=POST /v1/tasks status=500
        ERROR request failed: panic in a request with an idempotency key request=POST /v1/tasks status=500
    "#]]
    .assert_eq(&shown);
    server.stop().await;
}
