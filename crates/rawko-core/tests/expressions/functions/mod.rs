//! Every function: ordinary use, a missing value, the wrong type. Completeness is itself a test.

mod general;
mod lists;
mod maps;
mod numbers;
mod text;
mod times;
mod world;

use std::collections::BTreeSet;

use rawko_core::expr::function_names;

use super::check;

struct Rows {
    function: &'static str,
    /// Expression and value.
    ordinary: &'static [(&'static str, &'static str)],
    /// Expression with a null argument and its value.
    missing: &'static [(&'static str, &'static str)],
    /// Expression and the beginning of the message.
    mismatch: &'static [(&'static str, &'static str)],
}

const fn rows(
    function: &'static str,
    ordinary: &'static [(&'static str, &'static str)],
    missing: &'static [(&'static str, &'static str)],
    mismatch: &'static [(&'static str, &'static str)],
) -> Rows {
    Rows { function, ordinary, missing, mismatch }
}

/// They accept any value, or take none.
const CANNOT_MISMATCH: [&str; 7] = ["default", "is_null", "type", "string", "json", "now", "stateIn"];

fn all_rows() -> impl Iterator<Item = &'static Rows> {
    [text::ROWS, numbers::ROWS, times::ROWS, lists::ROWS, maps::ROWS, general::ROWS, world::ROWS]
        .into_iter()
        .flatten()
}

#[test]
fn ordinary_use() {
    check(&all_rows().flat_map(|rows| rows.ordinary).copied().collect::<Vec<_>>());
}

#[test]
fn missing_values() {
    check(&all_rows().flat_map(|rows| rows.missing).copied().collect::<Vec<_>>());
}

#[test]
fn type_mismatches() {
    let all: Vec<_> = all_rows().flat_map(|rows| rows.mismatch).copied().collect();
    assert!(all.iter().all(|(_, wanted)| wanted.starts_with("error: ")));
    check(&all);
}

#[test]
fn every_function_has_its_rows() {
    let tested: BTreeSet<_> = all_rows().map(|rows| rows.function).collect();
    assert_eq!(tested, function_names().collect::<BTreeSet<_>>());
    for rows in all_rows() {
        let called = |(text, _): &(&str, &str)| text.contains(&format!("{}(", rows.function));
        assert!(!rows.ordinary.is_empty() && rows.ordinary.iter().any(called), "{}", rows.function);
        assert_eq!(rows.missing.is_empty(), ["now", "stateIn"].contains(&rows.function), "{}", rows.function);
        assert_eq!(rows.mismatch.is_empty(), CANNOT_MISMATCH.contains(&rows.function), "{}", rows.function);
        assert!(rows.missing.iter().chain(rows.mismatch).all(called), "{}", rows.function);
    }
}
