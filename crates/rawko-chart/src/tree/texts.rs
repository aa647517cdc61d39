//! `Texts`: the keys and strings of a tree. Nearly all of them stand in the source as they are, so that two small numbers
//! are enough; only those that were written with escapes or over several lines are kept apart.

use std::borrow::Cow;

/// A string of a tree.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Text {
    /// Where it starts in the source; `u32::MAX`: it is kept apart.
    start: u32,
    /// How long it is, or its number among those kept apart.
    len: u32,
}

const APART: u32 = u32::MAX;

#[derive(Debug, Default)]
pub(super) struct Texts<'t> {
    source: &'t str,
    apart: Vec<Box<str>>,
}

impl<'t> Texts<'t> {
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

    /// Where a text borrowed from the source starts in it. A reader may also borrow from elsewhere.
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
