//! Nodes as states: work is an invoke, a decision is a state that only routes, an exit is final.

use serde_json::json;

use super::parse::DotNode;
use super::{COMPLETED, DotImporter, FAILED, GATES, is_drawing};
use crate::ecmascript::{literal, text_literal};
use crate::yaml::Yaml;

use super::routes::Thread;

/// The work of a node, by its `type`, else by its shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DotNodeKind {
    Start,
    Exit,
    /// An agent, a prompt, a tool or a command.
    Work,
    Human,
    Decision,
    FanOut,
    FanIn,
    /// A pause of a fixed length.
    Wait,
    /// A kind of node without a counterpart.
    Foreign,
}

/// Attributes of a node that change the course of a workflow in ways that a chart does not have.
const REFUSED: [&str; 4] = ["import", "stack.child_dotfile", "stack.child_workflow", "selection"];

/// Attributes that are not part of the input of a node's work.
const STRUCTURAL: [&str; 20] = [
    "shape",
    "type",
    "handler",
    "node_type",
    "human.timeout",
    "max_retries",
    "timeout",
    "goal_gate",
    "retry_target",
    "fallback_retry_target",
    "max_visits",
    "join_policy",
    "error_policy",
    "max_parallel",
    "human.default_choice",
    "auto_status",
    "allow_partial",
    "prompt",
    "label",
    "retry_policy",
];

/// Returns the kind that a node names itself. Runners differ in the word for it.
fn declared_kind(node: &DotNode) -> Option<&str> {
    ["type", "handler", "node_type"].iter().find_map(|key| node.get(key))
}

impl DotImporter {
    pub(super) fn kind(&self, number: usize) -> DotNodeKind {
        let node = &self.graph.nodes[number];
        if let Some(kind) = declared_kind(node) {
            return match kind {
                "start" => DotNodeKind::Start,
                "exit" => DotNodeKind::Exit,
                "wait.human" | "human" => DotNodeKind::Human,
                "conditional" => DotNodeKind::Decision,
                "parallel" => DotNodeKind::FanOut,
                "parallel.fan_in" => DotNodeKind::FanIn,
                "wait" | "wait.timer" => DotNodeKind::Wait,
                "stack.manager_loop" => DotNodeKind::Foreign,
                _ => DotNodeKind::Work,
            };
        }
        match node.get("shape").map(str::to_ascii_lowercase).as_deref() {
            Some("mdiamond") => DotNodeKind::Start,
            Some("msquare") => DotNodeKind::Exit,
            Some("hexagon") => DotNodeKind::Human,
            Some("diamond") => DotNodeKind::Decision,
            Some("component") => DotNodeKind::FanOut,
            Some("tripleoctagon") => DotNodeKind::FanIn,
            Some("insulator") => DotNodeKind::Wait,
            Some("house") => DotNodeKind::Foreign,
            _ => {
                let has_start = self.graph.nodes.iter().any(|node| {
                    declared_kind(node) == Some("start")
                        || node.get("shape").is_some_and(|shape| shape.eq_ignore_ascii_case("mdiamond"))
                });
                let has_exit = self.graph.nodes.iter().any(|node| {
                    declared_kind(node) == Some("exit")
                        || node.get("shape").is_some_and(|shape| shape.eq_ignore_ascii_case("msquare"))
                });
                match node.id.as_str() {
                    "start" | "Start" if !has_start => DotNodeKind::Start,
                    "exit" | "Exit" | "end" | "End" if !has_exit => DotNodeKind::Exit,
                    _ => DotNodeKind::Work,
                }
            }
        }
    }

