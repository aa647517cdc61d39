//! Positions as editors count them: lines from zero, and UTF-16 code units within a line.

use rawko_chart::Span;

/// A place between two characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct TextPosition {
    /// Line, from zero.
    pub line: u32,
    /// UTF-16 code units before the place.
    pub character: u32,
}

/// The lines of a text, for converting between byte offsets and positions.
#[derive(Debug)]
pub struct TextLines<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> TextLines<'t> {
    /// Finds the lines of a text; they end with `\n`, `\r\n` or `\r`.
    pub fn of(text: &'t str) -> TextLines<'t> {
        let bytes = text.as_bytes();
        let is_end =
            |at: &usize| bytes[*at] == b'\n' || (bytes[*at] == b'\r' && bytes.get(at + 1) != Some(&b'\n'));
        let starts = std::iter::once(0).chain((0..bytes.len()).filter(is_end).map(|at| at + 1)).collect();
        TextLines { text, starts }
    }

    /// Returns the position of a byte offset; one inside a character or after the text is moved back.
    pub fn position(&self, offset: usize) -> TextPosition {
        let mut offset = offset.min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        let line = self.starts.partition_point(|start| *start <= offset).saturating_sub(1);
        let before = &self.text[self.starts[line]..offset];
        TextPosition { line: line as u32, character: before.encode_utf16().count() as u32 }
    }

    /// Returns the positions of a span's start and end.
    pub fn range(&self, span: Span) -> (TextPosition, TextPosition) {
        (self.position(span.start as usize), self.position(span.end as usize))
    }

    /// Returns the byte offset of a position; one after the end of its line is the end of the line.
    pub fn offset(&self, position: TextPosition) -> usize {
        let Some(start) = self.starts.get(position.line as usize) else { return self.text.len() };
        let end = self.starts.get(position.line as usize + 1).copied().unwrap_or(self.text.len());
        let line = self.text[*start..end].trim_end_matches(['\n', '\r']);
        start + offset_of_units(line, position.character as usize)
    }

    /// Returns the byte offset of a number of UTF-16 code units from the start of the text.
    pub fn offset_of_units(&self, units: usize) -> usize {
        offset_of_units(self.text, units)
    }

    /// Returns the number of UTF-16 code units before a byte offset.
    pub fn units(&self, offset: usize) -> usize {
        self.text.get(..offset).unwrap_or(self.text).encode_utf16().count()
    }
}

/// Half a surrogate pair belongs to the character that it is part of.
fn offset_of_units(text: &str, units: usize) -> usize {
    let mut passed = 0;
    for (at, character) in text.char_indices() {
        if passed + character.len_utf16() > units {
            return at;
        }
        passed += character.len_utf16();
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_outside_the_basic_plane_count_twice() {
        let text = "a: 1\r\nß😀: x\n\rz";
        let lines = TextLines::of(text);
        let at = |line, character| TextPosition { line, character };
        for (needle, expected) in
            [("a", at(0, 0)), ("ß", at(1, 0)), ("😀", at(1, 1)), (": x", at(1, 3)), ("z", at(3, 0))]
        {
            let offset = text.find(needle).unwrap();
            assert_eq!(lines.position(offset), expected, "{needle}");
            assert_eq!(lines.offset(expected), offset, "{needle}");
            assert_eq!(lines.offset_of_units(lines.units(offset)), offset, "{needle}");
        }
        assert_eq!(lines.offset(at(0, 99)), 4, "the end of the line, without its break");
        assert_eq!(lines.offset(at(1, 2)), text.find("😀").unwrap(), "half a pair");
        assert_eq!(lines.offset(at(9, 0)), text.len());
        assert_eq!(lines.position(text.find("😀").unwrap() + 2), at(1, 1));
    }
}
