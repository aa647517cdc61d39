//! Fan-out and fan-in: the branches between them become regions. A branch has its own outcome, as runners give each branch
//! its own context.

use super::conditions::ThreadNames;
use super::nodes::DotNodeKind;
use super::routes::{JOINED, Thread, assign};
use super::{DotImporter, GATES};
use crate::yaml::Yaml;

/// The nodes of one branch, and the fan-ins that it leads to.
struct Branch {
    first: usize,
    nodes: Vec<usize>,
    joins: Vec<usize>,
    /// A node that a branch cannot contain.
    misplaced: Option<usize>,
}

impl DotImporter {
    /// Returns the nodes that are in a branch of a fan-out.
    pub(super) fn branch_nodes(&self, reached: &[usize]) -> Vec<usize> {
        let fans = reached.iter().copied().filter(|number| self.kind(*number) == DotNodeKind::FanOut);
        fans.flat_map(|fan| self.branches(fan)).flat_map(|branch| branch.nodes).collect()
    }

    fn branches(&self, fan: usize) -> Vec<Branch> {
        let mut firsts: Vec<usize> = Vec::new();
        for edge in self.graph.edges.iter().filter(|edge| edge.from == fan) {
            if !firsts.contains(&edge.to) {
                firsts.push(edge.to);
            }
        }
        firsts.into_iter().map(|first| self.branch(first)).collect()
    }

    fn branch(&self, first: usize) -> Branch {
        let mut branch = Branch { first, nodes: Vec::new(), joins: Vec::new(), misplaced: None };
        let mut open = vec![first];
        while let Some(node) = open.pop() {
            match self.kind(node) {
                DotNodeKind::FanIn => {
                    if !branch.joins.contains(&node) {
                        branch.joins.push(node);
                    }
                    continue;
                }
                DotNodeKind::Start | DotNodeKind::Exit | DotNodeKind::FanOut => {
                    branch.misplaced = Some(node);
                    continue;
                }
                DotNodeKind::Work
                | DotNodeKind::Human
                | DotNodeKind::Decision
                | DotNodeKind::Wait
                | DotNodeKind::Foreign => {}
            }
            if branch.nodes.contains(&node) {
                continue;
            }
            branch.nodes.push(node);
            open.extend(self.graph.edges.iter().filter(|edge| edge.from == node).map(|edge| edge.to));
            open.extend(self.retry_target(node));
        }
        branch.nodes.sort_unstable();
        branch
    }

    pub(super) fn fan_out(&mut self, state: &mut Yaml, fan: usize, thread: &Thread) {
        let (line, id) = (self.graph.nodes[fan].line, self.graph.nodes[fan].id.clone());
        self.policies(fan);
        let branches = self.branches(fan);
        if let Err(reason) = self.check_branches(fan, &branches) {
            self.notes.lost(line, format!("the fan-out `{id}`: {reason}"));
        }
        let Some(join) = branches.iter().find_map(|branch| branch.joins.first().copied()) else {
            let end = self.failure(thread);
            state.push("always", end);
            return;
        };
        state.push("type", Yaml::text("parallel"));
        let mut regions = Vec::new();
        let mut outcomes = Vec::new();
        for (index, branch) in branches.iter().enumerate() {
            let key = format!("branch_{}", index + 1);
            let names =
                ThreadNames { prefix: format!("{}_{key}_", super::conditions::context_key(&self.keys[fan])) };
            self.declare(&names);
            outcomes.push((names.of("outcome"), names.context("outcome")));
            let path = format!("{}.{}.{key}", thread.path, self.keys[fan]);
            let inner = Thread { names, path, join: Some(join) };
            let mut states: Vec<_> = Vec::new();
            for node in &branch.nodes {
                let state = self.state(*node, &inner);
                states.push((self.keys[*node].clone(), state));
            }
            states.push((JOINED.to_owned(), Yaml::map([("type", Yaml::text("final"))])));
            let initial =
                if branch.joins.contains(&branch.first) { JOINED } else { &self.keys[branch.first] };
            regions.push((key, Yaml::map([("initial", Yaml::text(initial)), ("states", Yaml::Map(states))])));
        }
        let started = outcomes.iter().map(|(key, _)| (key.clone(), Yaml::text("'success'"))).collect();
        state.push("entry", Yaml::List(vec![assign(started)]));
        let failed: Vec<_> = outcomes.iter().map(|(_, name)| format!("{name} == 'fail'")).collect();
        let ignores = self.graph.nodes[fan].get("error_policy") == Some("ignore");
        let outcome = match ignores || failed.is_empty() {
            true => "'success'".to_owned(),
            false => format!("{} ? 'partial_success' : 'success'", failed.join(" or ")),
        };
        let result = assign(vec![(thread.names.of("outcome"), Yaml::Text(outcome))]);
        let target = thread.target(self, join);
        state.push("onDone", Yaml::map([("target", target), ("actions", Yaml::List(vec![result]))]));
        state.push("states", Yaml::Map(regions));
    }

    /// Only waiting for all branches has a counterpart, with any outcomes.
    fn policies(&mut self, fan: usize) {
        for (key, value, line) in self.graph.nodes[fan].attributes.clone() {
            let is_exact = match key.as_str() {
                "join_policy" => value == "wait_all",
                "error_policy" => matches!(value.as_str(), "continue" | "ignore"),
                _ => true,
            };
            if !is_exact {
                self.notes.lost(line, format!("`{key}={value}` of a fan-out"));
            }
            if key == "max_parallel" {
                self.notes.changed(line, "`max_parallel`: all branches run at the same time");
            }
        }
    }

    fn check_branches(&self, fan: usize, branches: &[Branch]) -> Result<(), String> {
        let id = |node: usize| self.graph.nodes[node].id.clone();
        if branches.is_empty() {
            return Err("it has no branches".to_owned());
        }
        if let Some(node) = branches.iter().find_map(|branch| branch.misplaced) {
            return Err(format!(
                "a branch leads to `{}` without a fan-in (`shape=tripleoctagon`) before it",
                id(node)
            ));
        }
        let mut joins: Vec<usize> = branches.iter().flat_map(|branch| branch.joins.clone()).collect();
        joins.sort_unstable();
        joins.dedup();
        if joins.len() != 1 || branches.iter().any(|branch| branch.joins.is_empty()) {
            return Err("its branches do not all lead to one fan-in (`shape=tripleoctagon`)".to_owned());
        }
        for (at, branch) in branches.iter().enumerate() {
            for node in &branch.nodes {
                if branches[..at].iter().any(|other| other.nodes.contains(node)) {
                    return Err(format!("the node `{}` is in two of its branches", id(*node)));
                }
                let enters = |from: usize| from == fan || branch.nodes.contains(&from);
                if self.graph.edges.iter().any(|edge| edge.to == *node && !enters(edge.from)) {
                    return Err(format!("the node `{}` of a branch is also entered from outside", id(*node)));
                }
                if self.is_gate(*node) {
                    return Err(format!(
                        "the goal gate `{}` is in a branch ({GATES} are checked at an exit)",
                        id(*node)
                    ));
                }
            }
        }
        let has_condition =
            self.graph.edges.iter().any(|edge| edge.from == fan && edge.get("condition").is_some());
        if has_condition { Err("a branch has a condition".to_owned()) } else { Ok(()) }
    }
}
