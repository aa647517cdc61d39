//! Log lines of `rawko serve`: few by default, JSON with instance, step and trace on demand.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};

use expect_test::expect;
use serde_json::Value as Json;

use crate::support::{command, directory, run};

const CHARTS: [(&str, &str); 2] = [
    ("fine.yaml", "statechart: {id: fine, initial: done, states: {done: {type: final}}}\n"),
    (
        "bad.yaml",
        "statechart: {id: bad, initial: calling, states: {calling: {invoke: {id: x, src: nobody, onDone: done}}, done: {type: final}}}\n",
    ),
];

/// Serves while two charts run, one of which fails. Returns its standard error.
fn served(dir: &Path, args: &[&str], level: Option<&str>) -> (String, String) {
    let args: Vec<&str> = ["serve", "--listen", "127.0.0.1:0"].iter().chain(args).copied().collect();
    let mut command = command(dir, &args);
    command.env_remove("RAWKO_LOG");
    if let Some(level) = level {
        command.env("RAWKO_LOG", level);
    }
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut said = String::new();
    while !said.contains("http://") {
        assert!(out.read_line(&mut said).unwrap() > 0, "it ended before it listened");
    }
    for (file, id) in [("fine.yaml", "fine-1"), ("bad.yaml", "bad-1")] {
        run(dir, &["run", file, "--id", id], "");
    }
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    out.read_to_string(&mut said).unwrap();
    let output = child.wait_with_output().unwrap();
    (said, String::from_utf8(output.stderr).unwrap())
}

/// Masks the parts that differ in every run.
fn masked(line: &str) -> String {
    let Ok(Json::Object(mut line)) = serde_json::from_str::<Json>(line) else { return line.to_owned() };
    for key in ["timestamp", "trace_id", "took_ms"] {
        if let Some(value) = line.get_mut(key) {
            *value = Json::from("…");
        }
    }
    Json::Object(line).to_string()
}

#[test]
fn by_default_only_what_needs_somebody_is_told() {
    let dir = directory(&CHARTS);
    let (said, told) = served(dir.path(), &[], None);
    assert_eq!(said.lines().count(), 2, "the address, a link and nothing else: {said}");
    let lines: Vec<&str> =
        told.lines().map(|line| line.split_once("Z ").map_or(line, |(_, line)| line)).collect();
    let lines: Vec<&str> = lines.into_iter().map(|line| line.split(" trace_id").next().unwrap()).collect();
    expect![[r#"
        WARN failed instance=bad-1 step=1 chart=bad status=error outcome=refused
        parked: run `rawko serve` to continue all instances
    "#]]
    .assert_eq(&(lines.join("\n") + "\n"));
}

#[test]
fn json_lines_have_the_instance_the_step_and_the_trace() {
    let dir = directory(&CHARTS);
    let (_, told) = served(dir.path(), &["--log-format", "json"], Some("debug"));
    let lines: Vec<&str> = told.lines().filter(|line| line.starts_with('{')).collect();
    let shown: String = lines.iter().map(|line| masked(line) + "\n").collect();
    expect![[r#"
        {"timestamp":"…","level":"info","message":"began","instance":"fine-1","chart":"fine","trace_id":"…"}
        {"timestamp":"…","level":"debug","message":"step","instance":"fine-1","step":0,"event":"start","trace_id":"…"}
        {"timestamp":"…","level":"info","message":"ended","instance":"fine-1","step":0,"chart":"fine","status":"done","trace_id":"…"}
        {"timestamp":"…","level":"info","message":"began","instance":"bad-1","chart":"bad","trace_id":"…"}
        {"timestamp":"…","level":"debug","message":"step","instance":"bad-1","step":0,"event":"start","trace_id":"…"}
        {"timestamp":"…","level":"debug","message":"step","instance":"bad-1","step":1,"event":"invoke_failed","trace_id":"…"}
        {"timestamp":"…","level":"warn","message":"failed","instance":"bad-1","step":1,"chart":"bad","status":"error","outcome":"refused","trace_id":"…"}
        {"timestamp":"…","level":"info","message":"call failed: `nobody` is not in `governance.allow` of .rawko/config.yaml","instance":"bad-1","step":0,"call":"nobody","took_ms":"…","error":"refused","trace_id":"…"}
    "#]].assert_eq(&shown);
    let traces: Vec<Json> =
        lines.iter().map(|line| serde_json::from_str::<Json>(line).unwrap()["trace_id"].clone()).collect();
    assert!(traces.iter().all(|trace| trace.as_str().is_some_and(|trace| trace.len() == 32)), "{traces:?}");
}
