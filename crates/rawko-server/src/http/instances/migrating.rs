//! Migration of one instance to another version of its chart, or its dry run.

use std::sync::Arc;

use axum::extract::State;
use rawko_host::{MigrationOrder, MigrationReport, MigrationVerdict, Migrator};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::actions::person;
use crate::http::access::RequestCaller;
use crate::http::app::App;
use crate::http::extract::{Json, Path};
use crate::http::problem::{ErrorResponse, ProblemCode};

#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MigrateBody {
    /// Chart to continue on: `id@version`.
    #[schema(example = "order@2.0.0")]
    to: Option<String>,
    /// Mapping for the gaps: an entry of `migrations:` without `from`.
    #[serde(default)]
    map: Value,
    /// Migrate; without it, only report what would happen.
    #[serde(default)]
    apply: bool,
    /// Undo the last migration instead, if no step was taken since.
    #[serde(default)]
    back: bool,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MigrationBody {
    id: String,
    /// `possible`, `refused` or `migrated`.
    verdict: &'static str,
    /// Innermost active states: of the image, or of the unchanged instance if it is refused.
    configuration: Vec<String>,
    reasons: Vec<String>,
    /// Consequences, such as states entered by default.
    notes: Vec<String>,
}

/// Migrate an instance
///
/// Continues it on another version of its chart, in one transaction and without a step. Without `apply` nothing changes.
#[utoipa::path(post, path = "/v1/instances/{id}/migrate", tag = "instances", params(("id" = String, Path)),
    request_body = MigrateBody, responses((status = 200, body = MigrationBody)))]
pub(super) async fn migrate(
    State(app): State<App>,
    caller: RequestCaller,
    Path(id): Path<String>,
    Json(MigrateBody { to, map, apply, back }): Json<MigrateBody>,
) -> Result<axum::Json<MigrationBody>, ErrorResponse> {
    let order = match (to, back) {
        (Some(to), false) => {
            let edition = app.engine().library().resolve(&to)?;
            let text = (!map.is_null()).then(|| map.to_string());
            let map = text.as_ref().map(|text| ("map", text.as_str()));
            MigrationOrder::To(Arc::new(Migrator::new(edition, map)?))
        }
        (None, true) if apply => MigrationOrder::Back,
        (None, true) => {
            return Err(ErrorResponse::new(
                ProblemCode::InvalidBody,
                "`back` needs `apply`: there is no dry run",
            ));
        }
        _ => return Err(ErrorResponse::new(ProblemCode::InvalidBody, "pass either `to` or `back`")),
    };
    let reports = match order {
        MigrationOrder::To(migrator) if !apply => {
            app.compute(move |app| {
                let row = app.reader().find(&id)?;
                let now_ms = app.now_ms();
                Ok::<_, rawko_view::ViewError>(migrator.preview(app.reader(), &[row], app.world(), now_ms)?)
            })
            .await?
        }
        order => app.engine().migrate(vec![id], order, person(&caller)).await?,
    };
    let report = reports.into_iter().next();
    report.map(body).ok_or_else(|| ErrorResponse::internal("the migration has no report".to_owned()))
}

fn body(report: MigrationReport) -> axum::Json<MigrationBody> {
    let MigrationReport { id, verdict, configuration, reasons, notes } = report;
    let verdict = match verdict {
        MigrationVerdict::Possible => "possible",
        MigrationVerdict::Refused => "refused",
        MigrationVerdict::Migrated => "migrated",
    };
    axum::Json(MigrationBody { id, verdict, configuration, reasons, notes })
}
