//! `TextTable`: the keys and strings of a tree. Nearly all of them appear verbatim in the source, so that two small numbers
//! are enough; only those with escapes or line breaks are stored separately.

use std::borrow::Cow;

/// A string of a tree.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Text {
    /// Start in the source; `u32::MAX` if it is stored separately.
    start: u32,
    /// Length, or index among those stored separately.
    len: u32,
}

const APART: u32 = u32::MAX;

#[derive(Debug, Default)]
pub(super) struct TextTable<'t> {
    source: &'t str,
    apart: Vec<Box<str>>,
}

impl<'t> TextTable<'t> {
    pub(super) fn of(source: &'t str) -> Self {
        Self { source, apart: Vec::new() }
    }

    pub(super) fn add(&mut self, text: Cow<'t, str>) -> Text {
        if let Cow::Borrowed(text) = text
            && let Some(start) = self.place(text)
        {
            return Text { start, len: text.len() as u32 };
        }
        self.apart.push(text.into());
        Text { start: APART, len: self.apart.len() as u32 - 1 }
    }

    /// Returns the start of a text borrowed from the source. A reader may also borrow from elsewhere.
    #[inline]
    fn place(&self, text: &str) -> Option<u32> {
        let start = text.as_ptr().addr().checked_sub(self.source.as_ptr().addr())?;
        (start + text.len() <= self.source.len()).then_some(start as u32)
    }

    #[inline]
    pub(super) fn get(&self, text: Text) -> &str {
        if text.start == APART {
            &self.apart[text.len as usize]
        } else {
            &self.source[text.start as usize..(text.start + text.len) as usize]
        }
    }
}
