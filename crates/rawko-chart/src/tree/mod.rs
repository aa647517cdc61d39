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
use pieces::{Pieces, Run};
use texts::{Text, Texts};

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
pub(crate) struct Tree<'t> {
    texts: Texts<'t>,
    items: Pieces<Node>,
    entries: Pieces<Entry>,
    root: Node,
}

/// A value with its location. Text, lists and maps point into the tree's tables.
#[derive(Clone, Copy, Debug)]
struct Node {
    span: Span,
    content: Content,
}

#[derive(Clone, Copy, Debug)]
enum Content {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(Text),
    List(Run),
    Map(Run),
}

/// One entry of a map. Keys are always text: `100:` and `"100":` are the same key.
#[derive(Clone, Copy, Debug)]
struct Entry {
    key: Text,
    key_span: Span,
    value: Node,
}

/// A large chart has thousands of these, written once and read three times.
const _: () = assert!(size_of::<Entry>() <= 40);

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
pub(crate) struct View<'a> {
    tree: &'a Tree<'a>,
    node: &'a Node,
}

/// A map's entry together with its tree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pair<'a> {
    pub(crate) key: &'a str,
    pub(crate) key_span: Span,
    pub(crate) value: View<'a>,
}

impl<'t> Tree<'t> {
    /// Reads a text as JSON if it starts like JSON, as YAML otherwise.
    pub(crate) fn read(text: &'t str) -> Result<Tree<'t>, Vec<Finding>> {
        if text.len() > SOURCE_BYTES_MAX {
            return Err(vec![too_large(text.len())]);
        }
        if starts_like_json(text) { json::read(text) } else { yaml::read(text) }
    }

    pub(crate) fn root<'a>(&'a self) -> View<'a>
    where
        't: 'a,
    {
        View { tree: self, node: &self.root }
    }
}

impl<'a> View<'a> {
    pub(crate) fn span(self) -> Span {
        self.node.span
    }

    #[inline]
    pub(crate) fn data(self) -> Data<'a> {
        match self.node.content {
            Content::Null => Data::Null,
            Content::Bool(value) => Data::Bool(value),
            Content::Int(value) => Data::Int(value),
            Content::Float(value) => Data::Float(value),
            Content::Str(text) => Data::Str(self.tree.texts.get(text)),
            Content::List(run) => Data::List { len: run.len },
            Content::Map(run) => Data::Map { len: run.len },
        }
    }

    pub(crate) fn text(self) -> Option<&'a str> {
        if let Content::Str(text) = self.node.content { Some(self.tree.texts.get(text)) } else { None }
    }

    pub(crate) fn is_null(self) -> bool {
        matches!(self.node.content, Content::Null)
    }

    /// Returns the items of a list; `None` for anything else.
    pub(crate) fn items(self) -> Option<impl ExactSizeIterator<Item = View<'a>>> {
        matches!(self.node.content, Content::List(_)).then(|| self.each_item())
    }

    /// Returns the entries of a map, in order; `None` for anything else.
    pub(crate) fn pairs(self) -> Option<impl ExactSizeIterator<Item = Pair<'a>>> {
        matches!(self.node.content, Content::Map(_)).then(|| self.each_pair())
    }

    /// Returns the items of a list; empty for anything else.
    #[inline]
    pub(crate) fn each_item(self) -> impl ExactSizeIterator<Item = View<'a>> {
        let items = if let Content::List(run) = self.node.content { self.tree.items.get(run) } else { &[] };
        items.iter().map(move |node| View { tree: self.tree, node })
    }

    /// Returns the entries of a map, in order; empty for anything else.
    #[inline]
    pub(crate) fn each_pair(self) -> impl ExactSizeIterator<Item = Pair<'a>> {
        let entries =
            if let Content::Map(run) = self.node.content { self.tree.entries.get(run) } else { &[] };
        entries.iter().map(move |entry| Pair {
            key: self.tree.texts.get(entry.key),
            key_span: entry.key_span,
            value: View { tree: self.tree, node: &entry.value },
        })
    }

    /// Returns the value of a key; for rarely read maps only, because it scans all entries.
    pub(crate) fn get(self, key: &str) -> Option<View<'a>> {
        self.pairs()?.find(|pair| pair.key == key).map(|pair| pair.value)
    }

    /// Returns a list's items, or the value itself as the only one.
    pub(crate) fn one_or_many(self) -> Vec<View<'a>> {
        match self.items() {
            Some(items) => items.collect(),
            None => vec![self],
        }
    }

    /// Returns the description of the value's kind, as in "found a list".
    pub(crate) fn kind_words(self) -> &'static str {
        match self.node.content {
            Content::Null => "nothing",
            Content::Bool(_) => "a boolean",
            Content::Int(_) => "a whole number",
            Content::Float(_) => "a number",
            Content::Str(_) => "text",
            Content::List(_) => "a list",
            Content::Map(_) => "a map",
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
