//! Output of programs without its colours. Many programs print escapes that set colours although no terminal reads them; as
//! visible escapes they hide the words.

use std::borrow::Cow;

const INTRODUCER: &str = "\u{1b}[";

/// Returns a text without sequences that set colours or clear the rest of a line. All other control characters stay, so
/// that they are shown as escapes. Not for text that a person approves: there, nothing is left out.
pub fn without_styles(text: &str) -> Cow<'_, str> {
    if !text.contains(INTRODUCER) {
        return Cow::Borrowed(text);
    }
    let (mut plain, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find(INTRODUCER) {
        let after = &rest[at + INTRODUCER.len()..];
        let parameters =
            after.len() - after.trim_start_matches(|c: char| c.is_ascii_digit() || ";:".contains(c)).len();
        if after[parameters..].starts_with(['m', 'K']) {
            plain.push_str(&rest[..at]);
            rest = &after[parameters + 1..];
        } else {
            plain.push_str(&rest[..at + INTRODUCER.len()]);
            rest = after;
        }
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_colours_are_left_out() {
        for (text, plain) in [
            ("plain", "plain"),
            ("\u{1b}[1;31mFAILED\u{1b}[0m a\u{1b}[K", "FAILED a"),
            ("\u{1b}[38:5:4mblue\u{1b}[m\n", "blue\n"),
            ("\u{1b}[2Jcleared", "\u{1b}[2Jcleared"),
            ("\u{1b}[31", "\u{1b}[31"),
            ("\u{1b}\u{1b}[0m", "\u{1b}"),
        ] {
            assert_eq!(without_styles(text), plain, "{text:?}");
        }
    }
}
