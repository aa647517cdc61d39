//! Which failed attempts may have taken effect. Exactly-once delivery depends on it: such an attempt keeps its
//! idempotency key. One row per kind of failure, against a real server and real programs.

#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "support/server.rs"]
mod server;
mod support;

use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

use expect_test::expect;
use rawko_core::Value;
use rawko_host::{AttemptOutcome, ServiceError};
use server::{Server, Then, json, response};
use support::{call, service};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

fn row(told: &mut String, way: &str, result: Result<Value, ServiceError>) {
    let (category, outcome) = match &result {
        Ok(_) => ("-", "done"),
        Err(error) => (error.category.as_str(), word(error)),
    };
    writeln!(told, "{way:45} {category:15} {outcome}").unwrap();
}

fn word(error: &ServiceError) -> &'static str {
    match error.outcome {
        AttemptOutcome::Definite => "definite",
        AttemptOutcome::Unknown => "unknown",
        _ => "another outcome",
    }
}

#[tokio::test]
async fn by_status() {
    let mut told = String::new();
    for status in [
        "200 OK",
        "204 No Content",
        "300 Multiple Choices",
        "304 Not Modified",
        "400 Bad Request",
        "401 Unauthorized",
        "402 Payment Required",
        "403 Forbidden",
        "404 Not Found",
        "408 Request Timeout",
        "409 Conflict",
        "413 Content Too Large",
        "421 Misdirected Request",
        "422 Unprocessable Content",
        "424 Failed Dependency",
        "425 Too Early",
        "429 Too Many Requests",
        "431 Request Header Fields Too Large",
        "451 Unavailable For Legal Reasons",
        "460 Client Closed",
        "499 Closed",
        "500 Internal Server Error",
        "501 Not Implemented",
        "502 Bad Gateway",
        "503 Service Unavailable",
        "504 Gateway Timeout",
        "599 Odd",
        "600 Odder",
    ] {
        let server = Server::answering(&response(status, "", "")).await;
        row(&mut told, status, server.call("", &[], Value::Null).await);
    }
    expect![[r#"
        200 OK                                        -               done
        204 No Content                                -               done
        300 Multiple Choices                          failed          unknown
        304 Not Modified                              failed          unknown
        400 Bad Request                               failed          definite
        401 Unauthorized                              failed          definite
        402 Payment Required                          failed          definite
        403 Forbidden                                 failed          definite
        404 Not Found                                 failed          definite
        408 Request Timeout                           failed          unknown
        409 Conflict                                  failed          unknown
        413 Content Too Large                         failed          definite
        421 Misdirected Request                       failed          definite
        422 Unprocessable Content                     failed          definite
        424 Failed Dependency                         failed          definite
        425 Too Early                                 failed          unknown
        429 Too Many Requests                         failed          unknown
        431 Request Header Fields Too Large           failed          definite
        451 Unavailable For Legal Reasons             failed          definite
        460 Client Closed                             failed          unknown
        499 Closed                                    failed          unknown
        500 Internal Server Error                     failed          unknown
        501 Not Implemented                           failed          unknown
        502 Bad Gateway                               failed          unknown
        503 Service Unavailable                       failed          unknown
        504 Gateway Timeout                           failed          unknown
        599 Odd                                       failed          unknown
        600 Odder                                     failed          unknown
    "#]]
    .assert_eq(&told);
}

#[tokio::test]
async fn by_what_is_wrong_with_the_answer() {
    let long = format!("\"{}\"", "x".repeat(4 << 20));
    let binary = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n";
    let table: [(&str, String); 11] = [
        ("200, JSON that is none", json("200 OK", "<html>garbage")),
        ("200, JSON with a tail", json("200 OK", "{} {}")),
        ("200, too long", json("200 OK", &long)),
        ("200, body cut", json("200 OK", "{}").replace("Content-Length: 2", "Content-Length: 20")),
        ("200, a chunk cut", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc".into()),
        ("200, body missing", binary.into()),
        (
            "404, body cut",
            response("404 Not Found", "", "no").replace("Content-Length: 2", "Content-Length: 20"),
        ),
        ("head cut", "HTTP/1.1 200".into()),
        ("closed without a byte", String::new()),
        ("not HTTP", "220 mail.example.test ready\r\n".into()),
        ("two lengths", json("200 OK", "{}").replace("Connection", "Content-Length: 7\r\nConnection")),
    ];
    let mut told = String::new();
    for (way, bytes) in table {
        let server = Server::answering(&bytes).await;
        row(&mut told, way, server.call("", &[], Value::Null).await);
        assert_eq!(server.requests().len(), 1, "{way}: nothing is sent again unseen by the chart");
    }
    for (way, bytes) in
        [("silent until the timeout", ""), ("stops in the head until the timeout", "HTTP/1.1 2")]
    {
        let server = Server::new(move |_| (bytes.to_owned(), Then::Stay)).await;
        row(&mut told, way, server.call(", timeout: 50ms", &[], Value::Null).await);
    }
    expect![[r#"
        200, JSON that is none                        invalid_answer  unknown
        200, JSON with a tail                         invalid_answer  unknown
        200, too long                                 invalid_answer  unknown
        200, body cut                                 network         unknown
        200, a chunk cut                              network         unknown
        200, body missing                             network         unknown
        404, body cut                                 network         unknown
        head cut                                      network         unknown
        closed without a byte                         network         unknown
        not HTTP                                      network         unknown
        two lengths                                   network         unknown
        silent until the timeout                      timeout         unknown
        stops in the head until the timeout           timeout         unknown
    "#]]
    .assert_eq(&told);
}

#[tokio::test]
async fn by_where_the_request_stopped() {
    let mut told = String::new();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let closed = Server { address: listener.local_addr().unwrap().to_string(), requests: Arc::default() };
    drop(listener);
    row(&mut told, "connection refused", closed.call("", &[], Value::Null).await);

    // A name this long is rejected without asking a resolver.
    let url = format!("http://{}/", "a".repeat(70));
    row(&mut told, "no such host", at(&url).await);

    let plain = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/", plain.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut stream, _) = plain.accept().await.unwrap();
        stream.write_all(b"220 mail.example.test ready\r\n").await.unwrap();
        stream.read(&mut [0; 1024]).await.unwrap_or_default()
    });
    row(&mut told, "no TLS", at(&url).await);

    let resetting = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", resetting.local_addr().unwrap());
    tokio::spawn(async move {
        let (stream, _) = resetting.accept().await.unwrap();
        // A reset instead of an orderly close, before the request is read.
        stream.set_zero_linger().unwrap();
    });
    row(&mut told, "connection reset", at(&url).await);

    row(&mut told, "a variable of the address is not set", at("http://${GONE}/").await);
    expect![[r#"
        connection refused                            network         definite
        no such host                                  network         definite
        no TLS                                        network         definite
        connection reset                              network         unknown
        a variable of the address is not set          host            definite
    "#]]
    .assert_eq(&told);
}

async fn at(url: &str) -> Result<Value, ServiceError> {
    service(Path::new("."), &format!("{{http: {{url: \"{url}\"}}}}"), &[]).call(call(Value::Null)).await
}

/// A 303 means that the request was carried out; a failure to read its result does not change that.
#[tokio::test]
async fn by_redirect() {
    let mut told = String::new();
    for status in
        ["301 Moved", "302 Found", "303 See Other", "307 Temporary Redirect", "308 Permanent Redirect"]
    {
        for (then, next) in [
            ("200", json("200 OK", "{}")),
            ("404", response("404 Not Found", "", "")),
            ("503", response("503 Service Unavailable", "", "")),
            ("a loop", response(status, "Location: /moved\r\n", "")),
            ("another host", response(status, "Location: http://127.0.0.1:1/\r\n", "")),
        ] {
            let server = Server::new(move |request| {
                let is_first = !request.contains(" /moved ");
                let first = response(status, "Location: /moved\r\n", "");
                (if is_first { first } else { next.clone() }, Then::Close)
            })
            .await;
            row(&mut told, &format!("{status}, then {then}"), server.call("", &[], Value::Null).await);
        }
    }
    expect![[r#"
        301 Moved, then 200                           failed          unknown
        301 Moved, then 404                           failed          unknown
        301 Moved, then 503                           failed          unknown
        301 Moved, then a loop                        failed          unknown
        301 Moved, then another host                  failed          unknown
        302 Found, then 200                           failed          unknown
        302 Found, then 404                           failed          unknown
        302 Found, then 503                           failed          unknown
        302 Found, then a loop                        failed          unknown
        302 Found, then another host                  failed          unknown
        303 See Other, then 200                       -               done
        303 See Other, then 404                       failed          unknown
        303 See Other, then 503                       failed          unknown
        303 See Other, then a loop                    failed          unknown
        303 See Other, then another host              failed          unknown
        307 Temporary Redirect, then 200              -               done
        307 Temporary Redirect, then 404              failed          definite
        307 Temporary Redirect, then 503              failed          unknown
        307 Temporary Redirect, then a loop           failed          definite
        307 Temporary Redirect, then another host     failed          definite
        308 Permanent Redirect, then 200              -               done
        308 Permanent Redirect, then 404              failed          definite
        308 Permanent Redirect, then 503              failed          unknown
        308 Permanent Redirect, then a loop           failed          definite
        308 Permanent Redirect, then another host     failed          definite
    "#]]
    .assert_eq(&told);
}

#[tokio::test]
async fn by_how_a_program_ended() {
    let mut told = String::new();
    for script in [
        "echo 1",
        "exit 3",
        "echo oh >&2; exit 1",
        "echo nonsense; exit 1",
        "echo '[1]'; exit 1",
        "echo '{}'; exit 1",
        "echo '{\"order\": 7}'; exit 1",
        "echo '{\"message\": \"declined\"}'; exit 1",
        "echo '{\"category\": \"limit\"}'; exit 1",
        "echo '{\"category\": \"network\"}'; exit 1",
        "echo '{\"category\": \"timeout\"}'; exit 1",
        "echo '{\"category\": \"invalid_answer\"}'; exit 1",
        "echo '{\"category\": \"host\"}'; exit 1",
        "sh -c 'kill -9 $$'; exit $?",
        "kill -9 $$",
        "echo '{}'; kill -15 $$",
        "echo garbage",
        "echo 1 2",
        "yes",
        "sleep 60",
        "no-such-program",
    ] {
        let root = tempfile::tempdir().unwrap();
        let command = serde_json::to_string(&["sh", "-c", script]).unwrap();
        let beside = if script == "sleep 60" { "timeout: 50ms" } else { "output_max: 64KiB" };
        let program = service(root.path(), &format!("{{command: {command}, {beside}}}"), &[]);
        row(&mut told, script, program.call(call(Value::Null)).await);
    }
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("plain"), "no program").unwrap();
    for definition in [
        "{command: [no-such-program]}",
        "{command: [./plain]}",
        "{command: [\"true\"], cwd: gone}",
        "{command: [\"true\"], env: {KEY: \"${GONE}\"}}",
    ] {
        row(&mut told, definition, service(root.path(), definition, &[]).call(call(Value::Null)).await);
    }
    // More than the kernel passes to a program.
    let definition = format!("{{command: [\"true\", \"{}\"]}}", "x".repeat(1 << 20));
    row(
        &mut told,
        "arguments of 1 MiB",
        service(root.path(), &definition, &[]).call(call(Value::Null)).await,
    );
    expect![[r#"
        echo 1                                        -               done
        exit 3                                        failed          unknown
        echo oh >&2; exit 1                           failed          unknown
        echo nonsense; exit 1                         failed          unknown
        echo '[1]'; exit 1                            failed          unknown
        echo '{}'; exit 1                             failed          unknown
        echo '{"order": 7}'; exit 1                   failed          unknown
        echo '{"message": "declined"}'; exit 1        failed          definite
        echo '{"category": "limit"}'; exit 1          limit           definite
        echo '{"category": "network"}'; exit 1        network         unknown
        echo '{"category": "timeout"}'; exit 1        timeout         unknown
        echo '{"category": "invalid_answer"}'; exit 1 invalid_answer  unknown
        echo '{"category": "host"}'; exit 1           failed          definite
        sh -c 'kill -9 $$'; exit $?                   failed          unknown
        kill -9 $$                                    failed          unknown
        echo '{}'; kill -15 $$                        failed          unknown
        echo garbage                                  invalid_answer  unknown
        echo 1 2                                      invalid_answer  unknown
        yes                                           invalid_answer  unknown
        sleep 60                                      timeout         unknown
        no-such-program                               failed          unknown
        {command: [no-such-program]}                  unknown         definite
        {command: [./plain]}                          unknown         definite
        {command: ["true"], cwd: gone}                host            definite
        {command: ["true"], env: {KEY: "${GONE}"}}    host            definite
        arguments of 1 MiB                            host            definite
    "#]]
    .assert_eq(&told);
}
