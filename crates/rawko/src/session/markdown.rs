//! Markdown of models as terminal text, line by line, because it arrives in pieces: headings, lists, quotes, emphasis,
//! and code with light highlighting.

use super::highlight::Highlighter;
use crate::console::{Console, TextStyle};
use crate::live_area::width;

#[derive(Debug, Default)]
pub(crate) struct Markdown {
    /// The code block that is open.
    fence: Option<Fence>,
    /// Rows of a table, until its last one is known.
    table: Vec<Vec<String>>,
}

#[derive(Debug)]
struct Fence {
    /// The line that ends it begins with this.
    mark: String,
    language: String,
    code: Highlighter,
}

/// One line for the terminal.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RenderedLine {
    pub(crate) text: String,
    /// Spaces before the following lines, if the text is wrapped.
    pub(crate) indent: usize,
}

impl Markdown {
    /// Renders a line. A line that only marks a block gives none; the end of a table gives all of its rows.
    pub(crate) fn line(&mut self, line: &str, console: &Console) -> Vec<RenderedLine> {
        let trimmed = line.trim_start();
        if let Some(fence) = &mut self.fence {
            if trimmed.trim_end().strip_prefix(fence.mark.as_str()).is_some_and(str::is_empty) {
                self.fence = None;
                return Vec::new();
            }
            let text = match fence.language.as_str() {
                "diff" | "patch" => diff_line(line, console),
                _ => fence.code.line(line, console),
            };
            return vec![RenderedLine { text: format!("  {text}"), indent: 4 }];
        }
        if let Some(cells) = cells(trimmed) {
            self.table.push(cells);
            return Vec::new();
        }
        let mut lines = self.table(console);
        let mark: String = trimmed
            .chars()
            .take_while(|letter| trimmed.starts_with(*letter) && "`~".contains(*letter))
            .collect();
        if mark.len() >= 3 {
            let language = trimmed[mark.len()..].split_whitespace().next().unwrap_or_default().to_lowercase();
            let code = Highlighter::of(&language);
            self.fence = Some(Fence { mark, language, code });
            return lines;
        }
        lines.push(block(line, console));
        lines
    }

    /// Returns the lines that were held back.
    pub(crate) fn end(mut self, console: &Console) -> Vec<RenderedLine> {
        self.table(console)
    }

    /// Renders a table with its columns aligned.
    fn table(&mut self, console: &Console) -> Vec<RenderedLine> {
        let is_rule = |row: &Vec<String>| {
            row.iter().all(|cell| !cell.is_empty() && cell.chars().all(|letter| "-: ".contains(letter)))
        };
        let has_head = self.table.get(1).is_some_and(is_rule);
        let mut rows: Vec<Vec<String>> = Vec::new();
        for (number, row) in std::mem::take(&mut self.table).into_iter().enumerate() {
            let paint = |cell: String| match number == 0 && has_head {
                true => console.paint(TextStyle::Bold, &cell),
                false => inline(&cell, console),
            };
            if !(number == 1 && has_head) {
                rows.push(row.into_iter().map(paint).collect());
            }
        }
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
        let wide =
            |at: usize| rows.iter().filter_map(|row| row.get(at)).map(|cell| width(cell)).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns).map(wide).collect();
        let line = |row: &Vec<String>| {
            let cells = row.iter().zip(&widths).map(|(cell, wide)| {
                let space = " ".repeat(wide.saturating_sub(width(cell)));
                format!("{cell}{space}")
            });
            let text = cells.collect::<Vec<_>>().join("  ").trim_end().to_owned();
            RenderedLine { text, indent: 2 }
        };
        rows.iter().map(line).collect()
    }
}

/// Returns the cells of a table's row.
fn cells(line: &str) -> Option<Vec<String>> {
    let inner = line.trim_end().strip_prefix('|')?.strip_suffix('|')?;
    Some(inner.split('|').map(|cell| cell.trim().to_owned()).collect())
}

/// Renders a heading, an item, a quote, a rule or a line of text.
fn block(line: &str, console: &Console) -> RenderedLine {
    let trimmed = line.trim_start();
    let indent = line.len() - trimmed.len();
    let level = trimmed.bytes().take_while(|byte| *byte == b'#').count();
    if (1..=6).contains(&level) && trimmed[level..].starts_with(' ') {
        let text = console.paint(TextStyle::Bold, trimmed[level..].trim());
        return RenderedLine { text, indent: 0 };
    }
    if let Some(item) = ["- ", "* ", "+ "].iter().find_map(|mark| trimmed.strip_prefix(mark)) {
        let item = item.replacen("[ ] ", "☐ ", 1).replacen("[x] ", "☑ ", 1);
        let text = format!("{}• {}", " ".repeat(indent), inline(&item, console));
        return RenderedLine { text, indent: indent + 2 };
    }
    let digits = trimmed.bytes().take_while(u8::is_ascii_digit).count();
    if let Some(item) = trimmed[digits..].strip_prefix(". ").filter(|_| (1..=3).contains(&digits)) {
        let text = format!("{}{}. {}", " ".repeat(indent), &trimmed[..digits], inline(item, console));
        return RenderedLine { text, indent: indent + digits + 2 };
    }
    if let Some(quoted) = trimmed.strip_prefix("> ") {
        let text = console.paint(TextStyle::Dim, &format!("│ {quoted}"));
        return RenderedLine { text, indent: 2 };
    }
    if trimmed.len() >= 3 && trimmed.chars().all(|letter| letter == '-') {
        return RenderedLine { text: console.paint(TextStyle::Dim, "───"), indent: 0 };
    }
    let text = format!("{}{}", " ".repeat(indent), inline(trimmed, console));
    RenderedLine { text, indent }
}

