//! LangGraph graphs: the JSON of `graph.get_graph().to_json()`. LangGraph runs in supersteps: all nodes that an edge or a
//! choice has triggered run at the same time, and their edges trigger the next ones. A chart has one state for each set of
//! nodes that can run together, found by following the edges from `__start__`.

mod chart;

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};

use super::json::{JsonPath, PathLines, parsed};
use super::{ImportError, ImportOptions, ImportResult, Notes};

const START: &str = "__start__";
const END: &str = "__end__";
/// Limit of sets of nodes that run together: a graph with many independent choices has very many.
const SETS_MAX: usize = 300;
/// Limit of combinations of choices in one superstep.
const CHOICES_MAX: usize = 64;

#[derive(Debug)]
struct LangGraphNode {
    id: String,
    place: JsonPath,
    /// `before` or `after`, if the run pauses there.
    interrupt: Option<String>,
    metadata: Option<Json>,
    is_subgraph: bool,
}

#[derive(Debug)]
struct LangGraphEdge {
    source: usize,
    target: usize,
    /// What the choice returns for this edge; `None` if the edge is always taken.
    choice: Option<String>,
}

/// The nodes that run in one superstep, ascending.
type Superstep = Vec<usize>;

/// One combination of choices in a superstep, and the nodes that run next.
#[derive(Debug)]
struct Way {
    /// The edges that were chosen.
    chosen: Vec<usize>,
    next: Superstep,
}

/// Imports a LangGraph graph.
pub fn langgraph(text: &str, options: ImportOptions<'_>) -> Result<ImportResult, ImportError> {
    let (text, json) = parsed(text)?;
    let Json::Object(root) = json else { return Err(ImportError::UnknownLanguage) };
    if !looks_like(&root) {
        return Err(ImportError::UnknownLanguage);
    }
    let id = options.id.unwrap_or("imported").to_owned();
    let mut importer = LangGraphImporter {
        notes: Notes::default(),
        lines: PathLines::of(text),
        nodes: Vec::new(),
        edges: Vec::new(),
        ways: BTreeMap::new(),
    };
    importer.read(&root);
    let chart = importer.chart(&id)?;
    let notes = importer.notes.finish();
    let yaml = super::heading("LangGraph", &notes) + &chart.write();
    Ok(ImportResult { id, yaml, charts: Vec::new(), notes })
}

/// Returns true if an object is a graph: lists of nodes and edges.
pub(crate) fn looks_like(root: &Map<String, Json>) -> bool {
    ["nodes", "edges"].iter().all(|key| root.get(*key).is_some_and(Json::is_array))
}

struct LangGraphImporter {
    notes: Notes,
    lines: PathLines,
    nodes: Vec<LangGraphNode>,
    edges: Vec<LangGraphEdge>,
    /// What may follow each superstep.
    ways: BTreeMap<Superstep, Vec<Way>>,
}

impl LangGraphImporter {
    fn lost(&mut self, place: &JsonPath, message: impl Into<String>) {
        self.notes.lost(self.lines.line(place), message);
    }

    fn read(&mut self, root: &Map<String, Json>) {
        let items = |key: &str| root.get(key).and_then(Json::as_array).into_iter().flatten().enumerate();
        for (index, node) in items("nodes") {
            let place = JsonPath::root().at("nodes").at(index);
            let Some(id) = text_or_number(node.get("id")) else {
                self.lost(&place, "a node without an id");
                continue;
            };
            if self.named(&id).is_some() {
                self.lost(&place, format!("the node `{id}`: another one has this id"));
                continue;
            }
            let metadata = node.get("metadata").filter(|metadata| metadata.is_object());
            let interrupt = metadata.and_then(|metadata| metadata.get("__interrupt")).and_then(Json::as_str);
            let classes = node.pointer("/data/id").and_then(Json::as_array).into_iter().flatten();
            let is_subgraph = classes.filter_map(Json::as_str).any(|class| class.starts_with("Compiled"));
            self.nodes.push(LangGraphNode {
                id,
                interrupt: interrupt.map(str::to_owned),
                metadata: metadata.cloned(),
                is_subgraph,
                place,
            });
        }
        for (index, edge) in items("edges") {
            let place = JsonPath::root().at("edges").at(index);
            let end = |key: &str| text_or_number(edge.get(key)).and_then(|id| self.named(&id));
            let (Some(source), Some(target)) = (end("source"), end("target")) else {
                let name = |key: &str| text_or_number(edge.get(key)).unwrap_or_else(|| "?".to_owned());
                let message = format!(
                    "the edge `{}` → `{}`: one of its nodes does not exist",
                    name("source"),
                    name("target")
                );
                self.lost(&place, message);
                continue;
            };
            let label = text_or_number(edge.get("data")).filter(|label| !label.is_empty());
            let is_conditional = edge.get("conditional").and_then(Json::as_bool).unwrap_or(false);
            let choice = is_conditional.then(|| label.unwrap_or_else(|| self.nodes[target].id.clone()));
            self.edges.push(LangGraphEdge { source, target, choice });
        }
        self.drop_drawn_ends();
    }

