//! Saves a chart to its file in the project. The file is trusted, because the operator wrote it; it is published at once, and
//! existing instances keep their chart.

use axum::extract::State;
use rawko_host::Edition;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::checking::CheckedText;
use super::{find, wire};
use crate::http::app::App;
use crate::http::extract::Json;
use crate::http::problem::{ErrorResponse, ProblemCode};
use crate::http::project::ChartOrigin;
use crate::http::studio::SaveChart;

/// The text of a chart, and the chart whose file it replaces.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SaveBody {
    text: String,
    /// Id of the chart whose file is replaced; without it a new file is written.
    id: Option<String>,
    /// Its version. Default: the newest.
    version: Option<String>,
    /// The text that the editor began with; the file must still have it.
    before: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Saved {
    id: String,
    version: String,
    hash: String,
    /// The file that was written.
    file: String,
    /// Warnings about the chart.
    findings: Vec<wire::Finding>,
}

/// Save a chart to a file of the project
///
/// A new chart becomes `.rawko/charts/ID.yaml`. The saved file is trusted, as after `rawko trust`. A chart with errors is not
/// saved.
#[utoipa::path(post, path = "/v1/charts/save", tag = "charts", request_body = SaveBody,
    responses((status = 200, body = Saved)))]
pub(super) async fn save(
    State(app): State<App>,
    Json(body): Json<SaveBody>,
) -> Result<axum::Json<Saved>, ErrorResponse> {
    app.compute(move |app| write(app, body)).await.map(axum::Json)
}

fn write(app: &App, body: SaveBody) -> Result<Saved, ErrorResponse> {
    let edited = body.id.as_deref().map(|id| find(app, id, body.version.as_deref())).transpose()?;
    let name = edited.as_ref().map_or("chart.yaml", |edition| &*edition.name);
    let checked = CheckedText::of(app, name, &body.text);
    let findings = checked.wire();
    let Some(chart) = checked.chart.as_ref().filter(|_| checked.is_ok()) else {
        let findings = serde_json::to_value(findings).unwrap_or_default();
        let problem = ErrorResponse::new(ProblemCode::InvalidChart, "the chart has errors; see `findings`");
        return Err(problem.with("findings", findings));
    };
    let (id, version, hash) = (chart.id().to_owned(), chart.version().to_owned(), chart.hash());
    let library = app.engine().library();
    let was = edited.as_ref().map(|edition| (edition.chart.id(), edition.chart.version()));
    let is_itself = was == Some((id.as_str(), version.as_str()));
    let is_taken = library.offered().iter().any(|it| it.chart.id() == id && it.chart.version() == version);
    if is_taken && !is_itself {
        let help = "change `id` or `version`";
        return Err(ErrorResponse::new(
            ProblemCode::Exists,
            format!("there is a chart `{id}` {version}; {help}"),
        ));
    }
    let origin = was.and_then(|(id, version)| app.project().origin(id, version));
    let new_file = || SaveChart {
        id: id.clone(),
        version: version.clone(),
        file: None,
        text: body.text.clone(),
        before: None,
    };
    let file = match origin {
        Some(ChartOrigin::BuiltIn) if is_itself => {
            let detail = format!("`{id}` {version} is built in; save it under another `id` or `version`");
            return Err(ErrorResponse::new(ProblemCode::NotPossible, detail));
        }
        Some(ChartOrigin::Uploaded) => {
            let failed = |_| {
                ErrorResponse::new(
                    ProblemCode::StoreUnavailable,
                    "cannot write the chart; nothing was changed",
                )
            };
            app.project().keep_chart(&id, &version, &body.text).map_err(failed)?;
            name.to_owned()
        }
        Some(ChartOrigin::Project) => {
            let chart = SaveChart { file: Some(name.to_owned()), before: body.before, ..new_file() };
            app.project().save_chart(chart)?
        }
        Some(ChartOrigin::BuiltIn | ChartOrigin::Stored) | None => app.project().save_chart(new_file())?,
    };
    // Its file has another chart now.
    if let Some((id, version)) = was.filter(|_| origin == Some(ChartOrigin::Project) && !is_itself) {
        library.withdraw(id, version);
    }
    library.offer(Edition::read(&file, &body.text)?);
    app.shelf().forget_findings();
    Ok(Saved { id, version, hash: wire::hex(&hash), file, findings })
}
