//! Markdown of models as terminal text, line by line, because it arrives in pieces: headings, lists, quotes, emphasis,
//! and code with light highlighting.

use crate::console::{Console, Style};

#[derive(Debug, Default)]
pub(crate) struct Markdown {
    /// The language of the code block that is open.
    fence: Option<String>,
}

/// One line for the terminal.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RenderedLine {
    pub(crate) text: String,
    /// Spaces before the following lines, if the text is wrapped.
    pub(crate) indent: usize,
}

const KEYWORDS: [&str; 48] = [
    "as",
    "async",
    "await",
    "break",
    "case",
    "class",
    "const",
    "continue",
    "def",
    "do",
    "elif",
    "else",
    "enum",
    "except",
    "export",
    "extends",
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
    "import",
    "in",
    "interface",
    "let",
    "match",
    "mod",
    "mut",
    "new",
    "package",
    "private",
    "pub",
    "public",
    "return",
    "static",
    "struct",
    "then",
    "throw",
    "trait",
    "try",
    "use",
    "while",
    "yield",
];

impl Markdown {
    /// Renders a line; `None` for lines that only mark a block.
    pub(crate) fn line(&mut self, line: &str, console: &Console) -> Option<RenderedLine> {
        let trimmed = line.trim_start();
        if let Some(language) = trimmed.strip_prefix("```") {
            self.fence = match self.fence {
                Some(_) => None,
                None => Some(language.trim().to_owned()),
            };
            return None;
        }
        if let Some(language) = &self.fence {
            let text = match language.as_str() {
                "diff" | "patch" => diff_line(line, console),
                _ => code(line, console),
            };
            return Some(RenderedLine { text: format!("  {text}"), indent: 4 });
        }
        let indent = line.len() - trimmed.len();
        let level = trimmed.bytes().take_while(|byte| *byte == b'#').count();
        if (1..=6).contains(&level) && trimmed[level..].starts_with(' ') {
            let text = console.paint(Style::Bold, trimmed[level..].trim());
            return Some(RenderedLine { text, indent: 0 });
        }
        if let Some(item) = ["- ", "* ", "+ "].iter().find_map(|mark| trimmed.strip_prefix(mark)) {
            let text = format!("{}• {}", " ".repeat(indent), inline(item, console));
            return Some(RenderedLine { text, indent: indent + 2 });
        }
        if let Some(quoted) = trimmed.strip_prefix("> ") {
            let text = console.paint(Style::Dim, &format!("│ {quoted}"));
            return Some(RenderedLine { text, indent: 2 });
        }
        if trimmed.len() >= 3 && trimmed.chars().all(|letter| letter == '-') {
            return Some(RenderedLine { text: console.paint(Style::Dim, "───"), indent: 0 });
        }
        let text = format!("{}{}", " ".repeat(indent), inline(trimmed, console));
        Some(RenderedLine { text, indent })
    }
}

/// Renders `code` and **bold** within a line.
fn inline(text: &str, console: &Console) -> String {
    let (mut out, mut rest) = (String::new(), text);
    loop {
        let code = rest.find('`').map(|at| (at, "`", Style::Accent));
        let bold = rest.find("**").map(|at| (at, "**", Style::Bold));
        let first = [code, bold].into_iter().flatten().min_by_key(|(at, ..)| *at);
        let Some((at, mark, style)) = first else { break };
        let inner = &rest[at + mark.len()..];
        let Some(end) = inner.find(mark).filter(|end| *end > 0) else { break };
        out.push_str(&rest[..at]);
        out.push_str(&console.paint(style, &inner[..end]));
        rest = &inner[end + mark.len()..];
    }
    out.push_str(rest);
    out
}

/// Colours a line of a diff.
pub(crate) fn diff_line(line: &str, console: &Console) -> String {
    let style = match line.as_bytes().first() {
        Some(b'+') => Style::Good,
        Some(b'-') => Style::Bad,
        Some(b'@') => Style::Accent,
        _ => Style::Dim,
    };
    console.paint(style, line)
}

/// Colours comments, texts and keywords, in any language.
fn code(line: &str, console: &Console) -> String {
    let (mut out, mut rest) = (String::new(), line);
    while let Some(first) = rest.chars().next() {
        let is_comment = rest.starts_with("//") || rest.starts_with("# ") || rest.starts_with("-- ");
        if is_comment {
            out.push_str(&console.paint(Style::Dim, rest));
            return out;
        }
        let length = match first {
            '"' | '\'' => match rest[1..].find(first) {
                Some(end) => end + 2,
                None => 1,
            },
            _ if is_word(first) => rest.find(|letter| !is_word(letter)).unwrap_or(rest.len()),
            _ => first.len_utf8(),
        };
        let (piece, after) = rest.split_at(length);
        rest = after;
        match first {
            '"' | '\'' if length > 1 => out.push_str(&console.paint(Style::Good, piece)),
            _ if KEYWORDS.binary_search(&piece).is_ok() => {
                out.push_str(&console.paint(Style::Accent, piece));
            }
            _ => out.push_str(piece),
        }
    }
    out
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::ColorWhen;

    #[test]
    fn lines_of_markdown() {
        assert!(KEYWORDS.is_sorted());
        let console = Console::new(ColorWhen::Never);
        let mut markdown = Markdown::default();
        let mut shown = |line: &str| markdown.line(line, &console).map(|line| line.text);
        let table = [
            ("## What changed", Some("What changed")),
            ("- **one** `two`", Some("• one two")),
            ("  * deeper", Some("  • deeper")),
            ("> quoted", Some("│ quoted")),
            ("a ** b", Some("a ** b")),
            ("```rust", None),
            ("let x = \"**\"; // y", Some("  let x = \"**\"; // y")),
            ("```", None),
            ("#hashtag", Some("#hashtag")),
        ];
        for (line, expected) in table {
            assert_eq!(shown(line).as_deref(), expected, "{line}");
        }
    }
}
