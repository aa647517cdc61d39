//! Scenarios of a chart: recorded from a simulation, and run as `rawko test` does, with the coverage of the drawing.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use rawko_host::Edition;
use rawko_sim::{ReportLine, Stimulus};
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};
use utoipa::ToSchema;

use super::simulating::{PlayedSimulation, SimulationRun, compiled};
use super::{VersionQuery, find};
use crate::http::app::App;
use crate::http::extract::{Json as Body, Path, QueryString};
use crate::http::problem::{ErrorResponse, ProblemCode};
use crate::http::studio::{ChartFile, ChartTests, NewScenario};

const NAME_BYTES_MAX: usize = 200;

/// A run to record, with the name of the scenario.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ScenarioBody {
    name: String,
    /// Version of the chart. Default: the newest.
    version: Option<String>,
    /// Input, stubs and stimuli, as for a simulation.
    #[serde(default)]
    input: Json,
    #[serde(default)]
    services: Json,
    #[serde(default)]
    stimuli: Vec<Json>,
}

/// Record a simulation as a scenario
///
/// The saved chart is simulated again; its lines become the expectations. The scenario is added to `NAME.scenario.yaml` beside
/// the chart, if it passes there.
#[utoipa::path(post, path = "/v1/charts/{id}/scenarios", tag = "charts", params(("id" = String, Path)),
    request_body = ScenarioBody, responses((status = 201, body = ChartTests)))]
pub(super) async fn record(
    State(app): State<App>,
    Path(id): Path<String>,
    Body(body): Body<ScenarioBody>,
) -> Result<Response, ErrorResponse> {
    let tests = app.compute(move |app| {
        let ScenarioBody { name, version, input, services, stimuli } = body;
        let run = SimulationRun { input, services, stimuli, open_gate: false };
        let edition = find(app, &id, version.as_deref())?;
        let name = name.trim().to_owned();
        if name.is_empty() || name.len() > NAME_BYTES_MAX || name.contains(['\n', '\r']) {
            return Err(ErrorResponse::new(
                ProblemCode::InvalidBody,
                "`name` must have 1 to 200 bytes in one line",
            ));
        }
        let chart = compiled(&edition.name, &edition.text)
            .ok_or_else(|| ErrorResponse::new(ProblemCode::InvalidChart, "the chart has errors"))?;
        let played = PlayedSimulation::of(app, chart, &run)?;
        let steps = steps(&played, &run)?;
        let SimulationRun { input, services, .. } = run;
        app.project().save_scenario(NewScenario { chart: file_of(&edition), name, input, services, steps })
    });
    Ok((StatusCode::CREATED, axum::Json(tests.await?)).into_response())
}

/// Run the scenarios of a chart
#[utoipa::path(get, path = "/v1/charts/{id}/tests", tag = "charts", params(("id" = String, Path), VersionQuery),
    responses((status = 200, body = ChartTests)))]
pub(super) async fn tests(
    State(app): State<App>,
    Path(id): Path<String>,
    QueryString(query): QueryString<VersionQuery>,
) -> Result<axum::Json<ChartTests>, ErrorResponse> {
    let tests = app.compute(move |app| {
        let edition = find(app, &id, query.version.as_deref())?;
        app.project().test_chart(file_of(&edition))
    });
    tests.await.map(axum::Json)
}

fn file_of(edition: &Edition) -> ChartFile {
    let chart = &edition.chart;
    ChartFile {
        id: chart.id().to_owned(),
        version: chart.version().to_owned(),
        name: edition.name.to_string(),
    }
}

/// Returns the steps of a scenario: each stimulus with what it did.
fn steps(played: &PlayedSimulation, run: &SimulationRun) -> Result<Vec<Json>, ErrorResponse> {
    let mut steps = Vec::new();
    let mut before: Option<&ReportLine> = None;
    for (at, (line, _)) in played.lines.iter().enumerate() {
        if let Some(error) = &line.error {
            let detail = format!("step {at} cannot be taken, so the scenario would fail: {error}");
            return Err(ErrorResponse::new(ProblemCode::NotPossible, detail));
        }
        let mut step = match at.checked_sub(1).and_then(|at| run.stimuli.get(at)) {
            Some(stimulus) => stimulus_step(stimulus)?,
            None => Map::new(),
        };
        step.insert("expect".to_owned(), expectation(before, line));
        steps.push(Json::Object(step));
        before = Some(line);
    }
    Ok(steps)
}

fn stimulus_step(given: &Json) -> Result<Map<String, Json>, ErrorResponse> {
    let invalid = |error| ErrorResponse::new(ProblemCode::InvalidBody, format!("`stimuli`: {error}"));
    let mut step = Map::new();
    match Stimulus::from_value(&given.clone().into()).map_err(invalid)? {
        Stimulus::Event { name, data } => {
            step.insert("send".to_owned(), json!(&*name));
            if !data.is_null() {
                step.insert("data".to_owned(), data.to_json());
            }
        }
        Stimulus::Advance { written, .. } => drop(step.insert("advance".to_owned(), written.to_json())),
    }
    Ok(step)
}

/// Returns what a line shows: states, the changed context, calls and messages.
fn expectation(before: Option<&ReportLine>, line: &ReportLine) -> Json {
    let mut expect = Map::new();
    let configuration = match line.configuration.as_slice() {
        [one] => json!(one),
        several => json!(several),
    };
    expect.insert("configuration".to_owned(), configuration);
    if line.status != "active" {
        expect.insert("status".to_owned(), json!(line.status));
    }
    let changed = changed(before, line);
    if !changed.is_empty() {
        expect.insert("context".to_owned(), Json::Object(changed));
    }
    if !line.output.is_null() {
        expect.insert("output".to_owned(), line.output.to_json());
    }
    let mut list = |key: &str, names: Vec<&str>| {
        if !names.is_empty() {
            expect.insert(key.to_owned(), json!(names));
        }
    };
    list("invoked", line.invoked.iter().map(|call| call.id.as_deref().unwrap_or(&call.src)).collect());
    list("emitted", line.emitted.iter().map(|event| event.name.as_str()).collect());
    list("sent", line.sent.iter().map(|event| event.name.as_str()).collect());
    Json::Object(expect)
}

/// Returns the keys of the context that the line changed; none for the start, which has initial values.
fn changed(before: Option<&ReportLine>, line: &ReportLine) -> Map<String, Json> {
    let (Some(before), Some(now)) = (before, line.context.as_map()) else { return Map::new() };
    let differs = now.iter().filter(|(key, value)| before.context.get(key) != *value);
    differs.map(|(key, value)| (key.to_string(), value.to_json())).collect()
}
