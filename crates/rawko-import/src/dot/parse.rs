//! Reader of the DOT language: statements into nodes and edges with their lines. Hand-written, because the
//! readers available keep no lines; subgraphs are kept on a stack of its own, so that nesting cannot exhaust the thread's.

use std::collections::HashMap;

use super::token::{DotToken, tokens};
use crate::ImportError;

/// Nesting limit of subgraphs.
const DEPTH_MAX: usize = 64;
/// Limit of edges: `{a b c} -> {d e f}` multiplies.
const EDGES_MAX: usize = 20_000;

/// Attributes with the line of each.
pub(super) type Attributes = Vec<(String, String, u32)>;

#[derive(Debug, Default)]
pub(super) struct DotGraph {
    pub(super) name: Option<String>,
    pub(super) attributes: Attributes,
    pub(super) nodes: Vec<DotNode>,
    pub(super) edges: Vec<DotEdge>,
    index: HashMap<String, usize>,
    /// A `strict` graph has one edge between two nodes.
    is_strict: bool,
    /// The first edge between two nodes.
    pairs: HashMap<(usize, usize), usize>,
}

impl DotGraph {
    /// Replaces `\N`, `\G`, `\E`, `\T` and `\H` in labels by the names that they stand for.
    fn expand_labels(&mut self) {
        let graph = self.name.clone().unwrap_or_default();
        let expand = |attributes: &mut Attributes, names: &[(&str, &str)]| {
            for (_, value, _) in attributes.iter_mut().filter(|(key, _, _)| key == "label") {
                for (escape, name) in names.iter().chain(&[("\\G", graph.as_str())]) {
                    *value = value.replace(escape, name);
                }
            }
        };
        for edge in &mut self.edges {
            let (tail, head) = (&self.nodes[edge.from].id, &self.nodes[edge.to].id);
            let both = format!("{tail}->{head}");
            expand(&mut edge.attributes, &[("\\E", &both), ("\\T", tail), ("\\H", head)]);
        }
        for node in &mut self.nodes {
            let id = node.id.clone();
            expand(&mut node.attributes, &[("\\N", &id)]);
        }
    }
}

#[derive(Debug)]
pub(super) struct DotNode {
    pub(super) id: String,
    pub(super) line: u32,
    pub(super) attributes: Attributes,
}

#[derive(Debug)]
pub(super) struct DotEdge {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) line: u32,
    pub(super) attributes: Attributes,
}

impl DotNode {
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        get(&self.attributes, key)
    }
}

impl DotEdge {
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        get(&self.attributes, key)
    }
}

/// Returns the value of an attribute; an empty one counts as missing.
pub(super) fn get<'a>(attributes: &'a Attributes, key: &str) -> Option<&'a str> {
    let found = attributes.iter().rev().find(|(name, _, _)| name == key);
    found.map(|(_, value, _)| value.as_str()).filter(|value| !value.is_empty())
}

/// Reads one graph.
pub(super) fn parse(text: &str) -> Result<DotGraph, ImportError> {
    let tokens = tokens(text)?;
    let mut parser = DotParser { tokens, at: 0, graph: DotGraph::default() };
    parser.header()?;
    parser.body()?;
    parser.graph.expand_labels();
    Ok(parser.graph)
}

pub(super) fn error(line: u32, message: &str) -> ImportError {
    ImportError::Malformed { line, message: message.to_owned() }
}

struct DotParser {
    tokens: Vec<(DotToken, u32)>,
    at: usize,
    graph: DotGraph,
}

/// One graph or subgraph that is open: its defaults and its nodes.
#[derive(Clone, Debug, Default)]
struct OpenGraph {
    node: Attributes,
    edge: Attributes,
    members: Vec<usize>,
    /// The ends on the left of an arrow before this subgraph.
    chain: Vec<Vec<usize>>,
}

impl DotParser {
    fn peek(&self) -> Option<&DotToken> {
        self.tokens.get(self.at).map(|(token, _)| token)
    }

