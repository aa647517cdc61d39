//! Random XState machines against `@xstate/graph`: the same configurations are reached.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use rawko_chart::{Registry, SourceFile};
use rawko_core::World;
use rawko_import::{self as import, ImportOptions, NoteKind};
use rawko_verify::{ExplorationLimits, Model, Storage, reachable};
use serde_json::Value as Json;

/// Machines in the default suite; `RAWKO_MACHINES` has another number. About one in five is refused by the importer.
const MACHINES: u64 = 300;

#[test]
fn reachable_configurations_are_those_of_xstate_graph() {
    let count = std::env::var("RAWKO_MACHINES").ok().and_then(|text| text.parse().ok()).unwrap_or(MACHINES);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let tools = root.join("target/tools/node");
    let done = Command::new("node")
        .arg(root.join("tests/tools/xstate-walks.mjs"))
        .args([tools.to_str().unwrap(), "7", &count.to_string(), "graph"])
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let (mut same, mut states, mut refused, mut invalid, mut wrong) = (0, 0, 0, 0, Vec::new());
    for line in String::from_utf8(done.stdout).unwrap().lines() {
        let machine: Json = serde_json::from_str(line).unwrap();
        let Some(expected) = machine["reached"].as_array() else {
            let error = machine["error"].as_str().unwrap_or_default();
            assert!(!error.contains("Cannot find module"), "{error}; run `cargo xtask tools`");
            invalid += 1;
            continue;
        };
        let expected: BTreeSet<String> =
            expected.iter().filter_map(Json::as_str).map(str::to_owned).collect();
        let config = machine["config"].as_str().unwrap();
        let imported = import::xstate(config, ImportOptions::default()).ok();
        let exact = imported.filter(|it| it.notes.iter().all(|note| note.kind != NoteKind::Lost));
        let Some(exact) = exact else {
            refused += 1;
            continue;
        };
        let found = reached(&exact.yaml);
        match found == expected {
            true => {
                same += 1;
                states += found.len();
            }
            false => wrong.push(format!("{config}\nXState {expected:?}\nrawko  {found:?}\n")),
        }
    }
    println!(
        "xstate: {same} machines reach the same {states} configurations; {refused} refused, {invalid} invalid"
    );
    assert!(wrong.is_empty(), "{} differ, among them\n{}", wrong.len(), wrong[0]);
    assert!(same * 2 > count, "only {same} of {count} machines were compared");
}

/// The configurations of a chart, as XState shows them.
fn reached(yaml: &str) -> BTreeSet<String> {
    let (model, findings) = Model::load(&SourceFile::new("machine.yaml", yaml), &Registry::default());
    let model = model.unwrap_or_else(|| panic!("{findings:?}\n{yaml}"));
    let chart = std::sync::Arc::clone(&model.chart);
    let found = RefCell::new(BTreeSet::new());
    let visit = |snapshot: &rawko_core::Snapshot| {
        let mut leaves: Vec<String> =
            chart.leaf_paths(snapshot.configuration()).map(|path| path.to_string()).collect();
        leaves.sort();
        found.borrow_mut().insert(leaves.join(" "));
    };
    let limits = ExplorationLimits { states_max: 100_000, stop: &|_| false, storage: Storage::Exact };
    let extent = reachable(&[model], &World::default(), &limits, &visit).unwrap();
    assert!(extent.is_whole, "{yaml}");
    found.into_inner()
}
