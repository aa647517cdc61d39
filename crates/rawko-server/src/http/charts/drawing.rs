//! Drawing of a chart, the same as `rawko graph`.

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use rawko_chart::draw;
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use super::checking::CheckedText;
use super::find;
use crate::http::app::App;
use crate::http::extract::{Path, QueryString};
use crate::http::problem::ErrorResponse;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Format {
    #[default]
    Svg,
    Mermaid,
    Plantuml,
    Dot,
}

/// Colours of an SVG; `auto` follows the viewer's setting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Theme {
    #[default]
    Auto,
    Light,
    Dark,
}

impl From<Theme> for draw::Theme {
    fn from(theme: Theme) -> draw::Theme {
        match theme {
            Theme::Auto => draw::Theme::Auto,
            Theme::Light => draw::Theme::Light,
            Theme::Dark => draw::Theme::Dark,
        }
    }
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct GraphQuery {
    /// `1.2.0`, or a range: `^1`. Default: the newest.
    version: Option<String>,
    #[serde(default)]
    #[param(inline)]
    format: Format,
    #[serde(default)]
    #[param(inline)]
    theme: Theme,
}

/// Draw a chart
///
/// In an SVG, elements with findings have the class `finding` and the codes in `data-finding`.
#[utoipa::path(get, path = "/v1/charts/{id}/graph", tag = "charts", params(("id" = String, Path), GraphQuery),
    responses((status = 200, content((String = "image/svg+xml"), (String = "text/plain")))))]
pub(super) async fn graph(
    State(app): State<App>,
    Path(id): Path<String>,
    QueryString(query): QueryString<GraphQuery>,
) -> Result<Response, ErrorResponse> {
    let drawn = app.compute(move |app| {
        let edition = find(app, &id, query.version.as_deref())?;
        let chart = &edition.chart;
        Ok::<_, ErrorResponse>(match query.format {
            Format::Svg => {
                let checked = CheckedText::of(app, &edition.name, &edition.text);
                ("image/svg+xml", checked.svg(query.theme.into()).unwrap_or_default())
            }
            Format::Mermaid => ("text/plain; charset=utf-8", draw::mermaid(chart)),
            Format::Plantuml => ("text/plain; charset=utf-8", draw::plantuml(chart)),
            Format::Dot => ("text/plain; charset=utf-8", draw::dot(chart)),
        })
    });
    let (kind, text) = drawn.await?;
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}
