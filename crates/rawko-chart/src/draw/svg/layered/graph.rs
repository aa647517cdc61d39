//! `LayeredGraph`: one composite as the layered algorithm sees it. Every link runs from an upper node to a lower one; labels,
//! bends of long links and the places where links leave the composite are nodes too.

use rawko_core::NodeId;

/// A node of the graph; `x` and `y` are its top left corner once it is placed.
#[derive(Clone, Debug)]
pub(super) struct Vertex {
    pub(super) kind: VertexKind,
    /// Of the box alone.
    pub(super) w: f64,
    pub(super) h: f64,
    /// Room to the right of the box, for loops.
    pub(super) margin: f64,
    pub(super) layer: usize,
    pub(super) x: f64,
    pub(super) y: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VertexKind {
    State(NodeId),
    /// The initial dot of the composite.
    Dot,
    /// The label of an arrow.
    Label,
    /// A point where a long link passes a layer.
    Bend,
    /// A point where an arrow crosses the composite's upper or lower border.
    Top,
    Bottom,
}

impl Vertex {
    pub(super) fn new(kind: VertexKind, w: f64, h: f64) -> Self {
        Self { kind, w, h, margin: 0.0, layer: 0, x: 0.0, y: 0.0 }
    }

    pub(super) fn middle(&self) -> f64 {
        self.x + self.w / 2.0
    }

    /// A line through it has no choice where to pass.
    pub(super) fn is_point(&self) -> bool {
        matches!(self.kind, VertexKind::Bend | VertexKind::Top | VertexKind::Bottom | VertexKind::Dot)
    }

    /// Only part of a line, not something that lines end at.
    pub(super) fn is_line(&self) -> bool {
        matches!(self.kind, VertexKind::Bend | VertexKind::Label | VertexKind::Top | VertexKind::Bottom)
    }
}

/// A piece of an arrow between two vertices; in neighbouring layers once `layers` is done.
#[derive(Clone, Copy, Debug)]
pub(super) struct LayerLink {
    pub(super) arrow: usize,
    pub(super) upper: usize,
    pub(super) lower: usize,
    /// Fixed attachment point, from the left of the box; `None`: anywhere on the border.
    pub(super) upper_port: Option<f64>,
    pub(super) lower_port: Option<f64>,
    /// Attachment points, from the left of the drawing.
    pub(super) upper_x: f64,
    pub(super) lower_x: f64,
}

impl LayerLink {
    pub(super) fn new(arrow: usize, upper: usize, lower: usize) -> Self {
        Self { arrow, upper, lower, upper_port: None, lower_port: None, upper_x: 0.0, lower_x: 0.0 }
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct LayeredGraph {
    pub(super) vertices: Vec<Vertex>,
    pub(super) links: Vec<LayerLink>,
    /// Vertices by layer, from left to right.
    pub(super) layers: Vec<Vec<usize>>,
    /// Room between two states of a layer.
    pub(super) apart: f64,
}

impl LayeredGraph {
    pub(super) fn add(&mut self, vertex: Vertex) -> usize {
        self.vertices.push(vertex);
        self.vertices.len() - 1
    }

    /// The least distance from the left of `a` to the left of its right neighbour `b`.
    pub(super) fn distance(&self, a: usize, b: usize) -> f64 {
        let (left, right) = (&self.vertices[a], &self.vertices[b]);
        let gap = match (left.is_line(), right.is_line()) {
            (false, false) => self.apart,
            (true, true) => 14.0,
            (true, false) | (false, true) => 16.0,
        };
        left.w + left.margin + gap
    }

    /// The place of every vertex in its layer.
    pub(super) fn places(&self) -> Vec<usize> {
        let mut places = vec![0; self.vertices.len()];
        for layer in &self.layers {
            for (at, vertex) in layer.iter().enumerate() {
                places[*vertex] = at;
            }
        }
        places
    }
}
