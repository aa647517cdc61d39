//! Hostile or invalid texts: a clear finding, never a crash, in bounded time and memory.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use proptest::prelude::*;
use rawko_chart::render::{self, ReportStyle};
use rawko_chart::{Loaded, Registry, SourceFile, load, load_bytes};

/// Loads and renders; returns the first finding's code and message.
fn check(bytes: &[u8]) -> (String, String) {
    let (source, loaded) = load_bytes("hostile.yaml", bytes, &Registry::default());
    assert!(loaded.chart.is_none());
    let report = render::report(&loaded.findings, &source, ReportStyle { color: false });
    assert!(!report.is_empty());
    render::to_json(&loaded.findings, &source);
    let first = &loaded.findings[0];
    (first.code.trim_start_matches("rawko::chart::").to_owned(), first.message.clone())
}

fn code(text: &str) -> String {
    check(text.as_bytes()).0
}

#[test]
fn nesting_is_bounded_in_every_notation() {
    let deep = 100_000;
    assert_eq!(code(&"[".repeat(deep)), "too_large");
    assert_eq!(code(&"{\"a\":".repeat(deep)), "too_large");
    assert_eq!(code(&format!("x: {}", "[".repeat(deep))), "too_large");
    assert_eq!(code(&format!("x: {}", "{a: ".repeat(deep))), "too_large");
    assert_eq!(code(&format!("x: {}1", "- ".repeat(deep))), "yaml_syntax");
    assert_eq!(code(&format!("{}1", "- ".repeat(deep))), "too_large");
    let block: String = (0..2000).map(|level| format!("{}a:\n", " ".repeat(level))).collect();
    assert_eq!(code(&block), "too_large");
}

#[test]
fn aliases_cannot_make_a_small_text_large_or_deep() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..40 {
        let aliases = vec![format!("*a{}", level - 1); 10].join(", ");
        bomb += &format!("a{level}: &a{level} [{aliases}]\n");
    }
    assert_eq!(code(&bomb), "too_large");
    let mut tower = "a0: &a0 [x]\n".to_owned();
    for level in 1..1000 {
        tower += &format!("a{level}: &a{level} [*a{}]\n", level - 1);
    }
    assert_eq!(code(&tower), "too_large");
    assert_eq!(code("a: &a [*a]"), "yaml_syntax");
    assert_eq!(code("a: *nowhere"), "yaml_syntax");
}

#[test]
fn actions_that_name_actions_cannot_explode() {
    let mut chart =
        "id: x\ninitial: a\nstates: {a: {entry: a40}}\nactions:\n  a0: {type: log, message: x}\n".to_owned();
    for level in 1..=40 {
        chart += &format!("  a{level}: [a{}, a{}]\n", level - 1, level - 1);
    }
    assert_eq!(code(&chart), "too_large");
}

#[test]
fn fifty_megabytes_are_not_even_looked_at() {
    let junk = vec![b'x'; 50 * 1024 * 1024];
    let (code, message) = check(&junk);
    assert_eq!(code, "too_large");
    assert!(message.contains("52428800"), "{message}");
}

#[test]
fn large_junk_within_the_limit_is_refused() {
    let half = 1024 * 1024;
    assert_eq!(code(&"[1,".repeat(half)), "too_large");
    assert_eq!(code(&format!("[{}1]", "1,".repeat(half))), "too_large");
    assert_eq!(code(&"x".repeat(half)), "not_a_chart");
    assert_eq!(code(&"{".repeat(half)), "too_large");
    assert_eq!(code(&"\"".repeat(half)), "yaml_syntax");
    let keys: String = (0..50_000).map(|number| format!("key{number}: {{}}\n")).collect();
    assert_eq!(code(&format!("{keys}statechart:\n  states: {{}}\n")), "unknown_key");
}

