//! Layout by ELK's layered algorithm. The plan goes in as ELK's JSON, all edges at the top and all coordinates
//! absolute; what comes back is read into a `Layout`.

use std::collections::BTreeMap;

use org_eclipse_elk_graph_json::org::eclipse::elk::graph::json::layout_api::layout_value;
use rawko_core::{NodeId, NodeKind};
use serde_json::{Map, Value, json};

use super::boxes::{DOT, REGION_GAP};
use super::layout::{Arrow, End, Layout, Plan, Point, Rect, Route};
use crate::draw::picture::Node;

/// The children of `scope`, and `scope` itself where it has a box. `block` gives the composites that are laid out
/// already. `None` when ELK refuses; the caller then falls back to the plain layout.
pub(crate) fn layout(
    plan: &Plan<'_>,
    scope: NodeId,
    block: impl Fn(NodeId) -> Option<Layout>,
) -> Option<Layout> {
    let mut graph = Graph { plan, scope, blocks: BTreeMap::new() };
    graph.find_blocks(scope, &block);
    let tries = PLACEMENTS.iter().filter_map(|placement| graph.lay_out(placement));
    tries.min_by(|a, b| cost(a).total_cmp(&cost(b)))
}

/// Neither way of aligning nodes is always better: both are tried.
const PLACEMENTS: &[&str] = &["NETWORK_SIMPLEX", "BRANDES_KOEPF"];

/// Pages scroll down, not sideways: width counts twice.
fn cost(layout: &Layout) -> f64 {
    layout.width * layout.width * layout.height
}

struct Graph<'a> {
    plan: &'a Plan<'a>,
    scope: NodeId,
    blocks: BTreeMap<NodeId, Layout>,
}

