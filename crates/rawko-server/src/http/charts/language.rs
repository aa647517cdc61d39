//! Everything an editor of charts needs: the JSON Schema, the names that charts may refer to, suggestions and explanations
//! for a place of a text. `rawko-language` has the content; `rawko lsp` has the same for other editors.

use axum::extract::State;
use rawko_language::{ProjectNames, TextLines};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::http::app::App;
use crate::http::extract::Json;
use crate::http::problem::ErrorResponse;

/// The language of charts in this project.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Language {
    /// JSON Schema of chart files, as `rawko schema` prints it.
    schema: Value,
    /// Services that an invoke may name.
    services: Vec<String>,
    agents: Vec<String>,
    /// Ids of charts that can be invoked.
    charts: Vec<String>,
    /// Targets of `send`.
    endpoints: Vec<String>,
}

/// Read the schema of charts, and the names that they may refer to
#[utoipa::path(get, path = "/v1/schema", tag = "charts", responses((status = 200, body = Language)))]
pub(super) async fn language(State(app): State<App>) -> Result<axum::Json<Language>, ErrorResponse> {
    let language = app.compute(|app| {
        let ProjectNames { schema, services, agents, charts, endpoints } = names(app);
        Ok::<_, ErrorResponse>(Language { schema, services, agents, charts, endpoints })
    });
    language.await.map(axum::Json)
}

fn names(app: &App) -> ProjectNames {
    let mut registry = app.project().registry();
    for edition in app.engine().library().offered() {
        registry.add_chart(edition.chart.id(), edition.chart.version());
    }
    ProjectNames::of(&registry)
}

/// A place in the text of a chart.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ChartPlace {
    /// YAML or JSON, which may be half typed.
    text: String,
    /// UTF-16 code units before the place.
    offset: usize,
}

/// Suggestions for a place of a text.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Suggestions {
    /// UTF-16 code units before the word that a suggestion replaces.
    from: usize,
    items: Vec<Suggestion>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Suggestion {
    /// The name, for a list.
    text: String,
    /// The text that replaces the word.
    insert: String,
    /// What it is, in a few words.
    note: String,
}

/// Suggest what fits a place of a chart
#[utoipa::path(post, path = "/v1/charts/suggest", tag = "charts", request_body = ChartPlace,
    responses((status = 200, body = Suggestions)))]
pub(super) async fn suggest(
    State(app): State<App>,
    Json(place): Json<ChartPlace>,
) -> Result<axum::Json<Suggestions>, ErrorResponse> {
    let found = app.compute(move |app| {
        let lines = TextLines::of(&place.text);
        let found = rawko_language::suggest(&place.text, lines.offset_of_units(place.offset), &names(app));
        let items = found.items.into_iter();
        let items = items.map(|it| Suggestion { text: it.label, insert: it.insert, note: it.note });
        Ok::<_, ErrorResponse>(Suggestions { from: lines.units(found.from), items: items.collect() })
    });
    found.await.map(axum::Json)
}

/// What the word at a place is; both texts are empty if nothing is known about it.
#[derive(Debug, Default, Serialize, ToSchema)]
pub(crate) struct Explanation {
    title: String,
    text: String,
}

/// Explain the word at a place of a chart
#[utoipa::path(post, path = "/v1/charts/explain", tag = "charts", request_body = ChartPlace,
    responses((status = 200, body = Explanation)))]
pub(super) async fn explain(
    State(app): State<App>,
    Json(place): Json<ChartPlace>,
) -> Result<axum::Json<Explanation>, ErrorResponse> {
    let found = app.compute(move |app| {
        let offset = TextLines::of(&place.text).offset_of_units(place.offset);
        let found = rawko_language::explain(&place.text, offset, &names(app));
        let found = found.map(|it| Explanation { title: it.title, text: it.text });
        Ok::<_, ErrorResponse>(found.unwrap_or_default())
    });
    found.await.map(axum::Json)
}
