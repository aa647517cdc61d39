//! Simulates the text of a chart in virtual time, as `rawko simulate` does. Stateless: a request has all stimuli since the
//! start, so that a page can take one back, and nothing is kept between two requests.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::State;
use rawko_chart::Registry;
use rawko_core::{CandidateOutcome, Chart, TraceEntry, Value, World};
use rawko_host::Edition;
use rawko_sim::{ReportLine, Simulation, Stimulus, Stubs};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use utoipa::ToSchema;

use super::checking::CheckedText;
use super::next_choices::{Present, present};
use crate::http::app::App;
use crate::http::extract::Json as Body;
use crate::http::problem::{ErrorResponse, ProblemCode};
use crate::http::project::ChartOrigin;

const STIMULI_MAX: usize = 500;
/// Timers of one advance.
const FIRINGS_MAX: usize = 2_000;
/// A longer simulation would occupy a thread of the server.
const PATIENCE: Duration = Duration::from_secs(10);

/// A chart and everything that happens to it.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SimulationRequest {
    /// YAML or JSON.
    text: String,
    /// File name, for messages.
    name: Option<String>,
    /// Input of the chart: an object.
    #[serde(default)]
    input: Json,
    /// Stubs of services, as `rawko simulate --services` reads them.
    #[serde(default)]
    services: Json,
    /// Events `{"type": …, "data": …}` and times `{"advance": "24h"}`, in order; at most 500.
    #[serde(default)]
    stimuli: Vec<Json>,
    /// Allows calls that the project's `governance` refuses, as in traces of `verify`.
    #[serde(default)]
    open_gate: bool,
}

/// Input, stubs and stimuli of a simulation.
#[derive(Clone, Debug)]
pub(super) struct SimulationRun {
    pub(super) input: Json,
    pub(super) services: Json,
    pub(super) stimuli: Vec<Json>,
    pub(super) open_gate: bool,
}

/// What a chart did.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SimulationReport {
    /// One for the start, and one for each stimulus.
    lines: Vec<SimulatedLine>,
    #[serde(flatten)]
    present: Present,
}

/// One stimulus and its effects.
#[derive(Debug, Serialize, ToSchema)]
struct SimulatedLine {
    /// The line that `rawko simulate --json` prints.
    report: Json,
    /// Virtual time after it.
    now_ms: i64,
    /// Paths of the states that were entered.
    entered: Vec<String>,
    /// Transitions that were taken, numbered as `data-transition` in the drawing.
    transitions: Vec<u32>,
    /// The decisions, in words.
    story: Vec<String>,
    /// Why the chart does not accept the event.
    refused: Option<String>,
}

/// Simulate a chart
///
/// The chart need not be saved. Virtual time begins at 0, and services answer as stubbed; a service without a stub waits for
/// an event `done.invoke.ID` or `error.invoke.ID`.
#[utoipa::path(post, path = "/v1/charts/simulate", tag = "charts", request_body = SimulationRequest,
    responses((status = 200, body = SimulationReport)))]
pub(super) async fn simulate(
    State(app): State<App>,
    Body(request): Body<SimulationRequest>,
) -> Result<axum::Json<SimulationReport>, ErrorResponse> {
    let report = app.compute(move |app| {
        let SimulationRequest { text, name, input, services, stimuli, open_gate } = request;
        let run = SimulationRun { input, services, stimuli, open_gate };
        let checked = CheckedText::of(app, name.as_deref().unwrap_or("chart.yaml"), &text);
        let findings = checked.wire();
        let Some(chart) = checked.chart else {
            let findings = serde_json::to_value(findings).unwrap_or_default();
            let problem =
                ErrorResponse::new(ProblemCode::InvalidChart, "the chart has errors; see `findings`");
            return Err(problem.with("findings", findings));
        };
        let played = PlayedSimulation::of(app, Arc::new(chart), &run)?;
        let lines = played.lines.iter().map(|(line, now_ms)| shown(line, *now_ms));
        let present = present(&played.simulation, &run.services);
        Ok(SimulationReport { lines: lines.collect(), present })
    });
    report.await.map(axum::Json)
}

