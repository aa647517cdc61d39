//! Verifies the text of a chart, as `rawko verify` does. Separate from the simulation: it explores every run, within a time
//! that a page can wait for, and its traces are runs that the simulation plays.

use std::time::{Duration, Instant};

use axum::extract::State;
use rawko_chart::{Registry, Severity, source_from_bytes};
use rawko_core::World;
use rawko_verify::{ExplorationLimits, Model, PropertyReport, Storage, VerifyReport};
use serde::Serialize;
use serde_json::Value as Json;
use utoipa::ToSchema;

use super::checking::{ChartText, CheckedText, registry};
use super::simulating::{empty, others};
use crate::http::app::App;
use crate::http::extract::Json as Body;
use crate::http::problem::{ErrorResponse, ProblemCode};

/// A longer exploration would occupy a core of the server; `rawko verify` has no such limit.
const PATIENCE: Duration = Duration::from_secs(10);
/// States of one exploration, which bounds its memory.
const STATES_MAX: usize = 200_000;

/// The verdicts on a chart.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ChartProof {
    /// Explored states.
    states: usize,
    /// Explored steps between states.
    transitions: usize,
    /// Built-in properties, then the chart's own.
    properties: Vec<PropertyProof>,
}

/// The verdict on one property.
#[derive(Debug, Serialize, ToSchema)]
struct PropertyProof {
    name: String,
    /// `holds`, `violated` or `unknown`.
    verdict: String,
    /// The part of the chart's behaviour that was explored, in words.
    bound: String,
    /// A shortest violation: `input`, `services`, `events` and `loop_from`, as `rawko simulate` reads them; else `null`.
    trace: Json,
}

impl ChartProof {
    fn of(report: &VerifyReport) -> ChartProof {
        let property = |property: &PropertyReport| PropertyProof {
            name: property.name.clone(),
            verdict: property.verdict.as_str().to_owned(),
            bound: property.bound.clone(),
            trace: property.trace.as_ref().map_or(Json::Null, |trace| trace.to_value().to_json()),
        };
        ChartProof {
            states: report.states,
            transitions: report.transitions,
            properties: report.properties.iter().map(property).collect(),
        }
    }
}

/// Verify a chart
///
/// The chart need not be saved. Explores every reachable configuration for at most 10 s and 200,000 states; a property that is
/// undecided by then is `unknown`.
#[utoipa::path(post, path = "/v1/charts/verify", tag = "charts", request_body = ChartText,
    responses((status = 200, body = ChartProof)))]
pub(super) async fn verify(
    State(app): State<App>,
    Body(request): Body<ChartText>,
) -> Result<axum::Json<ChartProof>, ErrorResponse> {
    let proof = app.compute(move |app| {
        let models = models(app, request.name(), &request.text)?;
        let began = Instant::now();
        let limits = ExplorationLimits {
            states_max: STATES_MAX,
            stop: &|_| began.elapsed() >= PATIENCE,
            storage: Storage::Exact,
        };
        let world = World { env: empty(), agents: app.world().agents.clone() };
        let report = rawko_verify::verify(&models, &world, &limits);
        report.as_ref().map(ChartProof::of).ok_or_else(|| ErrorResponse::internal("no chart to verify"))
    });
    proof.await.map(axum::Json)
}

/// Returns the chart of the text, then the charts that it may invoke.
fn models(app: &App, name: &str, text: &str) -> Result<Vec<Model>, ErrorResponse> {
    let registry = registry(app);
    let model = model(name, text, &registry).ok_or_else(|| {
        let findings = serde_json::to_value(CheckedText::of(app, name, text).wire()).unwrap_or_default();
        let problem = ErrorResponse::new(ProblemCode::InvalidChart, "the chart has errors; see `findings`");
        problem.with("findings", findings)
    })?;
    let others = others(app, &model.chart);
    let mut models = vec![model];
    // A broken chart of the project matters only to charts that invoke it, and `check` reports it.
    models.extend(others.iter().filter_map(|other| self::model(&other.name, &other.text, &registry)));
    Ok(models)
}

/// Reads a chart. `None` if it cannot be used, or one of its properties is invalid.
fn model(name: &str, text: &str, registry: &Registry) -> Option<Model> {
    let source = source_from_bytes(name, text.as_bytes()).ok()?;
    let (model, findings) = Model::load(&source, registry);
    let is_wrong = |finding: &rawko_chart::Finding| {
        finding.severity == Severity::Fatal || finding.code == rawko_chart::codes::INVALID_PROPERTY.name
    };
    model.filter(|_| !findings.iter().any(is_wrong))
}