impl Graph<'_> {
    fn find_blocks(&mut self, id: NodeId, block: &impl Fn(NodeId) -> Option<Layout>) {
        for child in &self.plan.picture.node(id).children {
            match block(*child) {
                Some(laid) => drop(self.blocks.insert(*child, laid)),
                None => self.find_blocks(*child, block),
            }
        }
    }

    fn lay_out(&self, placement: &str) -> Option<Layout> {
        let defaults = json!({ "elk.layered.nodePlacement.strategy": placement }).to_string();
        self.read(&layout_value(self.json(), &defaults).ok()?)
    }

    fn json(&self) -> Value {
        let top = self.plan.picture.node(self.scope);
        let boxed = self.scope != NodeId::ROOT || self.plan.framed;
        let children = if boxed { vec![self.node(top)] } else { self.children(top) };
        let mut options = options(top);
        options.insert("elk.padding".into(), json!("[top=0,left=0,bottom=0,right=0]"));
        options.insert("elk.hierarchyHandling".into(), json!("INCLUDE_CHILDREN"));
        options.insert("org.eclipse.elk.json.edgeCoords".into(), json!("ROOT"));
        options.insert("org.eclipse.elk.json.shapeCoords".into(), json!("ROOT"));
        let arrows = self.plan.arrows.iter().enumerate().filter(|(_, a)| self.sees(a));
        let edges: Vec<Value> = arrows.map(|(i, a)| edge(i, a)).collect();
        json!({ "id": "top", "layoutOptions": options, "children": children, "edges": edges })
    }

    /// Whether both ends are in scope, and neither is hidden in a block.
    fn sees(&self, arrow: &Arrow) -> bool {
        let picture = self.plan.picture;
        let visible = |id: NodeId| {
            picture.contains(self.scope, id)
                && !self.blocks.keys().any(|b| *b != id && picture.contains(*b, id))
        };
        let from = match arrow.from {
            End::Node(id) => visible(id),
            End::Dot(id) => visible(id) && !self.blocks.contains_key(&id),
        };
        from && visible(arrow.to)
    }

    fn children(&self, parent: &Node) -> Vec<Value> {
        let mut out = Vec::new();
        if self.plan.has_dot(parent.id) {
            out.push(json!({ "id": dot_id(parent.id), "width": DOT, "height": DOT }));
        }
        out.extend(parent.children.iter().map(|c| self.node(self.plan.picture.node(*c))));
        out
    }

    fn node(&self, node: &Node) -> Value {
        let writing = &self.plan.writings[node.id.index()];
        if let Some(block) = self.blocks.get(&node.id) {
            return json!({ "id": node_id(node.id), "width": block.width, "height": block.height });
        }
        let mut value = json!({ "id": node_id(node.id), "width": writing.width, "height": writing.height });
        if !node.is_composite() {
            // Several loops on one state: not all on the same side.
            value["layoutOptions"] = json!({ "elk.layered.edgeRouting.selfLoopDistribution": "EQUALLY" });
            return value;
        }
        let region = self.plan.picture.is_region(node.id);
        let side = if region { 10.0 } else { 18.0 };
        let mut options = options(node);
        options.insert(
            "elk.padding".into(),
            json!(format!("[top={},left={side},bottom={side},right={side}]", writing.height + 14.0)),
        );
        options.insert("elk.nodeSize.constraints".into(), json!("MINIMUM_SIZE"));
        options.insert(
            "elk.nodeSize.minimum".into(),
            json!(format!("({},{})", writing.width, writing.height + 30.0)),
        );
        if region {
            options.insert("elk.alignment".into(), json!("TOP"));
        }
        value["layoutOptions"] = Value::Object(options);
        value["children"] = Value::Array(self.children(node));
        value
    }

    fn read(&self, laid: &Value) -> Option<Layout> {
        let mut out = Layout::empty(self.plan);
        (out.width, out.height) = (number(&laid["width"])?, number(&laid["height"])?);
        read_nodes(laid, &mut out)?;
        for edge in laid["edges"].as_array()? {
            let at: usize = edge["id"].as_str()?.get(1..)?.parse().ok()?;
            *out.routes.get_mut(at)? = route(edge)?;
        }
        for (id, block) in &self.blocks {
            let rect = out.rects[id.index()]?;
            out.absorb(block, rect.x, rect.y);
        }
        self.mend(&mut out);
        Some(out)
    }

    /// ELK sometimes lets an arrow begin or end beside the composite it belongs to: the loose end is brought back.
    fn mend(&self, out: &mut Layout) {
        for (arrow, route) in self.plan.arrows.iter().zip(&mut out.routes) {
            if let Some(rect) = self.composite(arrow.from, &out.rects) {
                attach(route, rect);
            }
            if let Some(rect) = self.composite(End::Node(arrow.to), &out.rects) {
                route.points.reverse();
                attach(route, rect);
                route.points.reverse();
            }
        }
    }

    fn composite(&self, end: End, rects: &[Option<Rect>]) -> Option<Rect> {
        match end {
            End::Node(id) if self.plan.picture.node(id).is_composite() => rects[id.index()],
            End::Node(_) | End::Dot(_) => None,
        }
    }
}

/// ELK does not hand options down: each composite gets them all.
fn options(node: &Node) -> Map<String, Value> {
    let apart = match node.kind {
        NodeKind::Parallel => REGION_GAP,
        NodeKind::Atomic | NodeKind::Compound | NodeKind::Final | NodeKind::History(_) => 28.0,
    };
    let pairs = [
        ("elk.algorithm", json!("layered")),
        ("elk.direction", json!("DOWN")),
        ("elk.edgeRouting", json!("ORTHOGONAL")),
        ("elk.layered.cycleBreaking.strategy", json!("DEPTH_FIRST")),
        ("elk.layered.considerModelOrder.strategy", json!("NODES_AND_EDGES")),
        ("elk.layered.nodePlacement.favorStraightEdges", json!(true)),
        ("elk.spacing.nodeNode", json!(apart)),
        ("elk.spacing.edgeNode", json!(18)),
        ("elk.spacing.edgeEdge", json!(14)),
        ("elk.spacing.edgeLabel", json!(4)),
        ("elk.spacing.nodeSelfLoop", json!(16)),
        ("elk.layered.spacing.nodeNodeBetweenLayers", json!(20)),
        ("elk.layered.spacing.edgeNodeBetweenLayers", json!(12)),
        ("elk.layered.spacing.edgeEdgeBetweenLayers", json!(12)),
    ];
    pairs.into_iter().map(|(k, v)| (k.to_owned(), v)).collect()
}

