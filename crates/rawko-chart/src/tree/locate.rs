//! Maps a byte range of a string's value back to its source text: through quotes, escapes, folded lines and block
//! scalars, as far as the notation allows.

use std::ops::Range;

use crate::source::Span;

/// Returns the location of `part` (a byte range of `value`) in `text`, where `value` was written at `span`. Falls back
/// to the whole span if the notations do not align.
pub(crate) fn locate(text: &str, span: Span, value: &str, part: Range<usize>) -> Span {
    let raw = text.get(span.range()).unwrap_or_default();
    let place = match raw.find(value) {
        Some(start) => Some(start + part.start..start + part.end),
        None => aligned(raw, value, &part),
    };
    let Some(place) = place else { return span };
    let start = span.start as usize + place.start;
    let end = (span.start as usize + place.end).clamp(start, span.end as usize);
    Span::new(start.min(span.end as usize), end)
}

/// Walks value and notation side by side: white space may differ, an escape represents one character.
fn aligned(raw: &str, value: &str, part: &Range<usize>) -> Option<Range<usize>> {
    let mut at = content_start(raw);
    let (mut start, mut end) = (None, None);
    for (index, character) in value.char_indices() {
        at = skip_to(raw, at, character)?;
        if index == part.start {
            start = Some(at);
        }
        at += written_len(&raw[at..], character);
        if index < part.end {
            end = Some(at);
        }
    }
    let start = start.unwrap_or(at);
    Some(start..end.unwrap_or(start).max(start))
}

/// Skips the opening quote, or the header line of a block scalar.
fn content_start(raw: &str) -> usize {
    match raw.as_bytes().first() {
        Some(b'"' | b'\'') => 1,
        Some(b'|' | b'>') => raw.find('\n').map_or(0, |newline| newline + 1),
        _ => 0,
    }
}

/// Returns the position of `character` at or after `at`; only white space may be skipped.
fn skip_to(raw: &str, mut at: usize, character: char) -> Option<usize> {
    loop {
        let next = raw[at..].chars().next();
        match next {
            Some(found) if found == character || found == '\\' => return Some(at),
            Some(found) if found.is_whitespace() && character.is_whitespace() => return Some(at),
            Some(found) if found.is_whitespace() => at += found.len_utf8(),
            // Trailing white space of a block scalar is not part of its span.
            None if character.is_whitespace() => return Some(at),
            Some(_) | None => return None,
        }
    }
}

/// Returns the length of one character in the notation, in bytes.
fn written_len(raw: &str, character: char) -> usize {
    let mut chars = raw.chars();
    match chars.next() {
        None => 0,
        Some('\\') if character != '\\' || raw.starts_with("\\\\") => match chars.next() {
            Some('x') => 4,
            Some('u') => 6,
            Some('U') => 10,
            Some(escaped) => 1 + escaped.len_utf8(),
            None => 1,
        }
        .min(raw.len()),
        // A single quote inside single quotes is doubled.
        Some('\'') if raw.starts_with("''") => 2,
        Some(found) => found.len_utf8(),
    }
}

#[cfg(test)]
mod tests {
    use super::locate;
    use crate::source::Span;

    /// Checks the source text found for the part `wanted` of `value`.
    fn check(raw: &str, value: &str, wanted: &str) {
        let start = value.find(wanted).unwrap();
        let place = locate(raw, Span::new(0, raw.len()), value, start..start + wanted.len());
        assert_eq!(&raw[place.range()], wanted, "{raw:?}");
    }

    #[test]
    fn parts_are_found_through_every_notation() {
        check("context.score > 3", "context.score > 3", "score");
        check("\"context.score > 3\"", "context.score > 3", "score");
        check("'a == ''low'' and b'", "a == 'low' and b", "b");
        check(r#""a == \"low\" and score""#, "a == \"low\" and score", "score");
        check("context.a\n      and context.b", "context.a and context.b", "context.b");
        check(">-\n  context.a\n  and\n  context.b", "context.a and context.b", "context.b");
        check("|\n    first\n    second", "first\nsecond\n", "second");
    }

    #[test]
    fn what_does_not_line_up_is_the_whole_span() {
        let place = locate("*alias", Span::new(0, 6), "context.a", 0..7);
        assert_eq!(place, Span::new(0, 6));
    }
}
