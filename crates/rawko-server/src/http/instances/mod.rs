//! Instances over HTTP: starting them, reading them now and after any step, acting on them. The documents come from
//! `rawko-view`, as on the command line; this module adds requests and responses.

mod actions;
mod answering;
mod approvals;
mod continuing;
mod drawing;
mod files;
mod journal;
mod keyed;
mod listing;
mod migrating;
mod pruning;
mod reading;
mod receipt;
mod search;
mod starting;
mod tasks;
mod transcript;

use rawko_view::ViewError;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::Routes;
use super::problem::ErrorResponse;

pub(crate) fn routes() -> Routes {
    OpenApiRouter::new()
        .routes(routes!(listing::list, starting::start))
        .routes(routes!(reading::read))
        .routes(routes!(reading::children))
        .routes(routes!(actions::send))
        .routes(routes!(actions::cancel))
        .routes(routes!(actions::retry))
        .routes(routes!(actions::retry_item))
        .routes(routes!(actions::pause))
        .routes(routes!(actions::resume))
        .routes(routes!(actions::fork))
        .routes(routes!(migrating::migrate))
        .routes(routes!(pruning::prune))
        .routes(routes!(answering::answer))
        .routes(routes!(journal::journal))
        .routes(routes!(drawing::drawing))
        .routes(routes!(transcript::transcript))
        .routes(routes!(approvals::approvals))
        .routes(routes!(search::search))
        .routes(routes!(files::changes))
        .routes(routes!(files::undo))
        .routes(routes!(continuing::continue_task))
        .routes(routes!(continuing::raise))
        .routes(routes!(tasks::list, tasks::start))
}

impl From<ViewError> for ErrorResponse {
    fn from(error: ViewError) -> ErrorResponse {
        match error {
            ViewError::Host(error) => error.into(),
            // An unreadable journal, or a new error variant, is an internal error.
            error => ErrorResponse::internal(error.to_string()),
        }
    }
}
