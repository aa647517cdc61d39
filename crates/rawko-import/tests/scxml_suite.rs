//! The public SCXML suite, through the importer: SCXML → our YAML → our reader → our engine in virtual time. Each case
//! is a document and a script of events; after each event the active leaf states are compared by id. A case that is not
//! listed in `scxml_suite/skips.txt` must pass, and one that is listed must not.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "tests"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rawko_chart::{Registry, Severity, SourceFile, load};
use rawko_core::{Chart, MacrostepTrace, NodeId, TraceEntry, Value, World};
use rawko_import::{self as import, ImportOptions, NoteKind};
use rawko_sim::{ReportLine, Simulation, Stimulus, Stubs};
use serde_json::Value as Json;

/// Cases that must run and pass, regardless of the skip list.
const PASSES_MIN: usize = 260;
const SKIPS: &str = include_str!("scxml_suite/skips.txt");

#[test]
fn every_case_passes_or_is_skipped_for_a_reason() {
    let suite = suite();
    let skips = skips();
    let mut cases = Vec::new();
    find_scripts(&suite.join("test"), &mut cases);
    cases.sort();
    let only = std::env::var("RAWKO_SCXML_CASE").ok();
    let mut report = String::new();
    let mut passed = 0;
    let mut known = Vec::new();
    for script in &cases {
        let name = case_name(&suite, script);
        if only.as_ref().is_some_and(|only| !name.contains(only.as_str())) {
            continue;
        }
        let outcome = run(script);
        passed += usize::from(outcome.is_ok());
        match (outcome, skips.get(name.as_str())) {
            (Ok(()), None) | (Err(_), Some(_)) => {}
            (Err(why), None) => _ = writeln!(report, "{name}: {why}"),
            (Ok(()), Some(reason)) => _ = writeln!(report, "{name}: passes, but is skipped: {reason}"),
        }
        known.push(name);
    }
    assert!(report.is_empty(), "\n{report}{passed} of {} passed", known.len());
    if only.is_none() {
        assert!(cases.len() >= 316, "the suite has {} scripts where 316 were expected", cases.len());
        let unknown: Vec<_> = skips.keys().filter(|skip| !known.iter().any(|name| name == *skip)).collect();
        assert!(unknown.is_empty(), "skips of cases that do not exist: {unknown:?}");
        assert!(passed >= PASSES_MIN, "only {passed} cases passed");
    }
}

/// Returns the folder of the unpacked suite. The test fetches nothing: `cargo xtask test` does.
fn suite() -> PathBuf {
    let unpacked = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools/scxml-suite/package");
    let suite = std::env::var_os("RAWKO_SCXML_SUITE").map_or(unpacked, PathBuf::from);
    assert!(
        suite.join("test").is_dir(),
        "the SCXML suite is not there; in the workspace's root run\n  \
         mkdir -p target/tools/scxml-suite\n  \
         npm pack @scion-scxml/test-framework@2.0.16 --pack-destination target/tools/scxml-suite\n  \
         tar -xzf target/tools/scxml-suite/scion-scxml-test-framework-*.tgz -C target/tools/scxml-suite\n\
         or set RAWKO_SCXML_SUITE to the unpacked package"
    );
    suite
}

/// Parses `case<TAB>reason`, one per line.
fn skips() -> BTreeMap<&'static str, &'static str> {
    let lines = SKIPS.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| line.split_once('\t').filter(|(_, reason)| !reason.trim().is_empty()).expect(line))
        .collect()
}

fn find_scripts(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            find_scripts(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "json") {
            found.push(path);
        }
    }
}

/// Returns `w3c-ecma/test144`: the folder and the file's stem.
fn case_name(suite: &Path, script: &Path) -> String {
    let relative = script.strip_prefix(suite.join("test")).unwrap();
    let text = relative.to_string_lossy().replace('\\', "/");
    text.trim_end_matches(".json").trim_end_matches(".txml").to_owned()
}

fn run(script: &Path) -> Result<(), String> {
    let document =
        std::fs::read_to_string(script.with_extension("scxml")).map_err(|error| error.to_string())?;
    let steps: Json =
        serde_json::from_str(&std::fs::read_to_string(script).unwrap()).map_err(|e| e.to_string())?;
    let mut simulation = simulation(script, &document)?;
    let mut active = Active::default();
    compare("start", &mut active, &simulation.start(), &steps["initialConfiguration"])?;
    for step in steps["events"].as_array().into_iter().flatten() {
        if let Some(ms) = step["after"].as_u64() {
            let line = simulation.apply(&Stimulus::advance(ms));
            active.after_first_macrostep(&line);
        }
        let name = step["event"]["name"].as_str().unwrap_or_default();
        let data = Value::from_json(step["event"]["data"].clone());
        let line = simulation.apply(&Stimulus::event(name, data));
        compare(name, &mut active, &line, &step["nextConfiguration"])?;
    }
    Ok(())
}

