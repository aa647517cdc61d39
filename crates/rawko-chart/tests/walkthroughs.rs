//! Walkthroughs: charts run in virtual time, one behaviour per file, that double as documentation of the semantics.
//! Each file is a chart, `---`, and stimuli with their effects after `→`, which `UPDATE_EXPECT=1` rewrites. Each
//! `> start` begins anew, with the last `input` and `services`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "tests"
)]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use expect_test::expect_file;
use rawko_chart::{Registry, Severity, SourceFile, load};
use rawko_core::{AgentEntry, Chart, Value, World};
use rawko_sim::{ReportLine, Simulation, Stimulus, Stubs};

#[test]
fn every_walkthrough_does_what_it_says() {
    let mut files = Vec::new();
    collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/walkthroughs"), &mut files);
    files.sort();
    let mut walked = 0;
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        println!("{}", file.display());
        expect_file![&file].assert_eq(&walk(&file, &text));
        walked += 1;
    }
    assert!(walked >= 50, "only {walked} walkthroughs found");
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|ending| ending == "walk") {
            files.push(path);
        }
    }
}

/// Runs a file and returns it with the actual effects.
fn walk(file: &Path, text: &str) -> String {
    let (charts, script) = text.rsplit_once("\n---\n").expect("a walkthrough is a chart, `---`, and stimuli");
    let mut children: Vec<Arc<Chart>> = charts.split("\n---\n").map(|chart| compile(file, chart)).collect();
    let chart = children.remove(0);
    let (mut stubs, mut input) = (Value::Null, Value::Null);
    let mut simulation = None;
    let mut out = text[..text.len() - script.len()].to_owned();
    for line in script.lines() {
        if let Some(json) = line.strip_prefix("services ") {
            stubs = serde_json::from_str(json).unwrap();
        }
        if let Some(json) = line.strip_prefix("input ") {
            input = serde_json::from_str(json).unwrap();
        }
        let Some(stimulus) = line.strip_prefix("> ") else {
            writeln!(out, "{line}").unwrap();
            continue;
        };
        let stimulus = stimulus.split('→').next().unwrap_or_default().trim();
        let done = if stimulus == "start" {
            let stubs = Stubs::from_value(&stubs).unwrap();
            let anew = Simulation::new(Arc::clone(&chart), children.clone(), stubs, world(), input.clone());
            simulation.insert(anew).start()
        } else {
            simulation.as_mut().expect("`> start` comes first").apply(&read(stimulus))
        };
        writeln!(out, "{}", format!("> {stimulus:<22} → {}", show(&done)).trim_end()).unwrap();
    }
    out
}

/// `+15m` advances the time; anything else is an event, followed by its data as JSON.
fn read(text: &str) -> Stimulus {
    if let Some(amount) = text.strip_prefix('+') {
        return Stimulus::from_value(&Value::map([("advance", Value::str(amount))])).unwrap();
    }
    let (name, data) = text.split_once(' ').unwrap_or((text, "null"));
    Stimulus::event(name, serde_json::from_str(data).unwrap())
}

fn compile(file: &Path, chart: &str) -> Arc<Chart> {
    let source = SourceFile::new(file.display().to_string(), chart);
    let loaded = load(&source, &Registry::default());
    let fatal: Vec<_> =
        loaded.findings.iter().filter(|finding| finding.severity == Severity::Fatal).collect();
    assert!(fatal.is_empty(), "{}: {fatal:#?}", file.display());
    Arc::new(loaded.chart.expect("no fatal finding, so there is a chart"))
}

fn world() -> World {
    let agent = |id: &str, role: &str, task: &str| AgentEntry {
        id: id.into(),
        roles: vec![role.into()],
        task_types: vec![task.into()],
        details: Value::Null,
    };
    World {
        env: Value::map([("region", Value::str("eu"))]),
        agents: vec![agent("ada", "reviewer", "docs"), agent("bob", "reviewer", "code")],
    }
}

/// Formats one line: the resting state and the output.
fn show(line: &ReportLine) -> String {
    let mut parts = vec![format!("[{}]", line.configuration.join(", "))];
    if line.status != "active" {
        parts.push(line.status.clone());
    }
    parts.extend(line.log.iter().map(|message| format!("log {message:?}")));
    parts.extend(line.faults.iter().map(|fault| format!("fault: {fault}")));
    parts.extend(line.emitted.iter().map(|event| format!("emit {}{}", event.name, data(&event.data))));
    parts.extend(
        line.sent.iter().map(|sent| format!("send {} to {}{}", sent.name, sent.target, data(&sent.data))),
    );
    parts.extend(line.invoked.iter().map(|invoked| match &invoked.id {
        Some(id) => format!("invoke {id} = {}{}", invoked.src, data(&invoked.input)),
        None => format!("call {}{}", invoked.src, data(&invoked.input)),
    }));
    if !line.output.is_null() {
        parts.push(format!("output {}", line.output));
    }
    parts.extend(line.refused.iter().map(|why| format!("refused: {why}")));
    parts.extend(line.error.iter().map(|error| format!("failed: {error}")));
    if line.context.as_map().is_some_and(|map| !map.is_empty()) {
        parts.push(line.context.to_string());
    }
    parts.join(" · ")
}

fn data(value: &Value) -> String {
    if value.is_null() { String::new() } else { format!(" {value}") }
}
