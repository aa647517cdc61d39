//! The page: files of `crates/rawko-server/page`, embedded in a release binary and read from disk by a debug build. A
//! path that is not a file and has no dot is a client-side route of the page.

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use rust_embed::{EmbeddedFile, RustEmbed};

use super::access::is_api;
use super::problem::{ErrorResponse, ProblemCode};

#[derive(RustEmbed)]
#[folder = "page/"]
#[allow_missing = true]
struct PageAssets;

const INDEX: &str = "index.html";

/// Fallback for all paths without a route.
pub(crate) async fn serve(request: Request) -> Response {
    let path = request.uri().path();
    if is_api(path) {
        return nothing();
    }
    if ![Method::GET, Method::HEAD].contains(request.method()) {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    }
    let Some((name, file)) = find(path) else { return nothing() };
    answer(&name, file, request.headers())
}

fn nothing() -> Response {
    ErrorResponse::new(ProblemCode::NotFound, "nothing at this path").into_response()
}

/// Returns the file of a path.
fn find(path: &str) -> Option<(String, EmbeddedFile)> {
    let path = path.trim_start_matches('/');
    let is_plain = |part: &str| {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        !part.is_empty() && !part.starts_with('.') && part.bytes().all(fits)
    };
    let name = if path.is_empty() { INDEX } else { path };
    if name.split('/').all(is_plain)
        && let Some(file) = PageAssets::get(name)
    {
        return Some((name.to_owned(), file));
    }
    // Percent signs could encode dots.
    let is_place = !path.contains(['.', '%', '\\']);
    is_place.then(|| Some((INDEX.to_owned(), PageAssets::get(INDEX)?)))?
}

fn answer(name: &str, file: EmbeddedFile, asked: &HeaderMap) -> Response {
    let hash = file.metadata.sha256_hash();
    let tag: String = hash.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    let tag = format!("\"{tag}\"");
    let known = asked.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    let mut tags = known.flat_map(|line| line.split(','));
    let mut response = if tags.any(|known| known.trim().trim_start_matches("W/") == tag) {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        Response::new(Body::from(file.data.into_owned()))
    };
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind(name)));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.extend(HeaderValue::from_str(&tag).ok().map(|tag| (header::ETAG, tag)));
    response
}

fn kind(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, ending)| ending) {
        Some("html") => "text/html; charset=utf-8",
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("ico") => "image/x-icon",
        Some("woff2") => "font/woff2",
        Some("json" | "map") => "application/json",
        Some("webmanifest") => "application/manifest+json",
        Some("txt") => "text/plain; charset=utf-8",
        Some(_) | None => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_the_page() {
        let name = |path| find(path).map(|(name, _)| name);
        assert_eq!(name("/").as_deref(), Some("index.html"));
        assert_eq!(name("/index.html").as_deref(), Some("index.html"));
        assert_eq!(name("/instances/order-1").as_deref(), Some("index.html"), "a place within the page");
        for outside in [
            "/../Cargo.toml",
            "/..%2fCargo.toml",
            "/%2e%2e/Cargo.toml",
            "/..%5cCargo.toml",
            "/..\\Cargo.toml",
            "//etc/passwd.txt",
            "/./index.html",
            "/.git",
            "/nothing.js",
        ] {
            assert_eq!(name(outside), None, "{outside}");
        }
    }
}
