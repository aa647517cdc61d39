//! The choice of the next edge, in the order of the runners: conditions that hold, the label that the result prefers, the
//! node that it suggests, then the edge with the highest weight.

use super::conditions::{OUTCOMES, ThreadNames, context_key, label_forms, translate};
use super::nodes::DotNodeKind;
use super::parse::DotEdge;
use super::{DotImporter, FAILED, GATES, is_drawing};
use crate::ecmascript::text_literal;
use crate::yaml::Yaml;

/// The main course of a workflow, or a branch between a fan-out and its fan-in.
#[derive(Clone, Debug)]
pub(super) struct Thread {
    pub(super) names: ThreadNames,
    /// The path of the state that holds the nodes, with the chart's id.
    pub(super) path: String,
    /// The fan-in that ends a branch, and the final state for it.
    pub(super) join: Option<usize>,
}

/// Attributes of an edge that are carried over, concern the session of an agent, or only the drawing of edges.
const EDGE_KEYS: [&str; 24] = [
    "condition",
    "weight",
    "loop_restart",
    "freeform",
    "fidelity",
    "thread_id",
    "id",
    "class",
    "decorate",
    "headclip",
    "tailclip",
    "samehead",
    "sametail",
    "labelangle",
    "labeldistance",
    "labelfloat",
    "labelfontcolor",
    "labelfontname",
    "labelfontsize",
    "labeltooltip",
    "edgetooltip",
    "headtooltip",
    "tailtooltip",
    "colorscheme",
];

/// The final state of a branch.
pub(super) const JOINED: &str = "joined";

impl Thread {
    pub(super) fn target(&self, importer: &DotImporter, node: usize) -> Yaml {
        if self.join == Some(node) {
            return Yaml::Text(format!("{}.{JOINED}", self.path));
        }
        let is_guarded = importer.kind(node) == DotNodeKind::Exit
            && (0..importer.graph.nodes.len()).any(|n| importer.is_gate(n));
        let key = &importer.keys[node];
        Yaml::Text(if is_guarded {
            format!("{}.{GATES}_{key}", self.path)
        } else {
            format!("{}.{key}", self.path)
        })
    }
}

impl DotImporter {
    /// Where a failure without a way out leads: the end of the workflow, or of the branch.
    pub(super) fn failure(&mut self, thread: &Thread) -> Yaml {
        match thread.join {
            Some(_) => Yaml::Text(format!("{}.{JOINED}", thread.path)),
            None => self.use_final(FAILED),
        }
    }

    /// The label of an edge, by which a person chooses it.
    pub(super) fn label<'a>(&'a self, edge: &'a DotEdge) -> &'a str {
        edge.get("label").unwrap_or(&self.graph.nodes[edge.to].id)
    }

    /// Returns the transitions of a node, or the target alone if there is only one way.
    pub(super) fn routes(&mut self, number: usize, thread: &Thread) -> Yaml {
        self.refuse_edges(number);
        let kind = self.kind(number);
        let mut edges: Vec<usize> =
            (0..self.graph.edges.len()).filter(|edge| self.graph.edges[*edge].from == number).collect();
        let in_order = edges.clone();
        edges.sort_by(|a, b| {
            let weight = |edge: usize| {
                self.graph.edges[edge].get("weight").and_then(|w| w.parse::<f64>().ok()).unwrap_or(0.0)
            };
            let id = |edge: usize| &self.graph.nodes[self.graph.edges[edge].to].id;
            weight(*b).total_cmp(&weight(*a)).then_with(|| id(*a).cmp(id(*b)))
        });
        let has_condition =
            |importer: &Self, edge: usize| importer.graph.edges[edge].get("condition").is_some();
        let mut routes: Vec<(Yaml, Option<String>)> = Vec::new();
        for edge in edges.iter().copied() {
            let (line, to) = (self.graph.edges[edge].line, self.graph.edges[edge].to);
            let Some(condition) = self.graph.edges[edge].get("condition").map(str::to_owned) else {
                continue;
            };
            match translate(&condition, &thread.names) {
                Ok(guard) => routes.push((thread.target(self, to), Some(guard))),
                Err(reason) => self.notes.lost(line, reason),
            }
        }
        let has_choice =
            in_order.iter().any(|edge| self.graph.edges[*edge].to != self.graph.edges[in_order[0]].to);
        if has_choice && matches!(kind, DotNodeKind::Work | DotNodeKind::Human | DotNodeKind::FanIn) {
            self.by_result(&in_order, kind, thread, &mut routes);
        }
        let rest = edges.iter().copied().find(|edge| !has_condition(self, *edge));
        let is_choice = kind == DotNodeKind::Human && has_choice;
        match rest.filter(|_| !is_choice) {
            Some(edge) => {
                let to = self.graph.edges[edge].to;
                if kind == DotNodeKind::Human {
                    let guard = format!("{} != 'fail'", thread.names.context("outcome"));
                    routes.push((thread.target(self, to), Some(guard)));
                    routes.push((self.failure(thread), None));
                } else {
                    routes.push((thread.target(self, to), None));
                }
            }
            None => self.without_edge(number, edges.is_empty(), thread, &mut routes),
        }
        written(routes)
    }

