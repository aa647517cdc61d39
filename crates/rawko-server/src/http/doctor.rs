//! The checks of `rawko doctor` for the page.

use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::Routes;
use super::app::App;
use super::problem::ErrorResponse;

pub(crate) fn routes() -> Routes {
    OpenApiRouter::new().routes(routes!(doctor))
}

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct DoctorCheck {
    /// `store`, `settings`, `service` …
    pub about: String,
    /// `ok`, `warn` or `problem`.
    pub state: String,
    /// Result in one line, with the way to fix a problem.
    pub text: String,
    /// How to fix it.
    pub help: Option<String>,
}

/// A settings file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct SettingsText {
    /// Path of the file.
    pub file: String,
    /// The text; `null` for files outside of the project.
    pub text: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DoctorReport {
    checks: Vec<DoctorCheck>,
    /// The settings files that apply, the nearest first.
    settings: Vec<SettingsText>,
}

/// Check the project
///
/// The checks of `rawko doctor --offline`: no model and no MCP server is asked.
#[utoipa::path(get, path = "/v1/doctor", tag = "server", responses((status = 200, body = DoctorReport)))]
async fn doctor(State(app): State<App>) -> Result<axum::Json<DoctorReport>, ErrorResponse> {
    let report = app.compute(|app| {
        let checks = app.project().doctor()?;
        Ok::<_, ErrorResponse>(DoctorReport { checks, settings: app.project().settings() })
    });
    report.await.map(axum::Json)
}
