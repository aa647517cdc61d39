//! Tokens of the DOT language: names, strings with their escapes, HTML strings, signs; comments are left out.

use super::parse::error;
use crate::ImportError;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum DotToken {
    /// A name, a number, or a quoted string.
    Id {
        text: String,
        quoted: bool,
    },
    Sign(char),
    Arrow,
    Line,
}

pub(super) fn tokens(text: &str) -> Result<Vec<(DotToken, u32)>, ImportError> {
    let mut found: Vec<(DotToken, u32)> = Vec::new();
    let mut line = 1;
    let mut rest = text;
    let mut at_line_start = true;
    while let Some(c) = rest.chars().next() {
        let mut used = c.len_utf8();
        let start = line;
        match c {
            '\n' => line += 1,
            // A line of a preprocessor.
            '#' if at_line_start => used = rest.find('\n').unwrap_or(rest.len()),
            c if c.is_whitespace() || c == '\u{feff}' => {}
            '/' if rest.starts_with("//") => used = rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => {
                let end = rest.find("*/").ok_or_else(|| error(line, "a comment that is not closed"))?;
                used = end + 2;
            }
            '"' => {
                let (value, length) =
                    quoted(rest).ok_or_else(|| error(line, "a string that is not closed"))?;
                used = length;
                append(&mut found, value, start);
            }
            '<' => {
                used = html(rest).ok_or_else(|| error(line, "an HTML string that is not closed"))?;
                found.push((DotToken::Id { text: text_of_html(&rest[1..used - 1]), quoted: true }, start));
            }
            '-' if rest.starts_with("->") => {
                used = 2;
                found.push((DotToken::Arrow, start));
            }
            '-' if rest.starts_with("--") => {
                used = 2;
                found.push((DotToken::Line, start));
            }
            '{' | '}' | '[' | ']' | ';' | ',' | '=' | ':' | '+' => found.push((DotToken::Sign(c), start)),
            c if is_word(c) || c == '-' || c == '.' => {
                used = word(rest);
                found.push((DotToken::Id { text: rest[..used].to_owned(), quoted: false }, start));
            }
            other => return Err(error(line, &format!("unexpected `{other}`"))),
        }
        at_line_start = c == '\n' || (at_line_start && c.is_whitespace());
        if c != '\n' {
            line += rest[..used].matches('\n').count() as u32;
        }
        rest = &rest[used..];
    }
    Ok(found)
}

/// Adds a string, joined to the one before `+`.
fn append(found: &mut Vec<(DotToken, u32)>, value: String, line: u32) {
    if let [.., (DotToken::Id { text, quoted: true }, _), (DotToken::Sign('+'), _)] = &mut found[..] {
        text.push_str(&value);
        found.pop();
        return;
    }
    found.push((DotToken::Id { text: value, quoted: true }, line));
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || (c as u32) >= 0x80
}

/// The length of a name or number. Agent runners also write `claude-sonnet-4-5` and `context.key` without quotes.
fn word(text: &str) -> usize {
    let mut end = 0;
    for (at, c) in text.char_indices() {
        let follows = text[at + c.len_utf8()..].chars().next();
        let inside =
            is_word(c) || c == '.' || (c == '-' && follows.is_some_and(|next| is_word(next) || next == '.'));
        if !inside {
            break;
        }
        end = at + c.len_utf8();
    }
    end.max(1)
}

fn quoted(text: &str) -> Option<(String, usize)> {
    let mut value = String::new();
    let mut characters = text.char_indices().skip(1);
    while let Some((at, c)) = characters.next() {
        match c {
            '"' => return Some((value, at + 1)),
            '\\' => match characters.next()?.1 {
                'n' => value.push('\n'),
                't' => value.push('\t'),
                'l' | 'r' => value.push('\n'),
                // A line that continues.
                '\n' => {}
                c @ ('"' | '\\') => value.push(c),
                other => value.extend(['\\', other]),
            },
            c => value.push(c),
        }
    }
    None
}

/// Returns the words of an HTML string, without its tags.
fn text_of_html(html: &str) -> String {
    let mut text = String::new();
    for (number, piece) in html.split('<').enumerate() {
        let (tag, words) = match number {
            0 => ("", piece),
            _ => piece.split_once('>').unwrap_or(("", piece)),
        };
        let name = tag.trim_start_matches('/').split(|c: char| !c.is_ascii_alphanumeric()).next();
        if name.is_some_and(|name| ["br", "tr", "td", "hr"].iter().any(|tag| name.eq_ignore_ascii_case(tag)))
        {
            text.push(' ');
        }
        text.push_str(words);
    }
    for (entity, character) in
        [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&nbsp;", " "), ("&amp;", "&")]
    {
        text = text.replace(entity, character);
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The length of `<…>` with balanced brackets.
fn html(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '<' => depth += 1,
            '>' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            return Some(at + 1);
        }
    }
    None
}
