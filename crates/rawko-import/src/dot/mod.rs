//! Workflows of agent runners in Graphviz DOT: a node is a piece of work, an edge the way to the next one. Shapes and
//! attributes are those that the runners agree on (`Mdiamond`, `Msquare`, `box`, `hexagon`, `diamond`, `component`,
//! `tripleoctagon`, `parallelogram`; `prompt`, `condition`, `weight`, `max_retries`, …).

mod branches;
mod conditions;
mod nodes;
mod parse;
mod routes;
mod token;

use std::collections::BTreeMap;

use self::conditions::ThreadNames;
use self::nodes::DotNodeKind;
use self::parse::{DotGraph, get};
use self::routes::Thread;
use super::yaml::Yaml;
use super::{ImportError, ImportOptions, ImportResult, Notes};

/// Final states of the chart besides the exits of the workflow.
const FAILED: &str = "failed";
const COMPLETED: &str = "completed";
/// Checks the goal gates before an exit.
const GATES: &str = "goal_gates";

/// Graph attributes that take effect; others concern the drawing or the runner.
const GRAPH_KEYS: [&str; 7] = [
    "goal",
    "label",
    "default_max_retry",
    "default_max_retries",
    "retry_target",
    "fallback_retry_target",
    "max_node_visits",
];

/// Graph attributes that change the course of a workflow in ways that a chart does not have.
const GRAPH_REFUSED: [&str; 2] = ["stack.child_dotfile", "vars"];

/// Imports a workflow.
pub fn dot(text: &str, options: ImportOptions<'_>) -> Result<ImportResult, ImportError> {
    let graph = parse::parse(text)?;
    let id = graph.name.clone().filter(|name| !name.is_empty()).or(options.id.map(str::to_owned));
    let id = id.unwrap_or_else(|| "imported".to_owned());
    let keys = keys(&graph);
    let mut importer = DotImporter {
        id: id.clone(),
        graph,
        keys,
        notes: Notes::default(),
        context: BTreeMap::new(),
        uses: Vec::new(),
        actions: Vec::new(),
    };
    let chart = importer.chart(&id)?;
    let notes = importer.notes.finish();
    let yaml = super::heading("DOT", &notes) + &chart.write();
    Ok(ImportResult { id, yaml, charts: Vec::new(), notes })
}

/// The import of one graph.
struct DotImporter {
    id: String,
    graph: DotGraph,
    /// The states' keys by node.
    keys: Vec<String>,
    notes: Notes,
    /// Initial values of the context.
    context: BTreeMap<String, Yaml>,
    /// Final states that are targets.
    uses: Vec<&'static str>,
    /// Named actions that store results.
    actions: Vec<(String, Yaml)>,
}

impl DotImporter {
    fn chart(&mut self, id: &str) -> Result<Yaml, ImportError> {
        let start = self.start()?;
        self.graph_attributes();
        let thread = Thread { names: ThreadNames::default(), path: format!("#{id}"), join: None };
        self.declare(&thread.names);
        let reached = self.reached(start);
        for (number, node) in self.graph.nodes.iter().enumerate() {
            if !reached.contains(&number) {
                self.notes.changed(node.line, format!("the node `{}` cannot be reached: left out", node.id));
            }
        }
        let branches = self.branch_nodes(&reached);
        let mut states = Vec::new();
        for number in reached.iter().copied().filter(|number| !branches.contains(number)) {
            let state = self.state(number, &thread);
            states.push((self.keys[number].clone(), state));
        }
        self.gates(&mut states);
        for name in [COMPLETED, FAILED].into_iter().filter(|name| self.uses.contains(name)) {
            let output = Yaml::map([(
                "outcome",
                Yaml::text(if name == FAILED { "'fail'" } else { "context.outcome" }),
            )]);
            states.push((name.to_owned(), Yaml::map([("type", Yaml::text("final")), ("output", output)])));
        }
        let mut chart = Yaml::map([("id", Yaml::text(id)), ("version", Yaml::text("1.0.0"))]);
        let description =
            get(&self.graph.attributes, "goal").or_else(|| get(&self.graph.attributes, "label"));
        chart.push_some("description", description.map(Yaml::text));
        chart.push("initial", Yaml::text(&self.keys[start]));
        let context = std::mem::take(&mut self.context);
        chart.push("context", Yaml::Map(context.into_iter().collect()));
        chart.push("states", Yaml::Map(states));
        let actions = std::mem::take(&mut self.actions);
        if !actions.is_empty() {
            chart.push("actions", Yaml::Map(actions));
        }
        Ok(Yaml::map([("statechart", chart)]))
    }

