//! Looking at what is in a store: `ps`, `show`, `history`, `logs`, `charts`, `doctor`.

use expect_test::{Expect, expect};

use crate::running::{FILES, ORDER};
use crate::support::{directory, played, run};

/// Columns are as wide as what stands in them, and ages differ in length.
fn squeezed(text: &str) -> String {
    let lines = text.lines().map(|line| line.split("  ").filter(|part| !part.is_empty()).map(str::trim).collect());
    lines.map(|parts: Vec<_>| parts.join("  ") + "\n").collect()
}

fn check(commands: &[&str], expect: Expect) {
    let dir = directory(&FILES);
    let starts = [
        "run order.yaml --id o-1 --input amount=30",
        "run order.yaml --id o-2 --input amount=250",
        "run order.yaml --id o-3 --input amount=251",
        "cancel o-3",
    ];
    played(dir.path(), &starts);
    expect.assert_eq(&played(dir.path(), commands));
}

#[test]
fn instances_are_listed_newest_first() {
    let dir = directory(&FILES);
    let empty = played(dir.path(), &["ps", "charts", "show o-1"]);
    played(dir.path(), &["run order.yaml --id o-1 --input amount=30", "run order.yaml --id o-2 --input amount=250"]);
    let listed = played(dir.path(), &["ps", "ps --waiting person", "ps --status error", "ps --limit 1", "ps --limit 1 --before 2", "charts"]);
    expect![[""]].assert_eq(&squeezed(&(empty + &listed)));
}

#[test]
fn json_for_programs() {
    check(&["ps --json --status done", "show o-2 --json"], expect![[""]]);
}

#[test]
fn history_tells_every_step_and_why() {
    check(&["history o-1", "history o-1 -v --after 1", "history o-1 --limit 1", "history o-3 --json"], expect![[""]]);
}

#[test]
fn the_past_can_be_shown() {
    check(&["show o-1 --at 0", "show o-1 --at 7", "show o-3"], expect![[""]]);
}

#[test]
fn logs_of_one_or_all() {
    check(&["logs", "logs o-1 -f", "logs o-1 --json", "logs o-1 --audit"], expect![[""]]);
}

#[test]
fn a_name_that_is_nearly_right() {
    check(&["show o-4", "show somethingelse", "send o-22 X"], expect![[""]]);
}

#[test]
fn logs_follow_until_the_instance_is_over() {
    let dir = directory(&FILES);
    played(dir.path(), &["run order.yaml --id o-1 --input amount=250"]);
    let following = crate::support::command(dir.path(), &["logs", "o-1", "-f"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let sent = run(dir.path(), &["approve", "o-1"], "");
    assert_eq!(sent.code, Some(0), "{}", sent.stderr);
    let output = following.wait_with_output().unwrap();
    assert!(String::from_utf8(output.stdout).unwrap().ends_with("log      charged 250\n"));
}

#[test]
fn charts_that_are_offered_and_charts_that_ran() {
    let dir = directory(&[(".rawko/charts/order.yaml", ORDER)]);
    played(dir.path(), &["run .rawko/charts/order.yaml --id o-1 --input amount=250"]);
    let changed = ORDER.replace("24h", "48h");
    std::fs::write(dir.path().join(".rawko/charts/order.yaml"), changed).unwrap();
    let listed = run(dir.path(), &["charts", "--json"], "");
    let document: serde_json::Value = serde_json::from_str(&listed.stdout).unwrap();
    let lines: Vec<_> = document["charts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|chart| (chart["id"].clone(), chart["offered"].clone(), chart["instances"].clone()))
        .collect();
    assert_eq!(lines, [("order".into(), true.into(), 0.into()), ("order".into(), false.into(), 1.into())]);
}

#[test]
fn doctor_says_what_is_wrong_and_what_to_do() {
    let settings = "\
services:
  charge_card: {command: [no-such-program]}
  refund: {command: [sh, refund.sh]}
  ship: {http: {url: 'http://127.0.0.1:1/ship'}}
  broken: {}
governance: {allow: [charge_card, ship]}
";
    let files = [
        (".rawko/config.yaml", settings),
        (".rawko/charts/order.yaml", ORDER),
        (".rawko/charts/bad.yaml", "statechart: {id: bad, initial: nowhere, states: {a: {}}}\n"),
        (".rawko/agents/ada.md", "---\nname: ada\n---\nReview.\n"),
    ];
    let dir = directory(&files);
    let told = played(dir.path(), &["doctor"]);
    let told: String = told.lines().filter(|line| !line.contains("  disk  ")).map(|line| format!("{line}\n")).collect();
    expect![[""]].assert_eq(&told);
    let sound = directory(&FILES);
    assert_eq!(run(sound.path(), &["doctor"], "").code, Some(0));
}

#[test]
fn doctor_finds_a_damaged_store() {
    let dir = directory(&FILES);
    played(dir.path(), &["run order.yaml --id o-1 --input amount=30"]);
    let store = dir.path().join(".rawko/state/rawko.db");
    for file in ["rawko.db-wal", "rawko.db-shm"] {
        let _ = std::fs::remove_file(store.with_file_name(file));
    }
    std::fs::write(&store, "this is no store, though it is where one should be").unwrap();
    let told = played(dir.path(), &["doctor", "ps"]);
    assert!(told.contains("problem  store") && told.contains("is not a rawko store"), "{told}");
}
