//! Charts over HTTP: published and stored charts, as text and as a drawing; checking, simulating, verifying, saving and adding
//! charts, and their scenarios.

mod chart_list;
mod checking;
mod drawing;
mod language;
mod next_choices;
mod recording;
mod saving;
mod simulating;
mod upload;
mod verifying;
mod wire;

use axum::extract::State;
use rawko_host::{Edition, HostError};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::Routes;
use super::app::App;
use super::extract::{Path, QueryString};
use super::problem::{ErrorResponse, ProblemCode};
pub(crate) use chart_list::Shelf;
use checking::CheckedText;
use wire::{About, ChartInfo, Finding};

pub(crate) fn routes() -> Routes {
    OpenApiRouter::new()
        .routes(routes!(list, upload::upload))
        .routes(routes!(checking::check))
        .routes(routes!(read))
        .routes(routes!(drawing::graph))
        .routes(routes!(language::language))
        .routes(routes!(language::suggest))
        .routes(routes!(language::explain))
        .routes(routes!(simulating::simulate))
        .routes(routes!(verifying::verify))
        .routes(routes!(saving::save))
        .routes(routes!(recording::record))
        .routes(routes!(recording::tests))
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ChartList {
    charts: Vec<ChartInfo>,
}

/// List charts
///
/// Published charts, and those of existing instances.
#[utoipa::path(get, path = "/v1/charts", tag = "charts", responses((status = 200, body = ChartList)))]
async fn list(State(app): State<App>) -> Result<axum::Json<ChartList>, ErrorResponse> {
    let charts = app.read(chart_list::list).await?;
    Ok(axum::Json(ChartList { charts }))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct VersionQuery {
    /// `1.2.0`, or a range: `^1`. Default: the newest.
    version: Option<String>,
}

/// A chart with its text and findings.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Chart {
    #[serde(flatten)]
    about: About,
    text: String,
    /// All findings of `rawko check`.
    findings: Vec<Finding>,
    /// All published and stored versions.
    versions: Vec<String>,
}

/// Read a chart
#[utoipa::path(get, path = "/v1/charts/{id}", tag = "charts", params(("id" = String, Path), VersionQuery),
    responses((status = 200, body = Chart)))]
async fn read(
    State(app): State<App>,
    Path(id): Path<String>,
    QueryString(query): QueryString<VersionQuery>,
) -> Result<axum::Json<Chart>, ErrorResponse> {
    let chart = app.read(move |app| {
        let edition = find(app, &id, query.version.as_deref())?;
        let all = chart_list::list(app)?;
        let versions =
            all.iter().filter(|chart| chart.about.id == id).map(|chart| chart.about.version.clone());
        let hash = wire::hex(&edition.chart.hash());
        let info = all.iter().find(|chart| chart.about.hash == hash);
        let about = info.map(|info| info.about.clone()).ok_or_else(|| HostError::NoChart(id.clone()))?;
        let findings = CheckedText::of(app, &edition.name, &edition.text).wire();
        let mut versions: Vec<String> = versions.collect();
        versions.dedup();
        Ok::<_, ErrorResponse>(Chart { about, text: edition.text.to_string(), findings, versions })
    });
    chart.await.map(axum::Json)
}

/// Returns a published chart, or else one that an instance started with.
pub(super) fn find(app: &App, id: &str, version: Option<&str>) -> Result<Edition, ErrorResponse> {
    let reference = version.map_or_else(|| id.to_owned(), |version| format!("{id}@{version}"));
    let missing = match app.engine().library().resolve(&reference) {
        Ok(edition) => return Ok(edition),
        Err(error @ HostError::BadRange(_)) => {
            return Err(ErrorResponse::new(ProblemCode::InvalidRequest, error.to_string()));
        }
        Err(error) => error,
    };
    let rows = app.reader().store().charts()?;
    let fits =
        |row: &&rawko_store::ChartRow| row.id == id && version.is_none_or(|version| row.version == version);
    match rows.iter().find(fits) {
        Some(row) => Ok(Edition::read(&row.name, &row.text)?),
        None => Err(missing.into()),
    }
}