#[test]
fn bytes_that_are_no_text_are_named() {
    let (code, message) = check(b"statechart:\n  id: caf\xe9\n");
    assert_eq!(code, "invalid_utf8");
    assert!(message.contains("byte 21 (0xe9)"), "{message}");
    assert_eq!(check(b"\xff\xfes\x00t\x00").0, "invalid_utf8");
    assert_eq!(check(&[0, 159, 146, 150]).0, "invalid_utf8");
}

#[test]
fn what_is_no_chart_says_so() {
    for (text, expected) in [
        ("", "not_a_chart"),
        ("   \n\n", "not_a_chart"),
        ("# only a comment\n", "not_a_chart"),
        ("hello", "not_a_chart"),
        ("42", "not_a_chart"),
        ("[]", "not_a_chart"),
        ("{}", "not_a_chart"),
        ("statechart:", "wrong_type"),
        ("statechart: 1", "wrong_type"),
        ("statechart: {}", "missing_key"),
        ("states: {}", "no_states"),
        ("{\"statechart\": {\"id\": \"x\" \"y\"}}", "json_syntax"),
        ("{\"a\": \"\\x\"}", "json_syntax"),
        ("{\"a\": 1,}", "json_syntax"),
        ("{\"a\": 01}", "json_syntax"),
        ("{\"a\": 1, \"a\": 2}", "duplicate_key"),
        ("a: 1\n---\nb: 2\n", "yaml_syntax"),
        ("a: b: c", "yaml_syntax"),
        ("a:\n\tb: c", "yaml_syntax"),
        ("? [a, b]\n: c", "yaml_syntax"),
        ("\u{feff}{\"a\": }", "json_syntax"),
    ] {
        let found = load(&SourceFile::new("x", text), &Registry::default());
        let codes: Vec<&str> = found.findings.iter().map(|finding| finding.code).collect();
        assert!(codes.contains(&&*format!("rawko::chart::{expected}")), "{text:?}: {codes:?}");
    }
}

#[test]
fn a_byte_order_mark_is_passed_over() {
    for text in [
        "\u{feff}statechart: {id: x, initial: a, states: {a: {}}}",
        "\u{feff}{\"statechart\": {\"id\": \"x\", \"initial\": \"a\", \"states\": {\"a\": {}}}}",
    ] {
        let loaded = load(&SourceFile::new("x", text), &Registry::default());
        assert!(loaded.chart.is_some(), "{:#?}", loaded.findings);
        let key = loaded.places.unwrap().nodes[1].key;
        assert_eq!(text[key.range()].trim_matches('"'), "a");
    }
}

/// Every location lies within the text.
fn assert_places(source: &SourceFile, loaded: &Loaded) {
    for finding in &loaded.findings {
        let places = finding.related.iter().map(|(span, _)| *span).chain([finding.span]);
        for span in places {
            assert!(source.text.get(span.range()).is_some(), "{finding:?}");
        }
    }
    render::report(&loaded.findings, source, ReportStyle { color: true });
}

const CHART: &str = include_str!("fixtures/everything.yaml");

proptest! {
    #[test]
    fn no_text_breaks_the_reader(text in "\\PC{0,200}") {
        let source = SourceFile::new("x", text);
        assert_places(&source, &load(&source, &Registry::default()));
    }

    #[test]
    fn no_bytes_break_the_reader(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let (source, loaded) = load_bytes("x", &bytes, &Registry::default());
        assert_places(&source, &loaded);
    }

    #[test]
    fn no_damaged_chart_breaks_the_reader(at in 0..CHART.len(), len in 0..40usize, with in "[a-z{}\\[\\]:,'\"&*# \n.-]{0,8}") {
        let mut text = CHART.to_owned();
        let end = (at + len).min(text.len());
        if text.is_char_boundary(at) && text.is_char_boundary(end) {
            text.replace_range(at..end, &with);
            let source = SourceFile::new("x", text);
            assert_places(&source, &load(&source, &Registry::default()));
        }
    }
}
