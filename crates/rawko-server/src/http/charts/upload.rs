//! Adds a chart to a running server: it is published immediately, and after a restart. Existing instances keep their
//! chart.

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use rawko_host::Edition;
use serde::Serialize;
use utoipa::ToSchema;

use super::checking::{ChartText, CheckedText};
use super::wire;
use crate::http::app::App;
use crate::http::extract::Json;
use crate::http::problem::{ErrorResponse, ProblemCode};
use crate::http::project::ChartOrigin;

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Uploaded {
    id: String,
    version: String,
    hash: String,
    /// Warnings about the chart.
    findings: Vec<wire::Finding>,
}

/// Add a chart
///
/// An uploaded chart with the same id and version is replaced; a file of the project is not.
#[utoipa::path(post, path = "/v1/charts", tag = "charts", request_body = ChartText,
    responses((status = 201, body = Uploaded)))]
pub(super) async fn upload(
    State(app): State<App>,
    Json(new): Json<ChartText>,
) -> Result<Response, ErrorResponse> {
    let uploaded = app.compute(move |app| keep(app, &new)).await?;
    let place = format!("/v1/charts/{}?version={}", in_path(&uploaded.id), in_path(&uploaded.version));
    Ok((StatusCode::CREATED, [(header::LOCATION, place)], axum::Json(uploaded)).into_response())
}

/// Encodes a name for a URL path, because names are chosen by authors.
fn in_path(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    name.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

fn keep(app: &App, new: &ChartText) -> Result<Uploaded, ErrorResponse> {
    let checked = CheckedText::of(app, new.name(), &new.text);
    let findings = checked.wire();
    let Some(chart) = &checked.chart else {
        let findings = serde_json::to_value(findings).unwrap_or_default();
        let problem = ErrorResponse::new(ProblemCode::InvalidChart, "the chart has errors; see `findings`");
        return Err(problem.with("findings", findings));
    };
    let (id, version, hash) = (chart.id().to_owned(), chart.version().to_owned(), chart.hash());
    let library = app.engine().library();
    let is_same = library.offered().iter().any(|known| known.chart.hash() == hash);
    let is_files = app.project().origin(&id, &version) == Some(ChartOrigin::Project);
    if is_files && !is_same {
        let detail = format!("chart `{id}` {version} is a file of the project; upload with another version");
        return Err(ErrorResponse::new(ProblemCode::Exists, detail));
    }
    if !is_files {
        let failed = |_| {
            ErrorResponse::new(ProblemCode::StoreUnavailable, "cannot write the chart; nothing was changed")
        };
        app.project().keep_chart(&id, &version, &new.text).map_err(failed)?;
        library.offer(Edition::read(new.name(), &new.text)?);
        app.shelf().forget_findings();
    }
    Ok(Uploaded { id, version, hash: wire::hex(&hash), findings })
}