    /// The preferred label, then the suggested node, of the node's result.
    fn by_result(
        &self,
        edges: &[usize],
        kind: DotNodeKind,
        thread: &Thread,
        routes: &mut Vec<(Yaml, Option<String>)>,
    ) {
        let preferred =
            format!("lower(trim(string(default({}, ''))))", thread.names.context("preferred_label"));
        for edge in edges.iter().map(|edge| &self.graph.edges[*edge]) {
            if edge.get("label").is_none() && kind != DotNodeKind::Human {
                continue;
            }
            let mut forms = label_forms(self.label(edge));
            forms.push(self.graph.nodes[edge.to].id.to_lowercase());
            forms.dedup();
            let forms: Vec<_> = forms.iter().map(|form| text_literal(form)).collect();
            routes
                .push((thread.target(self, edge.to), Some(format!("{preferred} in [{}]", forms.join(", ")))));
        }
        if kind == DotNodeKind::Human {
            return;
        }
        let suggested = format!("get(default({}, []), 0)", thread.names.context("suggested"));
        for edge in edges.iter().map(|edge| &self.graph.edges[*edge]) {
            let id = text_literal(&self.graph.nodes[edge.to].id);
            routes.push((thread.target(self, edge.to), Some(format!("{suggested} == {id}"))));
        }
    }

    /// No edge is chosen: after a failure the retry target or the end as a failure; without any edge the end.
    fn without_edge(
        &mut self,
        number: usize,
        is_end: bool,
        thread: &Thread,
        routes: &mut Vec<(Yaml, Option<String>)>,
    ) {
        let failed = format!("{} == 'fail'", thread.names.context("outcome"));
        if let Some(node) = self.retry_target(number) {
            routes.push((thread.target(self, node), Some(failed.clone())));
        }
        match (is_end, thread.join) {
            (true, None) => {
                let end = self.failure(thread);
                routes.push((end, Some(failed)));
                routes.push((self.completed(), None));
            }
            _ => routes.push((self.failure(thread), None)),
        }
    }

    fn refuse_edges(&mut self, number: usize) {
        let edges: Vec<_> = self.graph.edges.iter().filter(|edge| edge.from == number).collect();
        let mut lost = Vec::new();
        for edge in edges {
            for (key, value, line) in &edge.attributes {
                match key.as_str() {
                    "loop_restart" if value == "true" => {
                        lost.push((*line, "`loop_restart`: a run does not start anew".to_owned()))
                    }
                    "freeform" if value == "true" => {
                        lost.push((*line, "`freeform`: a gate offers its labels only".to_owned()))
                    }
                    key if EDGE_KEYS.contains(&key) || is_drawing(key) || value.is_empty() => {}
                    // It may decide which edge is taken.
                    key => lost.push((*line, format!("`{key}` of an edge: its meaning is not known"))),
                }
            }
        }
        for (line, message) in lost {
            self.notes.lost(line, message);
        }
    }