    pub(super) fn state(&mut self, number: usize, thread: &Thread) -> Yaml {
        self.refuse_attributes(number);
        let mut state = Yaml::Map(Vec::new());
        let node = &self.graph.nodes[number];
        let label = node.get("label").filter(|label| *label != self.keys[number]);
        state.push_some("description", label.map(Yaml::text));
        match self.kind(number) {
            DotNodeKind::Exit => {
                state.push("type", Yaml::text("final"));
                state.push("output", Yaml::map([("outcome", Yaml::text(thread.names.context("outcome")))]));
            }
            DotNodeKind::Start => {
                self.no_visits(number);
                state.push("always", self.routes(number, thread));
            }
            DotNodeKind::Decision => self.passing(&mut state, number, thread),
            DotNodeKind::FanIn if node.get("prompt").is_none() => self.passing(&mut state, number, thread),
            DotNodeKind::Wait => {
                let (line, id) = (node.line, node.id.clone());
                let duration = node.get("duration").filter(|text| is_duration(text)).map(str::to_owned);
                let routes = self.routes(number, thread);
                match duration {
                    Some(duration) => {
                        let after = Yaml::Map(vec![(duration, routes)]);
                        self.counted(&mut state, number, thread, "after", after);
                    }
                    None => {
                        self.notes.lost(line, format!("the wait `{id}`: it has no `duration` such as `30s`"));
                        state.push("always", routes);
                    }
                }
            }
            DotNodeKind::FanOut => {
                self.no_visits(number);
                self.fan_out(&mut state, number, thread);
            }
            DotNodeKind::Work | DotNodeKind::Human | DotNodeKind::FanIn => {
                self.work(&mut state, number, thread)
            }
            DotNodeKind::Foreign => {
                let (line, id) = (node.line, node.id.clone());
                let shape = declared_kind(node).or_else(|| node.get("shape")).unwrap_or_default().to_owned();
                self.notes.lost(line, format!("the node `{id}`: `{shape}` has no counterpart"));
                state.push("always", self.routes(number, thread));
            }
        }
        state
    }

    fn refuse_attributes(&mut self, number: usize) {
        let id = self.graph.nodes[number].id.clone();
        for (key, value, line) in self.graph.nodes[number].attributes.clone() {
            let is_of_person = key.starts_with("human.") && !STRUCTURAL.contains(&key.as_str());
            let is_refused = REFUSED.contains(&key.as_str()) || key.starts_with("manager.") || is_of_person;
            if is_refused && value != "deterministic" {
                self.notes.lost(line, format!("`{key}` of the node `{id}`"));
            }
            if matches!(key.as_str(), "retry_target" | "fallback_retry_target")
                && self.named(&value).is_none()
            {
                self.notes.lost(line, format!("`{key}` of the node `{id}`: there is no node `{value}`"));
            }
        }
    }

    /// A node that runs something: `run` waits for the result, `route` chooses the edge. With one way out there is
    /// nothing to choose.
    fn work(&mut self, state: &mut Yaml, number: usize, thread: &Thread) {
        let routes = self.routes(number, thread);
        let visits = self.max_visits(number, thread);
        let only = matches!(&routes, Yaml::Text(_)).then(|| routes.clone());
        let next = only.clone().unwrap_or_else(|| Yaml::text("route"));
        let invoke = self.invoke(number, &next, thread);
        if only.is_some() && visits.is_none() {
            state.push("invoke", invoke);
            return;
        }
        let mut states = Vec::new();
        state.push("initial", Yaml::text(if visits.is_some() { "visit" } else { "run" }));
        states.extend(visits.map(|visit| ("visit".to_owned(), visit)));
        states.push(("run".to_owned(), Yaml::map([("invoke", invoke)])));
        if only.is_none() {
            states.push(("route".to_owned(), Yaml::map([("always", routes)])));
        }
        state.push("states", Yaml::Map(states));
    }

    /// A node that only routes.
    fn passing(&mut self, state: &mut Yaml, number: usize, thread: &Thread) {
        let routes = self.routes(number, thread);
        self.counted(state, number, thread, "always", routes);
    }

    /// Puts the ways out of a node into its state, behind the count of its visits if they are limited.
    fn counted(&mut self, state: &mut Yaml, number: usize, thread: &Thread, key: &str, ways: Yaml) {
        match self.max_visits(number, thread) {
            None => state.push(key, ways),
            Some(visit) => {
                state.push("initial", Yaml::text("visit"));
                state.push("states", Yaml::map([("visit", visit), ("run", Yaml::map([(key, ways)]))]));
            }
        }
    }

    /// The limit of visits of a node, its own or that of the whole graph, where 0 is none.
    fn visits_limit(&self, number: usize) -> Option<String> {
        let whole = super::get(&self.graph.attributes, "max_node_visits").filter(|limit| *limit != "0");
        self.graph.nodes[number].get("max_visits").or(whole).map(str::to_owned)
    }

