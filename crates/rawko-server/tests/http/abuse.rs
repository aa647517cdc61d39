//! Requests that are too large, too slow, too many, or malformed.

use std::time::Duration;

use rawko_server::{HttpTimeouts, Rate, ServerTokens};
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::support::{Answer, PATIENCE, open, raw, start};

#[tokio::test(flavor = "multi_thread")]
async fn bodies_have_a_size() {
    let server = open().await;
    let text = |bytes: usize| json!({"text": "x".repeat(bytes)});
    let large = server.post("/v1/channels", text(1024 * 1024)).send().await;
    assert_eq!((large.status, large.problem().as_str()), (413, "too_large"));
    let chart = server.post("/v1/charts/check", text(1024 * 1024)).send().await;
    assert_eq!(chart.status, 200, "charts may be larger");
    let large = server.post("/v1/charts/check", text(4 * 1024 * 1024)).send().await;
    assert_eq!((large.status, large.problem().as_str()), (413, "too_large"));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_does_not_say_how_large_it_is_is_cut_off() {
    let server = open().await;
    let mut request = format!(
        "POST /v1/channels HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n",
        server.address()
    )
    .into_bytes();
    for _ in 0..40 {
        request.extend(format!("{:x}\r\n{}\r\n", 64 * 1024, " ".repeat(64 * 1024)).into_bytes());
    }
    request.extend(b"0\r\n\r\n");
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    let _ = stream.write_all(&request).await;
    let answer = Answer::read(&mut stream).await;
    // The response may be lost if the server closes during our write; it matters only that no more is read.
    assert!([0, 413].contains(&answer.status), "{answer:?}");
    assert_eq!(server.get("/v1/channels").send().await.json(), json!({"channels": [], "offered": true}));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_request_is_refused_and_harms_nobody() {
    let server = open().await;
    let host = format!("host: {}\r\n", server.address());
    let table: Vec<(&str, Vec<u8>)> = vec![
        ("nonsense", b"hello\r\n\r\n".to_vec()),
        ("bytes", vec![0xff; 4096]),
        ("another version", format!("GET / HTTP/9.9\r\n{host}\r\n").into_bytes()),
        ("a header without end", format!("GET / HTTP/1.1\r\n{host}x: {}\r\n\r\n", "y".repeat(200_000)).into_bytes()),
        ("headers without end", format!("GET / HTTP/1.1\r\n{host}{}\r\n", "x: y\r\n".repeat(5_000)).into_bytes()),
        ("a path without end", format!("GET /{} HTTP/1.1\r\n{host}\r\n", "a".repeat(200_000)).into_bytes()),
        ("two lengths", format!("POST /v1/session HTTP/1.1\r\n{host}content-length: 1\r\ncontent-length: 2\r\n\r\nab").into_bytes()),
        ("a length and chunks", format!("POST /v1/session HTTP/1.1\r\n{host}content-length: 5\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n0\r\n\r\n").into_bytes()),
        ("a length below nothing", format!("POST /v1/session HTTP/1.1\r\n{host}content-length: -1\r\n\r\n").into_bytes()),
        ("a line within a header", format!("GET / HTTP/1.1\r\n{host}x: a\rb\r\n\r\n").into_bytes()),
    ];
    for (name, bytes) in table {
        let answer = raw(server.address(), &bytes).await;
        assert!(answer.status == 0 || (400..500).contains(&answer.status), "{name}: {answer:?}");
    }
    assert_eq!(server.get("/v1/session").send().await.status, 200);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn too_many_requests_are_told_to_come_again() {
    let server =
        start(ServerTokens::default(), |app| app.settings.rate = Some(Rate { per_second: 1, burst: 5 }))
            .await;
    let mut statuses = Vec::new();
    for _ in 0..20 {
        let answer = server.get("/v1/session").send().await;
        if answer.status == 429 {
            assert_eq!(answer.problem(), "too_many_requests");
            assert!(answer.header("retry-after").unwrap().parse::<u64>().unwrap() >= 1);
        }
        statuses.push(answer.status);
    }
    assert!(statuses.starts_with(&[200; 5]) && statuses.contains(&429), "{statuses:?}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_clients_are_let_go() {
    // Generous header timeout, because fast clients can be slow on a loaded machine.
    let (headers, body) = (Duration::from_secs(2), Duration::from_millis(200));
    let server =
        start(ServerTokens::default(), |app| app.patience = HttpTimeouts { headers, body, ..app.patience })
            .await;
    let head = format!("POST /v1/session HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n", server.address());
    let body = "content-type: application/json\r\ncontent-length: 100\r\n\r\n{";
    let mut idle = TcpStream::connect(server.address()).await.unwrap();
    let mut in_headers = TcpStream::connect(server.address()).await.unwrap();
    in_headers.write_all(head.as_bytes()).await.unwrap();
    let mut in_body = TcpStream::connect(server.address()).await.unwrap();
    in_body.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
    // Another client is served meanwhile.
    assert_eq!(server.get("/v1/session").send().await.status, 200);
    let answer = Answer::read(&mut in_body).await;
    assert_eq!((answer.status, answer.problem().as_str()), (408, "slow_body"));
    assert!([0, 408].contains(&Answer::read(&mut in_headers).await.status));
    assert!([0, 408].contains(&Answer::read(&mut idle).await.status));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_takes_nothing_of_the_answer_is_let_go() {
    let short = Duration::from_millis(200);
    let server =
        start(ServerTokens::default(), |app| app.patience = HttpTimeouts { taken: short, ..app.patience })
            .await;
    let request = format!("GET /v1/openapi.json HTTP/1.1\r\nhost: {}\r\n\r\n", server.address());
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    // Sends requests without reading: eventually the buffers on both ends are full.
    let asked = async { while stream.write_all(request.as_bytes()).await.is_ok() {} };
    tokio::time::timeout(PATIENCE, asked).await.expect("the server closes the connection");
    assert_eq!(server.get("/v1/session").send().await.status, 200);
    server.stop().await;
}