    /// LangGraph draws a way to the end where no edge leads: a conditional edge beside unconditional ones, which are taken
    /// independently of what the node returns.
    fn drop_drawn_ends(&mut self) {
        let is_drawn = |edge: &LangGraphEdge| {
            let mut others = self.edges.iter().filter(|other| other.source == edge.source);
            self.nodes[edge.target].id == END
                && edge.choice.as_deref() == Some(END)
                && others.clone().filter(|other| other.choice.is_some()).count() == 1
                && others.any(|other| other.choice.is_none())
        };
        let drawn: Vec<bool> = self.edges.iter().map(is_drawn).collect();
        let mut drawn = drawn.into_iter();
        self.edges.retain(|_| !drawn.next().unwrap_or(false));
    }

    fn named(&self, id: &str) -> Option<usize> {
        self.nodes.iter().position(|node| node.id == id)
    }

    /// Follows the edges from the start through all supersteps.
    fn explore(&mut self, first: Superstep) -> Result<(), ImportError> {
        let mut open = vec![first];
        while let Some(step) = open.pop() {
            if self.ways.contains_key(&step) {
                continue;
            }
            if self.ways.len() >= SETS_MAX {
                return Err(ImportError::Malformed {
                    line: 1,
                    message: format!("more than {SETS_MAX} sets of nodes can run together"),
                });
            }
            let ways = self.ways_from(&step)?;
            open.extend(ways.iter().map(|way| way.next.clone()).filter(|next| !next.is_empty()));
            self.ways.insert(step, ways);
        }
        Ok(())
    }

    /// Every combination of choices of the nodes in a superstep.
    fn ways_from(&mut self, step: &Superstep) -> Result<Vec<Way>, ImportError> {
        let mut ways = vec![Vec::new()];
        for node in step {
            let choices: Vec<usize> = (0..self.edges.len())
                .filter(|edge| self.edges[*edge].source == *node && self.edges[*edge].choice.is_some())
                .collect();
            if choices.is_empty() {
                continue;
            }
            if ways.len() * choices.len() > CHOICES_MAX {
                let line = self.lines.line(&self.nodes[*node].place);
                let message = format!(
                    "more than {CHOICES_MAX} combinations of choices in one superstep at `{}`",
                    self.nodes[*node].id
                );
                return Err(ImportError::Malformed { line, message });
            }
            ways = ways
                .iter()
                .flat_map(|chosen: &Vec<usize>| {
                    choices.iter().map(move |edge| [&chosen[..], &[*edge]].concat())
                })
                .collect();
        }
        let ways: Vec<Way> = ways.into_iter().map(|chosen| self.way(step, chosen)).collect();
        for way in &ways {
            self.check_joins(step, way);
        }
        Ok(ways)
    }

    fn way(&self, step: &Superstep, chosen: Vec<usize>) -> Way {
        let plain = (0..self.edges.len())
            .filter(|edge| step.contains(&self.edges[*edge].source) && self.edges[*edge].choice.is_none());
        let mut next: Superstep =
            plain.chain(chosen.iter().copied()).map(|edge| self.edges[edge].target).collect();
        next.retain(|node| self.nodes[*node].id != END);
        next.sort_unstable();
        next.dedup();
        Way { chosen, next }
    }

    /// A node after several others: the JSON does not contain whether it waits for all of them. That makes a difference
    /// if one of them comes in a later superstep.
    fn check_joins(&mut self, step: &Superstep, way: &Way) {
        for node in &way.next {
            let sources: Vec<usize> = self
                .edges
                .iter()
                .filter(|edge| edge.target == *node && edge.choice.is_none())
                .map(|edge| edge.source)
                .collect();
            let late = sources.iter().find(|source| {
                let others = way.next.iter().filter(|other| *other != node);
                !step.contains(source)
                    && others.into_iter().any(|other| self.leads_to(*other, **source, *node))
            });
            if let Some(late) = late {
                let (id, late) = (self.nodes[*node].id.clone(), self.nodes[*late].id.clone());
                let place = self.nodes[*node].place.clone();
                self.lost(
                    &place,
                    format!("the fan-in at `{id}`: `{late}` ends in a later superstep, and the JSON does not contain whether `{id}` waits for it or runs twice"),
                );
            }
        }
    }

    /// Returns true if `from` is `to` or leads there without passing `without`.
    fn leads_to(&self, from: usize, to: usize, without: usize) -> bool {
        let mut seen = vec![from];
        let mut at = 0;
        while let Some(node) = seen.get(at).copied() {
            if node == to {
                return true;
            }
            at += 1;
            for edge in self.edges.iter().filter(|edge| edge.source == node && edge.target != without) {
                if !seen.contains(&edge.target) {
                    seen.push(edge.target);
                }
            }
        }
        false
    }
}

/// Ids are strings; graphs without names count their nodes.
fn text_or_number(json: Option<&Json>) -> Option<String> {
    match json? {
        Json::String(text) => Some(text.clone()),
        Json::Number(number) => Some(number.to_string()),
        Json::Null | Json::Bool(_) | Json::Array(_) | Json::Object(_) => None,
    }
}
