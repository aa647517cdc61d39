//! `Highlighter`: colours code line by line: comments, texts, numbers and keywords. It knows families of languages by
//! their comments instead of grammars, which would cost more build time than the rest of the session.

use crate::console::{Console, Style};

/// The comments of a family of languages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Family {
    /// A comment until the end of the line.
    line: &'static [&'static str],
    /// A comment over several lines.
    block: Option<(&'static str, &'static str)>,
    /// Texts over several lines.
    long: &'static [&'static str],
    quotes: &'static [char],
}

const C: Family = Family { line: &["//"], block: Some(("/*", "*/")), long: &["`"], quotes: &['"', '\''] };
/// A single quote is a lifetime or a character.
const RUST: Family = Family { quotes: &['"'], long: &[], ..C };
const PYTHON: Family = Family { line: &["#"], block: None, long: &["\"\"\"", "'''"], quotes: &['"', '\''] };
const SHELL: Family = Family { line: &["# ", "#!"], block: None, long: &[], quotes: &['"', '\''] };
const SQL: Family = Family { line: &["--"], block: Some(("/*", "*/")), long: &[], quotes: &['\''] };
const MARKUP: Family = Family { line: &[], block: Some(("<!--", "-->")), long: &[], quotes: &['"'] };
const ANY: Family = Family { line: &["// ", "# ", "-- "], block: None, long: &[], quotes: &['"', '\''] };

const FAMILIES: [(&[&str], Family); 6] = [
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
    family: Family,
    /// The end of a comment or text that goes over several lines, and its style.
    open: Option<(&'static str, Style)>,
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
                Style::Plain => out.push_str(piece),
                style => out.push_str(&console.paint(style, piece)),
            }
        }
        out
    }

    /// Returns the length and the style of the piece that a text begins with.
    fn piece(&mut self, rest: &str, first: char) -> (usize, Style) {
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
            return (2, Style::Plain);
        }
        if family.line.iter().any(|mark| rest.starts_with(mark)) {
            return (rest.len(), Style::Dim);
        }
        let block = family.block.filter(|(begin, _)| rest.starts_with(begin));
        let long = family.long.iter().find(|mark| rest.starts_with(**mark)).map(|mark| (*mark, *mark));
        let opened = block.map(|it| (it, Style::Dim)).or(long.map(|it| (it, Style::Good)));
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
            return quoted(rest, first).map_or((1, Style::Plain), |length| (length, Style::Good));
        }
        if first.is_ascii_digit() {
            let is_number = |letter: char| letter.is_ascii_alphanumeric() || letter == '.' || letter == '_';
            return (rest.find(|letter| !is_number(letter)).unwrap_or(rest.len()), Style::Notice);
        }
        if is_word(first) {
            let length = rest.find(|letter| !is_word(letter)).unwrap_or(rest.len());
            let is_keyword = KEYWORDS.binary_search(&&rest[..length]).is_ok();
            return (length, if is_keyword { Style::Accent } else { Style::Plain });
        }
        (first.len_utf8(), Style::Plain)
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
    fn styled(highlighter: &mut Highlighter, line: &str) -> Vec<(String, Style)> {
        let (mut found, mut rest) = (Vec::new(), line);
        while let Some(first) = rest.chars().next() {
            let (length, style) = highlighter.piece(rest, first);
            if style != Style::Plain {
                found.push((rest[..length].to_owned(), style));
            }
            rest = &rest[length..];
        }
        found
    }

    #[test]
    fn code_is_coloured_by_its_language() {
        assert!(KEYWORDS.is_sorted());
        type Piece = (&'static str, Style);
        let table: [(&str, &str, &[Piece]); 8] = [
            (
                "rust",
                "let n = \"a\\\"b\"; // 'x",
                &[("let", Style::Accent), ("\"a\\\"b\"", Style::Good), ("// 'x", Style::Dim)],
            ),
            ("rust", "fn f<'a>(x: &'a str)", &[("fn", Style::Accent)]),
            ("python", "x = 'a' #b", &[("'a'", Style::Good), ("#b", Style::Dim)]),
            ("c", "#include <a> /* b */ 0x1f", &[("/* b */", Style::Dim), ("0x1f", Style::Notice)]),
            ("sh", "echo $# \"é\" # end", &[("\"é\"", Style::Good), ("# end", Style::Dim)]),
            ("sql", "x -- y", &[("-- y", Style::Dim)]),
            ("", "a // b", &[("// b", Style::Dim)]),
            ("go", "https://x", &[("//x", Style::Dim)]),
        ];
        for (language, line, expected) in table {
            let found = styled(&mut Highlighter::of(language), line);
            let found: Vec<(&str, Style)> =
                found.iter().map(|(text, style)| (text.as_str(), *style)).collect();
            assert_eq!(found, expected, "{language}: {line}");
        }
    }

    #[test]
    fn comments_and_texts_go_over_lines() {
        let mut c = Highlighter::of("c");
        assert_eq!(styled(&mut c, "a /* b"), [("/* b".to_owned(), Style::Dim)]);
        assert_eq!(styled(&mut c, "if"), [("if".to_owned(), Style::Dim)]);
        assert_eq!(
            styled(&mut c, "c */ if"),
            [("c */".to_owned(), Style::Dim), ("if".to_owned(), Style::Accent)]
        );
        let mut python = Highlighter::of("py");
        assert_eq!(styled(&mut python, "\"\"\"one").len(), 1);
        assert_eq!(styled(&mut python, "two\"\"\" + x"), [("two\"\"\"".to_owned(), Style::Good)]);
    }
}
