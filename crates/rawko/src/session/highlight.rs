//! `Highlighter`: colours code line by line: comments, texts, numbers and keywords. It knows families of languages by
//! their comments instead of grammars, which would cost more build time than the rest of the session.

use crate::console::{Console, TextStyle};

/// The comments of a family of languages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CommentFamily {
    /// A comment until the end of the line.
    line: &'static [&'static str],
    /// A comment over several lines.
    block: Option<(&'static str, &'static str)>,
    /// Texts over several lines.
    long: &'static [&'static str],
    quotes: &'static [char],
}

const C: CommentFamily =
    CommentFamily { line: &["//"], block: Some(("/*", "*/")), long: &["`"], quotes: &['"', '\''] };
/// A single quote is a lifetime or a character.
const RUST: CommentFamily = CommentFamily { quotes: &['"'], long: &[], ..C };
const PYTHON: CommentFamily =
    CommentFamily { line: &["#"], block: None, long: &["\"\"\"", "'''"], quotes: &['"', '\''] };
const SHELL: CommentFamily =
    CommentFamily { line: &["# ", "#!"], block: None, long: &[], quotes: &['"', '\''] };
const SQL: CommentFamily =
    CommentFamily { line: &["--"], block: Some(("/*", "*/")), long: &[], quotes: &['\''] };
const MARKUP: CommentFamily =
    CommentFamily { line: &[], block: Some(("<!--", "-->")), long: &[], quotes: &['"'] };
const ANY: CommentFamily =
    CommentFamily { line: &["// ", "# ", "-- "], block: None, long: &[], quotes: &['"', '\''] };

const FAMILIES: [(&[&str], CommentFamily); 6] = [
    (&["rust", "rs"], RUST),
    (&["python", "py", "python3", "toml", "ruby", "rb"], PYTHON),
    (&["sh", "bash", "shell", "zsh", "console", "yaml", "yml", "dockerfile", "make", "makefile"], SHELL),
    (&["sql", "lua", "haskell", "hs"], SQL),
    (&["html", "xml", "svg", "vue"], MARKUP),
    (
        &[
            "c",
            "cpp",
            "c++",
            "h",
            "java",
            "js",
            "javascript",
            "ts",
            "typescript",
            "tsx",
            "jsx",
            "go",
            "kotlin",
            "swift",
            "cs",
            "csharp",
            "css",
            "scss",
            "php",
            "scala",
            "zig",
            "json",
            "jsonc",
            "dart",
        ],
        C,
    ),
];

const KEYWORDS: [&str; 71] = [
    "False",
    "None",
    "SELECT",
    "True",
    "abstract",
    "and",
    "as",
    "async",
    "await",
    "begin",
    "bool",
    "break",
    "case",
    "catch",
    "class",
    "const",
    "continue",
    "def",
    "default",
    "do",
    "done",
    "elif",
    "else",
    "end",
    "enum",
    "esac",
    "except",
    "export",
    "extends",
    "false",
    "fi",
    "final",
    "finally",
    "fn",
    "for",
    "from",
    "func",
    "function",
    "if",
    "impl",
    "implements",
    "import",
    "in",
    "interface",
    "is",
    "let",
    "match",
    "mod",
    "mut",
    "new",
    "nil",
    "not",
    "null",
    "or",
    "package",
    "private",
    "pub",
    "public",
    "return",
    "self",
    "static",
    "struct",
    "switch",
    "then",
    "this",
    "throw",
    "trait",
    "true",
    "type",
    "use",
    "while",
];

/// Colours the lines of one block of code.
#[derive(Clone, Debug)]
pub(crate) struct Highlighter {
    family: CommentFamily,
    /// The end of a comment or text that goes over several lines, and its style.
    open: Option<(&'static str, TextStyle)>,
}

impl Highlighter {
    /// Returns the highlighter of a language, as a code block names it.
    pub(crate) fn of(language: &str) -> Highlighter {
        let known = FAMILIES.iter().find(|(names, _)| names.contains(&language));
        Highlighter { family: known.map_or(ANY, |(_, family)| *family), open: None }
    }

    pub(crate) fn line(&mut self, line: &str, console: &Console) -> String {
        let (mut out, mut rest) = (String::new(), line);
        while let Some(first) = rest.chars().next() {
            let (length, style) = self.piece(rest, first);
            let (piece, after) = rest.split_at(length);
            rest = after;
            match style {
                TextStyle::Plain => out.push_str(piece),
                style => out.push_str(&console.paint(style, piece)),
            }
        }
        out
    }

