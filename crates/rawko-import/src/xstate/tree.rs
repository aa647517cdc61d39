//! The states of a configuration as a tree, and the lookup of targets exactly as XState does it. Separate from the
//! translation, because a target may name a state that comes later in the document.

use std::collections::HashMap;

use serde_json::{Map, Value as Json};

/// Kind of a state, as XState infers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum XstateKind {
    Atomic,
    Compound,
    Parallel,
    Final,
    History,
}

#[derive(Debug)]
pub(super) struct XstateNode {
    /// The key in the document.
    pub(super) original: String,
    /// The key in our chart: without dots and `#`.
    pub(super) key: String,
    pub(super) parent: Option<usize>,
    pub(super) children: Vec<usize>,
    pub(super) kind: XstateKind,
    /// The `id` in the document.
    pub(super) id: Option<String>,
    /// The id in XState: the one in the document, or the path from the machine's id.
    full_id: String,
    /// It has entry actions, timers or invokes.
    pub(super) acts_on_entry: bool,
    /// It has exit actions.
    pub(super) acts_on_exit: bool,
    /// The key of the initial child.
    initial: Option<String>,
}

/// All states; the chart itself is number 0.
#[derive(Debug, Default)]
pub(super) struct XstateTree {
    pub(super) nodes: Vec<XstateNode>,
    ids: HashMap<String, usize>,
}

/// The chart itself.
pub(super) const ROOT: usize = 0;

impl XstateTree {
    pub(super) fn new(root: &Map<String, Json>, root_id: &str) -> Self {
        let mut tree = XstateTree::default();
        tree.add(root, "", String::new(), None, &mut vec![root_id.to_owned()]);
        tree
    }

    /// The recursion is bounded by the parser's limit of nesting.
    fn add(
        &mut self,
        state: &Map<String, Json>,
        original: &str,
        key: String,
        parent: Option<usize>,
        path: &mut Vec<String>,
    ) {
        let number = self.nodes.len();
        let text = |key: &str| state.get(key).and_then(Json::as_str).filter(|text| !text.is_empty());
        let id = text("id").filter(|_| parent.is_some()).map(str::to_owned);
        let initial = state
            .get("initial")
            .and_then(|initial| initial.as_str().or_else(|| initial.get("target")?.as_str()));
        self.nodes.push(XstateNode {
            original: original.to_owned(),
            key,
            parent,
            children: Vec::new(),
            kind: kind(state),
            id: id.clone(),
            full_id: id.clone().unwrap_or_else(|| path.join(".")),
            acts_on_entry: ["entry", "onEntry", "after", "invoke", "activities"]
                .iter()
                .any(|key| state.contains_key(*key)),
            acts_on_exit: state.contains_key("exit") || state.contains_key("onExit"),
            initial: initial.map(str::to_owned),
        });
        self.ids.entry(id.unwrap_or_else(|| path.join("."))).or_insert(number);
        let mut taken: Vec<String> = Vec::new();
        for (original, child) in children(state) {
            let key = unique_key(original, &taken);
            taken.push(key.clone());
            let child_number = self.nodes.len();
            self.nodes[number].children.push(child_number);
            path.push(original.clone());
            let empty = Map::new();
            self.add(child.as_object().unwrap_or(&empty), original, key, Some(number), path);
            path.pop();
        }
    }

    pub(super) fn child(&self, parent: usize, original: &str) -> Option<usize> {
        self.nodes[parent].children.iter().copied().find(|child| self.nodes[*child].original == original)
    }

    /// Returns the state that the chart or a compound state starts in.
    pub(super) fn initial(&self, node: usize) -> Option<usize> {
        let key = self.nodes[node].initial.as_deref();
        match key {
            Some(key) => self.child(node, key),
            None => self.nodes[node]
                .children
                .iter()
                .copied()
                .find(|child| self.nodes[*child].kind != XstateKind::History),
        }
    }

    /// Returns the path of keys in our chart; empty for the chart itself.
    pub(super) fn path(&self, node: usize) -> String {
        let mut keys = Vec::new();
        let mut at = node;
        while let Some(parent) = self.nodes[at].parent {
            keys.push(self.nodes[at].key.as_str());
            at = parent;
        }
        keys.reverse();
        keys.join(".")
    }

    pub(super) fn full_id(&self, node: usize) -> &str {
        &self.nodes[node].full_id
    }

    pub(super) fn is_below(&self, node: usize, ancestor: usize) -> bool {
        self.ancestors(node).any(|above| above == ancestor)
    }

    /// The enclosing states, innermost first.
    pub(super) fn ancestors(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        std::iter::successors(self.nodes[node].parent, |above| self.nodes[*above].parent)
    }

    /// Returns the state with an id: the one in the document, or the path from the chart's id.
    pub(super) fn by_id(&self, id: &str) -> Option<usize> {
        self.ids.get(id).copied()
    }

    /// Resolves the target of a transition of `source`.
    pub(super) fn target(&self, source: usize, text: &str, is_v4: bool) -> Option<usize> {
        if text.starts_with('#') {
            return self.by_reference(text);
        }
        match (self.nodes[source].parent, text.strip_prefix('.')) {
            (None, Some(below)) => self.below(source, below),
            (None, None) if is_v4 => self.below(source, text),
            (None, None) => None,
            // The source's own key is not split at dots: XState joins the texts, but a key with a dot has no `.child`.
            (Some(_), Some(below)) => self.below(source, below),
            (Some(parent), None) => self.below(parent, text),
        }
    }

