//! Builds a tree from a stream of openings, keys, values and closings, and holds every limit in one place, so that
//! the YAML and the JSON reader cannot differ in what they refuse.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use super::{DEPTH_MAX, DUPLICATE_KEY, Data, Entry, NODES_MAX, Node, Tree, too_deep, too_many};
use crate::finding::{Finding, Severity};
use crate::source::Span;

/// Maps up to this size are searched for duplicates by comparing every pair.
const SMALL_MAP: usize = 8;

/// Measured on charts in JSON; YAML has more.
const BYTES_PER_ENTRY: usize = 12;

#[derive(Default)]
pub(super) struct Builder<'t> {
    items: Vec<Node<'t>>,
    entries: Vec<Entry<'t>>,
    /// Children of the collections that are still open; moved to the tables when their collection closes.
    open_items: Vec<Node<'t>>,
    open_entries: Vec<Entry<'t>>,
    frames: Vec<Frame<'t>>,
    root: Option<Node<'t>>,
    nodes: usize,
    pub(super) findings: Vec<Finding>,
}

struct Frame<'t> {
    start: usize,
    kind: FrameKind<'t>,
    measure: Measure,
}

enum FrameKind<'t> {
    List { first: usize },
    Map { first: usize, key: Option<(Cow<'t, str>, Span)> },
}

/// How much is below a node: for aliases, which repeat it without writing it.
#[derive(Clone, Copy)]
pub(super) struct Measure {
    pub(super) nodes: usize,
    pub(super) height: usize,
}

impl Measure {
    const LEAF: Measure = Measure { nodes: 1, height: 0 };
}

/// A limit was passed: reading stops.
pub(super) struct Stop;

impl<'t> Builder<'t> {
    /// Room for what a text of this length usually holds: growing would copy everything several times.
    pub(super) fn for_text(bytes: usize) -> Self {
        Self { entries: Vec::with_capacity(bytes / BYTES_PER_ENTRY), ..Self::default() }
    }

    /// Whether the next scalar is a map's key.
    pub(super) fn wants_key(&self) -> bool {
        matches!(self.frames.last(), Some(Frame { kind: FrameKind::Map { key: None, .. }, .. }))
    }

    pub(super) fn key(&mut self, text: Cow<'t, str>, span: Span) {
        if let Some(Frame { kind: FrameKind::Map { key, .. }, .. }) = self.frames.last_mut() {
            *key = Some((text, span));
        }
    }

    pub(super) fn scalar(&mut self, span: Span, data: Data<'t>) -> Result<(), Stop> {
        self.add(Node { span, data }, Measure::LEAF)
    }

    pub(super) fn open_list(&mut self, start: usize) -> Result<(), Stop> {
        self.open(start, FrameKind::List { first: self.open_items.len() })
    }

    pub(super) fn open_map(&mut self, start: usize) -> Result<(), Stop> {
        self.open(start, FrameKind::Map { first: self.open_entries.len(), key: None })
    }

    fn open(&mut self, start: usize, kind: FrameKind<'t>) -> Result<(), Stop> {
        if self.frames.len() >= DEPTH_MAX {
            return self.stop(too_deep(Span::new(start, start + 1)));
        }
        self.frames.push(Frame { start, kind, measure: Measure::LEAF });
        Ok(())
    }

    /// Closes the innermost collection; returns it for an anchor to remember.
    pub(super) fn close(&mut self, end: usize) -> Result<Option<(Node<'t>, Measure)>, Stop> {
        let Some(frame) = self.frames.pop() else { return Ok(None) };
        let span = Span::new(frame.start, end.max(frame.start));
        let data = match frame.kind {
            FrameKind::List { first } => {
                let start = self.items.len();
                self.items.extend(self.open_items.drain(first..));
                Data::List { first: start as u32, len: (self.items.len() - start) as u32 }
            }
            FrameKind::Map { first, .. } => {
                self.refuse_duplicates(first);
                let start = self.entries.len();
                self.entries.extend(self.open_entries.drain(first..));
                Data::Map { first: start as u32, len: (self.entries.len() - start) as u32 }
            }
        };
        let node = Node { span, data };
        self.place(node.clone(), frame.measure);
        Ok(Some((node, frame.measure)))
    }

    /// A value that is whole: a scalar, or what an alias repeats.
    pub(super) fn add(&mut self, node: Node<'t>, measure: Measure) -> Result<(), Stop> {
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

    fn place(&mut self, node: Node<'t>, measure: Measure) {
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
                self.open_entries.push(Entry { key, key_span, value: node });
            }
        }
    }

    fn stop<T>(&mut self, finding: Finding) -> Result<T, Stop> {
        self.findings.push(finding);
        Err(Stop)
    }

    /// Reports keys that occur twice in the map whose entries start at `first`.
    fn refuse_duplicates(&mut self, first: usize) {
        let entries = &self.open_entries[first..];
        let findings = &mut self.findings;
        if entries.len() <= SMALL_MAP {
            for (index, entry) in entries.iter().enumerate() {
                if let Some(earlier) = entries[..index].iter().find(|earlier| earlier.key == entry.key) {
                    findings.push(duplicate(&entry.key, entry.key_span, earlier.key_span));
                }
            }
            return;
        }
        let mut seen: FxHashMap<&str, Span> = FxHashMap::default();
        seen.reserve(entries.len());
        for entry in entries {
            if let Some(earlier) = seen.insert(&entry.key, entry.key_span) {
                findings.push(duplicate(&entry.key, entry.key_span, earlier));
            }
        }
    }

    pub(super) fn finish(self) -> Result<Tree<'t>, Vec<Finding>> {
        if !self.findings.is_empty() {
            return Err(self.findings);
        }
        let root = self.root.unwrap_or(Node { span: Span::default(), data: Data::Null });
        Ok(Tree { items: self.items, entries: self.entries, root })
    }
}

fn duplicate(key: &str, span: Span, earlier: Span) -> Finding {
    Finding::new(DUPLICATE_KEY, Severity::Fatal, span, format!("the key `{key}` is written twice"))
        .label("written again here")
        .related(earlier, "first written here")
        .help("keep one of them; several transitions for one event are written as a list")
}
