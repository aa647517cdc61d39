//! `SpannedValue`: any YAML or JSON text as an owned tree with source locations. For files beside charts (scenarios,
//! settings, stubs), whose readers are in other crates and need equally precise findings.

use crate::finding::Finding;
use crate::source::Span;
use crate::tree::{Data, NodeView, TextTree};

/// A value with its location.
#[derive(Clone, Debug, PartialEq)]
pub struct SpannedValue {
    /// Location of the value in its text, without the key.
    pub span: Span,
    /// The value itself.
    pub data: DocumentData,
}

/// A value of YAML or JSON.
#[derive(Clone, Debug, PartialEq)]
pub enum DocumentData {
    /// `null`, `~`, or nothing after a key.
    Null,
    /// `true` or `false`; words such as `yes` are text.
    Bool(bool),
    /// A number without a fraction or exponent that fits 64 bits, also in YAML as `0x…` and `0o…`.
    Int(i64),
    /// Any other number, always finite.
    Float(f64),
    /// Quoted text, or plain text that is no other scalar.
    Str(String),
    /// Items in document order.
    List(Vec<SpannedValue>),
    /// Entries in document order; no key occurs twice.
    Map(Vec<DocumentEntry>),
}

/// One entry of a map.
#[derive(Clone, Debug, PartialEq)]
pub struct DocumentEntry {
    /// The key as text.
    pub key: String,
    /// Location of the key.
    pub key_span: Span,
    /// The value of the key, with its own location.
    pub value: SpannedValue,
}

impl SpannedValue {
    /// Reads a text, or returns everything that prevents it from being read.
    pub fn read(text: &str) -> Result<SpannedValue, Vec<Finding>> {
        Ok(owned(TextTree::read(text)?.root()))
    }

    /// Returns the value of a key, if this is a map that has it.
    pub fn get(&self, key: &str) -> Option<&SpannedValue> {
        self.entries()?.iter().find(|entry| entry.key == key).map(|entry| &entry.value)
    }

    /// Returns the entries if this is a map.
    pub fn entries(&self) -> Option<&[DocumentEntry]> {
        if let DocumentData::Map(entries) = &self.data { Some(entries) } else { None }
    }

    /// Returns the items if this is a list.
    pub fn items(&self) -> Option<&[SpannedValue]> {
        if let DocumentData::List(items) = &self.data { Some(items) } else { None }
    }

    /// Returns the text if this is a string; numbers and booleans are not converted.
    pub fn text(&self) -> Option<&str> {
        if let DocumentData::Str(text) = &self.data { Some(text) } else { None }
    }

    /// Returns the description of the value's kind, as in "found a list".
    pub fn kind_words(&self) -> &'static str {
        match &self.data {
            DocumentData::Null => "nothing",
            DocumentData::Bool(_) => "a boolean",
            DocumentData::Int(_) => "a whole number",
            DocumentData::Float(_) => "a number",
            DocumentData::Str(_) => "text",
            DocumentData::List(_) => "a list",
            DocumentData::Map(_) => "a map",
        }
    }

    /// Returns the value as JSON, without locations.
    pub fn to_json(&self) -> serde_json::Value {
        match &self.data {
            DocumentData::Null => serde_json::Value::Null,
            DocumentData::Bool(value) => (*value).into(),
            DocumentData::Int(value) => (*value).into(),
            DocumentData::Float(value) => (*value).into(),
            DocumentData::Str(text) => text.as_str().into(),
            DocumentData::List(items) => items.iter().map(SpannedValue::to_json).collect(),
            DocumentData::Map(entries) => serde_json::Value::Object(
                entries.iter().map(|entry| (entry.key.clone(), entry.value.to_json())).collect(),
            ),
        }
    }
}

/// Recursion is bounded: the tree's own limit on depth has already been applied.
fn owned(view: NodeView<'_>) -> SpannedValue {
    let data = match view.data() {
        Data::Null => DocumentData::Null,
        Data::Bool(value) => DocumentData::Bool(value),
        Data::Int(value) => DocumentData::Int(value),
        Data::Float(value) => DocumentData::Float(value),
        Data::Str(text) => DocumentData::Str(text.to_string()),
        Data::List { .. } => DocumentData::List(view.each_item().map(owned).collect()),
        Data::Map { .. } => DocumentData::Map(view.each_pair().map(owned_entry).collect()),
    };
    SpannedValue { span: view.span(), data }
}

fn owned_entry(pair: crate::tree::Pair<'_>) -> DocumentEntry {
    DocumentEntry { key: pair.key.to_owned(), key_span: pair.key_span, value: owned(pair.value) }
}