    fn line(&self) -> u32 {
        let last = self.tokens.last().map_or(1, |(_, line)| *line);
        self.tokens.get(self.at).map_or(last, |(_, line)| *line)
    }

    fn take(&mut self, sign: char) -> bool {
        let found = self.peek() == Some(&DotToken::Sign(sign));
        self.at += usize::from(found);
        found
    }

    fn id(&mut self) -> Option<String> {
        let Some(DotToken::Id { text, .. }) = self.peek() else { return None };
        let text = text.clone();
        self.at += 1;
        Some(text)
    }

    /// Takes a keyword, which has no quotes and any case.
    fn keyword(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Some(DotToken::Id { text, quoted: false }) if text.eq_ignore_ascii_case(word));
        self.at += usize::from(found);
        found
    }

    fn header(&mut self) -> Result<(), ImportError> {
        self.graph.is_strict = self.keyword("strict");
        if self.keyword("graph") {
            return Err(error(self.line(), "an undirected `graph`: a workflow is a `digraph`"));
        }
        if !self.keyword("digraph") {
            return Err(error(self.line(), "expected `digraph`"));
        }
        self.graph.name = self.id();
        if self.take('{') { Ok(()) } else { Err(error(self.line(), "expected `{`")) }
    }

    /// Reads statements until the graph is closed. Open subgraphs are on `scopes`.
    fn body(&mut self) -> Result<(), ImportError> {
        let mut scopes = vec![OpenGraph::default()];
        loop {
            if self.take(';') || self.take(',') {
                continue;
            }
            if self.take('}') {
                let closed = scopes.pop().unwrap_or_default();
                let Some(outer) = scopes.last_mut() else { return Ok(()) };
                outer.members.extend(&closed.members);
                let mut chain = closed.chain;
                chain.push(closed.members);
                self.chain(&mut scopes, chain)?;
                continue;
            }
            if self.peek().is_none() {
                return Err(error(self.line(), "the graph is not closed: expected `}`"));
            }
            self.statement(&mut scopes)?;
        }
    }

    fn statement(&mut self, scopes: &mut Vec<OpenGraph>) -> Result<(), ImportError> {
        for kind in ["graph", "node", "edge"] {
            let start = self.at;
            if self.keyword(kind) {
                if self.peek() == Some(&DotToken::Sign('[')) {
                    let attributes = self.attributes()?;
                    self.defaults(kind, attributes, scopes);
                    return Ok(());
                }
                self.at = start;
            }
        }
        if self.opens_subgraph() {
            return self.open(scopes, Vec::new());
        }
        let line = self.line();
        let quoted_or_plain = self.peek().cloned();
        let Some(name) = self.id() else {
            return Err(error(
                line,
                &format!("expected a statement, found {}", shown(quoted_or_plain.as_ref())),
            ));
        };
        if self.take('=') {
            let value = self.id().ok_or_else(|| error(self.line(), "expected a value after `=`"))?;
            self.defaults("graph", vec![(name, value, line)], scopes);
            return Ok(());
        }
        let first = self.node(name, line, scopes);
        self.chain(scopes, vec![vec![first]])
    }

    fn defaults(&mut self, kind: &str, attributes: Attributes, scopes: &mut [OpenGraph]) {
        let is_outermost = scopes.len() == 1;
        let Some(scope) = scopes.last_mut() else { return };
        match kind {
            "node" => scope.node.extend(attributes),
            "edge" => scope.edge.extend(attributes),
            // The title of a cluster is not an attribute of the workflow.
            _ if is_outermost => self.graph.attributes.extend(attributes),
            _ => {}
        }
    }

    fn opens_subgraph(&mut self) -> bool {
        let named = matches!(self.peek(), Some(DotToken::Id { text, quoted: false }) if text.eq_ignore_ascii_case("subgraph"));
        named || self.peek() == Some(&DotToken::Sign('{'))
    }

    fn open(&mut self, scopes: &mut Vec<OpenGraph>, chain: Vec<Vec<usize>>) -> Result<(), ImportError> {
        let line = self.line();
        if self.keyword("subgraph") {
            self.id();
        }
        if !self.take('{') {
            return Err(error(line, "a reference to a subgraph: expected `{`"));
        }
        if scopes.len() > DEPTH_MAX {
            return Err(ImportError::TooDeep { line, max: DEPTH_MAX });
        }
        let outer = scopes.last().cloned().unwrap_or_default();
        scopes.push(OpenGraph { members: Vec::new(), chain, ..outer });
        Ok(())
    }

    /// Reads the rest of a node or edge statement after its first ends.
    fn chain(&mut self, scopes: &mut Vec<OpenGraph>, mut ends: Vec<Vec<usize>>) -> Result<(), ImportError> {
        let line = self.line();
        while self.peek() == Some(&DotToken::Arrow) {
            self.at += 1;
            if self.opens_subgraph() {
                return self.open(scopes, ends);
            }
            let here = self.line();
            let name = self.id().ok_or_else(|| error(here, "expected a node after `->`"))?;
            let node = self.node(name, here, scopes);
            ends.push(vec![node]);
        }
        if self.peek() == Some(&DotToken::Line) {
            return Err(error(self.line(), "`--` in a digraph: expected `->`"));
        }
        let attributes =
            if self.peek() == Some(&DotToken::Sign('[')) { self.attributes()? } else { Vec::new() };
        if ends.len() == 1 {
            for node in ends.concat() {
                self.graph.nodes[node].attributes.extend(attributes.iter().cloned());
            }
            return Ok(());
        }
        let defaults = scopes.last().map(|scope| scope.edge.clone()).unwrap_or_default();
        for pair in ends.windows(2) {
            for from in &pair[0] {
                for to in &pair[1] {
                    if self.graph.edges.len() >= EDGES_MAX {
                        return Err(error(line, &format!("more than {EDGES_MAX} edges")));
                    }
                    let attributes: Attributes = defaults.iter().chain(&attributes).cloned().collect();
                    let next = self.graph.edges.len();
                    let known = *self.graph.pairs.entry((*from, *to)).or_insert(next);
                    if self.graph.is_strict && known < next {
                        self.graph.edges[known].attributes.extend(attributes);
                        continue;
                    }
                    self.graph.edges.push(DotEdge { from: *from, to: *to, line, attributes });
                }
            }
        }
        Ok(())
    }

    /// Returns a node, created with the defaults of its scope if it is new.
    fn node(&mut self, id: String, line: u32, scopes: &mut [OpenGraph]) -> usize {
        // A port: `node:port:compass` has no meaning for a workflow.
        while self.take(':') {
            self.id();
        }
        let next = self.graph.nodes.len();
        let number = *self.graph.index.entry(id.clone()).or_insert(next);
        if let Some(scope) = scopes.last_mut() {
            if number == next {
                self.graph.nodes.push(DotNode { id, line, attributes: scope.node.clone() });
            }
            scope.members.push(number);
        }
        number
    }

    /// Reads one or several `[a=b, c=d; e]`.
    fn attributes(&mut self) -> Result<Attributes, ImportError> {
        let mut found = Vec::new();
        while self.take('[') {
            while !self.take(']') {
                let line = self.line();
                if self.take(',') || self.take(';') {
                    continue;
                }
                let name = self.id().ok_or_else(|| {
                    error(line, &format!("expected an attribute, found {}", shown(self.peek())))
                })?;
                let value = if self.take('=') {
                    self.id().ok_or_else(|| error(line, &format!("expected a value of `{name}`")))?
                } else {
                    "true".to_owned()
                };
                found.push((name, value, line));
            }
        }
        Ok(found)
    }
}

fn shown(token: Option<&DotToken>) -> String {
    match token {
        None => "the end".to_owned(),
        Some(DotToken::Id { text, .. }) => format!("`{text}`"),
        Some(DotToken::Sign(sign)) => format!("`{sign}`"),
        Some(DotToken::Arrow) => "`->`".to_owned(),
        Some(DotToken::Line) => "`--`".to_owned(),
    }
}
