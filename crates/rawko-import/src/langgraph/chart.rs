//! The chart of a graph: a superstep with one node is a state with an invoke, one with several a parallel state with a
//! region for each.

use super::{END, LangGraphImporter, START, Superstep, Way};
use crate::ImportError;
use crate::ecmascript::text_literal;
use crate::yaml::Yaml;

/// Final states for errors of a node, and for a choice without an edge.
const FAILED: &str = "failed";
const NO_ROUTE: &str = "no_route";
/// The event that continues a run that was interrupted.
const RESUME: &str = "RESUME";

impl LangGraphImporter {
    pub(super) fn chart(&mut self, id: &str) -> Result<Yaml, ImportError> {
        let start = self.named(START);
        let start = start.ok_or_else(|| ImportError::Malformed {
            line: 1,
            message: "the graph has no node `__start__`".to_owned(),
        })?;
        let chooses = self.edges.iter().any(|edge| edge.source == start && edge.choice.is_some());
        let first: Superstep = if chooses { vec![start] } else { self.way(&vec![start], Vec::new()).next };
        if first.is_empty() {
            return Err(ImportError::Malformed {
                line: 1,
                message: "no edge leads from `__start__` to a node".to_owned(),
            });
        }
        if chooses {
            let place = self.nodes[start].place.clone();
            self.notes.unwritten(
                self.lines.line(&place),
                format!("the choice at `{START}` was code: a service `{START}` returns it"),
            );
        }
        self.explore(first.clone())?;
        self.unreached(start);
        let steps: Vec<Superstep> = self.ways.keys().cloned().collect();
        let mut states = Vec::new();
        for step in &steps {
            self.step_states(step, id, &mut states);
        }
        if self.ways.values().flatten().any(|way| way.next.is_empty()) {
            let ended = [("type", Yaml::text("final")), ("output", Yaml::text("context"))];
            states.push((END.to_owned(), Yaml::map(ended)));
        }
        let failed = [("type", Yaml::text("final")), ("output", Yaml::text("{error: event.data}"))];
        states.push((FAILED.to_owned(), Yaml::map(failed)));
        if self.edges.iter().any(|edge| edge.choice.is_some()) {
            let output = Yaml::text("{error: 'a node returned a choice that no edge has'}");
            states
                .push((NO_ROUTE.to_owned(), Yaml::map([("type", Yaml::text("final")), ("output", output)])));
        }
        let ids: Vec<usize> =
            (0..self.nodes.len()).filter(|node| steps.iter().any(|step| step.contains(node))).collect();
        let context = ids.iter().map(|node| (self.context_key(*node), Yaml::Null)).collect();
        let chart = Yaml::map([
            ("id", Yaml::text(id)),
            ("version", Yaml::text("1.0.0")),
            ("initial", Yaml::text(self.entry_key(&first))),
            ("context", Yaml::Map(context)),
            ("states", Yaml::Map(states)),
        ]);
        Ok(Yaml::map([("statechart", chart)]))
    }

    /// Nodes that no edge leads to: LangGraph may reach them by a command, which the JSON does not contain.
    fn unreached(&mut self, start: usize) {
        for node in 0..self.nodes.len() {
            let is_run = node == start
                || self.nodes[node].id == END
                || self.ways.keys().any(|step| step.contains(&node));
            let (place, id) = (self.nodes[node].place.clone(), self.nodes[node].id.clone());
            if !is_run {
                self.lost(
                    &place,
                    format!(
                        "the node `{id}`: no edge leads to it (a `Command` may; declare its `destinations`)"
                    ),
                );
            } else if self.nodes[node].is_subgraph {
                self.notes.changed(
                    self.lines.line(&place),
                    format!("the node `{id}` is a graph: import it on its own and invoke `statechart:<id>`, or export with `xray=True`"),
                );
            }
        }
    }

    /// The key of a superstep: its nodes.
    fn key(&self, step: &Superstep) -> String {
        let keys: Vec<_> = step.iter().map(|node| state_key(&self.nodes[*node].id)).collect();
        let key = keys.join("+");
        if matches!(key.as_str(), END | FAILED | NO_ROUTE) { format!("{key}_") } else { key }
    }

    /// The key of the state to enter: a pause before it, if one of its nodes is interrupted.
    fn entry_key(&self, step: &Superstep) -> String {
        let key = self.key(step);
        if self.interrupts(step, "before") { format!("before_{key}") } else { key }
    }

    fn interrupts(&self, step: &Superstep, when: &str) -> bool {
        step.iter().any(|node| self.nodes[*node].interrupt.as_deref() == Some(when))
    }

    fn step_states(&self, step: &Superstep, id: &str, states: &mut Vec<(String, Yaml)>) {
        let key = self.key(step);
        if self.interrupts(step, "before") {
            states.push((format!("before_{key}"), pause(&key)));
        }
        let ways = &self.ways[step];
        let pauses = self.interrupts(step, "after");
        let mut after = Vec::new();
        let mut target = |way: &Way| -> String {
            let next = if way.next.is_empty() { END.to_owned() } else { self.entry_key(&way.next) };
            if !pauses {
                return next;
            }
            let pause_key = format!("after_{key}_to_{next}");
            if !after.iter().any(|(known, _)| *known == pause_key) {
                after.push((pause_key.clone(), pause(&next)));
            }
            pause_key
        };
        let state = match step[..] {
            [node] => {
                let routes = self.routes(ways, "event.data", &mut target);
                let mut state = self.documented(node);
                state.push("invoke", self.invoke(node, routes, FAILED));
                state
            }
            _ => {
                let mut state = Yaml::map([("type", Yaml::text("parallel"))]);
                let routes = self.routes(ways, "", &mut target);
                state.push("onDone", without_actions(routes));
                let failed = format!("#{id}.{FAILED}");
                let regions = step.iter().map(|node| {
                    let done = vec![(Yaml::text("done"), None)];
                    let mut run = self.documented(*node);
                    run.push("invoke", self.invoke(*node, done, &failed));
                    let states = vec![
                        ("run".to_owned(), run),
                        ("done".to_owned(), Yaml::map([("type", Yaml::text("final"))])),
                    ];
                    let region = Yaml::map([("initial", Yaml::text("run")), ("states", Yaml::Map(states))]);
                    (state_key(&self.nodes[*node].id), region)
                });
                state.push("states", Yaml::Map(regions.collect()));
                state
            }
        };
        states.push((key.clone(), state));
        states.append(&mut after);
    }

