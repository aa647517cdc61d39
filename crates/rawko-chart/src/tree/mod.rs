//! The spanned tree: the common form of YAML and JSON text. It borrows from the text where possible and keeps all nodes
//! in two tables, so that a chart of a thousand states takes only a few allocations.

mod builder;
mod canonical;
mod json;
mod locate;
mod pieces;
mod texts;
mod yaml;

pub(crate) use canonical::{content_hash, to_value};
pub(crate) use locate::locate;
use pieces::{PieceRange, Pieces};
use texts::{Text, TextTable};

use crate::finding::{Finding, Severity};
use crate::source::Span;

/// Size limit of a text.
pub const SOURCE_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Nesting limit of lists and maps, with aliases expanded.
pub const DEPTH_MAX: usize = 128;
/// Limit of values in a text, with aliases expanded.
pub const NODES_MAX: usize = 500_000;

/// A whole document.
#[derive(Debug)]
pub(crate) struct TextTree<'t> {
    texts: TextTable<'t>,
    items: Pieces<TreeNode>,
    entries: Pieces<MapEntry>,
    root: TreeNode,
}

/// A value with its location. Text, lists and maps point into the tree's tables.
#[derive(Clone, Copy, Debug)]
struct TreeNode {
    span: Span,
    content: NodeContent,
}

#[derive(Clone, Copy, Debug)]
enum NodeContent {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(Text),
    List(PieceRange),
    Map(PieceRange),
}

/// One entry of a map. Keys are always text: `100:` and `"100":` are the same key.
#[derive(Clone, Copy, Debug)]
struct MapEntry {
    key: Text,
    key_span: Span,
    value: TreeNode,
}

/// A large chart has thousands of these, written once and read three times.
const _: () = assert!(size_of::<MapEntry>() <= 40);

/// The data of a node.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Data<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(&'a str),
    List { len: u32 },
    Map { len: u32 },
}

/// A node together with its tree, for passing around.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NodeView<'a> {
    tree: &'a TextTree<'a>,
    node: &'a TreeNode,
}

/// A map's entry together with its tree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pair<'a> {
    pub(crate) key: &'a str,
    pub(crate) key_span: Span,
    pub(crate) value: NodeView<'a>,
}

impl<'t> TextTree<'t> {
    /// Reads a text as JSON if it starts like JSON, as YAML otherwise.
    pub(crate) fn read(text: &'t str) -> Result<TextTree<'t>, Vec<Finding>> {
        if text.len() > SOURCE_BYTES_MAX {
            return Err(vec![too_large(text.len())]);
        }
        if starts_like_json(text) { json::read(text) } else { yaml::read(text) }
    }

    pub(crate) fn root<'a>(&'a self) -> NodeView<'a>
    where
        't: 'a,
    {
        NodeView { tree: self, node: &self.root }
    }
}

impl<'a> NodeView<'a> {
    pub(crate) fn span(self) -> Span {
        self.node.span
    }