/// A simulation after its last stimulus.
pub(super) struct PlayedSimulation {
    pub(super) simulation: Simulation,
    /// Each line with the time after it.
    pub(super) lines: Vec<(ReportLine, i64)>,
}

impl PlayedSimulation {
    /// Plays a run. Charts of the project can be invoked, as in its scenarios.
    pub(super) fn of(
        app: &App,
        chart: Arc<Chart>,
        run: &SimulationRun,
    ) -> Result<PlayedSimulation, ErrorResponse> {
        let invalid = |why: String| ErrorResponse::new(ProblemCode::InvalidBody, why);
        if run.stimuli.len() > STIMULI_MAX {
            return Err(invalid(format!("`stimuli`: at most {STIMULI_MAX}")));
        }
        let stimulus = |(at, json): (usize, &Json)| {
            Stimulus::from_value(&json.clone().into())
                .map_err(|error| invalid(format!("`stimuli[{at}]`: {error}")))
        };
        let stimuli = run.stimuli.iter().enumerate().map(stimulus).collect::<Result<Vec<_>, _>>()?;
        let stubs = Stubs::from_value(&run.services.clone().into())
            .map_err(|error| invalid(format!("`services`: {error}")))?;
        let world = World { env: empty(), agents: app.world().agents.clone() };
        let input = if run.input.is_null() { empty() } else { run.input.clone().into() };
        let others = others(app, &chart).into_iter().map(|edition| edition.chart).collect();
        let mut simulation = Simulation::new(chart, others, stubs, world, input)
            .with_firings_max(FIRINGS_MAX)
            .with_gate(app.project().simulated_gate().filter(|_| !run.open_gate))
            .with_stimuli(&stimuli);
        let began = Instant::now();
        let start = simulation.start();
        let mut lines = vec![(start, simulation.now_ms())];
        for stimulus in &stimuli {
            if began.elapsed() > PATIENCE {
                return Err(ErrorResponse::new(ProblemCode::TimedOut, "the simulation takes too long"));
            }
            let line = simulation.apply(stimulus);
            lines.push((line, simulation.now_ms()));
        }
        Ok(PlayedSimulation { simulation, lines })
    }
}

/// Keeps an empty map a map, so that `input.key` is null and not an error.
pub(super) fn empty() -> Value {
    Json::Object(Map::new()).into()
}

/// The charts of the project that can be invoked: those that `rawko test` knows, so without built-in ones.
pub(super) fn others(app: &App, chart: &Chart) -> Vec<Edition> {
    let is_same = |other: &Chart| other.id() == chart.id() && other.version() == chart.version();
    let is_own = |other: &Chart| {
        app.project().origin(other.id(), other.version()) != Some(ChartOrigin::BuiltIn) && !is_same(other)
    };
    app.engine().library().offered().into_iter().filter(|edition| is_own(&edition.chart)).collect()
}

fn shown(line: &ReportLine, now_ms: i64) -> SimulatedLine {
    let own = line.traces.iter().filter(|step| step.instance == 0);
    let (mut entered, mut transitions) = (Vec::new(), Vec::new());
    for step in own {
        for entry in &step.trace.entries {
            match entry {
                TraceEntry::Entered { node } => entered.push(step.chart.node(*node).path.to_string()),
                TraceEntry::Candidate { transition, outcome: CandidateOutcome::Taken } => {
                    transitions.push(transition.0)
                }
                _ => {}
            }
        }
    }
    entered.retain(|path| !path.is_empty());
    let (report, mut story, refused) = (line.to_json(), line.story(), line.refused.clone());
    story.extend(line.denied.iter().map(|why| format!("refused: {why}")));
    SimulatedLine { report, now_ms, entered, transitions, story, refused }
}

/// Compiles the chart of a published text.
pub(super) fn compiled(name: &str, text: &str) -> Option<Arc<Chart>> {
    let (_, loaded) = rawko_chart::load_bytes(name, text.as_bytes(), &Registry::default());
    loaded.chart.map(Arc::new)
}
