//! Drawing of an instance's chart, with the active states highlighted.

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use rawko_chart::draw::{self, SvgOptions, Theme};
use rawko_core::TransitionId;
use rawko_view::ViewError;
use rawko_view::document::active_nodes;
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use crate::http::app::App;
use crate::http::extract::{Path, QueryString};
use crate::http::problem::ErrorResponse;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct DrawingQuery {
    /// State after this step. Default: the last one.
    at: Option<u64>,
    #[serde(default)]
    #[param(inline, required = false)]
    theme: ThemeWord,
    /// Numbers of transitions as in the journal, separated by commas: draws only these, with their states and the active
    /// ones, and without guards and actions.
    transitions: Option<String>,
}

/// Colours; `auto` follows the viewer's setting.
#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum ThemeWord {
    #[default]
    Auto,
    Light,
    Dark,
}

/// Draw an instance
///
/// Active states are highlighted. Elements have `data-node` (path of a state) and `data-transition` (number as in the
/// journal).
#[utoipa::path(get, path = "/v1/instances/{id}/drawing", tag = "instances",
    params(("id" = String, Path), DrawingQuery),
    responses((status = 200, body = String, content_type = "image/svg+xml")))]
pub(super) async fn drawing(
    State(app): State<App>,
    Path(id): Path<String>,
    QueryString(query): QueryString<DrawingQuery>,
) -> Result<Response, ErrorResponse> {
    let svg = app.compute(move |app| draw(app, &id, &query)).await?;
    Ok(([(header::CONTENT_TYPE, "image/svg+xml")], svg).into_response())
}

fn draw(app: &App, id: &str, query: &DrawingQuery) -> Result<String, ViewError> {
    let row = app.reader().find(id)?;
    let restored = app.reader().snapshot(&row, query.at)?;
    let theme = match query.theme {
        ThemeWord::Auto => Theme::Auto,
        ThemeWord::Light => Theme::Light,
        ThemeWord::Dark => Theme::Dark,
    };
    let active = active_nodes(&restored.chart, restored.snapshot.configuration());
    let options = SvgOptions { theme, active: &active, ..SvgOptions::default() };
    Ok(match &query.transitions {
        Some(numbers) => {
            let numbers =
                numbers.split(',').filter_map(|number| number.trim().parse().ok().map(TransitionId));
            draw::svg_of_path(&restored.chart, &options, &numbers.collect::<Vec<_>>())
        }
        None => draw::svg(&restored.chart, &options),
    })
}