/// Renders `code`, **bold**, *emphasis* and links within a line.
fn inline(text: &str, console: &Console) -> String {
    painted(text, &|style, text| console.paint(style, text))
}

/// Returns a line without the marks of Markdown, for a text that has a style of its own.
pub(crate) fn plain(text: &str) -> String {
    painted(text, &|_, text| text.to_owned())
}

fn painted(text: &str, paint: &dyn Fn(TextStyle, &str) -> String) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find(['`', '*', '[']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let is_word_before = out.chars().next_back().is_some_and(char::is_alphanumeric);
        let (rendered, length) =
            span(rest, is_word_before, paint).unwrap_or_else(|| (rest[..1].to_owned(), 1));
        out.push_str(&rendered);
        rest = &rest[length..];
    }
    out.push_str(rest);
    out
}

/// Renders the span that a text begins with, and returns its length.
fn span(
    text: &str,
    is_word_before: bool,
    paint: &dyn Fn(TextStyle, &str) -> String,
) -> Option<(String, usize)> {
    if let Some(link) = text.strip_prefix('[') {
        let (words, after) = link.split_once("](")?;
        let address = after.split_once(')')?.0;
        let is_link = !words.is_empty() && !words.contains('[') && !address.contains([' ', '(']);
        let length = words.len() + address.len() + "[](".len() + 1;
        let shown = format!("{words} {}", paint(TextStyle::Dim, &format!("({address})")));
        return is_link.then_some((shown, length));
    }
    let (mark, style) = match text {
        _ if text.starts_with('`') => ("`", TextStyle::Accent),
        _ if text.starts_with("**") => ("**", TextStyle::Bold),
        _ if !is_word_before => ("*", TextStyle::Bold),
        _ => return None,
    };
    let inner = &text[mark.len()..];
    let end = inner.find(mark).filter(|end| *end > 0)?;
    let is_code = mark == "`";
    let is_emphasis = !inner.starts_with(' ') && !inner[..end].ends_with(' ');
    let shown = paint(style, &inner[..end]);
    (is_code || is_emphasis).then_some((shown, end + 2 * mark.len()))
}

/// Colours a line of a diff.
pub(crate) fn diff_line(line: &str, console: &Console) -> String {
    let style = match line.as_bytes().first() {
        Some(b'+') => TextStyle::Good,
        Some(b'-') => TextStyle::Bad,
        Some(b'@') => TextStyle::Accent,
        _ => TextStyle::Dim,
    };
    console.paint(style, line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::ColorWhen;

    #[test]
    fn lines_of_markdown() {
        let console = Console::new(ColorWhen::Never);
        let mut markdown = Markdown::default();
        let mut shown = |line: &str| -> Vec<String> {
            markdown.line(line, &console).into_iter().map(|line| line.text).collect()
        };
        let table: [(&str, &[&str]); 20] = [
            ("## What changed", &["What changed"]),
            ("- **one** `two`", &["• one two"]),
            ("  * deeper", &["  • deeper"]),
            ("- [x] ticked", &["• ☑ ticked"]),
            ("12. twelfth", &["12. twelfth"]),
            ("> quoted", &["│ quoted"]),
            ("a ** b * c", &["a ** b * c"]),
            ("an *old* 2*3*4 [page](https://x.org/a) a[0]", &["an old 2*3*4 page (https://x.org/a) a[0]"]),
            ("```rust", &[]),
            ("let x = \"**\"; // y", &["  let x = \"**\"; // y"]),
            ("| a |", &["  | a |"]),
            ("```", &[]),
            ("~~~~", &[]),
            ("```", &["  ```"]),
            ("~~~~", &[]),
            ("#hashtag", &["#hashtag"]),
            ("| name | n |", &[]),
            ("|---|--:|", &[]),
            ("| `long one` | 2 |", &[]),
            ("after", &["name      n", "long one  2", "after"]),
        ];
        for (line, expected) in table {
            assert_eq!(shown(line), expected, "{line}");
        }
        let mut markdown = Markdown::default();
        assert!(markdown.line("| a | b |", &console).is_empty());
        assert_eq!(markdown.end(&console).len(), 1, "a table at the end is printed");
    }
}
