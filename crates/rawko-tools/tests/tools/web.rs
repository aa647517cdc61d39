//! WebFetch against a server on a real socket.

use std::collections::BTreeMap;
use std::sync::Arc;

use rawko_core::Value;
use rawko_model::MessagePart;
use rawko_tools::{ToolSettings, WebSettings};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::support::{Bench, verdict};

/// Serves raw responses by path.
async fn server(answers: &[(&str, String)]) -> u16 {
    let answers: BTreeMap<String, String> =
        answers.iter().map(|(path, text)| ((*path).to_owned(), text.clone())).collect();
    let answers = Arc::new(answers);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let answers = Arc::clone(&answers);
            tokio::spawn(async move {
                let mut request = Vec::new();
                while !request.windows(4).any(|end| end == b"\r\n\r\n") {
                    if stream.read_buf(&mut request).await.unwrap_or(0) == 0 {
                        return;
                    }
                }
                let request = String::from_utf8_lossy(&request);
                let path = request.split(' ').nth(1).unwrap_or_default();
                let answer = answers
                    .get(path)
                    .cloned()
                    .unwrap_or_else(|| response("404 Not Found", "text/plain", "nothing here"));
                let _ = stream.write_all(answer.as_bytes()).await;
                let _ = stream.shutdown().await;
            });
        }
    });
    port
}

fn response(status: &str, content_type: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\ncontent-type: {content_type}\r\nconnection: close\r\n\r\n{body}")
}

fn redirect(to: &str) -> String {
    format!("HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
}

fn bench(web: WebSettings) -> Bench {
    Bench::with(ToolSettings { web, ..ToolSettings::default() })
}

fn private(hosts: &[&str]) -> WebSettings {
    WebSettings { hosts: None, private: hosts.iter().map(|host| (*host).to_owned()).collect() }
}

#[tokio::test]
async fn pages_become_text() {
    let page = "<html><head><title>T</title></head><body><h1>Hi</h1><p>a &amp; b</p></body></html>";
    let port = server(&[
        ("/page", response("200 OK", "text/html; charset=utf-8", page)),
        ("/data", response("200 OK", "application/json", "{\"a\": 1}")),
        ("/picture", response("200 OK", "image/gif", "GIF89a...")),
        ("/there", redirect("/data")),
    ])
    .await;
    let bench = bench(private(&["127.0.0.1"]));
    let get = async |path: &str| {
        bench.run("WebFetch", json!({ "url": format!("http://127.0.0.1:{port}{path}") })).await
    };
    assert_eq!(get("/page").await.content, "T\n\n# Hi\na & b");
    let data = get("/there").await;
    assert_eq!(data.content, "{\"a\": 1}");
    assert_eq!(data.data.get("url"), &Value::from(format!("http://127.0.0.1:{port}/data")));
    let picture = get("/picture").await;
    assert!(
        matches!(&picture.images[..], [MessagePart::Image { media_type, .. }] if media_type == "image/gif")
    );
    let missing = get("/missing").await;
    assert_eq!(missing.content, "[status 404 Not Found]\nnothing here");
    assert!(missing.is_error);
}

#[tokio::test]
async fn addresses_are_checked_at_every_step() {
    let port = server(&[
        ("/loop", redirect("/loop")),
        ("/inward", redirect("http://localhost:1/")),
        ("/file", redirect("file:///etc/passwd")),
        ("/meta", redirect("http://169.254.169.254/latest/meta-data/")),
    ])
    .await;
    let bench = bench(private(&[&format!("127.0.0.1:{port}")]));
    for (url, expected) in [
        (format!("http://127.0.0.1:{port}/loop"), "failed"),
        (format!("http://127.0.0.1:{port}/inward"), "address_private"),
        (format!("http://127.0.0.1:{port}/file"), "address_blocked"),
        (format!("http://127.0.0.1:{port}/meta"), "address_private"),
        ("http://127.0.0.1:1/".into(), "address_private"),
        ("http://localhost/".into(), "address_private"),
        ("http://0x7f000001/".into(), "address_private"),
        ("http://2130706433/".into(), "address_private"),
        ("http://[::1]/".into(), "address_private"),
        ("http://[::ffff:127.0.0.1]/".into(), "address_private"),
        ("http://10.0.0.1/".into(), "address_private"),
        ("ftp://example.com/".into(), "address_blocked"),
        ("file:///etc/passwd".into(), "address_blocked"),
        ("not an address".into(), "failed"),
    ] {
        let outcome = bench.run("WebFetch", json!({ "url": url })).await;
        assert_eq!(verdict(&outcome), expected, "{url}: {}", outcome.content);
    }
}

#[tokio::test]
async fn only_hosts_that_settings_list_are_fetched() {
    let port = server(&[("/", response("200 OK", "text/plain", "fine"))]).await;
    let web = WebSettings { hosts: Some(vec!["docs.rs".into()]), private: vec![format!("127.0.0.1:{port}")] };
    let bench = bench(web);
    let other = bench.run("WebFetch", json!({ "url": "https://example.com/" })).await;
    assert_eq!(
        other.content,
        "refused: the host `example.com` is not among those allowed: docs.rs (rule host_not_allowed, from the project's \
         settings (`tools.web` in .rawko/config.yaml))."
    );
    let listed = bench.run("fetch", json!({ "url": format!("http://127.0.0.1:{port}/") })).await;
    assert_eq!(listed.content, "fine");
}

#[tokio::test]
async fn a_body_without_end_is_cut() {
    let port = server(&[("/", response("200 OK", "text/plain", &"x".repeat(6_000_000)))]).await;
    let bench = bench(private(&["127.0.0.1"]));
    let outcome = bench.run("WebFetch", json!({ "url": format!("http://127.0.0.1:{port}/") })).await;
    assert!(outcome.content.ends_with("[… cut after 60000 characters]") && outcome.content.len() < 61_000);
    assert_eq!(outcome.data.get("truncated"), &Value::Bool(true));
}