    /// Notes a limit of visits where nothing counts them.
    fn no_visits(&mut self, number: usize) {
        let is_start = self.kind(number) == DotNodeKind::Start;
        let node = &self.graph.nodes[number];
        // The workflow begins once; a limit of the whole graph holds for every other node on a way back.
        let limit =
            if is_start { node.get("max_visits").map(str::to_owned) } else { self.visits_limit(number) };
        if let Some(limit) = limit {
            let (line, id) = (node.line, node.id.clone());
            self.notes.lost(line, format!("a limit of {limit} visits of the node `{id}`, which counts none"));
        }
    }

    /// `max_visits`: counts the visits and fails beyond the limit.
    fn max_visits(&mut self, number: usize, thread: &Thread) -> Option<Yaml> {
        let text = self.visits_limit(number)?;
        let node = &self.graph.nodes[number];
        let Ok(limit) = text.parse::<u32>() else {
            let line = node.line;
            self.notes.lost(line, format!("`max_visits={text}`: not a number"));
            return None;
        };
        let key = thread.names.of(&format!("visits_{}", super::conditions::context_key(&self.keys[number])));
        self.context.insert(key.clone(), Yaml::Number(0.into()));
        let failed = self.failure(thread);
        let count = Yaml::map([
            ("type", Yaml::text("assign")),
            ("context_updates", Yaml::Map(vec![(key.clone(), Yaml::Text(format!("context.{key} + 1")))])),
        ]);
        Some(Yaml::map([(
            "always",
            Yaml::List(vec![
                Yaml::map([("target", failed), ("guard", Yaml::Text(format!("context.{key} >= {limit}")))]),
                Yaml::map([("target", Yaml::text("run")), ("actions", Yaml::List(vec![count]))]),
            ]),
        )]))
    }

    fn invoke(&mut self, number: usize, next: &Yaml, thread: &Thread) -> Yaml {
        let is_human = self.kind(number) == DotNodeKind::Human;
        let node = &self.graph.nodes[number];
        let line = node.line;
        let key = self.keys[number].clone();
        let mut invoke = Yaml::map([("id", Yaml::text(&key))]);
        let src = if is_human { Yaml::text("human") } else { crate::name_or_literal(&node.id) };
        invoke.push("src", src);
        invoke.push("input", if is_human { self.question(number) } else { self.input(number) });
        let node = &self.graph.nodes[number];
        let timeout = node.get("timeout").or_else(|| node.get("human.timeout").filter(|_| is_human));
        if let Some(timeout) = timeout.map(str::to_owned) {
            if is_duration(&timeout) {
                invoke.push("timeout", Yaml::text(timeout));
            } else {
                self.notes.lost(line, format!("`timeout={timeout}` of the node `{key}`: not a duration"));
            }
        }
        invoke.push_some("retry", self.retry(number));
        let done = self.results(number, is_human, thread);
        invoke.push("onDone", Yaml::map([("target", next.clone()), ("actions", Yaml::List(vec![done]))]));
        let default = self.graph.nodes[number].get("human.default_choice").and_then(|id| self.named(id));
        let (target, label) = match default.filter(|_| is_human) {
            Some(node) => (thread.target(self, node), "success"),
            None => (next.clone(), "fail"),
        };
        let failed = self.failed_results(number, label, thread);
        invoke.push("onError", Yaml::map([("target", target), ("actions", Yaml::List(vec![failed]))]));
        invoke
    }

    /// `max_retries` counts the attempts after the first.
    fn retry(&mut self, number: usize) -> Option<Yaml> {
        let node = &self.graph.nodes[number];
        let attributes = &self.graph.attributes;
        let default =
            ["default_max_retries", "default_max_retry"].iter().find_map(|key| super::get(attributes, key));
        let text = node
            .get("max_retries")
            .or(default.filter(|_| self.kind(number) == DotNodeKind::Work))?
            .to_owned();
        let Some(retries) = text.parse::<u32>().ok() else {
            let line = node.line;
            self.notes.lost(line, format!("`max_retries={text}`: not a number"));
            return None;
        };
        (retries > 0).then(|| {
            Yaml::map([
                ("max_attempts", Yaml::Number(retries.saturating_add(1).into())),
                ("backoff", Yaml::text("exponential")),
                ("initial_delay", Yaml::text("200ms")),
                ("max_delay", Yaml::text("60s")),
            ])
        })
    }