    /// One transition for each combination of choices. `result` is where a single node's result is; the results of several
    /// nodes are in the context.
    fn routes(
        &self,
        ways: &[Way],
        result: &str,
        target: &mut dyn FnMut(&Way) -> String,
    ) -> Vec<(Yaml, Option<String>)> {
        let mut routes = Vec::new();
        for way in ways {
            let guards: Vec<_> = way.chosen.iter().map(|edge| self.chosen(*edge, result)).collect();
            let guard = (!guards.is_empty()).then(|| guards.join(" and "));
            routes.push((Yaml::Text(target(way)), guard));
        }
        if routes.iter().all(|(_, guard)| guard.is_some()) {
            routes.push((Yaml::text(NO_ROUTE), None));
        }
        routes
    }

    /// The condition that a node's result chooses an edge: it is the label or the target, alone or as `next`.
    fn chosen(&self, edge: usize, result: &str) -> String {
        let edge = &self.edges[edge];
        let result = match result {
            "" => format!("context.{}", self.context_key(edge.source)),
            result => result.to_owned(),
        };
        let label = edge.choice.clone().unwrap_or_default();
        let id = self.nodes[edge.target].id.clone();
        // A target's name is not a choice if another edge has it as its label.
        let is_label = |name: &str| {
            self.edges
                .iter()
                .any(|other| other.source == edge.source && other.choice.as_deref() == Some(name))
        };
        let same_target = self
            .edges
            .iter()
            .filter(|other| other.source == edge.source && other.target == edge.target)
            .count();
        let choice = format!("(type({result}) == 'map' ? {result}.next : {result})");
        match label == id || is_label(&id) || same_target > 1 {
            true => format!("{choice} == {}", text_literal(&label)),
            false => format!("{choice} in [{}, {}]", text_literal(&label), text_literal(&id)),
        }
    }

    fn documented(&self, node: usize) -> Yaml {
        let mut state = Yaml::Map(Vec::new());
        let metadata = self.nodes[node].metadata.as_ref().and_then(serde_json::Value::as_object);
        let shown: Vec<_> = metadata
            .into_iter()
            .flatten()
            .filter(|(key, _)| !key.starts_with("__"))
            .map(|(key, value)| (key.clone(), Yaml::from_json(value)))
            .collect();
        if !shown.is_empty() {
            state.push("meta", Yaml::Map(shown));
        }
        state
    }

    fn invoke(&self, node: usize, routes: Vec<(Yaml, Option<String>)>, failed: &str) -> Yaml {
        let id = &self.nodes[node].id;
        let key = self.key(&vec![node]);
        let keep = Yaml::map([
            ("type", Yaml::text("assign")),
            ("context_updates", Yaml::Map(vec![(self.context_key(node), Yaml::text("event.data"))])),
        ]);
        let mut transitions: Vec<_> = routes
            .into_iter()
            .map(|(target, guard)| {
                // The superstep of this node alone follows itself: its invoke starts again.
                let runs_again = matches!(&target, Yaml::Text(target) if *target == key);
                let mut transition = Yaml::map([("target", target)]);
                transition.push_some("guard", guard.map(Yaml::Text));
                if runs_again {
                    transition.push("reenter", Yaml::Bool(true));
                }
                transition.push("actions", Yaml::List(vec![keep.clone()]));
                transition
            })
            .collect();
        let done = if transitions.len() == 1 { transitions.remove(0) } else { Yaml::List(transitions) };
        Yaml::map([
            ("id", Yaml::text(state_key(id))),
            ("src", crate::name_or_literal(id)),
            ("input", Yaml::text("context")),
            ("onDone", done),
            ("onError", Yaml::text(failed)),
        ])
    }

    /// The context key of a node's result, different for each node.
    fn context_key(&self, node: usize) -> String {
        let plain = |id: &str| -> String {
            let key: String = id.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
            if key.starts_with(|c: char| c.is_ascii_digit()) { format!("_{key}") } else { key }
        };
        let key = plain(&self.nodes[node].id);
        let is_taken = self.nodes[..node].iter().any(|other| plain(&other.id) == key);
        if is_taken { format!("{key}_{node}") } else { key }
    }
}

fn pause(next: &str) -> Yaml {
    Yaml::map([("on", Yaml::Map(vec![(RESUME.to_owned(), Yaml::text(next))]))])
}

fn without_actions(routes: Vec<(Yaml, Option<String>)>) -> Yaml {
    let mut transitions: Vec<_> = routes
        .into_iter()
        .map(|(target, guard)| {
            let mut transition = Yaml::map([("target", target)]);
            transition.push_some("guard", guard.map(Yaml::Text));
            transition
        })
        .collect();
    if transitions.len() == 1 { transitions.remove(0) } else { Yaml::List(transitions) }
}

/// A node's name as a key of a state, without the signs that targets give a meaning.
fn state_key(id: &str) -> String {
    let key: String = id.chars().map(|c| if matches!(c, '.' | '#' | '+') { '_' } else { c }).collect();
    if key.is_empty() { "_".to_owned() } else { key }
}
