//! Colours of the console in text that is not written yet. Text of models, tools and files goes through the same lines,
//! so a colour is a mark that it cannot contain, and everything else is printable before its width is measured.

use std::borrow::Cow;
use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

use rawko_chart::printable;

/// The kind of a piece of text, so that colours are chosen in one place. Colour is never the only signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextStyle {
    Plain,
    Bold,
    Dim,
    Good,
    Bad,
    Notice,
    Accent,
}

impl TextStyle {
    const ALL: [TextStyle; 7] = [
        TextStyle::Plain,
        TextStyle::Bold,
        TextStyle::Dim,
        TextStyle::Good,
        TextStyle::Bad,
        TextStyle::Notice,
        TextStyle::Accent,
    ];

    fn code(self) -> &'static str {
        match self {
            TextStyle::Plain => "0",
            TextStyle::Bold => "1",
            TextStyle::Dim => "2",
            TextStyle::Good => "32",
            TextStyle::Bad => "1;31",
            TextStyle::Notice => "33",
            TextStyle::Accent => "36",
        }
    }
}

/// Begins and ends a mark. Both are escaped in foreign text.
const MARK_BEGIN: char = '\u{fdd0}';
const MARK_END: char = '\u{fdd1}';

/// Stands for colours in text until it is written: `paint` returns a `String` that callers format into lines with
/// foreign text. A mark has a random part, which foreign text cannot contain.
pub(crate) struct ColourMarks {
    begin: String,
}

static MARKS: LazyLock<ColourMarks> = LazyLock::new(ColourMarks::new);

/// One part of a text with marks.
enum Part<'t> {
    /// Text without marks.
    Text(&'t str),
    Mark {
        text: &'t str,
        style: TextStyle,
    },
}

impl ColourMarks {
    fn new() -> ColourMarks {
        let number = || RandomState::new().hash_one(0);
        ColourMarks { begin: format!("{MARK_BEGIN}{:016x}{:016x}", number(), number()) }
    }

    /// Returns the marks of this process.
    pub(crate) fn of_process() -> &'static ColourMarks {
        &MARKS
    }

    fn mark(&self, style: TextStyle) -> String {
        format!("{}{}{MARK_END}", self.begin, style as u8)
    }

    pub(crate) fn painted(&self, style: TextStyle, text: &str) -> String {
        let text = printable(text);
        format!("{}{text}{}", self.mark(style), self.mark(TextStyle::Plain))
    }

    /// Splits a text at its marks. What looks like a mark and is none is text.
    fn parts<'t>(&'t self, text: &'t str) -> impl Iterator<Item = Part<'t>> {
        let mut rest = text;
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let found =
                rest.match_indices(&self.begin).find_map(|(at, _)| Some((at, self.style_at(&rest[at..])?)));
            let (part, after) = match found {
                Some((0, (style, length))) => {
                    let (text, after) = rest.split_at(length);
                    (Part::Mark { text, style }, after)
                }
                Some((at, _)) => (Part::Text(&rest[..at]), &rest[at..]),
                None => (Part::Text(rest), ""),
            };
            rest = after;
            Some(part)
        })
    }

    /// Returns the style of the mark that a text begins with, and its length.
    fn style_at(&self, text: &str) -> Option<(TextStyle, usize)> {
        let number = text.strip_prefix(self.begin.as_str())?;
        let (number, _) = number.split_once(MARK_END)?;
        let style = TextStyle::ALL.into_iter().find(|style| number == (*style as u8).to_string())?;
        Some((style, self.begin.len() + number.len() + MARK_END.len_utf8()))
    }

    /// Returns the text as a terminal may get it: printable, with colours for the marks.
    pub(crate) fn resolved(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        for part in self.parts(text) {
            match part {
                Part::Text(text) => out.push_str(&printable(text)),
                Part::Mark { style, .. } => out.push_str(&format!("\x1b[{}m", style.code())),
            }
        }
        out
    }

    /// Returns the text as it will be printed, with its marks: its width is the one on the terminal. An invisible
    /// character takes as many columns as its escape.
    pub(crate) fn measurable<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if !text.contains(rawko_chart::is_unprintable) {
            return Cow::Borrowed(text);
        }
        let mut out = String::with_capacity(text.len());
        for part in self.parts(text) {
            match part {
                Part::Text(text) => out.push_str(&printable(text)),
                Part::Mark { text, .. } => out.push_str(text),
            }
        }
        Cow::Owned(out)
    }
}

/// Returns the length of the mark that a measurable text begins with; 0 if it begins with none.
pub(crate) fn mark_length(text: &str) -> usize {
    if !text.starts_with(MARK_BEGIN) {
        return 0;
    }
    text.find(MARK_END).map_or(0, |end| end + MARK_END.len_utf8())
}

#[cfg(test)]
mod tests {
    use super::{ColourMarks, TextStyle};

    #[test]
    fn only_own_colours_reach_the_terminal() {
        let marks = ColourMarks::new();
        let painted = marks.painted(TextStyle::Good, "a\u{1b}[31mb");
        let line = format!("{painted} \u{1b}]0;x\u{7} \u{fdd0}0\u{fdd1}\u{9b}m");
        let expected = "\x1b[32ma\\u001b[31mb\x1b[0m \\u001b]0;x\\u0007 \\ufdd00\\ufdd1\\u009bm";
        assert_eq!(marks.resolved(&line), expected);
        assert_eq!(marks.resolved(&marks.measurable(&line)), expected);
        assert_ne!(ColourMarks::new().begin, marks.begin);
    }
}
