//! Charts for `rawko verify` and `rawko test --generate`: loading them with all that they may invoke, replaying runs in
//! the simulation, and writing runs as scenarios.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rawko_chart::{Finding, Registry, Severity, codes};
use rawko_core::{Value, World};
use rawko_sim::{Gate, ReportLine, Simulation, Stimulus, Stubs};
use rawko_verify::{Counterexample, Model};

use crate::console;
use crate::failure::CommandFailure;
use crate::files;
use crate::loading;
use crate::project::LoadedProject;

/// Returns the charts that are named, with those of each project.
pub(crate) fn charts(paths: &[PathBuf]) -> Result<Vec<PathBuf>, CommandFailure> {
    let mut charts = Vec::new();
    for path in paths {
        match path.is_dir() {
            true => charts.extend(LoadedProject::at(path)?.charts),
            false => charts.push(path.clone()),
        }
    }
    if charts.is_empty() {
        let places: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
        return Err(CommandFailure::Usage(format!("no charts found in `{}`", places.join("`, `"))));
    }
    Ok(charts)
}

/// The progress of an exploration: its end, and a line on the terminal while it lasts.
pub(crate) struct VerifyProgress {
    chart: String,
    began: Instant,
    time: Duration,
    /// When the line was written last.
    shown: Cell<Option<Instant>>,
}

/// The time between two lines of progress. A short exploration shows none.
const PROGRESS_EVERY: Duration = Duration::from_millis(500);

impl VerifyProgress {
    pub(crate) fn new(chart: &str, time: Duration) -> Self {
        Self { chart: chart.to_owned(), began: Instant::now(), time, shown: Cell::new(None) }
    }

    /// Returns true if the time is over, and shows the number of states found so far.
    pub(crate) fn is_over(&self, states: usize) -> bool {
        let passed = self.began.elapsed();
        let last = self.shown.get().unwrap_or(self.began);
        if states > 0 && last.elapsed() >= PROGRESS_EVERY {
            self.shown.set(Some(Instant::now()));
            let percent = 100 * passed.as_millis() / self.time.as_millis().max(1);
            let bar: String = (0..20).map(|at| if at * 5 < percent { '#' } else { '.' }).collect();
            let (seconds, all) = (passed.as_secs(), self.time.as_secs());
            console::progress(&format!("{} [{bar}] {states} states, {seconds} of {all} s", self.chart));
        }
        passed >= self.time
    }

    /// Removes the line.
    pub(crate) fn erase(&self) {
        if self.shown.take().is_some() {
            console::progress("");
        }
    }
}

/// Returns the chart, then those that it may invoke, and the agents of its project.
pub(crate) fn models(path: &Path, with: &[PathBuf]) -> Result<(Vec<Model>, World), CommandFailure> {
    let project = LoadedProject::around(path)?;
    let known = project.as_ref().map(LoadedProject::known).unwrap_or_default();
    let mut models = vec![load(path, &known)?];
    for path in with {
        models.push(load(path, &known)?);
    }
    for path in project.as_ref().map(LoadedProject::invocable_charts).unwrap_or_default() {
        // A broken registered chart matters only to charts that invoke it, and `check` reports it.
        let Ok(other) = load(&path, &known) else { continue };
        let is_same = |known: &Model| {
            known.chart.id() == other.chart.id() && known.chart.version() == other.chart.version()
        };
        if !models.iter().any(is_same) {
            models.push(other);
        }
    }
    let agents = project.map(|project| project.agents.clone()).unwrap_or_default();
    Ok((models, World { env: Value::Map(std::sync::Arc::default()), agents }))
}

