//! The page as served: nothing outside its folder, and the right content types.

use crate::support::{guarded, open};

#[tokio::test(flavor = "multi_thread")]
async fn the_page_is_served_to_everybody_and_revalidated() {
    let server = guarded().await;
    let page = server.get("/").send().await;
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    assert_eq!(page.header("cache-control"), Some("no-cache"));
    let tag = page.header("etag").unwrap().to_owned();
    let again = server.get("/").header("if-none-match", &tag).send().await;
    assert_eq!((again.status, again.text.as_str()), (304, ""));
    let changed = server.get("/").header("if-none-match", "\"0\"").send().await;
    assert_eq!((changed.status, &changed.text), (200, &page.text));
    let place = server.get("/instances/order-1").send().await;
    assert_eq!((place.status, &place.text), (200, &page.text), "a place within the page");
    let posted = server.ask("POST", "/").send().await;
    assert_eq!((posted.status, posted.problem().as_str()), (405, "method_not_allowed"));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_path_leads_out_of_the_page() {
    let server = open().await;
    let paths = [
        "/../Cargo.toml",
        "/../../../../etc/passwd",
        "/..%2f..%2fCargo.toml",
        "/%2e%2e/Cargo.toml",
        "/%2e%2e%2fCargo.toml",
        "/..%5cCargo.toml",
        "/..\\Cargo.toml",
        "/page/../../Cargo.toml",
        "//etc/passwd",
        "/etc/passwd%00.js",
        "/.gitignore",
        "/.%2fCargo.toml",
        "/index.html/../../Cargo.toml",
        "/v1/../Cargo.toml",
    ];
    for path in paths {
        let answer = server.get(path).send().await;
        assert!(!answer.text.contains("[package]") && !answer.text.contains("root:"), "{path}: {answer:?}");
        let is_page = answer.header("content-type") == Some("text/html; charset=utf-8");
        assert!(is_page || [400, 404].contains(&answer.status), "{path}: {answer:?}");
    }
    server.stop().await;
}
