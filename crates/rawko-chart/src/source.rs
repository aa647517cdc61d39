//! `SourceFile` and `Span`: the text of a chart, and locations in it.

use std::ops::Range;
use std::sync::Arc;

/// One file's text, with its display name.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// Name for messages, usually a path; not opened.
    pub name: Arc<str>,
    /// The complete text.
    pub text: Arc<str>,
}

impl SourceFile {
    /// Creates a source from a display name and its text.
    pub fn new(name: impl Into<Arc<str>>, text: impl Into<Arc<str>>) -> Self {
        Self { name: name.into(), text: text.into() }
    }
}

/// A byte range of a source's text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset after the last byte.
    pub end: u32,
}

impl Span {
    /// Creates a span from byte offsets, which must fit 32 bits.
    pub fn new(start: usize, end: usize) -> Self {
        Self { start: start as u32, end: end as u32 }
    }

    /// Returns the span as a range for slicing the text.
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}