fn load(path: &Path, known: &Registry) -> Result<Model, CommandFailure> {
    let source = rawko_chart::source_from_bytes(&files::shown(path), &files::read(path)?)
        .map_err(|unread| loading::unusable(&unread.0, std::slice::from_ref(&unread.1)))?;
    let (model, findings) = Model::load(&source, known);
    let is_wrong = |finding: &&Finding| {
        finding.severity == Severity::Fatal || finding.code == codes::INVALID_PROPERTY.name
    };
    let wrong: Vec<Finding> = findings.iter().filter(is_wrong).cloned().collect();
    model.filter(|_| wrong.is_empty()).ok_or_else(|| loading::unusable(&source, &wrong))
}

/// Replays a trace in the simulation; the first line is the start. An exploration knows no gate, so a trace of it is
/// replayed without one.
pub(crate) fn replay(
    models: &[Model],
    world: &World,
    gate: Option<Gate>,
    trace: &Counterexample,
) -> Result<Vec<ReportLine>, CommandFailure> {
    let mut charts = models.iter().map(|model| std::sync::Arc::clone(&model.chart));
    let Some(chart) = charts.next() else { return Ok(Vec::new()) };
    let stubs =
        Stubs::from_value(&trace.services).map_err(|error| CommandFailure::Failed(error.to_string()))?;
    let mut simulation =
        Simulation::new(chart, charts.collect(), stubs, world.clone(), trace.input.clone()).with_gate(gate);
    let mut lines = vec![simulation.start()];
    for event in &trace.events {
        let stimulus =
            Stimulus::from_value(event).map_err(|error| CommandFailure::Failed(error.to_string()))?;
        lines.push(simulation.apply(&stimulus));
    }
    Ok(lines)
}

/// Returns a run as a scenario. `expect` is added to each step by its number; the start is 0.
pub(crate) fn scenario(
    (name, description): (String, String),
    run: &Counterexample,
    expect: impl Fn(usize) -> Option<Value>,
) -> Value {
    let mut steps = Vec::new();
    steps.extend(expect(0).map(|expected| Value::map([("expect", expected)])));
    for (number, event) in run.events.iter().enumerate() {
        let mut step = step(event).as_map().cloned().unwrap_or_default();
        if let Some(expected) = expect(number + 1) {
            step.insert("expect".into(), expected);
        }
        steps.push(Value::Map(step.into()));
    }
    let mut scenario = rawko_core::Map::default();
    scenario.insert("name".into(), Value::from(name));
    scenario.insert("description".into(), Value::from(description));
    if run.input.as_map().is_some_and(|input| !input.is_empty()) {
        scenario.insert("input".into(), run.input.clone());
    }
    scenario.insert("services".into(), run.services.clone());
    scenario.insert("steps".into(), Value::list(steps));
    Value::Map(scenario.into())
}

fn step(event: &Value) -> Value {
    match event.get("type") {
        Value::Null => event.clone(),
        name if event.get("data").is_null() => Value::map([("send", name.clone())]),
        name => Value::map([("send", name.clone()), ("data", event.get("data").clone())]),
    }
}

/// Writes scenarios of a chart. With an open gate they play as explored, also where the project refuses a call.
pub(crate) fn save(
    path: &Path,
    chart: &Path,
    with: &[PathBuf],
    scenarios: Vec<Value>,
    open_gate: bool,
) -> Result<(), CommandFailure> {
    let is_beside = path.parent() == chart.parent();
    let name = chart.file_name().filter(|_| is_beside).map(PathBuf::from);
    let chart = name.or_else(|| chart.canonicalize().ok()).unwrap_or_else(|| chart.to_owned());
    let with = with.iter().map(|path| {
        let path = path.canonicalize().unwrap_or_else(|_| path.clone());
        Value::from(path.display().to_string())
    });
    let document = Value::map([
        ("chart", Value::from(chart.display().to_string())),
        ("with", Value::list(with.collect())),
        ("open_gate", Value::Bool(open_gate)),
        ("scenarios", Value::list(scenarios)),
    ]);
    // JSON is YAML.
    let text =
        serde_json::to_string_pretty(&document).map_err(|error| CommandFailure::Failed(error.to_string()))?;
    files::write_text(path, &format!("{text}\n"))
}
