//! More charts that were once proved although a run breaks the property: data that is missing, read in two ways, kept
//! under another name or used as a name itself, and children and failures that were thought to end.

use rawko_core::World;
use rawko_verify::{ExplorationLimits, Model, PropertyVerdict, Storage, verify};

use crate::support::{model, replay};

/// Returns true if verify proves the property. A violation must replay.
fn is_proved(charts: &[&str], property: &str) -> bool {
    let models: Vec<Model> = charts.iter().map(|text| model(text)).collect();
    let limits = ExplorationLimits { states_max: 2_000, stop: &|_| false, storage: Storage::Exact };
    let report = verify(&models, &World::default(), &limits).unwrap();
    let found = report.property(property).unwrap();
    if let Some(trace) = &found.trace {
        replay(charts, trace);
    }
    println!("{property}: {} ({})", found.verdict.as_str(), found.bound);
    found.verdict == PropertyVerdict::Holds
}

/// One chart a section, its children behind `+++`, each with a property `p` that a run breaks.
const DATA: &str = include_str!("false_proofs.txt");
const BEHAVIOUR: &str = include_str!("false_proofs_behaviour.txt");

#[test]
fn no_property_is_proved_that_some_data_breaks() {
    assert_unproved(DATA);
}

#[test]
fn no_property_is_proved_that_a_failure_or_an_order_breaks() {
    assert_unproved(BEHAVIOUR);
}

fn assert_unproved(broken: &str) {
    let mut wrong = Vec::new();
    for section in broken.split("\n### ").skip(1) {
        let (name, text) = section.split_once('\n').unwrap();
        let charts: Vec<&str> = text.split("\n+++\n").collect();
        println!("{name}");
        if is_proved(&charts, "p") {
            wrong.push(name);
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
