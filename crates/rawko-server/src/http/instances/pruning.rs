//! Removal of ended instances that a person selected. `rawko prune` selects by age, outcome and size instead.

use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::http::app::App;
use crate::http::extract::Json;
use crate::http::problem::{ErrorResponse, ProblemCode};

const IDS_MAX: usize = 1_000;

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PruneBody {
    /// Top-level instances that have ended.
    #[schema(min_items = 1, max_items = 1000)]
    ids: Vec<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PrunedBody {
    /// Number of removed instances, including descendants.
    removed: u64,
}

/// Remove ended instances
///
/// With their descendants, journals and audit lines, for good; all of them, or none. Their files (checkpoints, worktrees)
/// are removed by age.
#[utoipa::path(post, path = "/v1/prune", tag = "instances", request_body = PruneBody,
    responses((status = 200, body = PrunedBody)))]
pub(super) async fn prune(
    State(app): State<App>,
    Json(PruneBody { ids }): Json<PruneBody>,
) -> Result<axum::Json<PrunedBody>, ErrorResponse> {
    if ids.is_empty() || ids.len() > IDS_MAX {
        let detail = format!("`ids` must have 1 to {IDS_MAX} entries");
        return Err(ErrorResponse::new(ProblemCode::InvalidBody, detail));
    }
    if !app.engine().can_remove() {
        let detail = "instances of this server cannot be removed one by one";
        return Err(ErrorResponse::new(ProblemCode::Unavailable, detail));
    }
    Ok(axum::Json(PrunedBody { removed: app.engine().remove(ids).await? }))
}
