//! Builds a tree from a stream of openings, keys, values and closings. Enforces every limit in one place, so that the
//! YAML and the JSON reader reject the same texts.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use super::pieces::Pieces;
use super::texts::{Text, TextTable};
use super::{
    DEPTH_MAX, DUPLICATE_KEY, MapEntry, NODES_MAX, NodeContent, TextTree, TreeNode, too_deep, too_many,
};
use crate::finding::{Finding, Severity};
use crate::source::Span;

/// Maps up to this size are checked for duplicates pairwise.
const SMALL_MAP: usize = 8;

/// Measured on charts in JSON; YAML has more.
const BYTES_PER_ENTRY: usize = 12;

pub(super) struct TreeBuilder<'t> {
    texts: TextTable<'t>,
    items: Pieces<TreeNode>,
    entries: Pieces<MapEntry>,
    /// Children of open collections; moved to the tables when their collection closes.
    open_items: Vec<TreeNode>,
    open_entries: Vec<MapEntry>,
    frames: Vec<OpenCollection>,
    root: Option<TreeNode>,
    nodes: usize,
    pub(super) findings: Vec<Finding>,
}

struct OpenCollection {
    start: usize,
    kind: FrameKind,
    measure: Measure,
}

enum FrameKind {
    List { first: usize },
    Map { first: usize, key: Option<(Text, Span)> },
}

/// A value without children.
#[derive(Clone)]
pub(super) enum Scalar<'t> {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(Cow<'t, str>),
}

/// The size of a subtree: for aliases, which repeat it without writing it.
#[derive(Clone, Copy)]
pub(super) struct Measure {
    pub(super) nodes: usize,
    pub(super) height: usize,
}

impl Measure {
    pub(super) const LEAF: Measure = Measure { nodes: 1, height: 0 };
}

/// A limit was exceeded: reading stops.
pub(super) struct Stop;

impl<'t> TreeBuilder<'t> {
    pub(super) fn for_text(text: &'t str) -> Self {
        Self {
            texts: TextTable::of(text),
            items: Pieces::for_about(text.len() / BYTES_PER_ENTRY),
            entries: Pieces::for_about(text.len() / BYTES_PER_ENTRY),
            open_items: Vec::new(),
            open_entries: Vec::new(),
            frames: Vec::new(),
            root: None,
            nodes: 0,
            findings: Vec::new(),
        }
    }

    /// Returns true if the next scalar is a map's key.
    pub(super) fn wants_key(&self) -> bool {
        matches!(self.frames.last(), Some(OpenCollection { kind: FrameKind::Map { key: None, .. }, .. }))
    }

    pub(super) fn key(&mut self, text: Cow<'t, str>, span: Span) {
        let text = self.texts.add(text);
        self.known_key(text, span);
    }

    /// Uses a value that is already in the tree as a key; returns `false` if it is not text.
    pub(super) fn key_from(&mut self, node: TreeNode, span: Span) -> bool {
        let NodeContent::Str(text) = node.content else { return false };
        self.known_key(text, span);
        true
    }

    fn known_key(&mut self, text: Text, span: Span) {
        if let Some(OpenCollection { kind: FrameKind::Map { key, .. }, .. }) = self.frames.last_mut() {
            *key = Some((text, span));
        }
    }

    pub(super) fn scalar(&mut self, span: Span, scalar: Scalar<'t>) -> Result<(), Stop> {
        let node = self.node(span, scalar);
        self.add(node, Measure::LEAF)
    }

    /// Creates a scalar without adding it.
    pub(super) fn node(&mut self, span: Span, scalar: Scalar<'t>) -> TreeNode {
        let content = match scalar {
            Scalar::Null => NodeContent::Null,
            Scalar::Bool(value) => NodeContent::Bool(value),
            Scalar::Int(value) => NodeContent::Int(value),
            Scalar::Float(value) => NodeContent::Float(value),
            Scalar::Str(text) => NodeContent::Str(self.texts.add(text)),
        };
        TreeNode { span, content }
    }

    pub(super) fn open_list(&mut self, start: usize) -> Result<(), Stop> {
        self.open(start, FrameKind::List { first: self.open_items.len() })
    }