    #[inline]
    pub(crate) fn data(self) -> Data<'a> {
        match self.node.content {
            NodeContent::Null => Data::Null,
            NodeContent::Bool(value) => Data::Bool(value),
            NodeContent::Int(value) => Data::Int(value),
            NodeContent::Float(value) => Data::Float(value),
            NodeContent::Str(text) => Data::Str(self.tree.texts.get(text)),
            NodeContent::List(run) => Data::List { len: run.len },
            NodeContent::Map(run) => Data::Map { len: run.len },
        }
    }

    pub(crate) fn text(self) -> Option<&'a str> {
        if let NodeContent::Str(text) = self.node.content { Some(self.tree.texts.get(text)) } else { None }
    }

    pub(crate) fn is_null(self) -> bool {
        matches!(self.node.content, NodeContent::Null)
    }

    /// Returns the items of a list; `None` for anything else.
    pub(crate) fn items(self) -> Option<impl ExactSizeIterator<Item = NodeView<'a>>> {
        matches!(self.node.content, NodeContent::List(_)).then(|| self.each_item())
    }

    /// Returns the entries of a map, in order; `None` for anything else.
    pub(crate) fn pairs(self) -> Option<impl ExactSizeIterator<Item = Pair<'a>>> {
        matches!(self.node.content, NodeContent::Map(_)).then(|| self.each_pair())
    }

    /// Returns the items of a list; empty for anything else.
    #[inline]
    pub(crate) fn each_item(self) -> impl ExactSizeIterator<Item = NodeView<'a>> {
        let items =
            if let NodeContent::List(run) = self.node.content { self.tree.items.get(run) } else { &[] };
        items.iter().map(move |node| NodeView { tree: self.tree, node })
    }

    /// Returns the entries of a map, in order; empty for anything else.
    #[inline]
    pub(crate) fn each_pair(self) -> impl ExactSizeIterator<Item = Pair<'a>> {
        let entries =
            if let NodeContent::Map(run) = self.node.content { self.tree.entries.get(run) } else { &[] };
        entries.iter().map(move |entry| Pair {
            key: self.tree.texts.get(entry.key),
            key_span: entry.key_span,
            value: NodeView { tree: self.tree, node: &entry.value },
        })
    }

    /// Returns the value of a key; for rarely read maps only, because it scans all entries.
    pub(crate) fn get(self, key: &str) -> Option<NodeView<'a>> {
        self.pairs()?.find(|pair| pair.key == key).map(|pair| pair.value)
    }

    /// Returns a list's items, or the value itself as the only one.
    pub(crate) fn one_or_many(self) -> Vec<NodeView<'a>> {
        match self.items() {
            Some(items) => items.collect(),
            None => vec![self],
        }
    }

    /// Returns the description of the value's kind, as in "found a list".
    pub(crate) fn kind_words(self) -> &'static str {
        match self.node.content {
            NodeContent::Null => "nothing",
            NodeContent::Bool(_) => "a boolean",
            NodeContent::Int(_) => "a whole number",
            NodeContent::Float(_) => "a number",
            NodeContent::Str(_) => "text",
            NodeContent::List(_) => "a list",
            NodeContent::Map(_) => "a map",
        }
    }
}

pub(crate) const JSON_SYNTAX: &str = crate::codes::JSON_SYNTAX.name;
pub(crate) const YAML_SYNTAX: &str = crate::codes::YAML_SYNTAX.name;
pub(crate) const DUPLICATE_KEY: &str = crate::codes::DUPLICATE_KEY.name;
const TOO_LARGE: &str = crate::codes::TOO_LARGE.name;

/// Returns true for a bracket, or a brace and a quote. A brace and a bare word is YAML's flow style.
fn starts_like_json(text: &str) -> bool {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).trim_start();
    match text.strip_prefix('{') {
        Some(rest) => rest.trim_start().starts_with(['"', '}']),
        None => text.starts_with('['),
    }
}

/// Returns the finding for a text above the size limit.
pub(crate) fn too_large(bytes: usize) -> Finding {
    let message = format!("the text is {bytes} bytes long; at most {SOURCE_BYTES_MAX} are read");
    Finding::new(TOO_LARGE, Severity::Fatal, Span::default(), message)
        .help("charts are rarely larger than a few hundred kilobytes; check that this is the right file")
}

fn too_deep(span: Span) -> Finding {
    Finding::new(TOO_LARGE, Severity::Fatal, span, format!("nested more than {DEPTH_MAX} levels deep"))
        .label("too deep from here on")
        .help("split the chart with `invoke`")
}

fn too_many(span: Span) -> Finding {
    Finding::new(TOO_LARGE, Severity::Fatal, span, format!("more than {NODES_MAX} values, aliases followed"))
        .label("the limit is reached here")
        .help("split the chart, or use fewer aliases")
}
