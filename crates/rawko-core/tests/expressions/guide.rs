//! The guide against the implementation: one row for every function and no others, correct examples, and the actual
//! limits.

use std::collections::BTreeSet;

use rawko_core::expr::function_signatures;
use rawko_core::expr::limits::*;

use super::{Fixture, evaluated, loaded};

const GUIDE: &str = include_str!("../../../../docs/guide/expressions.md");

/// Returns the code spans of a line, each with the text that follows it.
fn pieces(line: &str) -> Vec<(&str, &str)> {
    let parts: Vec<&str> = line.split('`').collect();
    parts[1..]
        .chunks(2)
        .filter_map(|pair| Some((*pair.first()?, pair.get(1).copied().unwrap_or(""))))
        .collect()
}

/// Returns the first cell of a table's row, as code.
fn first_cell(line: &str) -> Option<&str> {
    line.strip_prefix("| `")?.split('`').next()
}

/// Returns the operators of the guide, as written there.
pub(super) fn operators() -> BTreeSet<String> {
    let (_, section) = GUIDE.split_once("## Operators").unwrap();
    let (section, _) = section.split_once("## Functions").unwrap();
    let mut all = BTreeSet::new();
    for line in section.lines().filter(|line| first_cell(line).is_some()) {
        // A bar inside a cell is escaped.
        let line = line.replace("\\|", "\u{1}");
        let cells: Vec<&str> = line.split('|').collect();
        assert_eq!(
            cells.len() - 2,
            4,
            "a row says what is given, what is missing and what mismatches: {line}"
        );
        for (code, _) in pieces(cells[1]) {
            assert!(all.insert(code.replace('\u{1}', "|")), "`{code}` has two rows");
        }
    }
    all
}

#[test]
fn every_function_has_a_row_and_every_row_a_function() {
    let (_, functions) = GUIDE.split_once("## Functions").unwrap();
    let rows: Vec<&str> = functions.lines().filter_map(first_cell).collect();
    let documented: BTreeSet<String> = rows.iter().map(|row| row.to_string()).collect();
    assert_eq!(documented.len(), rows.len(), "a function has two rows");
    assert_eq!(documented, function_signatures().collect::<BTreeSet<_>>());
}

#[test]
fn every_row_says_what_missing_values_and_mismatches_do() {
    for line in GUIDE.lines().filter(|line| first_cell(line).is_some_and(|code| code.contains('('))) {
        let cells = line.replace("\\|", "").split('|').count() - 2;
        assert_eq!(cells, 4, "{line}");
    }
}

#[test]
fn the_examples_are_true() {
    let mut examples = 0;
    for line in GUIDE.lines() {
        let pieces = pieces(line);
        for (index, (code, after)) in pieces.iter().enumerate() {
            if after.starts_with(" → error") {
                assert!(evaluated(code).starts_with("error: "), "{code}");
                examples += 1;
            } else if *after == " → " {
                let (wanted, _) = pieces[index + 1];
                let fixture = Fixture::new();
                let value = |text: &str| {
                    loaded(text).eval(&fixture.scope()).unwrap_or_else(|error| panic!("{text}: {error}"))
                };
                assert_eq!(value(code), value(wanted), "{code}");
                examples += 1;
            }
        }
    }
    assert!(examples > 90, "found only {examples} examples");
}

#[test]
fn the_bounds_are_the_ones_that_hold() {
    let (_, bounds) = GUIDE.split_once("## Bounds").unwrap();
    let quoted: Vec<u64> =
        bounds.lines().filter_map(|line| line.rsplit('|').nth(1)?.trim().parse().ok()).collect();
    let held = [
        SOURCE_BYTES_MAX as u64,
        NESTING_MAX as u64,
        u64::from(HEIGHT_MAX),
        FUEL_MAX,
        TEXT_BYTES_MAX as u64,
        ELEMENTS_MAX as u64,
        VALUE_BYTES_MAX as u64,
        VALUE_DEPTH_MAX as u64,
    ];
    assert_eq!(quoted, held);
    assert!(bounds.contains(&format!("{BYTES_PER_UNIT} bytes of text")));
}
