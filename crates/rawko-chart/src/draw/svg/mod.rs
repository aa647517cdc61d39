//! SVG, drawn by us: boxes are measured, a layout places them, and the painter writes
//! elements that a page can find again by `data-node` and `data-transition`.

mod boxes;
mod geometry;
mod layered;
mod layout;
mod loops;
mod paint;
mod plain;
mod states;
mod straight;
mod text;
mod theme;

use rawko_core::{NodeId, TransitionId};

use super::picture::Picture;
use layout::{Layout, LayoutInput};
pub use theme::Theme;

/// Options for painting a chart.
#[derive(Clone, Copy, Debug, Default)]
pub struct SvgOptions<'a> {
    /// Colours; by the viewer's preference by default.
    pub theme: Theme,
    /// State nodes to highlight, usually a configuration.
    pub active: &'a [NodeId],
    /// State nodes to mark as never entered.
    pub uncovered_nodes: &'a [NodeId],
    /// Transitions to mark as never taken.
    pub uncovered: &'a [TransitionId],
    /// The subjects of findings, with their codes.
    pub findings: &'a [(Spot, &'a str)],
}

/// A part of a chart that can be marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Spot {
    /// A state node; [`NodeId::ROOT`] is the chart.
    Node(NodeId),
    /// A transition, marked along its line.
    Transition(TransitionId),
}

impl SvgOptions<'_> {
    /// Returns the attribute with the findings of a part; empty without any.
    fn marks(&self, spot: Spot) -> String {
        let mut codes: Vec<&str> = Vec::new();
        for (_, code) in self.findings.iter().filter(|(marked, _)| *marked == spot) {
            if !codes.contains(code) {
                codes.push(code);
            }
        }
        if codes.is_empty() {
            return String::new();
        }
        format!(" data-finding=\"{}\"", text::escape(&codes.join(" ")))
    }
}

/// The layout in layers grows faster than the chart; a picture of more states is of no use to a reader.
const LAYERED_NODES_MAX: usize = 3_000;
/// Space around the drawing.
const MARGIN: f64 = 16.0;

pub(crate) fn write(picture: &Picture, options: &SvgOptions<'_>) -> String {
    let picture = loops::listed(picture);
    let plan = LayoutInput::of(&picture);
    let mut layout = arrange(&plan, NodeId::ROOT);
    straight::route_rest(&plan, &mut layout);
    layout.trim(MARGIN);
    paint::paint(&plan, &layout, options)
}

/// Positions that the author gave hold; everything else is laid out in layers.
fn arrange(plan: &LayoutInput<'_>, id: NodeId) -> Layout {
    if plain::positioned(plan, id) || plan.picture.nodes.len() > LAYERED_NODES_MAX {
        return plain::place(plan, id, |child| arrange(plan, child));
    }
    // Composites with positions go in as blocks that are already laid out.
    layered::layout(plan, id, |block| plain::positioned(plan, block).then(|| arrange(plan, block)))
}
