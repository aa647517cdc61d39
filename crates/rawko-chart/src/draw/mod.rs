//! Drawing: pure functions from a chart to text in four formats. Mermaid, PlantUML and DOT leave the layout to their
//! tools; SVG is laid out and painted here, so that `rawko graph` and the page need no external program.

mod color;
mod dot;
mod mermaid;
mod names;
mod path;
mod picture;
mod plantuml;
mod spots;
mod svg;

use rawko_core::{Chart, TransitionId};

use crate::finding::Finding;
use crate::lowered::Places;
use picture::Picture;
pub use spots::spot;
pub use svg::{Spot, SvgOptions, Theme};

/// Draws the chart as a Mermaid `stateDiagram-v2`.
pub fn mermaid(chart: &Chart) -> String {
    mermaid::write(&Picture::of(chart))
}

/// Draws the chart as a PlantUML state diagram.
pub fn plantuml(chart: &Chart) -> String {
    plantuml::write(&Picture::of(chart))
}

/// Draws the chart as a Graphviz digraph.
pub fn dot(chart: &Chart) -> String {
    dot::write(&Picture::of(chart))
}

/// Draws the chart as a standalone SVG, with ids and classes that a page can refer to.
pub fn svg(chart: &Chart, options: &SvgOptions<'_>) -> String {
    svg::write(&Picture::of(chart), options)
}

/// Draws only some transitions of a chart, with their states and the active ones, and without guards and actions: the
/// path that an instance took.
pub fn svg_of_path(chart: &Chart, options: &SvgOptions<'_>, transitions: &[TransitionId]) -> String {
    svg::write(&path::reduced(&Picture::of(chart), transitions, options.active), options)
}

/// Draws a text that was checked, with its findings marked; `None` if it cannot be drawn.
pub fn with_findings(
    chart: Option<&Chart>,
    places: Option<&Places>,
    findings: &[Finding],
    theme: Theme,
) -> Option<String> {
    let (chart, places) = (chart?, places?);
    let marks: Vec<(Spot, &str)> =
        findings.iter().filter_map(|it| Some((spot(places, it.span)?, it.code))).collect();
    Some(svg(chart, &SvgOptions { theme, findings: &marks, ..SvgOptions::default() }))
}