    /// Resolves the default of a history state, which starts at the parent.
    pub(super) fn history_default(&self, history: usize, text: &str) -> Option<usize> {
        if text.starts_with('#') {
            return self.by_reference(text);
        }
        self.below(self.nodes[history].parent?, text)
    }

    /// Resolves `#id` and `#id.child`.
    pub(super) fn by_reference(&self, text: &str) -> Option<usize> {
        let mut keys = segments(text).into_iter();
        let first = keys.next()?;
        let start = self.by_id(first.strip_prefix('#').unwrap_or(&first));
        let found = start.and_then(|start| self.walk(start, keys));
        found.or_else(|| self.by_id(text.strip_prefix('#').unwrap_or(text)))
    }

    /// Resolves a path of keys below a state.
    pub(super) fn below(&self, node: usize, path: &str) -> Option<usize> {
        self.walk(node, segments(path).into_iter())
    }

    fn walk(&self, node: usize, mut keys: impl Iterator<Item = String>) -> Option<usize> {
        let mut at = node;
        // An empty key ends the path.
        while let Some(key) = keys.next().filter(|key| !key.is_empty()) {
            at = match key.strip_prefix('#') {
                Some(id) => self.by_id(id)?,
                None => self.child(at, &key)?,
            };
        }
        Some(at)
    }

    /// Returns true if both states can be active at the same time: they are in different regions.
    pub(super) fn are_orthogonal(&self, a: usize, b: usize) -> bool {
        if a == b || self.is_below(a, b) || self.is_below(b, a) {
            return false;
        }
        let shared = self.ancestors(a).find(|above| self.is_below(b, *above));
        shared.is_some_and(|shared| self.nodes[shared].kind == XstateKind::Parallel)
    }

    /// Returns the name in `done.state.<name>`: the id, else the key if it is unique, else the path.
    pub(super) fn done_name(&self, node: usize, chart_id: &str) -> String {
        if let Some(id) = &self.nodes[node].id {
            return id.clone();
        }
        if node == ROOT {
            return chart_id.to_owned();
        }
        let key = &self.nodes[node].key;
        let namesakes = self.nodes.iter().skip(1).filter(|other| other.key == *key).count();
        let is_id = key == chart_id || self.nodes.iter().any(|other| other.id.as_ref() == Some(key));
        if namesakes == 1 && !is_id { key.clone() } else { self.path(node) }
    }

    /// Returns true if the path from the chart to this state has the keys of the document.
    pub(super) fn keeps_keys(&self, node: usize) -> bool {
        std::iter::once(node)
            .chain(self.ancestors(node))
            .all(|at| self.nodes[at].key == self.nodes[at].original)
    }
}

/// The child states of a state.
pub(super) fn children(state: &Map<String, Json>) -> impl Iterator<Item = (&String, &Json)> {
    state.get("states").and_then(Json::as_object).into_iter().flatten()
}

fn kind(state: &Map<String, Json>) -> XstateKind {
    let has_children = children(state).next().is_some();
    let is_history =
        state.get("history").is_some_and(|history| *history != Json::Bool(false) && !history.is_null());
    match state.get("type").and_then(Json::as_str) {
        // Without regions it has nothing to run in parallel.
        Some("parallel") if has_children => XstateKind::Parallel,
        Some("parallel" | "atomic") => XstateKind::Atomic,
        Some("final") => XstateKind::Final,
        Some("history") => XstateKind::History,
        Some(_) | None if has_children => {
            // XState 3 and early 4 marked a parallel state by a key.
            if state.get("parallel") == Some(&Json::Bool(true)) {
                XstateKind::Parallel
            } else {
                XstateKind::Compound
            }
        }
        Some(_) | None if is_history => XstateKind::History,
        Some(_) | None => XstateKind::Atomic,
    }
}

/// Splits a path at its dots; a backslash takes the next character literally.
fn segments(path: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut characters = path.chars();
    while let Some(c) = characters.next() {
        match (c, found.last_mut()) {
            ('.', _) => found.push(String::new()),
            ('\\', Some(last)) => last.extend(characters.next()),
            (c, Some(last)) => last.push(c),
            (_, None) => {}
        }
    }
    found
}

/// Returns a key that our targets can name, different from those of the earlier siblings.
fn unique_key(original: &str, taken: &[String]) -> String {
    let mut key: String = original.chars().map(|c| if c == '.' { '_' } else { c }).collect();
    if key.is_empty() || key.starts_with('#') {
        key = format!("_{}", key.trim_start_matches('#'));
    }
    while taken.contains(&key) {
        key.push('_');
    }
    key
}

#[cfg(test)]
mod tests {
    use super::segments;

    #[test]
    fn a_backslash_keeps_a_dot() {
        for (path, expected) in [
            ("a.b", vec!["a", "b"]),
            (r"a\.b.c", vec!["a.b", "c"]),
            (r"a\\.b", vec![r"a\", "b"]),
            ("", vec![""]),
            (r"a\", vec!["a"]),
        ] {
            assert_eq!(segments(path), expected, "{path}");
        }
    }
}
