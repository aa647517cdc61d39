//! Lookup of state nodes by name: children by key, explicit ids, keys that are unique in the chart.

use std::borrow::Cow;

use rawko_core::NodeId;
use rustc_hash::FxHashMap;

use crate::def::{ChartDef, StateDef};

/// Names of all state nodes, hashed once.
pub(crate) struct StateIndex<'a> {
    states: &'a [StateDef<'a>],
    /// Explicit `id:`s, and the chart's own id for the root.
    ids: FxHashMap<&'a str, u32>,
    /// Keys; `None` if several nodes share one.
    keys: FxHashMap<&'a str, Option<u32>>,
    /// Nodes with shared keys, by parent.
    namesakes: FxHashMap<(u32, &'a str), u32>,
}

/// A name without a matching state node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MissingState {
    Unknown,
    /// `#key` where several nodes have that key.
    Ambiguous,
}

impl<'a> StateIndex<'a> {
    pub(crate) fn new(chart: &'a ChartDef<'a>) -> Self {
        let states = &chart.states[..];
        let mut index = Self {
            states,
            ids: FxHashMap::default(),
            keys: FxHashMap::with_capacity_and_hasher(states.len(), Default::default()),
            namesakes: FxHashMap::default(),
        };
        if let Some(id) = chart.id {
            index.ids.insert(id, 0);
        }
        for (number, state) in states.iter().enumerate() {
            let number = number as u32;
            let Some(parent) = state.parent else { continue };
            index.add_key(parent, state.key, number);
            if let Some((id, _)) = state.more().id {
                index.ids.insert(id, number);
            }
        }
        index
    }

    fn add_key(&mut self, parent: u32, key: &'a str, number: u32) {
        let Some(first) = self.keys.insert(key, Some(number)) else { return };
        if let Some(first) = first {
            let above = self.states[first as usize].parent.unwrap_or_default();
            self.namesakes.insert((above, key), first);
        }
        self.namesakes.insert((parent, key), number);
        self.keys.insert(key, None);
    }

    fn child(&self, parent: u32, key: &str) -> Option<u32> {
        match *self.keys.get(key)? {
            Some(only) => Some(only).filter(|only| self.states[*only as usize].parent == Some(parent)),
            None => self.namesakes.get(&(parent, key)).copied(),
        }
    }

    /// Returns the dotted path from the root.
    pub(crate) fn path(&self, node: u32) -> String {
        let state = &self.states[node as usize];
        match state.parent {
            None => String::new(),
            Some(0) => state.key.to_owned(),
            Some(parent) => format!("{}.{}", self.path(parent), state.key),
        }
    }

    /// Returns the name in `done.state.<name>`: the explicit id, else the key if it is unique, else the path.
    pub(crate) fn name(&self, node: u32) -> Cow<'a, str> {
        let state = &self.states[node as usize];
        if let Some((id, _)) = state.more().id {
            return id.into();
        }
        let unique =
            self.keys.get(state.key).is_some_and(Option::is_some) && !self.ids.contains_key(state.key);
        if unique { state.key.into() } else { self.path(node).into() }
    }

    /// Resolves the target `text` of a transition of `source`.
    pub(crate) fn target(&self, source: u32, text: &str) -> Result<NodeId, MissingState> {
        if let Some(path) = text.strip_prefix('.') {
            return self.below(source, path).ok_or(MissingState::Unknown);
        }
        if let Some(path) = text.strip_prefix('#') {
            return self.anywhere(path);
        }
        let mut scope = self.states[source as usize].parent.or(Some(0));
        while let Some(node) = scope {
            if let Some(found) = self.below(node, text) {
                return Ok(found);
            }
            scope = self.states[node as usize].parent;
        }
        Err(MissingState::Unknown)
    }

    /// Resolves `initial` of `source`: a child, a path below it, or any descendant by id.
    pub(crate) fn initial(&self, source: u32, text: &str) -> Result<NodeId, MissingState> {
        if let Some(path) = text.strip_prefix('#') {
            return self.anywhere(path);
        }
        let path = text.strip_prefix('.').unwrap_or(text);
        self.below(source, path).map_or_else(|| self.anywhere(path), Ok)
    }

    /// Resolves `stateIn('…')`: a path from the root, or a unique name.
    pub(crate) fn state_in(&self, text: &str) -> Option<NodeId> {
        let path = text.strip_prefix('#').unwrap_or(text);
        self.below(0, path).or_else(|| self.anywhere(path).ok())
    }

    pub(crate) fn is_below(&self, node: NodeId, ancestor: u32) -> bool {
        let mut parent = self.states[node.index()].parent;
        while let Some(number) = parent {
            if number == ancestor {
                return true;
            }
            parent = self.states[number as usize].parent;
        }
        false
    }

    /// Resolves a dotted path of keys below a node.
    fn below(&self, node: u32, path: &str) -> Option<NodeId> {
        if let Some(child) = self.child(node, path) {
            return Some(NodeId(child));
        }
        path.split('.').try_fold(node, |node, key| self.child(node, key)).map(NodeId)
    }

    /// Resolves an explicit id or a unique key, optionally followed by keys below it. Ids may contain dots: longest
    /// first.
    fn anywhere(&self, path: &str) -> Result<NodeId, MissingState> {
        let mut missing = MissingState::Unknown;
        let mut end = path.len();
        loop {
            let (name, rest) = (&path[..end], path[end..].strip_prefix('.'));
            let start = self.ids.get(name).copied().map(Some).or_else(|| self.keys.get(name).copied());
            match (start, rest) {
                // The chart itself is never a target.
                (Some(Some(0)), None) => return Err(MissingState::Unknown),
                (Some(Some(node)), None) => return Ok(NodeId(node)),
                (Some(Some(node)), Some(rest)) => return self.below(node, rest).ok_or(MissingState::Unknown),
                (Some(None), _) => missing = MissingState::Ambiguous,
                (None, _) => {}
            }
            match path[..end].rfind('.') {
                Some(dot) => end = dot,
                None => return Err(missing),
            }
        }
    }

    /// Suggests a name for one that was not found, as it would be written in `source`.
    pub(crate) fn suggestion(&self, source: u32, text: &str) -> Option<String> {
        let bare = text.trim_start_matches(['.', '#']);
        if self.below(source, bare).is_some() {
            return Some(format!(".{bare}"));
        }
        if self.target(source, bare).is_ok() {
            return Some(bare.to_owned());
        }
        if self.anywhere(bare).is_ok() {
            return Some(format!("#{bare}"));
        }
        let keys = self.states.iter().skip(1).map(|state| state.key);
        let close = crate::suggest::nearest(bare, keys)?;
        if self.target(source, close).is_ok() {
            return Some(close.to_owned());
        }
        let child = self.below(source, close).map(|_| format!(".{close}"));
        child.or_else(|| self.anywhere(close).ok().map(|_| format!("#{close}")))
    }

    /// Returns true if two nodes can be active at the same time without one being inside the other.
    pub(crate) fn orthogonal(&self, a: NodeId, b: NodeId) -> bool {
        let ancestors: Vec<u32> = self.ancestors(a.0);
        let common = self.ancestors(b.0).into_iter().find(|node| ancestors.contains(node));
        let inside = self.is_below(a, b.0) || self.is_below(b, a.0);
        a != b
            && !inside
            && common.is_some_and(|node| self.states[node as usize].kind == rawko_core::NodeKind::Parallel)
    }

    fn ancestors(&self, node: u32) -> Vec<u32> {
        std::iter::successors(self.states[node as usize].parent, |node| self.states[*node as usize].parent)
            .collect()
    }
}
