//! Text width without a font. Widths are those of common sans-serif faces, rounded up, so that a box fits its text in
//! any of them.

/// Sizes in pixels.
pub(crate) const TITLE: f64 = 13.0;
pub(crate) const SMALL: f64 = 11.0;

/// Returns the estimated width of one line.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    text.chars().map(em).sum::<f64>() * size
}

/// Returns the width of one character in em, for a face a little wider than Arial.
fn em(c: char) -> f64 {
    match c {
        'i' | 'j' | 'l' | '\'' => 0.28,
        ' ' | '.' | ',' | ':' | ';' | '!' | 'I' | 'f' | 't' | '/' | '\\' | '[' | ']' | '(' | ')' => 0.34,
        'r' | '-' | '`' | '|' => 0.40,
        '"' | '{' | '}' | '*' => 0.50,
        'c' | 'k' | 's' | 'v' | 'x' | 'y' | 'z' | 'J' => 0.55,
        'm' | 'w' | 'M' | 'W' | '@' | '%' | '…' => 0.98,
        'A'..='Z' | '&' => 0.74,
        '<' | '>' | '=' | '+' | '~' | '^' | '#' => 0.80,
        '\u{0}'..='\u{7f}' => 0.62,
        '\u{300}'..='\u{36f}' | '\u{200b}'..='\u{200f}' | '\u{fe00}'..='\u{fe0f}' => 0.0,
        '\u{80}'..='\u{10ff}' => 0.70,
        _ => 1.1,
    }
}

/// Breaks text into at most `lines_max` lines no wider than `width_max`; truncated text ends in an ellipsis.
pub(crate) fn wrap(text: &str, size: f64, width_max: f64, lines_max: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for piece in pieces(text) {
        if !line.is_empty() && width(&(line.clone() + piece.trim_end()), size) > width_max {
            lines.push(std::mem::take(&mut line));
        }
        for c in piece.chars() {
            if !line.is_empty() && c != ' ' && width(&line, size) + em(c) * size > width_max {
                lines.push(std::mem::take(&mut line));
            }
            line.push(c);
        }
    }
    lines.push(line);
    let mut lines: Vec<String> =
        lines.into_iter().map(|l| l.trim().to_owned()).filter(|l| !l.is_empty()).collect();
    if lines.len() > lines_max {
        lines.truncate(lines_max);
        if let Some(last) = lines.last_mut() {
            shorten(last, size, width_max);
        }
    }
    lines
}

fn shorten(line: &mut String, size: f64, width_max: f64) {
    while !line.is_empty() && width(line, size) + em('…') * size > width_max {
        line.pop();
    }
    while line.ends_with(' ') {
        line.pop();
    }
    line.push('…');
}

/// Splits text at possible line breaks: after spaces, and after separators in long names.
fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut start = 0;
    for (at, c) in text.char_indices() {
        if matches!(c, ' ' | '_' | '.' | '/' | ':' | '-' | ',') {
            let end = at + c.len_utf8();
            pieces.push(&text[start..end]);
            start = end;
        }
    }
    if start < text.len() {
        pieces.push(&text[start..]);
    }
    pieces
}

/// Escapes text and attribute values: the five entities, without characters that XML forbids.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
