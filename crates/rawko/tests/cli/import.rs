//! `rawko import`: the written files, and the notes about unsupported parts.

use std::fs;

use crate::support::{directory, run};

const SCXML: &str = r#"<scxml xmlns="http://www.w3.org/2005/07/scxml" version="1.0" initial="a" name="player">
  <state id="a"><transition event="go" target="b"/></state>
  <final id="b"/>
</scxml>
"#;

const XSTATE: &str = r#"{"id": "light", "initial": "on", "states": {"on": {"on": {"SWITCH": "off"}}, "off": {"on": {"SWITCH": "on"}}}}"#;

const LANGGRAPH: &str = r#"{"nodes": [{"id": "__start__"}, {"id": "write"}, {"id": "__end__"}],
  "edges": [{"source": "__start__", "target": "write"}, {"source": "write", "target": "__end__"}]}"#;

const DOT: &str = "digraph hello { start [shape=Mdiamond]; exit [shape=Msquare]; start -> greet -> exit }";

#[test]
fn what_is_imported_can_be_checked_and_played() {
    let table = [
        ("player.scxml", SCXML, "{\"type\":\"go\"}", "b"),
        ("light.json", XSTATE, "{\"type\":\"SWITCH\"}", "off"),
        ("graph.json", LANGGRAPH, "{\"type\":\"done.invoke.write\"}", "__end__"),
        ("hello.dot", DOT, "{\"type\":\"done.invoke.greet\"}", "exit"),
    ];
    for (file, text, stimulus, leaf) in table {
        let dir = directory(&[(file, text)]);
        let imported = run(dir.path(), &["import", file, "-o", "chart.yaml"], "");
        assert_eq!((imported.code, imported.stdout.as_str()), (Some(0), ""), "{}", imported.stderr);
        assert!(imported.stderr.contains("wrote: chart.yaml"), "{}", imported.stderr);
        let checked = run(dir.path(), &["check", "chart.yaml"], "");
        assert_eq!(checked.code, Some(0), "{}", checked.stdout);
        let verified = run(dir.path(), &["verify", "chart.yaml", "--json"], "");
        assert!(verified.stdout.contains("\"verdict\""), "{}{}", verified.stdout, verified.stderr);
        let played = run(dir.path(), &["simulate", "chart.yaml", "--json"], stimulus);
        let last = played.stdout.lines().last().unwrap();
        assert!(last.contains(&format!("\"configuration\":[\"{leaf}\"]")), "{last}");
    }
}

#[test]
fn the_chart_goes_to_stdout_without_an_output_file() {
    let dir = directory(&[]);
    let imported = run(dir.path(), &["import", "-", "--from", "scxml"], SCXML);
    assert_eq!(imported.code, Some(0));
    assert!(imported.stdout.contains("\nstatechart:\n  id: player\n"), "{}", imported.stdout);
}

#[test]
fn a_chart_inside_a_chart_gets_its_own_file() {
    let nested = r#"<scxml xmlns="http://www.w3.org/2005/07/scxml" version="1.0" initial="a" name="outer">
  <state id="a">
    <invoke id="inner"><content><scxml version="1.0" initial="x" name="inner"><final id="x"/></scxml></content></invoke>
    <transition event="done.invoke.inner" target="b"/>
  </state>
  <final id="b"/>
</scxml>"#;
    let dir = directory(&[("outer.scxml", nested)]);
    let imported = run(dir.path(), &["import", "outer.scxml", "-o", "outer.yaml"], "");
    assert_eq!(imported.code, Some(0), "{}", imported.stderr);
    let mut files: Vec<_> = fs::read_dir(dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    assert_eq!(files.len(), 3, "{files:?}");
    let child = files.iter().find(|name| !name.starts_with("outer")).unwrap();
    let played = run(dir.path(), &["simulate", "outer.yaml", "--with", child, "--json"], "");
    assert!(played.stdout.contains("\"status\":\"done\""), "{}{}", played.stdout, played.stderr);
}

#[test]
fn a_construct_without_an_equivalent_is_refused_unless_partial() {
    let machine = r#"{"id": "m", "initial": "a",
  "states": {"a": {"on": {"GO": "nowhere"}}}}"#;
    let dir = directory(&[("machine.json", machine)]);
    let refused = run(dir.path(), &["import", "machine.json", "-o", "chart.yaml"], "");
    assert_eq!(refused.code, Some(52), "{}", refused.stderr);
    expect_test::expect![[r#"
        note: machine.json, line 2: not carried over: the target `nowhere`: there is no such state here, and XState rejects it
        error: cannot import `machine.json`: 1 construct has no exact equivalent (see the notes); pass --partial to write the chart without
    "#]]
    .assert_eq(&refused.stderr);
    assert!(!dir.path().join("chart.yaml").exists());
    let partial = run(dir.path(), &["import", "machine.json", "--partial", "-o", "chart.yaml"], "");
    assert_eq!(partial.code, Some(0), "{}", partial.stderr);
    assert!(dir.path().join("chart.yaml").exists());
}

#[test]
fn a_declared_encoding_is_honoured() {
    let dir = directory(&[]);
    let text = b"<?xml version='1.0' encoding='ISO-8859-1'?><scxml name='caf\xe9'><final id='a'/></scxml>";
    fs::write(dir.path().join("cafe.scxml"), text).unwrap();
    let imported = run(dir.path(), &["import", "cafe.scxml"], "");
    assert!(imported.stdout.contains("id: café"), "{}{}", imported.stdout, imported.stderr);
}
