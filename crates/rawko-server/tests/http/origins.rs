//! Requests from pages of other sites, and from host names that indicate DNS rebinding.

use rawko_server::ServerTokens;
use serde_json::json;

use crate::support::{open, start};

#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_another_site_can_do_nothing() {
    let server = open().await;
    let own = format!("http://{}", server.address());
    let table = [
        ("origin", own.as_str(), 200),
        ("origin", "https://evil.example", 403),
        ("origin", "http://127.0.0.1:1", 403),
        ("origin", "null", 403),
        ("sec-fetch-site", "same-origin", 200),
        ("sec-fetch-site", "none", 200),
        ("sec-fetch-site", "same-site", 403),
        ("sec-fetch-site", "cross-site", 403),
    ];
    for (name, value, expected) in table {
        let looked = server.get("/v1/charts").header(name, value).send().await;
        assert_eq!(looked.status, expected, "{name}: {value}");
        let checked =
            server.post("/v1/charts/check", json!({"text": "id: a"})).header(name, value).send().await;
        assert_eq!(checked.status, expected, "{name}: {value}");
        if expected == 403 {
            assert_eq!(looked.problem(), "cross_site");
        }
        assert_eq!(looked.header("access-control-allow-origin"), None, "{name}: {value}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_browser_asks_before_it_asks_is_not_answered() {
    let server = open().await;
    let asked = server
        .ask("OPTIONS", "/v1/charts")
        .header("origin", "https://evil.example")
        .header("access-control-request-method", "POST");
    let answer = asked.send().await;
    assert_eq!((answer.status, answer.header("access-control-allow-origin")), (403, None));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_is_not_ours_is_refused() {
    let server = open().await;
    let port = server.address().port();
    let table = [
        (format!("localhost:{port}"), 200),
        (format!("127.0.0.1:{port}"), 200),
        ("evil.example".to_owned(), 403),
        (format!("evil.example:{port}"), 403),
        (format!("127.0.0.1.evil.example:{port}"), 403),
        (String::new(), 403),
    ];
    for (host, expected) in table {
        let answer = server.get("/v1/charts").header("host", &host).send().await;
        assert_eq!(answer.status, expected, "{host}");
        let page = server.get("/").header("host", &host).send().await;
        assert_eq!(page.status == 403, expected == 403, "{host}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_can_give_the_server_a_name() {
    let server =
        start(ServerTokens::default(), |app| app.settings.hosts = vec!["rawko.example".to_owned()]).await;
    let asked =
        |origin: &str| server.get("/v1/charts").header("host", "rawko.example").header("origin", origin);
    assert_eq!(asked("https://rawko.example").send().await.status, 200);
    assert_eq!(asked("https://other.example").send().await.status, 403);
    server.stop().await;
}