    /// The input of a node's work: its attributes, with `$goal` replaced.
    fn input(&self, number: usize) -> Yaml {
        let node = &self.graph.nodes[number];
        let goal = super::get(&self.graph.attributes, "goal").unwrap_or_default();
        let mut input = Vec::new();
        let prompt = node.get("prompt").or_else(|| node.get("label")).unwrap_or(&node.id);
        input.push(("prompt".to_owned(), Yaml::Text(text_literal(&prompt.replace("$goal", goal)))));
        if !goal.is_empty() {
            input.push(("goal".to_owned(), Yaml::Text(text_literal(goal))));
        }
        for (key, value, _) in last_of_each(node) {
            if !is_drawing(key)
                && !STRUCTURAL.contains(&key)
                && !REFUSED.contains(&key)
                && !key.starts_with("manager.")
            {
                input.push((key.to_owned(), Yaml::Text(text_literal(&value.replace("$goal", goal)))));
            }
        }
        Yaml::Map(input)
    }

    /// A person is asked to choose the label of an edge.
    fn question(&self, number: usize) -> Yaml {
        let node = &self.graph.nodes[number];
        let title = node.get("label").or_else(|| node.get("prompt")).unwrap_or(&node.id);
        let mut input = Yaml::map([("title", Yaml::Text(text_literal(title)))]);
        input.push_some("prompt", node.get("prompt").map(|prompt| Yaml::Text(text_literal(prompt))));
        let choices: Vec<&str> =
            self.graph.edges.iter().filter(|edge| edge.from == number).map(|edge| self.label(edge)).collect();
        let form = json!({"choice": {"enum": choices, "required": true}});
        input.push("form", Yaml::Text(literal(&form)));
        input
    }

    /// Before an exit, every visited goal gate must have succeeded.
    pub(super) fn gates(&mut self, states: &mut Vec<(String, Yaml)>) {
        let gates: Vec<usize> = (0..self.graph.nodes.len()).filter(|number| self.is_gate(*number)).collect();
        if gates.is_empty() {
            return;
        }
        let exits: Vec<usize> =
            (0..self.graph.nodes.len()).filter(|number| self.kind(*number) == DotNodeKind::Exit).collect();
        for exit in exits {
            let mut routes = Vec::new();
            for gate in &gates {
                let key = self.gate_key(*gate);
                let target = self.retry_target(*gate).or_else(|| self.graph_retry_target());
                let target = match target {
                    Some(node) => Yaml::text(&self.keys[node]),
                    None => self.use_final(FAILED),
                };
                let guard = format!("context.{key} not in [null, 'success', 'partial_success']");
                routes.push(Yaml::map([("target", target), ("guard", Yaml::Text(guard))]));
            }
            routes.push(Yaml::map([("target", Yaml::text(&self.keys[exit]))]));
            let state = Yaml::map([("always", Yaml::List(routes))]);
            states.push((format!("{GATES}_{}", self.keys[exit]), state));
        }
    }

    pub(super) fn is_gate(&self, number: usize) -> bool {
        self.graph.nodes[number].get("goal_gate") == Some("true")
    }

    pub(super) fn gate_key(&self, number: usize) -> String {
        format!("gate_{}", super::conditions::context_key(&self.keys[number]))
    }

    pub(super) fn completed(&mut self) -> Yaml {
        self.use_final(COMPLETED)
    }
}

/// The attributes of a node, each once with its last value.
fn last_of_each(node: &DotNode) -> impl Iterator<Item = (&str, &str, u32)> {
    node.attributes.iter().enumerate().filter_map(|(at, (key, value, line))| {
        let is_last = !node.attributes[at + 1..].iter().any(|(later, _, _)| later == key);
        (is_last && !value.is_empty()).then_some((key.as_str(), value.as_str(), *line))
    })
}

/// Digits and a unit of time.
fn is_duration(text: &str) -> bool {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    digits > 0 && digits < 10 && matches!(&text[digits..], "ms" | "s" | "m" | "h" | "d" | "")
}