    pub(super) fn open_map(&mut self, start: usize) -> Result<(), Stop> {
        self.open(start, FrameKind::Map { first: self.open_entries.len(), key: None })
    }

    fn open(&mut self, start: usize, kind: FrameKind) -> Result<(), Stop> {
        if self.frames.len() >= DEPTH_MAX {
            return self.stop(too_deep(Span::new(start, start + 1)));
        }
        self.frames.push(OpenCollection { start, kind, measure: Measure::LEAF });
        Ok(())
    }

    /// Closes the innermost collection and returns it, for storing an anchor.
    pub(super) fn close(&mut self, end: usize) -> Result<Option<(TreeNode, Measure)>, Stop> {
        let Some(frame) = self.frames.pop() else { return Ok(None) };
        let span = Span::new(frame.start, end.max(frame.start));
        let content = match frame.kind {
            FrameKind::List { first } => {
                let run = self.items.add(&self.open_items[first..]);
                self.open_items.truncate(first);
                NodeContent::List(run)
            }
            FrameKind::Map { first, .. } => {
                self.refuse_duplicates(first);
                let run = self.entries.add(&self.open_entries[first..]);
                self.open_entries.truncate(first);
                NodeContent::Map(run)
            }
        };
        let node = TreeNode { span, content };
        self.place(node, frame.measure);
        Ok(Some((node, frame.measure)))
    }

    /// Adds a complete value: a scalar, or the target of an alias.
    pub(super) fn add(&mut self, node: TreeNode, measure: Measure) -> Result<(), Stop> {
        self.nodes = self.nodes.saturating_add(measure.nodes);
        if self.nodes > NODES_MAX {
            return self.stop(too_many(node.span));
        }
        if self.frames.len() + measure.height > DEPTH_MAX {
            return self.stop(too_deep(node.span));
        }
        self.place(node, measure);
        Ok(())
    }

    fn place(&mut self, node: TreeNode, measure: Measure) {
        let Some(frame) = self.frames.last_mut() else {
            self.root = Some(node);
            return;
        };
        frame.measure.nodes = frame.measure.nodes.saturating_add(measure.nodes);
        frame.measure.height = frame.measure.height.max(measure.height + 1);
        match &mut frame.kind {
            FrameKind::List { .. } => self.open_items.push(node),
            FrameKind::Map { key, .. } => {
                let (key, key_span) = key.take().unwrap_or_default();
                self.open_entries.push(MapEntry { key, key_span, value: node });
            }
        }
    }

    fn stop<T>(&mut self, finding: Finding) -> Result<T, Stop> {
        self.findings.push(finding);
        Err(Stop)
    }

    /// Reports duplicate keys in the map whose entries start at `first`.
    fn refuse_duplicates(&mut self, first: usize) {
        let entries = &self.open_entries[first..];
        let (texts, findings) = (&self.texts, &mut self.findings);
        let text = |entry: &MapEntry| texts.get(entry.key);
        if entries.len() <= SMALL_MAP {
            for (index, entry) in entries.iter().enumerate() {
                let key = text(entry);
                if let Some(earlier) = entries[..index].iter().find(|earlier| text(earlier) == key) {
                    findings.push(duplicate(key, entry.key_span, earlier.key_span));
                }
            }
            return;
        }
        let mut seen: FxHashMap<&str, Span> = FxHashMap::default();
        seen.reserve(entries.len());
        for entry in entries {
            if let Some(earlier) = seen.insert(texts.get(entry.key), entry.key_span) {
                findings.push(duplicate(texts.get(entry.key), entry.key_span, earlier));
            }
        }
    }

    pub(super) fn finish(self) -> Result<TextTree<'t>, Vec<Finding>> {
        if !self.findings.is_empty() {
            return Err(self.findings);
        }
        let root = self.root.unwrap_or(TreeNode { span: Span::default(), content: NodeContent::Null });
        Ok(TextTree { texts: self.texts, items: self.items, entries: self.entries, root })
    }
}

fn duplicate(key: &str, span: Span, earlier: Span) -> Finding {
    Finding::new(DUPLICATE_KEY, Severity::Fatal, span, format!("the key `{key}` is written twice"))
        .label("written again here")
        .related(earlier, "first written here")
        .help("keep one of them; several transitions for one event are written as a list")
}