    /// Returns the start: by shape or type, else by name.
    fn start(&self) -> Result<usize, ImportError> {
        let starts: Vec<_> =
            (0..self.graph.nodes.len()).filter(|number| self.kind(*number) == DotNodeKind::Start).collect();
        match starts[..] {
            [start] => Ok(start),
            [] => Err(parse::error(1, "no start node: give one `shape=Mdiamond`, or name it `start`")),
            [_, second, ..] => Err(parse::error(self.graph.nodes[second].line, "a second start node")),
        }
    }

    /// Context keys of one thread: its last result, and what conditions read.
    fn declare(&mut self, names: &ThreadNames) {
        self.context.insert(names.of("outcome"), Yaml::text("success"));
        self.context.insert(names.of("preferred_label"), Yaml::Null);
        self.context.insert(names.of("suggested"), Yaml::Null);
        for key in self.condition_keys() {
            self.context.insert(names.of(&conditions::context_key(&key)), Yaml::Null);
        }
    }

    /// The context keys that conditions read, as the workflow names them.
    fn condition_keys(&self) -> Vec<String> {
        let mut found: Vec<String> = self
            .graph
            .edges
            .iter()
            .filter_map(|edge| edge.get("condition"))
            .flat_map(conditions::keys)
            .collect();
        found.sort();
        found.dedup();
        found
    }

    fn graph_attributes(&mut self) {
        for (key, value, line) in self.graph.attributes.clone() {
            if GRAPH_REFUSED.contains(&key.as_str()) {
                self.notes.lost(line, format!("the graph attribute `{key}`"));
            } else if !GRAPH_KEYS.contains(&key.as_str()) && !is_drawing(&key) && !value.is_empty() {
                self.notes
                    .changed(line, format!("the graph attribute `{key}` configures the runner: left out"));
            }
        }
    }

    /// The nodes that edges and retry targets lead to, in document order.
    fn reached(&self, start: usize) -> Vec<usize> {
        let mut found = vec![start];
        let mut at = 0;
        while let Some(from) = found.get(at).copied() {
            at += 1;
            let mut next: Vec<usize> =
                self.graph.edges.iter().filter(|edge| edge.from == from).map(|edge| edge.to).collect();
            next.extend(self.retry_target(from));
            for node in next {
                if !found.contains(&node) {
                    found.push(node);
                }
            }
        }
        found.sort_unstable();
        found
    }

    /// The node to continue with after a failure without a way out: of the node, else of the graph.
    fn retry_target(&self, node: usize) -> Option<usize> {
        let node = &self.graph.nodes[node];
        let own = node.get("retry_target").or_else(|| node.get("fallback_retry_target"));
        self.named(own?)
    }

    fn graph_retry_target(&self) -> Option<usize> {
        let attributes = &self.graph.attributes;
        self.named(get(attributes, "retry_target").or_else(|| get(attributes, "fallback_retry_target"))?)
    }

    fn named(&self, id: &str) -> Option<usize> {
        self.graph.nodes.iter().position(|node| node.id == id)
    }

    fn use_final(&mut self, name: &'static str) -> Yaml {
        if !self.uses.contains(&name) {
            self.uses.push(name);
        }
        Yaml::Text(format!("#{}.{name}", self.id))
    }
}

/// Attributes of Graphviz that concern only the drawing.
fn is_drawing(key: &str) -> bool {
    const DRAWING: [&str; 52] = [
        "rankdir",
        "label",
        "fontname",
        "fontsize",
        "fontcolor",
        "color",
        "fillcolor",
        "style",
        "bgcolor",
        "splines",
        "nodesep",
        "ranksep",
        "rank",
        "labelloc",
        "labeljust",
        "width",
        "height",
        "penwidth",
        "pencolor",
        "arrowhead",
        "arrowtail",
        "arrowsize",
        "dir",
        "constraint",
        "compound",
        "concentrate",
        "ratio",
        "size",
        "dpi",
        "margin",
        "pad",
        "layout",
        "overlap",
        "ordering",
        "charset",
        "tooltip",
        "xlabel",
        "headlabel",
        "taillabel",
        "headport",
        "tailport",
        "lhead",
        "ltail",
        "minlen",
        "group",
        "peripheries",
        "fixedsize",
        "url",
        "href",
        "pos",
        "newrank",
        "comment",
    ];
    DRAWING.contains(&key.to_ascii_lowercase().as_str())
}

/// Keys of states: node names without the signs that targets give a meaning.
fn keys(graph: &DotGraph) -> Vec<String> {
    let mut taken: Vec<String> = [FAILED, COMPLETED, GATES].iter().map(ToString::to_string).collect();
    for node in &graph.nodes {
        let mut key: String =
            node.id.chars().map(|c| if c == '.' || c == '#' || c.is_control() { '_' } else { c }).collect();
        if key.is_empty() {
            key.push('_');
        }
        while taken.contains(&key) {
            key.push('_');
        }
        taken.push(key);
    }
    taken.split_off(3)
}