fn simulation(script: &Path, document: &str) -> Result<Simulation, String> {
    let folder = script.parent().unwrap();
    let read = |path: &str| std::fs::read_to_string(folder.join(path)).ok();
    let options = ImportOptions { id: Some("case"), file: Some(&read), ..ImportOptions::default() };
    let imported = import::scxml(document, options).map_err(|error| format!("import: {error}"))?;
    if std::env::var_os("RAWKO_SCXML_CASE").is_some() {
        println!("{}\n{}", script.display(), imported.yaml);
        imported.charts.iter().for_each(|chart| println!("---\n{}", chart.yaml));
    }
    // A pass would prove little if part of the document was not translated.
    if let Some(lost) = imported.notes.iter().find(|note| note.kind == NoteKind::Lost) {
        return Err(lost.to_string());
    }
    let mut registry = Registry::default();
    imported.charts.iter().for_each(|chart| registry.add_chart(&chart.id, "1.0.0"));
    let chart = chart(&imported.id, &imported.yaml, &registry)?;
    let others =
        imported.charts.iter().map(|other| chart_of(other, &registry)).collect::<Result<Vec<_>, _>>()?;
    Ok(Simulation::new(chart, others, Stubs::default(), World::default(), Value::Null))
}

fn chart_of(other: &import::ImportedChart, registry: &Registry) -> Result<Arc<Chart>, String> {
    chart(&other.id, &other.yaml, registry)
}

fn chart(name: &str, yaml: &str, registry: &Registry) -> Result<Arc<Chart>, String> {
    let loaded = load(&SourceFile::new(name, yaml), registry);
    loaded.chart.map(Arc::new).ok_or_else(|| {
        let fatal = loaded.findings.iter().filter(|finding| finding.severity == Severity::Fatal);
        let messages: Vec<_> = fatal.map(|finding| finding.message.as_str()).collect();
        format!("does not load: {}", messages.join("; "))
    })
}

/// The scripts check a chart right after the macrostep of a stimulus: events it sent to itself are processed later, in
/// the event loop of the interpreter they were written for. The simulation continues until all is quiet at that time,
/// so the intermediate configuration is taken from the trace.
fn compare(after: &str, active: &mut Active, line: &ReportLine, expected: &Json) -> Result<(), String> {
    let mut found = active.after_first_macrostep(line);
    let mut wanted: Vec<_> =
        expected.as_array().into_iter().flatten().filter_map(Json::as_str).map(key_of).collect();
    found.sort_unstable();
    wanted.sort_unstable();
    if found == wanted && line.error.is_none() {
        return Ok(());
    }
    let error = line.error.as_deref().map(|error| format!(" ({error})")).unwrap_or_default();
    Err(format!("after `{after}` in {found:?} instead of {wanted:?}{error}"))
}

/// Converts an id to a key: the importer replaces dots, which separate keys.
fn key_of(id: &str) -> String {
    id.replace('.', "_")
}

/// The active state nodes of the simulated instance, tracked through the traces.
#[derive(Default)]
struct Active(BTreeSet<NodeId>);

impl Active {
    fn after_first_macrostep(&mut self, line: &ReportLine) -> Vec<String> {
        let mut first = None;
        let steps: Vec<_> = line.traces.iter().filter(|step| step.instance == 0).collect();
        for step in &steps {
            self.follow(&step.trace);
            first.get_or_insert_with(|| self.leaves(&step.chart));
        }
        // A single macrostep, or none, or the chart ended in the first: uses the simulation's own result.
        match first {
            Some(first) if steps.len() > 1 && !first.is_empty() => first,
            _ => line.configuration.iter().map(|path| last(path)).collect(),
        }
    }

    fn follow(&mut self, trace: &MacrostepTrace) {
        for entry in &trace.entries {
            match entry {
                TraceEntry::Entered { node } => _ = self.0.insert(*node),
                TraceEntry::Exited { node } => _ = self.0.remove(node),
                _ => {}
            }
        }
    }

    fn leaves(&self, chart: &Chart) -> Vec<String> {
        let is_leaf =
            |node: &&NodeId| !chart.node(**node).children.iter().any(|child| self.0.contains(child));
        self.0.iter().filter(is_leaf).map(|node| last(&chart.node(*node).path)).collect()
    }
}

fn last(path: &str) -> String {
    path.rsplit('.').next().unwrap_or(path).to_owned()
}
