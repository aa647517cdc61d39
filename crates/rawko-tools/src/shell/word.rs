//! Words of a command line, analysed without running anything. A word is either known exactly or only by its prefix.

use brush_parser::word::{WordPiece, WordPieceWithSource};

use super::ansi_c;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    /// The value without quotes and escapes; `None` if it is known only at run time.
    pub(crate) known: Option<String>,
    /// A certain prefix of the value.
    pub(crate) prefix: String,
    /// The source text.
    pub(crate) shown: String,
    /// True if it may expand to several words or none.
    pub(crate) splits: bool,
}

impl Word {
    pub(crate) fn of_text(text: &str) -> Self {
        Self { known: Some(text.into()), prefix: text.into(), shown: text.into(), splits: false }
    }

    /// A word that is known only at run time, such as the arguments `xargs` adds.
    pub(crate) fn unknown(shown: &str) -> Self {
        Self { known: None, prefix: String::new(), shown: shown.into(), splits: true }
    }

    pub(crate) fn of_pieces(shown: &str, pieces: &[WordPieceWithSource]) -> Self {
        let mut builder = WordBuilder::default();
        builder.pieces(pieces, QuoteStyle::Bare);
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

    /// Returns the value if known, else the source text.
    pub(crate) fn text(&self) -> &str {
        self.known().unwrap_or(&self.shown)
    }

    /// Returns true if a program could take the word, or a part of it, for an option.
    pub(crate) fn may_be_option(&self) -> bool {
        match self.known() {
            Some(text) => text.starts_with('-'),
            None => self.splits || self.prefix.is_empty() || self.prefix.starts_with('-'),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum QuoteStyle {
    Bare,
    Double,
}

struct WordBuilder {
    text: String,
    /// The unquoted text, with a space for everything else.
    bare: String,
    is_known: bool,
    splits: bool,
}

impl Default for WordBuilder {
    fn default() -> Self {
        Self { text: String::new(), bare: String::new(), is_known: true, splits: false }
    }
}

impl WordBuilder {
    fn pieces(&mut self, pieces: &[WordPieceWithSource], quoting: QuoteStyle) {
        for piece in pieces {
            self.piece(&piece.piece, quoting);
        }
    }

    fn piece(&mut self, piece: &WordPiece, quoting: QuoteStyle) {
        self.bare.push_str(match piece {
            WordPiece::Text(text) if quoting == QuoteStyle::Bare => text,
            _ => " ",
        });
        match piece {
            WordPiece::Text(text) if quoting == QuoteStyle::Bare => self.bare(text),
            WordPiece::Text(text) => self.literal(text),
            WordPiece::SingleQuotedText(text) => self.literal(text),
            WordPiece::AnsiCQuotedText(text) => match ansi_c::decoded(text) {
                Some(text) => self.literal(&text),
                None => self.is_known = false,
            },
            WordPiece::DoubleQuotedSequence(inner) | WordPiece::GettextDoubleQuotedSequence(inner) => {
                self.pieces(inner, QuoteStyle::Double);
            }
            WordPiece::EscapeSequence(text) => self.escaped(text),
            WordPiece::TildeExpansion(_)
            | WordPiece::ParameterExpansion(_)
            | WordPiece::CommandSubstitution(_)
            | WordPiece::BackquotedCommandSubstitution(_)
            | WordPiece::ArithmeticExpression(_) => {
                self.is_known = false;
                self.splits |= quoting == QuoteStyle::Bare && !matches!(piece, WordPiece::TildeExpansion(_));
                // The only known property of a tilde expansion is that it is not an option.
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

    /// Handles unquoted text: a file name pattern is unknown except for its literal prefix.
    fn bare(&mut self, text: &str) {
        // `[` alone is the command; it begins a pattern only before its `]`.
        let bracket = text.find('[').filter(|at| text[*at..].contains(']'));
        let first = [text.find(['*', '?']), bracket].into_iter().flatten().min();
        match first {
            Some(at) if self.is_known => {
                self.literal(&text[..at]);
                self.is_known = false;
            }
            Some(_) | None => self.literal(text),
        }
    }

    fn escaped(&mut self, text: &str) {
        let rest = text.strip_prefix('\\').unwrap_or(text);
        // A backslash before a newline joins the lines.
        if rest != "\n" {
            self.literal(rest);
        }
    }
}

/// Returns true if brace expansion may produce several words: `{a,b}`, `{1..3}`, also with quoted parts in between.
fn has_braces(bare: &str) -> bool {
    let inside = bare.find('{').zip(bare.rfind('}')).and_then(|(open, close)| bare.get(open..close));
    inside.is_some_and(|inside| inside.contains(',') || inside.contains(".."))
}
