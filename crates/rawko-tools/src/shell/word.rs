//! Words of a command line: what is known about each without running anything. A word is either known to the letter or
//! it is not, and then it is only known how it begins.

use brush_parser::word::{WordPiece, WordPieceWithSource};

use super::ansi_c;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    /// What it will be, quotes and escapes taken away; `None` when that is only known when it runs.
    pub(crate) known: Option<String>,
    /// What it surely begins with.
    pub(crate) prefix: String,
    /// As it was written.
    pub(crate) shown: String,
    /// Whether it may become several words, or none.
    pub(crate) splits: bool,
}

impl Word {
    pub(crate) fn of_text(text: &str) -> Self {
        Self { known: Some(text.into()), prefix: text.into(), shown: text.into(), splits: false }
    }

    /// A word that only turns up when the line runs, such as what `xargs` adds.
    pub(crate) fn unknown(shown: &str) -> Self {
        Self { known: None, prefix: String::new(), shown: shown.into(), splits: true }
    }

    pub(crate) fn of_pieces(shown: &str, pieces: &[WordPieceWithSource]) -> Self {
        let mut builder = Builder::default();
        builder.pieces(pieces, Quoting::Bare);
        if has_braces(&builder.bare) {
            builder.is_known = false;
            builder.splits = true;
            builder.text.truncate(builder.text.find('{').unwrap_or(0));
        }
        Self {
            known: builder.is_known.then(|| builder.text.clone()),
            prefix: builder.text,
            shown: shown.into(),
            splits: builder.splits,
        }
    }

    pub(crate) fn known(&self) -> Option<&str> {
        self.known.as_deref()
    }

    pub(crate) fn is(&self, text: &str) -> bool {
        self.known() == Some(text)
    }

    /// The text when it is known, else as it was written.
    pub(crate) fn text(&self) -> &str {
        self.known().unwrap_or(&self.shown)
    }

    /// Whether the program could take it, or a part of it, for an option.
    pub(crate) fn may_be_option(&self) -> bool {
        match self.known() {
            Some(text) => text.starts_with('-'),
            None => self.splits || self.prefix.is_empty() || self.prefix.starts_with('-'),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Quoting {
    Bare,
    Double,
}

struct Builder {
    text: String,
    /// What stands without quotes, and a space for everything else.
    bare: String,
    is_known: bool,
    splits: bool,
}

impl Default for Builder {
    fn default() -> Self {
        Self { text: String::new(), bare: String::new(), is_known: true, splits: false }
    }
}

impl Builder {
    fn pieces(&mut self, pieces: &[WordPieceWithSource], quoting: Quoting) {
        for piece in pieces {
            self.piece(&piece.piece, quoting);
        }
    }

    fn piece(&mut self, piece: &WordPiece, quoting: Quoting) {
        self.bare.push_str(match piece {
            WordPiece::Text(text) if quoting == Quoting::Bare => text,
            _ => " ",
        });
        match piece {
            WordPiece::Text(text) if quoting == Quoting::Bare => self.bare(text),
            WordPiece::Text(text) => self.literal(text),
            WordPiece::SingleQuotedText(text) => self.literal(text),
            WordPiece::AnsiCQuotedText(text) => match ansi_c::decoded(text) {
                Some(text) => self.literal(&text),
                None => self.is_known = false,
            },
            WordPiece::DoubleQuotedSequence(inner) | WordPiece::GettextDoubleQuotedSequence(inner) => {
                self.pieces(inner, Quoting::Double);
            }
            WordPiece::EscapeSequence(text) => self.escaped(text),
            WordPiece::TildeExpansion(_)
            | WordPiece::ParameterExpansion(_)
            | WordPiece::CommandSubstitution(_)
            | WordPiece::BackquotedCommandSubstitution(_)
            | WordPiece::ArithmeticExpression(_) => {
                self.is_known = false;
                self.splits |= quoting == Quoting::Bare && !matches!(piece, WordPiece::TildeExpansion(_));
                // Nothing is known of a tilde but that it is no option.
                if matches!(piece, WordPiece::TildeExpansion(_)) && self.text.is_empty() {
                    self.text.push('~');
                }
            }
        }
    }

    fn literal(&mut self, text: &str) {
        if self.is_known {
            self.text.push_str(text);
        }
    }

    /// Text without quotes: what looks like a pattern for file names is not known, only how its matches begin.
    fn bare(&mut self, text: &str) {
        match text.find(['*', '?', '[']) {
            Some(at) if self.is_known => {
                self.literal(&text[..at]);
                self.is_known = false;
            }
            Some(_) | None => self.literal(text),
        }
    }

    fn escaped(&mut self, text: &str) {
        let rest = text.strip_prefix('\\').unwrap_or(text);
        // A backslash before the end of a line joins the lines.
        if rest != "\n" {
            self.literal(rest);
        }
    }
}

/// Whether braces may make several words of it: `{a,b}`, `{1..3}`, also with something quoted in between.
fn has_braces(bare: &str) -> bool {
    let inside = bare.find('{').zip(bare.rfind('}')).and_then(|(open, close)| bare.get(open..close));
    inside.is_some_and(|inside| inside.contains(',') || inside.contains(".."))
}
