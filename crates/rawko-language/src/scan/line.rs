//! One line of YAML: its indentation, dashes, key and value.

use std::ops::Range;

#[derive(Debug)]
pub(super) struct ScannedLine {
    pub(super) is_blank: bool,
    pub(super) indent: usize,
    /// Columns of `- ` at the start.
    pub(super) dashes: Vec<usize>,
    /// Column after the indentation and the dashes.
    pub(super) column: usize,
    pub(super) key: Option<String>,
    /// Of the key, without quotes.
    pub(super) key_span: Option<Range<usize>>,
    /// Column of the value, or of everything after the dashes if there is no key.
    pub(super) value_at: usize,
    /// True for `|` and `>`.
    pub(super) opens_block: bool,
    /// True if the value begins with a brace or a bracket.
    pub(super) opens_flow: bool,
    /// Column of the number sign of a comment.
    pub(super) comment_at: Option<usize>,
}

impl ScannedLine {
    pub(super) fn read(text: &str) -> ScannedLine {
        let text = text.trim_end_matches('\r');
        let spaces =
            |from: usize| text[from..].len() - text[from..].trim_start_matches([' ', '\u{feff}']).len();
        let indent = spaces(0);
        let (mut column, mut dashes) = (indent, Vec::new());
        while text[column..].starts_with('-')
            && text[column + 1..].chars().next().is_none_or(char::is_whitespace)
        {
            dashes.push(column);
            column += 1 + spaces(column + 1);
        }
        let rest = &text[column..];
        let found = key_of(rest);
        let value_at = found.as_ref().map_or(column, |found| (column + found.after).min(text.len()));
        let value = text[value_at..].trim();
        ScannedLine {
            is_blank: text.trim().is_empty(),
            indent,
            dashes,
            column,
            key_span: found.as_ref().map(|found| column + found.span.start..column + found.span.end),
            key: found.map(|found| found.name),
            value_at: value_at
                + (text[value_at..].len() - text[value_at..].trim_start().len()).min(value.len()),
            opens_block: is_block(value),
            opens_flow: value.starts_with(['{', '[']),
            comment_at: comment_at(text),
        }
    }
}

/// A key at the start of a text.
struct FoundKey {
    name: String,
    span: Range<usize>,
    /// Offset after the colon and a space.
    after: usize,
}

fn key_of(rest: &str) -> Option<FoundKey> {
    let first = rest.chars().next()?;
    let (span, colon) = match first {
        '"' | '\'' => {
            let end = 1 + closing(&rest[1..], first)?;
            let spaces = rest[end + 1..].len() - rest[end + 1..].trim_start().len();
            (1..end, end + 1 + spaces)
        }
        '#' | '{' | '[' | ',' => return None,
        _ => {
            let colon = rest.find([':', '#'])?;
            (0..rest[..colon].trim_end().len(), colon)
        }
    };
    let after = rest[colon..].strip_prefix(':')?;
    if !after.chars().next().is_none_or(char::is_whitespace) || span.is_empty() {
        return None;
    }
    Some(FoundKey {
        name: rest[span.clone()].to_owned(),
        span,
        after: colon + 1 + usize::from(!after.is_empty()),
    })
}

/// Returns the offset of the quote that ends a text.
pub(super) fn closing(text: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quote == '"' => escaped = true,
            _ if c == quote => return Some(at),
            _ => {}
        }
    }
    None
}

/// True for `|`, `>-`, `|2` and the like.
fn is_block(value: &str) -> bool {
    let Some(rest) = value.strip_prefix(['|', '>']) else { return false };
    let rest = rest.trim_start_matches(['+', '-']).trim_start_matches(|c: char| c.is_ascii_digit());
    rest.is_empty() || rest.trim_start().starts_with('#')
}

/// Returns the column of a number sign that begins a comment: outside quotes, after a space.
fn comment_at(text: &str) -> Option<usize> {
    let (mut quote, mut before) = (None, ' ');
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') if !before.is_alphanumeric() => quote = Some(c),
            (None, '#') if before.is_whitespace() => return Some(at),
            (None, _) => {}
        }
        before = c;
    }
    None
}
