//! The tokens of ECMAScript expressions.

use super::Untranslatable;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum EcmaToken {
    Number(f64),
    Text(String),
    /// A name or a keyword.
    Word(String),
    Sign(&'static str),
}

/// Longest first, so that `===` is not read as `==` and `=`.
const SIGNS: [&str; 47] = [
    ">>>", "===", "!==", "**=", "...", "=>", "==", "!=", "<=", ">=", "&&", "||", "??", "?.", "++", "--",
    "+=", "-=", "*=", "/=", "%=", "**", "<<", ">>", "+", "-", "*", "/", "%", "=", "<", ">", "!", "?", ":",
    ",", ".", ";", "(", ")", "[", "]", "{", "}", "|", "&", "^",
];

pub(super) fn tokens(text: &str) -> Result<Vec<EcmaToken>, Untranslatable> {
    let mut tokens = Vec::new();
    let mut rest = text;
    loop {
        rest = skip_space(rest)?;
        let Some(first) = rest.chars().next() else { return Ok(tokens) };
        let (token, length) = if first.is_ascii_digit() || starts_with_fraction(rest) {
            number(rest)?
        } else if first == '"' || first == '\'' {
            string(rest)?
        } else if is_word_start(first) {
            word(rest)
        } else if first == '`' {
            return Err(Untranslatable::foreign("a template string"));
        } else if first == '/' && !ends_an_operand(tokens.last()) {
            return Err(Untranslatable::foreign("a regular expression"));
        } else {
            sign(rest)?
        };
        tokens.push(token);
        rest = &rest[length..];
    }
}

/// After an operand a slash divides; anywhere else it opens a regular expression.
fn ends_an_operand(last: Option<&EcmaToken>) -> bool {
    match last {
        Some(EcmaToken::Number(_) | EcmaToken::Text(_) | EcmaToken::Word(_)) => true,
        Some(EcmaToken::Sign(sign)) => matches!(*sign, ")" | "]" | "}"),
        None => false,
    }
}

fn starts_with_fraction(text: &str) -> bool {
    text.strip_prefix('.').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

fn is_word_start(c: char) -> bool {
    c.is_alphabetic() || c == '_' || c == '$'
}

fn skip_space(text: &str) -> Result<&str, Untranslatable> {
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        if let Some(comment) = rest.strip_prefix("//") {
            rest = comment.find('\n').map_or("", |end| &comment[end..]);
        } else if let Some(comment) = rest.strip_prefix("/*") {
            let end = comment
                .find("*/")
                .ok_or_else(|| Untranslatable::Illegal("an unterminated comment".to_owned()))?;
            rest = &comment[end + 2..];
        } else {
            return Ok(rest);
        }
    }
}

fn number(text: &str) -> Result<(EcmaToken, usize), Untranslatable> {
    if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        let length = digits.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(digits.len());
        let value = u32::from_str_radix(&digits[..length], 16)
            .map_err(|_| Untranslatable::Illegal(format!("the number `{text}`")))?;
        return Ok((EcmaToken::Number(f64::from(value)), length + 2));
    }
    let mut length = 0;
    let mut previous = ' ';
    for c in text.chars() {
        let exponent_sign = matches!(c, '+' | '-') && matches!(previous, 'e' | 'E');
        if !(c.is_ascii_digit() || c == '.' || matches!(c, 'e' | 'E') || exponent_sign) {
            break;
        }
        length += c.len_utf8();
        previous = c;
    }
    let value = text[..length]
        .parse()
        .map_err(|_| Untranslatable::Illegal(format!("the number `{}`", &text[..length])))?;
    Ok((EcmaToken::Number(value), length))
}

fn string(text: &str) -> Result<(EcmaToken, usize), Untranslatable> {
    let mut chars = text.char_indices();
    let quote = chars.next().map(|(_, c)| c);
    let mut value = String::new();
    while let Some((at, c)) = chars.next() {
        match c {
            c if Some(c) == quote => return Ok((EcmaToken::Text(value), at + c.len_utf8())),
            '\\' => {
                let Some((_, escaped)) = chars.next() else { break };
                match escaped {
                    'n' => value.push('\n'),
                    't' => value.push('\t'),
                    'r' => value.push('\r'),
                    'u' | 'x' => return Err(Untranslatable::foreign("a character code in a string")),
                    other => value.push(other),
                }
            }
            c => value.push(c),
        }
    }
    Err(Untranslatable::Illegal("an unterminated string".to_owned()))
}

fn word(text: &str) -> (EcmaToken, usize) {
    let length = text.find(|c: char| !(is_word_start(c) || c.is_numeric())).unwrap_or(text.len());
    (EcmaToken::Word(text[..length].to_owned()), length)
}

fn sign(text: &str) -> Result<(EcmaToken, usize), Untranslatable> {
    let sign = SIGNS.iter().find(|sign| text.starts_with(**sign));
    match sign {
        Some(sign) => Ok((EcmaToken::Sign(sign), sign.len())),
        None => Err(Untranslatable::Illegal(format!("`{}`", text.chars().take(1).collect::<String>()))),
    }
}
