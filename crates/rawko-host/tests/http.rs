//! HTTP services against a local server: the request, the meaning of each response, and hidden secrets.

#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "support/server.rs"]
mod server;
mod support;

use std::path::Path;
use std::sync::Arc;

use expect_test::{Expect, expect};
use rawko_core::Value;
use rawko_host::Category;
use server::{Server, Then, json, response};
use support::{call, service, shown};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

async fn check(answer: &str, expected: Expect) {
    let server = Server::answering(answer).await;
    expected.assert_eq(&shown(server.call("", &[], Value::Null).await));
}

fn order() -> Value {
    Value::from_json(
        serde_json::json!({"amount": 12, "to": "a&b", "tags": ["x", "y"], "none": null, "deep": {"a": 1}}),
    )
}

#[tokio::test]
async fn the_input_is_the_body_or_the_query() {
    let mut told = String::new();
    for method in ["POST", "put", "PATCH", "GET", "DELETE"] {
        let server = Server::answering(&json("200 OK", "{}")).await;
        let beside =
            format!(", method: {method}, headers: {{Authorization: \"Bearer ${{TOKEN}}\", X-Fixed: 1}}");
        server.call(&beside, &[("TOKEN", "t0ken")], order()).await.unwrap();
        told +=
            &(server.hidden(&server.requests()[0]).replace("\r\n", "\n").trim_end().to_owned() + "\n---\n");
    }
    let told = told.replace(env!("CARGO_PKG_VERSION"), "VERSION");
    expect![[r#"
        POST /charge HTTP/1.1
        accept: application/json
        content-type: application/json
        authorization: Bearer t0ken
        x-fixed: 1
        idempotency-key: order-1/4/0
        rawko-instance: order-1
        rawko-attempt: 2
        user-agent: rawko/VERSION
        host: SERVER
        content-length: 68

        {"amount":12,"to":"a&b","tags":["x","y"],"none":null,"deep":{"a":1}}
        ---
        PUT /charge HTTP/1.1
        accept: application/json
        content-type: application/json
        authorization: Bearer t0ken
        x-fixed: 1
        idempotency-key: order-1/4/0
        rawko-instance: order-1
        rawko-attempt: 2
        user-agent: rawko/VERSION
        host: SERVER
        content-length: 68

        {"amount":12,"to":"a&b","tags":["x","y"],"none":null,"deep":{"a":1}}
        ---
        PATCH /charge HTTP/1.1
        accept: application/json
        content-type: application/json
        authorization: Bearer t0ken
        x-fixed: 1
        idempotency-key: order-1/4/0
        rawko-instance: order-1
        rawko-attempt: 2
        user-agent: rawko/VERSION
        host: SERVER
        content-length: 68

        {"amount":12,"to":"a&b","tags":["x","y"],"none":null,"deep":{"a":1}}
        ---
        GET /charge?amount=12&to=a%26b&tags=x&tags=y&deep=%7B%22a%22%3A1%7D HTTP/1.1
        accept: application/json
        authorization: Bearer t0ken
        x-fixed: 1
        idempotency-key: order-1/4/0
        rawko-instance: order-1
        rawko-attempt: 2
        user-agent: rawko/VERSION
        host: SERVER
        ---
        DELETE /charge?amount=12&to=a%26b&tags=x&tags=y&deep=%7B%22a%22%3A1%7D HTTP/1.1
        accept: application/json
        authorization: Bearer t0ken
        x-fixed: 1
        idempotency-key: order-1/4/0
        rawko-instance: order-1
        rawko-attempt: 2
        user-agent: rawko/VERSION
        host: SERVER
        ---
    "#]]
    .assert_eq(&told);
}

#[tokio::test]
async fn a_query_is_made_from_a_map() {
    let server = Server::answering(&json("200 OK", "{}")).await;
    let error = server.call(", method: GET", &[], Value::Int(1)).await;
    expect![[r#"error {"category":"host","message":"the input must be a map, because it becomes query parameters; it is a number","retryable":false}"#]].assert_eq(&shown(error));
    server.call(", method: GET", &[], Value::Null).await.unwrap();
    assert!(server.requests()[0].starts_with("GET /charge HTTP/1.1\r\n"));
}

#[tokio::test]
async fn a_success_is_json_or_text_or_nothing() {
    check(&json("200 OK", r#"{"id": 7}"#), expect![[r#"ok {"id":7}"#]]).await;
    check(&response("201 Created", "Content-Type: application/problem+json\r\n", "[1]"), expect!["ok [1]"])
        .await;
    check(&response("200 OK", "Content-Type: text/plain\r\n", "[1]"), expect![[r#"ok "[1]""#]]).await;
    check(&response("200 OK", "", "plain"), expect![[r#"ok "plain""#]]).await;
    check(&response("204 No Content", "", ""), expect!["ok null"]).await;
    check(&json("200 OK", " \n"), expect!["ok null"]).await;
    check(&json("200 OK", "{\"id\": "), expect![[r#"error {"category":"invalid_answer","message":"the response is not valid JSON: EOF while parsing a value at line 1 column 7"}"#]]).await;
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
    check(chunked, expect![[r#"ok "abcde""#]]).await;
}

#[tokio::test]
async fn failures_say_whether_trying_again_can_help() {
    for (status, can_help) in [
        ("400 Bad Request", false),
        ("401 Unauthorized", false),
        ("402 Payment Required", false),
        ("404 Not Found", false),
        ("409 Conflict", false),
        ("422 Unprocessable Content", false),
        ("408 Request Timeout", true),
        ("425 Too Early", true),
        ("429 Too Many Requests", true),
        ("500 Internal Server Error", true),
        ("503 Service Unavailable", true),
        ("304 Not Modified", false),
    ] {
        let server = Server::answering(&response(status, "", "")).await;
        let error = server.call("", &[], Value::Null).await.unwrap_err();
        assert_eq!(error.category, Category::Failed, "{status}");
        assert_eq!(error.retryable, if can_help { None } else { Some(false) }, "{status}");
        assert_eq!(error.details.get("status").to_string(), status[..3], "{status}");
    }
    check(&json("402 Payment Required", r#"{"code": "declined"}"#), expect![[r#"error {"category":"failed","message":"the service returned 402 Payment Required","retryable":false,"status":402,"body":{"code":"declined"}}"#]]).await;
    check(&response("429 Too Many Requests", "Retry-After: 7\r\n", "slow down"), expect![[r#"error {"category":"failed","message":"the service returned 429 Too Many Requests","status":429,"retry_after_ms":7000,"body":"slow down"}"#]]).await;
    check(
        &response("503 Service Unavailable", "Retry-After: Sun, 06 Nov 1994 08:49:37 GMT\r\n", ""),
        expect![[r#"error {"category":"failed","message":"the service returned 503 Service Unavailable","status":503,"retry_after_ms":0,"body":null}"#]],
    )
    .await;
}

#[tokio::test]
async fn a_failure_keeps_only_the_beginning_of_a_long_body() {
    let server = Server::answering(&response("500 Oh", "", &"ä".repeat(5000))).await;
    let error = server.call("", &[], Value::Null).await.unwrap_err();
    assert_eq!(error.details.get("body").to_string().len(), 4096);
}

#[tokio::test]
async fn an_answer_that_is_cut_off_may_have_happened() {
    let short = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"id\": 7";
    let chunk = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc";
    let mut told = String::new();
    for answer in [short, chunk, "HTTP/1.1 200", ""] {
        let server = Server::answering(answer).await;
        let error = server.call("", &[], Value::Null).await.unwrap_err();
        assert!(error.outcome_open());
        assert_eq!(server.requests().len(), 1, "nothing is sent again behind the chart's back");
        told += &(server.hidden(&shown(Err(error))) + "\n");
    }
    expect![[r#"
        error {"category":"network","message":"the response was cut off"}
        error {"category":"network","message":"the response was cut off"}
        error {"category":"network","message":"the connection to `SERVER` was closed before a response arrived"}
        error {"category":"network","message":"the connection to `SERVER` was closed before a response arrived"}
    "#]]
    .assert_eq(&told);
}

#[tokio::test]
async fn what_cannot_be_reached_is_said_in_plain_words() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    let closed = Server { address, requests: Arc::default() };
    let refused = closed.call("", &[], Value::Null).await;
    expect![[r#"error {"category":"network","message":"the connection to `SERVER` was refused"}"#]]
        .assert_eq(&closed.hidden(&shown(refused)));

    // A name this long is rejected without asking a resolver.
    let name = "a".repeat(70);
    let nowhere = service(Path::new("."), &format!("{{http: {{url: \"http://{name}/\"}}}}"), &[]);
    expect![[r#"error {"category":"network","message":"cannot resolve the host `LONG`"}"#]]
        .assert_eq(&shown(nowhere.call(call(Value::Null)).await).replace(&name, "LONG"));

    // A server that does not speak TLS.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(b"220 mail.example.test ready\r\n").await.unwrap();
        let _ = stream.read(&mut [0; 1024]).await;
    });
    let secure = service(Path::new("."), &format!("{{http: {{url: \"https://{address}/\"}}}}"), &[]);
    let error = shown(secure.call(call(Value::Null)).await).replace(&address, "SERVER");
    expect![[r#"error {"category":"network","message":"the TLS connection to `SERVER` failed: received corrupt message of type InvalidContentType"}"#]].assert_eq(&error);
}

#[tokio::test]
async fn time_is_up() {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345";
    // A truncated response is an error.
    for bytes in ["", head] {
        let server = Server::new(move |_| (bytes.to_owned(), Then::Stay)).await;
        let error = server.call(", timeout: 50ms", &[], Value::Null).await.unwrap_err();
        assert!(error.outcome_open());
        expect![[r#"error {"category":"timeout","message":"the service did not respond within 50ms"}"#]]
            .assert_eq(&shown(Err(error)));
    }
}

#[tokio::test]
async fn more_than_4_mib_is_no_answer() {
    check(
        &json("200 OK", &format!("\"{}\"", "x".repeat(4 << 20))),
        expect![[r#"error {"category":"invalid_answer","message":"the response is larger than 4 MiB"}"#]],
    )
    .await;
}

#[tokio::test]
async fn redirects_stay_on_one_host_and_keep_their_meaning() {
    let server = |status: &'static str| {
        Server::new(move |request| {
            let moved = request.contains(" /moved ");
            let line = request.lines().next().unwrap_or_default().to_owned();
            let body = request.split("\r\n\r\n").nth(1).unwrap_or_default().len();
            let answer = response("200 OK", "", &format!("{line}, {body} bytes"));
            let answer = if moved { answer } else { response(status, "Location: /moved\r\n", "") };
            (answer, Then::Close)
        })
    };
    let mut told = String::new();
    for status in
        ["301 Moved", "302 Found", "303 See Other", "307 Temporary Redirect", "308 Permanent Redirect"]
    {
        for method in ["POST", "GET"] {
            let answer = server(status).await.call(&format!(", method: {method}"), &[], Value::Null).await;
            told += &format!("{method} {status}: {}\n", shown(answer));
        }
    }
    expect![[r#"
        POST 301 Moved: error {"category":"failed","message":"the service returned 301 Moved Permanently and redirected a POST request; not followed","retryable":false,"status":301}
        GET 301 Moved: ok "GET /moved HTTP/1.1, 0 bytes"
        POST 302 Found: error {"category":"failed","message":"the service returned 302 Found and redirected a POST request; not followed","retryable":false,"status":302}
        GET 302 Found: ok "GET /moved HTTP/1.1, 0 bytes"
        POST 303 See Other: ok "GET /moved HTTP/1.1, 0 bytes"
        GET 303 See Other: ok "GET /moved HTTP/1.1, 0 bytes"
        POST 307 Temporary Redirect: ok "POST /moved HTTP/1.1, 4 bytes"
        GET 307 Temporary Redirect: ok "GET /moved HTTP/1.1, 0 bytes"
        POST 308 Permanent Redirect: ok "POST /moved HTTP/1.1, 4 bytes"
        GET 308 Permanent Redirect: ok "GET /moved HTTP/1.1, 0 bytes"
    "#]].assert_eq(&told);

    let other = Server::answering(&json("200 OK", "{}")).await;
    let away = response("307 Temporary Redirect", &format!("Location: http://{}/\r\n", other.address), "");
    let error = Server::answering(&away).await.call("", &[], Value::Null).await;
    expect![[r#"error {"category":"failed","message":"the service returned 307 Temporary Redirect and redirected to another host (http://SERVER); not followed","retryable":false,"status":307}"#]].assert_eq(&other.hidden(&shown(error)));
    assert!(other.requests().is_empty());

    let round = Server::answering(&response("307 Temporary Redirect", "Location: /charge\r\n", "")).await;
    expect![[r#"error {"category":"failed","message":"the service redirected more than 5 times in a row","retryable":false}"#]].assert_eq(&shown(round.call("", &[], Value::Null).await));
    assert_eq!(round.requests().len(), 6);
}

#[tokio::test]
async fn secrets_are_sent_and_never_told() {
    let set = [("TOKEN", "s3cret-token"), ("PART", "p4rt-of-it")];
    let beside = ", headers: {Authorization: \"Bearer ${TOKEN}\"}";
    // A server that echoes its whole request, as debugging pages do.
    for (status, content_type) in [("400 Bad", "text/plain"), ("500 Oh", "application/json")] {
        let server = Server::new(move |request| {
            let body = serde_json::json!({"request": request, "list": [request]}).to_string();
            (response(status, &format!("Content-Type: {content_type}\r\n"), &body), Then::Close)
        })
        .await;
        let error = server.call(beside, &set, Value::Null).await.unwrap_err();
        assert!(server.requests()[0].contains("Bearer s3cret-token"));
        let told = format!("{error:?} {}", shown(Err(error.clone())));
        assert!(told.contains("Bearer ${TOKEN}") && !told.contains("s3cret"), "{told}");
    }
    // In the URL, where the client's own errors would show it.
    for url in ["http://127.0.0.1:1/${PART}?key=${TOKEN}", "${TOKEN}", "ftp://${TOKEN}/${PART}"] {
        let remote = service(Path::new("."), &format!("{{http: {{url: \"{url}\"}}}}"), &set);
        let told = format!("{:?} {}", remote.call(call(Value::Null)).await.unwrap_err(), remote.provenance());
        assert!(!told.contains("s3cret") && !told.contains("p4rt"), "{told}");
    }
    // A value that is invalid in a header.
    let remote = service(
        Path::new("."),
        "{http: {url: \"http://127.0.0.1:1/\", headers: {X: \"${TOKEN}\"}}}",
        &[("TOKEN", "s3cret\nline")],
    );
    expect![[r#"error {"category":"host","message":"the value of the header `x` contains invalid characters","retryable":false}"#]].assert_eq(&shown(remote.call(call(Value::Null)).await));
    let unset =
        service(Path::new("."), "{http: {url: \"http://127.0.0.1:1/\", headers: {X: \"${GONE}\"}}}", &[]);
    expect![[r#"error {"category":"host","message":"the environment variable `GONE` is not set","retryable":false}"#]].assert_eq(&shown(unset.call(call(Value::Null)).await));
}