    /// Stores the result of a node: its outcome, what it prefers, and the context keys that conditions read.
    pub(super) fn results(&mut self, number: usize, is_human: bool, thread: &Thread) -> Yaml {
        let is_map = "type(event.data) == 'map'";
        let names = &thread.names;
        let outcome = if is_human {
            format!("{is_map} and event.data.approved == false ? 'fail' : 'success'")
        } else {
            // Runners differ in the words for an outcome.
            let given = "string(default(event.data.outcome, default(event.data.status, 'success')))";
            let words: Vec<_> = OUTCOMES.iter().map(|(theirs, ours)| format!("{theirs}: '{ours}'")).collect();
            format!("{is_map} ? get({{{}}}, {given}, {given}) : 'success'", words.join(", "))
        };
        // A person's answer has known keys: `approved` and the form in `data`. `get` also takes the words of runners.
        let (preferred, suggested) = if is_human {
            let inner = "type(event.data.data) == 'map' ? event.data.data.choice : null";
            let get = |key: &str| format!("get(event.data, '{key}')");
            let given = format!("default({}, default({}, ({inner})))", get("preferred_label"), get("choice"));
            (format!("{is_map} ? {given} : event.data"), Yaml::Null)
        } else {
            let preferred = "default(event.data.preferred_label, event.data.preferred_next_label)";
            let suggested = format!("{is_map} ? event.data.suggested_next_ids : null");
            (format!("{is_map} ? {preferred} : null"), Yaml::Text(suggested))
        };
        let mut updates = vec![
            (names.of("outcome"), Yaml::Text(outcome.clone())),
            (names.of("preferred_label"), Yaml::Text(preferred)),
            (names.of("suggested"), suggested),
        ];
        let keys = if is_human { Vec::new() } else { self.condition_keys() };
        for key in keys {
            let name = names.of(&context_key(&key));
            let literal = text_literal(&key);
            let own = format!("default(get(event.data, {literal}), context.{name})");
            let value = format!(
                "{is_map} ? default(get(default(event.data.context_updates, {{}}), {literal}), {own}) : context.{name}"
            );
            updates.push((name, Yaml::Text(value)));
        }
        if self.is_gate(number) {
            updates.push((self.gate_key(number), Yaml::Text(outcome)));
        }
        self.named_action(if is_human { "keep_answer" } else { "keep_result" }, assign(updates))
    }

    pub(super) fn failed_results(&mut self, number: usize, outcome: &str, thread: &Thread) -> Yaml {
        let outcome = Yaml::Text(text_literal(outcome));
        let names = &thread.names;
        let mut updates = vec![
            (names.of("outcome"), outcome.clone()),
            (names.of("preferred_label"), Yaml::Null),
            (names.of("suggested"), Yaml::Null),
        ];
        if self.is_gate(number) {
            updates.push((self.gate_key(number), outcome));
            let key = self.gate_key(number);
            self.context.insert(key, Yaml::Null);
        }
        self.named_action("keep_failure", assign(updates))
    }

    /// Nodes store their results in the same way: the action is defined once.
    fn named_action(&mut self, name: &str, action: Yaml) -> Yaml {
        if let Some((known, _)) = self.actions.iter().find(|(_, known)| *known == action) {
            return Yaml::text(known);
        }
        let count = self.actions.iter().filter(|(known, _)| known.starts_with(name)).count();
        let name = if count == 0 { name.to_owned() } else { format!("{name}_{}", count + 1) };
        self.actions.push((name.clone(), action));
        Yaml::Text(name)
    }
}

pub(super) fn assign(updates: Vec<(String, Yaml)>) -> Yaml {
    Yaml::map([("type", Yaml::text("assign")), ("context_updates", Yaml::Map(updates))])
}

fn written(mut routes: Vec<(Yaml, Option<String>)>) -> Yaml {
    // What follows a transition without a guard is never reached.
    if let Some(last) = routes.iter().position(|(_, guard)| guard.is_none()) {
        routes.truncate(last + 1);
    }
    match &routes[..] {
        [(target, None)] => target.clone(),
        _ => Yaml::List(
            routes
                .into_iter()
                .map(|(target, guard)| {
                    let mut route = Yaml::map([("target", target)]);
                    route.push_some("guard", guard.map(Yaml::Text));
                    route
                })
                .collect(),
        ),
    }
}
