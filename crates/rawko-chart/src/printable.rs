//! Text from files, models and tools, made safe for a terminal. Here, at the bottom of everything that prints, so that
//! findings, logs and the console share one rule.

use std::borrow::Cow;

/// Returns the text with every character that could steer a terminal or hide text as a `\uXXXX` escape. Line feeds and
/// tabs stay, and so do joiners within an emoji or a word of a script that needs them. The escapes are those of JSON, so
/// a JSON document stays valid and keeps its meaning.
pub fn printable(text: &str) -> Cow<'_, str> {
    let Some(first) = text.find(is_unprintable) else { return Cow::Borrowed(text) };
    let (mut out, mut units) = (text[..first].to_owned(), [0; 2]);
    let mut rest = text[first..].chars().peekable();
    let mut before = out.chars().next_back();
    while let Some(character) = rest.next() {
        let previous = before.replace(character);
        match character {
            // A line end of other systems overwrites nothing.
            '\r' if rest.peek() == Some(&'\n') => {}
            joiner if joins(previous, joiner, rest.peek().copied()) => out.push(joiner),
            other if is_unprintable(other) => {
                for unit in other.encode_utf16(&mut units) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
            other => out.push(other),
        }
    }
    Cow::Owned(out)
}

/// Returns true for a joiner between two characters whose appearance depends on it: parts of one emoji, or letters of a
/// script with contextual forms.
fn joins(before: Option<char>, joiner: char, after: Option<char>) -> bool {
    let (Some(before), Some(after)) = (before, after) else { return false };
    match joiner {
        '\u{200d}' if is_emoji(after) => {
            is_emoji(before) || matches!(before, '\u{fe0f}' | '\u{1f3fb}'..='\u{1f3ff}')
        }
        '\u{200c}' | '\u{200d}' => is_contextual(before) && is_contextual(after),
        _ => false,
    }
}

fn is_emoji(character: char) -> bool {
    matches!(character, '\u{2190}'..='\u{21ff}' | '\u{2600}'..='\u{27bf}' | '\u{2b00}'..='\u{2bff}'
        | '\u{1f300}'..='\u{1faff}')
}

/// Letters and vowel signs of Arabic, Syriac, the scripts of India, Khmer and Mongolian.
fn is_contextual(character: char) -> bool {
    character.is_alphanumeric()
        && matches!(character, '\u{620}'..='\u{64a}' | '\u{66e}'..='\u{6d3}' | '\u{6fa}'..='\u{7ff}'
            | '\u{8a0}'..='\u{8c9}' | '\u{900}'..='\u{dff}' | '\u{1780}'..='\u{17ff}' | '\u{1820}'..='\u{18aa}')
        || matches!(
            character,
            '\u{94d}'
                | '\u{9cd}'
                | '\u{a4d}'
                | '\u{acd}'
                | '\u{b4d}'
                | '\u{bcd}'
                | '\u{c4d}'
                | '\u{ccd}'
                | '\u{d4d}'
                | '\u{dca}'
                | '\u{17d2}'
        )
}

/// Like [`printable`], but with placeholders of the same length in bytes, so that positions in the text still hold.
pub(crate) fn masked(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unprintable) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        match (is_unprintable(character), character.len_utf8()) {
            (false, _) => out.push(character),
            (true, 1) if character == '\r' && rest.peek() == Some(&'\n') => out.push(character),
            (true, 1) => out.push('?'),
            (true, 2) => out.push('·'),
            (true, 3) => out.push('\u{fffd}'),
            (true, _) => out.push_str("··"),
        }
    }
    Cow::Owned(out)
}

/// Returns true for characters that a terminal obeys or does not show: controls (C0, DEL, C1), direction overrides,
/// invisible characters, tags and noncharacters.
pub fn is_unprintable(character: char) -> bool {
    match character {
        '\n' | '\t' => false,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' => true,
        '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' => true,
        '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' => true,
        '\u{fdd0}'..='\u{fdef}' | '\u{fffe}' | '\u{ffff}' => true,
        '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}' => true,
        other => other.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::{masked, printable};

    #[test]
    fn nothing_that_steers_a_terminal_stays() {
        for (text, expected) in [
            ("plain · text → ü 漢字 ✓\n\tand more", "plain · text → ü 漢字 ✓\n\tand more"),
            ("\u{1b}]52;c;aGk=\u{7}", r"\u001b]52;c;aGk=\u0007"),
            ("\u{1b}[2J\u{9b}31m\u{9d}0;x\u{9c}", r"\u001b[2J\u009b31m\u009d0;x\u009c"),
            ("ok\rno\r\nend\r", "ok\\u000dno\nend\\u000d"),
            ("a\u{8}b\u{7f}c\0", r"a\u0008b\u007fc\u0000"),
            ("\u{202e}txt.exe\u{2066}\u{200b}\u{feff}", r"\u202etxt.exe\u2066\u200b\ufeff"),
            ("\u{e0041}", r"\udb40\udc41"),
            ("\u{2028}\u{ad}", r"\u2028\u00ad"),
            ("a\u{200d}b\u{200c}", r"a\u200db\u200c"),
            ("👩\u{200d}\u{200d}👧\u{200d}", r"👩\u200d\u200d👧\u200d"),
            ("می\u{200c}\u{200c}خو", r"می\u200c\u200cخو"),
        ] {
            assert_eq!(printable(text), expected);
            assert_eq!(masked(text).len(), text.len(), "{expected}");
            assert_eq!(printable(&masked(text)), masked(text).replace("\r\n", "\n"), "{expected}");
        }
    }

    #[test]
    fn joiners_stay_where_a_script_needs_them() {
        for text in
            ["👩\u{200d}👩\u{200d}👧", "❤\u{fe0f}\u{200d}🔥", "👩🏽\u{200d}💻", "می\u{200c}خواهم", "क्\u{200d}ष"]
        {
            assert_eq!(printable(text), text);
        }
    }

    #[test]
    fn a_json_document_keeps_its_meaning() {
        let value = serde_json::json!({"a\u{9b}": "\u{7f}\u{202e}\u{e0041}\r\n"});
        let text = printable(&value.to_string()).into_owned();
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
        assert!(!text.contains('\u{9b}'));
    }
}
