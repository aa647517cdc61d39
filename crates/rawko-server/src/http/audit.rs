//! Audit log: the decision on every call before it was made.

use axum::extract::State;
use rawko_store::{AuditLine, StoreError};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::Routes;
use super::app::App;
use super::extract::QueryString;
use super::paging::limit_of;
use super::problem::ErrorResponse;

pub(crate) fn routes() -> Routes {
    OpenApiRouter::new().routes(routes!(audit))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct AuditQuery {
    /// Only lines of this instance.
    instance: Option<String>,
    /// Page size.
    #[param(minimum = 1, maximum = 500, default = 50)]
    limit: Option<u16>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Audit {
    v: u32,
    /// The last lines, oldest first.
    lines: Vec<Line>,
}

#[derive(Debug, Serialize, ToSchema)]
struct Line {
    at_ms: i64,
    instance: String,
    /// Idempotency key of the effect.
    effect: String,
    service: String,
    /// `allowed`, `refused`, `answered`, `failed`, `interrupted`, …
    decision: String,
    /// Rule that decided, or the error.
    reason: String,
    /// Source of the service, the request and its author; `null` if not recorded.
    #[schema(value_type = Option<Object>)]
    provenance: Option<Map<String, Json>>,
}

/// Read the end of the audit log
#[utoipa::path(get, path = "/v1/audit", tag = "server", params(AuditQuery), responses((status = 200, body = Audit)))]
async fn audit(
    State(app): State<App>,
    QueryString(query): QueryString<AuditQuery>,
) -> Result<axum::Json<Audit>, ErrorResponse> {
    let limit = limit_of(query.limit)?;
    let lines = app.read(move |app| {
        let lines = app.reader().store().audit(query.instance.as_deref(), limit)?;
        Ok::<_, StoreError>(lines.into_iter().map(line).collect())
    });
    Ok(axum::Json(Audit { v: 1, lines: lines.await? }))
}

fn line(line: AuditLine) -> Line {
    Line {
        at_ms: line.at_ms,
        instance: line.instance.to_string(),
        effect: line.effect.to_string(),
        service: line.service.to_string(),
        decision: line.decision.to_string(),
        reason: line.reason,
        provenance: serde_json::from_str(&line.provenance).ok(),
    }
}
