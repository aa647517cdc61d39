//! Drawing: pure functions from a chart to text in four formats. Mermaid, PlantUML and DOT leave the layout to their
//! tools; SVG is laid out and painted here, so that `rawko graph` and the page need no external program.

mod color;
mod dot;
mod mermaid;
mod names;
mod picture;
mod plantuml;
mod spots;
mod svg;

use rawko_core::Chart;

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