fn edge(at: usize, arrow: &Arrow) -> Value {
    let source = match arrow.from {
        End::Node(id) => node_id(id),
        End::Dot(id) => dot_id(id),
    };
    let mut value = json!({ "id": format!("e{at}"), "sources": [source], "targets": [node_id(arrow.to)] });
    if let Some(label) = &arrow.label {
        value["labels"] = json!([{
            "id": format!("l{at}"), "text": "x", "width": label.width, "height": label.height,
            "layoutOptions": { "elk.edgeLabels.inline": true, "elk.edgeLabels.placement": "CENTER" }
        }]);
    }
    value
}

fn node_id(id: NodeId) -> String {
    format!("n{}", id.0)
}

fn dot_id(id: NodeId) -> String {
    format!("d{}", id.0)
}

fn read_nodes(parent: &Value, out: &mut Layout) -> Option<()> {
    for child in parent["children"].as_array().into_iter().flatten() {
        let rect = rect(child)?;
        let id = child["id"].as_str()?;
        let at: usize = id.get(1..)?.parse().ok()?;
        if id.starts_with('d') {
            *out.dots.get_mut(at)? = Some(rect.center());
        } else {
            *out.rects.get_mut(at)? = Some(rect);
        }
        read_nodes(child, out)?;
    }
    Some(())
}

fn route(edge: &Value) -> Option<Route> {
    let section = edge["sections"].as_array()?.first()?;
    let mut points = vec![point(&section["startPoint"])?];
    for bend in section["bendPoints"].as_array().into_iter().flatten() {
        points.push(point(bend)?);
    }
    points.push(point(&section["endPoint"])?);
    let label = edge["labels"].as_array().and_then(|l| l.first()).and_then(rect);
    Some(Route { points, label })
}

/// Moves a route's beginning onto the top or bottom side of `rect` if it is beside it: by moving the vertical piece it
/// begins with, or with a small step where that piece holds the label or is all there is.
fn attach(route: &mut Route, rect: Rect) {
    let points = &mut route.points;
    let Some(&(x, y)) = points.first() else { return };
    if x >= rect.x - 0.5 && x <= rect.right() + 0.5 {
        return;
    }
    let inside = x.clamp(rect.x + 8.0, rect.right() - 8.0);
    let run = points.iter().take_while(|p| (p.0 - x).abs() < 0.5).count();
    let labelled = route.label.is_some_and(|l| (l.center().0 - x).abs() < 1.0);
    if run == 2 && points.len() > 2 && !labelled {
        points[0].0 = inside;
        points[1].0 = inside;
        return;
    }
    let away = points.get(1).map_or(0.0, |p| (p.1 - y).signum() * 6.0);
    points.splice(0..1, [(inside, y), (inside, y + away), (x, y + away)]);
}

fn rect(value: &Value) -> Option<Rect> {
    Some(Rect {
        x: number(&value["x"])?,
        y: number(&value["y"])?,
        w: number(&value["width"])?,
        h: number(&value["height"])?,
    })
}

fn point(value: &Value) -> Option<Point> {
    Some((number(&value["x"])?, number(&value["y"])?))
}

/// Whole tenths: the same bytes wherever floating point is rounded a little differently.
fn number(value: &Value) -> Option<f64> {
    value.as_f64().filter(|n| n.is_finite()).map(|n| (n * 10.0).round() / 10.0)
}
