//! Decodes `$'…'` escapes like bash. Separate because a filter that decodes them differently from bash can be bypassed.

/// Returns the decoded text, or `None` if an escape is not certain to match bash.
pub(super) fn decoded(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let (letter, left) = escape(&rest[at + 1..])?;
        out.push(letter);
        rest = left;
    }
    out.push_str(rest);
    Some(out)
}

fn escape(after: &str) -> Option<(char, &str)> {
    let first = after.chars().next()?;
    let left = &after[first.len_utf8()..];
    let plain = match first {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        'a' => '\x07',
        'b' => '\x08',
        'e' | 'E' => '\x1b',
        'f' => '\x0c',
        'v' => '\x0b',
        '\\' | '\'' | '"' | '?' => first,
        '0'..='7' => return number(after, 3, 8),
        'x' => return number(left, 2, 16),
        'u' => return number(left, 4, 16),
        'U' => return number(left, 8, 16),
        _ => return None,
    };
    Some((plain, left))
}

/// Parses a numeric escape. Above 127 an octal or hexadecimal escape is a byte, not a character, and is rejected:
/// command names do not need it.
fn number(digits: &str, most: usize, radix: u32) -> Option<(char, &str)> {
    let length = digits.chars().take(most).take_while(|letter| letter.is_digit(radix)).count();
    let value = u32::from_str_radix(&digits[..length], radix).ok()?;
    let letter = char::from_u32(value).filter(|letter| *letter != '\0' && (most > 3 || letter.is_ascii()))?;
    Some((letter, &digits[length..]))
}

#[cfg(test)]
mod tests {
    use super::decoded;

    #[test]
    fn escapes_are_read_as_bash_does() {
        for (text, expected) in [
            (r"rm", Some("rm")),
            (r"\x72m", Some("rm")),
            (r"\162\155", Some("rm")),
            (r"\u0072m", Some("rm")),
            (r"a\nb", Some("a\nb")),
            (r"it\'s", Some("it's")),
            (r"\x00", None),
            (r"\xff", None),
            (r"\cA", None),
            (r"\q", None),
        ] {
            assert_eq!(decoded(text).as_deref(), expected, "{text}");
        }
    }
}
