//! The outline of an SCXML document: its states with their ids, keys and positions in the tree. Built first, because a
//! target may name any state of the document and its notation depends on the positions of both ends.

use std::collections::{BTreeMap, HashSet};

use roxmltree::Node;

use super::xml::{is, line};
use crate::{DEPTH_MAX, ImportError};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScxmlStateKind {
    State,
    Parallel,
    Final,
    History,
}

#[derive(Debug)]
pub(super) struct OutlineState<'a, 'i> {
    pub(super) xml: Node<'a, 'i>,
    pub(super) kind: ScxmlStateKind,
    /// Unique in the document, and usable in a path.
    pub(super) key: String,
    pub(super) parent: Option<usize>,
    pub(super) children: Vec<usize>,
}

/// All states in document order.
#[derive(Debug, Default)]
pub(super) struct ScxmlOutline<'a, 'i> {
    pub(super) entries: Vec<OutlineState<'a, 'i>>,
    /// The children of the document's root.
    pub(super) top: Vec<usize>,
    ids: BTreeMap<String, usize>,
    keys: HashSet<String>,
}

impl<'a, 'i> ScxmlOutline<'a, 'i> {
    pub(super) fn of(root: Node<'a, 'i>) -> Result<Self, ImportError> {
        let mut outline = ScxmlOutline::default();
        outline.top = outline.children(root, None, 0)?;
        outline.name_the_unnamed();
        Ok(outline)
    }

    fn children(
        &mut self,
        xml: Node<'a, 'i>,
        parent: Option<usize>,
        depth: usize,
    ) -> Result<Vec<usize>, ImportError> {
        if depth > DEPTH_MAX {
            return Err(ImportError::TooDeep { line: line(xml), max: DEPTH_MAX });
        }
        let mut children = Vec::new();
        for child in xml.children() {
            let Some(kind) = kind(child) else { continue };
            let index = self.entries.len();
            let key = child.attribute("id").map(|id| self.unique(key(id))).unwrap_or_default();
            if let Some(id) = child.attribute("id") {
                self.ids.entry(id.trim().to_owned()).or_insert(index);
            }
            self.entries.push(OutlineState { xml: child, kind, key, parent, children: Vec::new() });
            self.entries[index].children = self.children(child, Some(index), depth + 1)?;
            children.push(index);
        }
        Ok(children)
    }

    fn unique(&mut self, key: String) -> String {
        let free = if self.keys.contains(&key) {
            (2..).map(|n| format!("{key}_{n}")).find(|key| !self.keys.contains(key)).unwrap_or(key)
        } else {
            key
        };
        self.keys.insert(free.clone());
        free
    }

    /// SCXML does not require ids; our format does.
    fn name_the_unnamed(&mut self) {
        for index in 0..self.entries.len() {
            if self.entries[index].key.is_empty() {
                let word = match self.entries[index].kind {
                    ScxmlStateKind::State => "state",
                    ScxmlStateKind::Parallel => "parallel",
                    ScxmlStateKind::Final => "final",
                    ScxmlStateKind::History => "history",
                };
                self.entries[index].key = self.unique(format!("{word}_{}", index + 1));
            }
        }
    }

    pub(super) fn find(&self, id: &str) -> Option<usize> {
        self.ids.get(id).copied()
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = (&str, usize)> {
        self.ids.iter().map(|(id, index)| (id.as_str(), *index))
    }

    /// Returns the keys from the top down, joined by dots.
    pub(super) fn path(&self, index: usize) -> String {
        let mut keys = vec![self.entries[index].key.as_str()];
        keys.extend(self.ancestors(index).map(|ancestor| self.entries[ancestor].key.as_str()));
        keys.reverse();
        keys.join(".")
    }

    /// Returns the ancestors from the parent outward.
    fn ancestors(&self, index: usize) -> impl Iterator<Item = usize> + '_ {
        std::iter::successors(self.entries[index].parent, |parent| self.entries[*parent].parent)
    }

    pub(super) fn is_inside(&self, inner: usize, outer: usize) -> bool {
        self.ancestors(inner).any(|ancestor| ancestor == outer)
    }

    /// Returns true if it has child states that can be active.
    pub(super) fn is_compound(&self, index: usize) -> bool {
        let entry = &self.entries[index];
        entry.kind == ScxmlStateKind::State
            && entry.children.iter().any(|child| self.entries[*child].kind != ScxmlStateKind::History)
    }

    /// Returns the notation of a target in a transition of `source` (`None` is the root): the shortest name that
    /// resolves to it.
    pub(super) fn target(&self, source: Option<usize>, target: usize) -> String {
        let entry = &self.entries[target];
        if entry.parent == source {
            return if source.is_some() { format!(".{}", entry.key) } else { entry.key.clone() };
        }
        let visible = match entry.parent {
            None => true,
            Some(parent) => source.is_some_and(|source| self.is_inside(source, parent)),
        };
        if visible { entry.key.clone() } else { format!("#{}", entry.key) }
    }
}

fn kind(xml: Node<'_, '_>) -> Option<ScxmlStateKind> {
    [
        ("state", ScxmlStateKind::State),
        ("parallel", ScxmlStateKind::Parallel),
        ("final", ScxmlStateKind::Final),
        ("history", ScxmlStateKind::History),
    ]
    .into_iter()
    .find_map(|(name, kind)| is(xml, name).then_some(kind))
}

/// Converts a state id to a key: dots would be read as a path.
fn key(id: &str) -> String {
    let key: String = id
        .trim()
        .chars()
        .map(|c| if c.is_alphanumeric() || c == '_' || c == '-' { c } else { '_' })
        .collect();
    key
}
