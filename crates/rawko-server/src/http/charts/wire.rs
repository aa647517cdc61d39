//! Charts and findings in API responses.

use rawko_chart::draw::{self, Spot};
use rawko_chart::{Places, SourceFile, render};
use rawko_core::Chart;
use serde::Serialize;
use serde_json::Value as Json;
use utoipa::ToSchema;

use crate::http::project::ChartOrigin;

/// A chart in a list.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct ChartInfo {
    #[serde(flatten)]
    pub(super) about: About,
    /// Number of findings of `rawko check`; `null` for charts that are not published.
    pub(super) findings: Option<usize>,
}

#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct About {
    pub(super) id: String,
    pub(super) version: String,
    /// Hash of the compiled chart, in hexadecimal.
    pub(super) hash: String,
    /// Source file.
    pub(super) name: String,
    pub(super) source: ChartOrigin,
    pub(super) description: Option<String>,
    /// Number of state nodes.
    pub(super) states: usize,
    /// Number of instances that started with it.
    pub(super) instances: u64,
    /// True if the id without a version resolves to this chart.
    pub(super) latest: bool,
}

/// One finding of the checker.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct Finding {
    #[schema(example = "rawko::chart::unknown_target")]
    code: &'static str,
    /// `warning`, `error` or `fatal`.
    severity: String,
    message: String,
    line: u64,
    column: u64,
    end_line: u64,
    end_column: u64,
    /// Label of the underlined text; may be empty.
    label: String,
    /// Suggested fix.
    help: Option<String>,
    /// Path of the state node that it refers to.
    node: Option<String>,
    /// Transition that it refers to, numbered as `data-transition` in the drawing.
    transition: Option<u32>,
}

/// Converts findings and locates the parts of the chart that they refer to.
pub(super) fn findings(
    source: &SourceFile,
    chart: Option<&Chart>,
    places: Option<&Places>,
    findings: &[rawko_chart::Finding],
) -> Vec<Finding> {
    let Json::Array(rendered) = render::to_json(findings, source) else { return Vec::new() };
    let with_spot = |(finding, json): (&rawko_chart::Finding, &Json)| {
        let spot = places.and_then(|places| draw::spot(places, finding.span));
        one(finding, json, chart, spot)
    };
    findings.iter().zip(&rendered).map(with_spot).collect()
}

fn one(finding: &rawko_chart::Finding, json: &Json, chart: Option<&Chart>, spot: Option<Spot>) -> Finding {
    let number = |end: &str, key: &str| json["place"][end][key].as_u64().unwrap_or_default();
    let (node, transition) = match spot {
        Some(Spot::Node(node)) => (chart.map(|chart| chart.node(node).path.to_string()), None),
        Some(Spot::Transition(transition)) => (None, Some(transition.0)),
        None => (None, None),
    };
    Finding {
        code: finding.code,
        severity: json["severity"].as_str().unwrap_or_default().to_owned(),
        message: finding.message.clone(),
        line: number("start", "line"),
        column: number("start", "column"),
        end_line: number("end", "line"),
        end_column: number("end", "column"),
        label: finding.label.clone(),
        help: finding.help.clone(),
        node,
        transition,
    }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