    /// Returns the length and the style of the piece that a text begins with.
    fn piece(&mut self, rest: &str, first: char) -> (usize, TextStyle) {
        if let Some((end, style)) = self.open {
            return match rest.find(end) {
                Some(at) => {
                    self.open = None;
                    (at + end.len(), style)
                }
                None => (rest.len(), style),
            };
        }
        let family = self.family;
        // The number of arguments in a shell, not a comment.
        if rest.starts_with("$#") {
            return (2, TextStyle::Plain);
        }
        if family.line.iter().any(|mark| rest.starts_with(mark)) {
            return (rest.len(), TextStyle::Dim);
        }
        let block = family.block.filter(|(begin, _)| rest.starts_with(begin));
        let long = family.long.iter().find(|mark| rest.starts_with(**mark)).map(|mark| (*mark, *mark));
        let opened = block.map(|it| (it, TextStyle::Dim)).or(long.map(|it| (it, TextStyle::Good)));
        if let Some(((begin, end), style)) = opened {
            return match rest[begin.len()..].find(end) {
                Some(at) => (begin.len() + at + end.len(), style),
                None => {
                    self.open = Some((end, style));
                    (rest.len(), style)
                }
            };
        }
        if family.quotes.contains(&first) {
            return quoted(rest, first).map_or((1, TextStyle::Plain), |length| (length, TextStyle::Good));
        }
        if first.is_ascii_digit() {
            let is_number = |letter: char| letter.is_ascii_alphanumeric() || letter == '.' || letter == '_';
            return (rest.find(|letter| !is_number(letter)).unwrap_or(rest.len()), TextStyle::Notice);
        }
        if is_word(first) {
            let length = rest.find(|letter| !is_word(letter)).unwrap_or(rest.len());
            let is_keyword = KEYWORDS.binary_search(&&rest[..length]).is_ok();
            return (length, if is_keyword { TextStyle::Accent } else { TextStyle::Plain });
        }
        (first.len_utf8(), TextStyle::Plain)
    }
}

/// Returns the length of a text in quotes; `None` if it does not end in this line.
fn quoted(rest: &str, quote: char) -> Option<usize> {
    let mut is_escaped = false;
    for (at, letter) in rest.char_indices().skip(1) {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            _ if letter == quote => return Some(at + letter.len_utf8()),
            _ => {}
        }
    }
    None
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the pieces of a line that have a style.
    fn styled(highlighter: &mut Highlighter, line: &str) -> Vec<(String, TextStyle)> {
        let (mut found, mut rest) = (Vec::new(), line);
        while let Some(first) = rest.chars().next() {
            let (length, style) = highlighter.piece(rest, first);
            if style != TextStyle::Plain {
                found.push((rest[..length].to_owned(), style));
            }
            rest = &rest[length..];
        }
        found
    }

    #[test]
    fn code_is_coloured_by_its_language() {
        assert!(KEYWORDS.is_sorted());
        type Piece = (&'static str, TextStyle);
        let table: [(&str, &str, &[Piece]); 8] = [
            (
                "rust",
                "let n = \"a\\\"b\"; // 'x",
                &[("let", TextStyle::Accent), ("\"a\\\"b\"", TextStyle::Good), ("// 'x", TextStyle::Dim)],
            ),
            ("rust", "fn f<'a>(x: &'a str)", &[("fn", TextStyle::Accent)]),
            ("python", "x = 'a' #b", &[("'a'", TextStyle::Good), ("#b", TextStyle::Dim)]),
            ("c", "#include <a> /* b */ 0x1f", &[("/* b */", TextStyle::Dim), ("0x1f", TextStyle::Notice)]),
            ("sh", "echo $# \"é\" # end", &[("\"é\"", TextStyle::Good), ("# end", TextStyle::Dim)]),
            ("sql", "x -- y", &[("-- y", TextStyle::Dim)]),
            ("", "a // b", &[("// b", TextStyle::Dim)]),
            ("go", "https://x", &[("//x", TextStyle::Dim)]),
        ];
        for (language, line, expected) in table {
            let found = styled(&mut Highlighter::of(language), line);
            let found: Vec<(&str, TextStyle)> =
                found.iter().map(|(text, style)| (text.as_str(), *style)).collect();
            assert_eq!(found, expected, "{language}: {line}");
        }
    }

    #[test]
    fn comments_and_texts_go_over_lines() {
        let mut c = Highlighter::of("c");
        assert_eq!(styled(&mut c, "a /* b"), [("/* b".to_owned(), TextStyle::Dim)]);
        assert_eq!(styled(&mut c, "if"), [("if".to_owned(), TextStyle::Dim)]);
        assert_eq!(
            styled(&mut c, "c */ if"),
            [("c */".to_owned(), TextStyle::Dim), ("if".to_owned(), TextStyle::Accent)]
        );
        let mut python = Highlighter::of("py");
        assert_eq!(styled(&mut python, "\"\"\"one").len(), 1);
        assert_eq!(styled(&mut python, "two\"\"\" + x"), [("two\"\"\"".to_owned(), TextStyle::Good)]);
    }
}
