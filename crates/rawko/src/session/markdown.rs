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
    /// A line of these letters, or of more of them, ends it.
    mark: String,
    language: String,
    code: Highlighter,
}

impl Fence {
    /// Returns the block that a line opens. A line such as "```cargo test```" is text: what follows the mark of a block is
    /// the name of its language, which has no backtick.
    fn begun_by(line: &str) -> Option<Fence> {
        let letter = line.chars().next().filter(|letter| ['`', '~'].contains(letter))?;
        let rest = line.trim_start_matches(letter);
        let mark = line[..line.len() - rest.len()].to_owned();
        if mark.len() < 3 || (letter == '`' && rest.contains('`')) {
            return None;
        }
        let language = rest.split_whitespace().next().unwrap_or_default().to_lowercase();
        let code = Highlighter::of(&language);
        Some(Fence { mark, language, code })
    }

    /// Returns true for a line of the same mark, which may be longer.
    fn is_ended_by(&self, line: &str) -> bool {
        let rest = line.trim_end().strip_prefix(self.mark.as_str());
        rest.is_some_and(|rest| rest.chars().all(|letter| self.mark.starts_with(letter)))
    }
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
            if fence.is_ended_by(trimmed) {
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
        if let Some(fence) = Fence::begun_by(trimmed) {
            self.fence = Some(fence);
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
    while let Some(at) = rest.find(['`', '*', '_', '[']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let is_word_before = out.chars().next_back().is_some_and(char::is_alphanumeric);
        // A mark without its end is text as a whole: a part of it would pair with another one.
        let run = rest.len() - rest.trim_start_matches(['`', '*', '_']).len();
        let (rendered, length) =
            span(rest, is_word_before, paint).unwrap_or_else(|| (rest[..run.max(1)].to_owned(), run.max(1)));
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
    if text.starts_with('`') {
        return code_span(text, paint);
    }
    let mark = ["***", "**", "*", "___", "__", "_"].into_iter().find(|mark| text.starts_with(mark))?;
    // A mark within a word is a part of it: `snake_case`, `2*3*4`.
    let is_in_words = mark == "**" || mark == "***";
    if is_word_before && !is_in_words {
        return None;
    }
    let inner = &text[mark.len()..];
    let is_end = |end: &usize| {
        let mut after = inner[end + mark.len()..].chars();
        let (after, next) = (after.next(), after.next());
        // Also of a name such as `__init__.py`.
        let is_word = |letter: char| !letter.is_whitespace() && next.is_some_and(char::is_alphanumeric);
        let is_inner =
            mark.starts_with('_') && after.is_some_and(|letter| letter.is_alphanumeric() || is_word(letter));
        let is_longer = after.is_some_and(|after| mark.starts_with(after));
        !is_inner && !is_longer && !inner[..*end].ends_with(' ')
    };
    let end = inner.match_indices(mark).map(|(at, _)| at).filter(|end| *end > 0).find(is_end)?;
    let shown = paint(TextStyle::Bold, &plain(&inner[..end]));
    (!inner.starts_with(' ')).then_some((shown, end + 2 * mark.len()))
}

/// Renders code between runs of as many backticks: a longer run can hold a shorter one.
fn code_span(text: &str, paint: &dyn Fn(TextStyle, &str) -> String) -> Option<(String, usize)> {
    let inner = text.trim_start_matches('`');
    let mark = &text[..text.len() - inner.len()];
    let mut from = 0;
    loop {
        let start = from + inner[from..].find('`')?;
        let length = inner[start..].len() - inner[start..].trim_start_matches('`').len();
        if length == mark.len() {
            let code = &inner[..start];
            let trimmed = code.strip_prefix(' ').and_then(|code| code.strip_suffix(' '));
            let code = trimmed.filter(|code| !code.trim().is_empty()).unwrap_or(code);
            return Some((paint(TextStyle::Accent, code), start + 2 * length));
        }
        from = start + length;
    }
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
        let table: &[(&str, &[&str])] = &[
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
            ("```cargo test``` runs all", &["cargo test runs all"]),
            ("and ``a `b` c`` too, `` ` `` alone", &["and a `b` c too, ` alone"]),
            ("``` not closed", &[]),
            ("still code", &["  still code"]),
            ("`````", &[]),
            ("_so_ and __so__, ___so___ ***so***", &["so and so, so so"]),
            ("snake_case_name and __init__.py _a b", &["snake_case_name and __init__.py _a b"]),
            ("**a*b and `c`** [[d](e)", &["a*b and c [d (e)"]),
            ("`` open `", &["`` open `"]),
            ("#hashtag", &["#hashtag"]),
            ("| name | n |", &[]),
            ("|---|--:|", &[]),
            ("| `long one` | 2 |", &[]),
            ("after", &["name      n", "long one  2", "after"]),
        ];
        for (line, expected) in table.iter().copied() {
            assert_eq!(shown(line), expected, "{line}");
        }
        let mut markdown = Markdown::default();
        assert!(markdown.line("| a | b |", &console).is_empty());
        assert_eq!(markdown.end(&console).len(), 1, "a table at the end is printed");
    }
}
