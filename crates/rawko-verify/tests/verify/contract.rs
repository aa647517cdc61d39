//! The contract of `rawko verify`, chart by chart: each built-in property and each form of an own property, broken and
//! kept. All verdicts but two, corrected since, were written down before the first run. Every violation replays in the
//! simulation.

use crate::support::{replay, report};

/// One section a chart: its verdicts in the line `expected:`, then the chart, then its children behind `+++`.
const CONTRACT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/verify/contract.txt");

/// Charts that were written to be judged falsely: most with a violation, some without.
const ADVERSARIAL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/verify/adversarial.txt");

#[test]
fn every_chart_has_the_verdicts_of_the_contract() {
    check(CONTRACT);
}

#[test]
fn no_chart_is_judged_falsely() {
    check(ADVERSARIAL);
}

fn check(file: &str) {
    let contract = std::fs::read_to_string(file).unwrap();
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
            let fits = match expected {
                "any" => true,
                "open" => found != "holds",
                "proved?" => found != "violated",
                verdict => verdict == found,
            };
            if !fits {
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
