//! The list of triggers.

use axum::extract::State;
use rawko_view::ViewError;
use rawko_view::triggers::{StoredTrigger, TriggerDocument};
use serde::Serialize;
use utoipa::ToSchema;

use crate::http::app::App;
use crate::http::problem::ErrorResponse;

/// All triggers of the settings.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TriggerList {
    triggers: Vec<TriggerDocument>,
}

/// List triggers
#[utoipa::path(get, path = "/v1/triggers", tag = "triggers", responses((status = 200, body = TriggerList)))]
pub(crate) async fn list(State(app): State<App>) -> Result<axum::Json<TriggerList>, ErrorResponse> {
    let read = |app: &App| {
        let now_ms = app.now_ms();
        let one = |trigger| -> Result<_, ViewError> {
            let trigger: &rawko_triggers::Trigger = trigger;
            let stored = StoredTrigger::read(app.reader(), &trigger.name)?;
            Ok(TriggerDocument::of(trigger, stored.as_ref(), now_ms))
        };
        app.triggers().all.iter().map(one).collect::<Result<Vec<_>, _>>()
    };
    let triggers = app.read(read).await?;
    Ok(axum::Json(TriggerList { triggers }))
}
