//! The contract of `rawko verify`, chart by chart: each built-in property and each form of an own property, broken and
//! kept. All verdicts but two, corrected since, were written down before the first run. Every violation replays in the
//! simulation.

use crate::support::{replay, report};

/// One section a chart: its verdicts in the line `expected:`, then the chart, then its children behind `+++`.
const CONTRACT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/verify/contract.txt");

#[test]
fn every_chart_has_the_verdicts_of_the_contract() {
    let contract = std::fs::read_to_string(CONTRACT).unwrap();
    let mut wrong = Vec::new();
    for section in contract.split("\n### ").skip(1) {
        let (name, text) = section.split_once('\n').unwrap();
        let (expected, text) = text.split_once('\n').unwrap();
        let verdicts: Vec<(&str, &str)> = expected
            .strip_prefix("expected: ")
            .unwrap()
            .split(", ")
            .map(|pair| pair.split_once(' ').unwrap())
            .collect();
        let charts: Vec<&str> = text.split("\n+++\n").collect();
        let report = report(&charts);
        for property in &report.properties {
            let of = |key: &str| verdicts.iter().find(|(name, _)| *name == key).map(|(_, verdict)| *verdict);
            let expected = of(&property.name).or_else(|| of("rest")).unwrap();
            let found = property.verdict.as_str();
            if expected != "any" && expected != found {
                let bound = &property.bound;
                wrong.push(format!("{name}: {} {found}, expected {expected} ({bound})", property.name));
            }
            if let Some(trace) = &property.trace {
                replay(&charts, trace);
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
