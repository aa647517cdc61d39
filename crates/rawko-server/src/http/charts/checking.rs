//! Checks a chart without adding it: the findings of `rawko check`, and the drawing.

use axum::extract::State;
use rawko_chart::draw::{self, Theme};
use rawko_chart::{Finding, Places, Registry, Severity, SourceFile, load_bytes};
use rawko_core::Chart;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::wire;
use crate::http::app::App;
use crate::http::extract::Json;
use crate::http::problem::ErrorResponse;

/// Text of a chart.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ChartText {
    /// YAML or JSON.
    pub(super) text: String,
    /// File name, for messages.
    pub(super) name: Option<String>,
}

impl ChartText {
    pub(super) fn name(&self) -> &str {
        self.name.as_deref().unwrap_or("chart.yaml")
    }
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Check {
    /// True if `rawko check` would pass.
    ok: bool,
    findings: Vec<wire::Finding>,
    /// The drawing, with findings marked; `null` if the chart cannot be drawn.
    svg: Option<String>,
}

/// Returns everything that a chart of the project may name.
pub(super) fn registry(app: &App) -> Registry {
    let mut registry = app.project().registry();
    for edition in app.engine().library().offered() {
        registry.add_chart(edition.chart.id(), edition.chart.version());
    }
    registry
}

/// A text checked against the project.
pub(super) struct CheckedText {
    source: SourceFile,
    pub(super) chart: Option<Chart>,
    places: Option<Places>,
    pub(super) findings: Vec<Finding>,
}

impl CheckedText {
    pub(super) fn of(app: &App, name: &str, text: &str) -> CheckedText {
        let (source, loaded) = load_bytes(name, text.as_bytes(), &registry(app));
        CheckedText { source, chart: loaded.chart, places: loaded.places, findings: loaded.findings }
    }

    pub(super) fn wire(&self) -> Vec<wire::Finding> {
        wire::findings(&self.source, self.chart.as_ref(), self.places.as_ref(), &self.findings)
    }

    pub(super) fn is_ok(&self) -> bool {
        self.chart.is_some() && !self.findings.iter().any(|finding| finding.severity >= Severity::Error)
    }

    pub(super) fn svg(&self, theme: Theme) -> Option<String> {
        draw::with_findings(self.chart.as_ref(), self.places.as_ref(), &self.findings, theme)
    }
}

/// Check a chart
#[utoipa::path(post, path = "/v1/charts/check", tag = "charts", request_body = ChartText,
    responses((status = 200, body = Check)))]
pub(super) async fn check(
    State(app): State<App>,
    Json(new): Json<ChartText>,
) -> Result<axum::Json<Check>, ErrorResponse> {
    let checked = app.compute(move |app| {
        let checked = CheckedText::of(app, new.name(), &new.text);
        let (ok, findings, svg) = (checked.is_ok(), checked.wire(), checked.svg(Theme::Auto));
        Ok::<_, ErrorResponse>(Check { ok, findings, svg })
    });
    checked.await.map(axum::Json)
}
