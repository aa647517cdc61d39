//! The API documentation matches the implementation.

use std::path::Path;

use expect_test::expect_file;
use rawko_server::{ProblemCode, openapi_document};

#[test]
fn every_code_is_in_the_reference() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/api.md");
    let text = std::fs::read_to_string(path).unwrap();
    for code in ProblemCode::ALL {
        let row = format!("| `rawko::api::{}` | {} |", code.as_str(), code.status().as_u16());
        assert!(text.contains(&row), "{row}");
    }
    let rows = text.lines().filter(|line| line.starts_with("| `rawko::api::")).count();
    assert_eq!(rows, ProblemCode::ALL.len(), "the reference has codes that nobody uses");
}

#[test]
fn every_route_is_in_the_reference() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/api.md");
    let text = std::fs::read_to_string(path).unwrap();
    for route in openapi_document().paths.paths.keys() {
        assert!(text.contains(&format!("`{route}`")), "{route}");
    }
}

/// The published OpenAPI document.
#[test]
fn the_document() {
    let text = serde_json::to_string_pretty(&openapi_document()).unwrap();
    expect_file!["../../../../docs/reference/openapi.json"].assert_eq(&format!("{text}\n"));
}
