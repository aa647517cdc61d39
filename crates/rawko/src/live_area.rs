//! `LiveArea`: the lines at the bottom of a terminal that are replaced while finished output scrolls above them. Pure:
//! it returns the bytes for the terminal, and the console writes them.

use unicode_width::UnicodeWidthChar;

use crate::marks::{ColourMarks, mark_length};

/// Lines of an unfinished paragraph that are shown; the whole paragraph is printed once it ends.
const PARTIAL_LINES_MAX: usize = 8;

/// The indent of following lines where a larger one does not fit.
const HANGING_MIN: usize = 4;

/// The content of the area: lines that may contain colours, and the place of the cursor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) lines: Vec<String>,
    /// Line and column of the cursor; `None` leaves it at the end.
    pub(crate) cursor: Option<(usize, usize)>,
}

/// The area as it is on the terminal.
#[derive(Debug, Default)]
pub(crate) struct LiveArea {
    columns: usize,
    rows: usize,
    /// Output without a line end yet.
    partial: String,
    frame: Frame,
    /// Widths of the drawn lines.
    drawn: Vec<usize>,
    /// The drawn line with the cursor.
    cursor_line: usize,
}

impl LiveArea {
    /// Sets the size of the terminal. Lines that no longer fit were wrapped by the terminal, so the area is now higher.
    pub(crate) fn resize(&mut self, columns: usize, rows: usize) {
        let columns = columns.max(1);
        if self.columns > columns {
            let height = |width: usize| width.div_ceil(columns).max(1);
            self.cursor_line = self.drawn.iter().take(self.cursor_line).map(|width| height(*width)).sum();
        }
        (self.columns, self.rows) = (columns, rows.max(2));
    }

    /// Removes the area from the terminal.
    pub(crate) fn erase(&mut self) -> String {
        if self.drawn.is_empty() {
            return String::new();
        }
        self.drawn.clear();
        let up = std::mem::take(&mut self.cursor_line);
        let up = if up > 0 { format!("\x1b[{up}A") } else { String::new() };
        format!("{up}\r\x1b[J")
    }

    /// Adds output. Returns the bytes that print its complete lines above the area.
    pub(crate) fn print(&mut self, text: &str) -> String {
        self.partial.push_str(text);
        let Some(end) = self.partial.rfind('\n') else { return self.redraw() };
        let whole: String = self.partial.drain(..=end).collect();
        format!("{}{}{}", self.erase(), whole.replace('\n', "\r\n"), self.redraw())
    }

    /// Replaces the content of the area.
    pub(crate) fn draw(&mut self, frame: Frame) -> String {
        self.frame = frame;
        self.redraw()
    }

    /// Removes the area for good; an unfinished line is printed.
    pub(crate) fn close(&mut self) -> String {
        let mut out = self.erase();
        if !self.partial.is_empty() {
            out.push_str(&std::mem::take(&mut self.partial));
            out.push_str("\r\n");
        }
        out
    }

    fn redraw(&mut self) -> String {
        let mut out = self.erase();
        let mut lines = ready_wrapped(&self.partial, self.columns);
        let surplus = lines.len().saturating_sub(PARTIAL_LINES_MAX.min(self.rows / 2));
        lines.drain(..surplus);
        if self.partial.is_empty() {
            lines.clear();
        }
        let lead = lines.len();
        lines.extend(self.frame.lines.iter().map(|line| ready_fitted(line, self.columns)));
        // The area never fills the terminal: its first line would scroll away and could not be replaced.
        let cut = lines.len().saturating_sub(self.rows - 1);
        lines.drain(..cut);
        if lines.is_empty() {
            return out;
        }
        out.push_str(&lines.join("\r\n"));
        self.drawn = lines.iter().map(|line| ready_width(line)).collect();
        self.cursor_line = lines.len() - 1;
        if let Some((line, column)) = self.frame.cursor {
            let line = (lead + line).saturating_sub(cut).min(lines.len() - 1);
            let up = self.cursor_line - line;
            if up > 0 {
                out.push_str(&format!("\x1b[{up}A"));
            }
            out.push('\r');
            let column = column.min(self.columns - 1);
            if column > 0 {
                out.push_str(&format!("\x1b[{column}C"));
            }
            self.cursor_line = line;
        }
        out
    }
}

/// A tab. Its width on a terminal depends on its column, so that the height of the area could not be known.
const TAB: &str = "    ";

/// Splits text that is ready for the terminal into visible characters and colours, which have no width.
fn pieces(text: &str) -> impl Iterator<Item = (&str, usize)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let length = match first {
            '\x1b' => rest.find('m').map_or(rest.len(), |end| end + 1),
            // The console's mark of a colour, of which this is the first character.
            _ if mark_length(rest) > 0 => mark_length(rest),
            _ => first.len_utf8(),
        };
        let (piece, after) = rest.split_at(length);
        rest = after;
        if first == '\t' {
            return Some((TAB, TAB.len()));
        }
        let is_colour = first == '\x1b' || piece.len() > first.len_utf8();
        Some((piece, if is_colour { 0 } else { first.width().unwrap_or(0) }))
    })
}

/// Returns the number of columns that a text takes once it is printed.
pub(crate) fn width(text: &str) -> usize {
    ready_width(&ColourMarks::of_process().measurable(text))
}

fn ready_width(text: &str) -> usize {
    pieces(text).map(|(_, width)| width).sum()
}

/// Cuts a text to the columns; the end of a cut text is `…`.
pub(crate) fn fitted(text: &str, columns: usize) -> String {
    ready_fitted(&ColourMarks::of_process().measurable(text), columns)
}

fn ready_fitted(text: &str, columns: usize) -> String {
    if ready_width(text) <= columns {
        return text.replace('\t', TAB);
    }
    let (mut out, mut taken, mut is_cut) = (String::new(), 0, false);
    for (piece, width) in pieces(text) {
        if width == 0 {
            out.push_str(piece);
        } else if !is_cut && taken + width < columns {
            out.push_str(piece);
            taken += width;
        } else if !is_cut {
            out.push('…');
            is_cut = true;
        }
    }
    out
}

/// Breaks a text into lines of at most the columns, at spaces where possible. Invisible characters take the columns of
/// their escapes: a line that is wrapped loses no part of a command on the terminal.
pub(crate) fn wrapped(text: &str, columns: usize) -> Vec<String> {
    ready_wrapped(&ColourMarks::of_process().measurable(text), columns)
}

/// Returns the lines of a text as `wrapped` does, with the following lines of each paragraph indented. An indent that
/// leaves less than half of the columns is reduced.
pub(crate) fn wrapped_hanging(text: &str, columns: usize, indent: usize) -> Vec<String> {
    let indent = if indent > columns / 2 { HANGING_MIN.min(columns / 2) } else { indent };
    ready_hanging(&ColourMarks::of_process().measurable(text), columns, indent)
}

fn ready_wrapped(text: &str, columns: usize) -> Vec<String> {
    ready_hanging(text, columns, 0)
}

fn ready_hanging(text: &str, columns: usize, indent: usize) -> Vec<String> {
    let columns = columns.max(1);
    let mut lines = Vec::new();
    for paragraph in text.split('\n') {
        let (mut line, mut taken, mut last_space) = (String::new(), 0, None);
        for (piece, piece_width) in pieces(paragraph) {
            if taken + piece_width > columns {
                let rest = match last_space.filter(|_| piece != " ") {
                    Some(at) => line.split_off(at),
                    None => String::new(),
                };
                lines.push(line.trim_end().to_owned());
                let is_space = piece == " " && rest.is_empty();
                line = " ".repeat(indent) + &rest;
                taken = ready_width(&line);
                last_space = None;
                if is_space {
                    continue;
                }
            }
            line.push_str(piece);
            taken += piece_width;
            if piece == " " {
                last_space = Some(line.len());
            }
        }
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_and_wrapped_by_columns() {
        assert_eq!(fitted("abcdef", 6), "abcdef");
        assert_eq!(fitted("abcdefg", 6), "abcde…");
        assert_eq!(ready_fitted("\x1b[1mabcdefg\x1b[0m", 4), "\x1b[1mabc…\x1b[0m");
        assert_eq!(fitted("日本語", 5), "日本…");
        assert_eq!(wrapped("one two three", 8), ["one two", "three"]);
        assert_eq!(wrapped("onetwothree", 4), ["onet", "woth", "ree"]);
        assert_eq!(wrapped("日本語", 3), ["日", "本", "語"]);
        assert_eq!(ready_width("\x1b[32mok\x1b[0m"), 2);
        assert_eq!((fitted("\tx", 5), fitted("\txy", 5)), ("    x".to_owned(), "    …".to_owned()));
        assert_eq!(wrapped_hanging("one two three four", 10, 2), ["one two", "  three", "  four"]);
        assert_eq!(wrapped_hanging("  run      the tests", 20, 9), ["  run      the tests"]);
        assert_eq!(wrapped_hanging("  run      the tests", 19, 9), ["  run      the", "         tests"]);
        assert_eq!(wrapped_hanging("  run      the tests", 17, 9), ["  run      the", "    tests"]);
        assert_eq!(wrapped("a\tb c", 6), ["a    b", "c"]);
    }

    #[test]
    fn invisible_characters_take_the_columns_of_their_escapes() {
        assert_eq!((width("a\u{200b}b"), width("\u{1b}[31m"), width("\u{fdd0}rm -rf\u{fdd1}")), (8, 10, 18));
        let text = format!("touch ok {} && rm x \u{1b}[ no end", "\u{200b}".repeat(9));
        let lines = wrapped(&text, 20);
        assert!(lines.iter().all(|line| ready_width(line) <= 20), "{lines:?}");
        assert_eq!(lines.concat().matches("\\u200b").count() + lines.concat().matches("\\u001b").count(), 10);
        let mark = ColourMarks::of_process().painted(crate::marks::TextStyle::Bold, "one two");
        assert_eq!((width(&mark), wrapped(&mark, 3).len()), (7, 2));
    }

    #[test]
    fn output_scrolls_above_the_area() {
        let mut area = LiveArea::default();
        area.resize(20, 10);
        let frame = Frame { lines: vec!["status".to_owned(), "> ".to_owned()], cursor: Some((1, 2)) };
        assert_eq!(area.draw(frame), "status\r\n> \r\x1b[2C");
        assert_eq!(area.print("hello\n"), "\x1b[1A\r\x1b[Jhello\r\nstatus\r\n> \r\x1b[2C");
        assert_eq!(area.print("par"), "\x1b[1A\r\x1b[Jpar\r\nstatus\r\n> \r\x1b[2C");
        assert_eq!(area.close(), "\x1b[2A\r\x1b[Jpar\r\n");
        assert_eq!(area.close(), "");
    }

    #[test]
    fn a_narrower_terminal_has_wrapped_the_area() {
        let mut area = LiveArea::default();
        area.resize(20, 10);
        area.draw(Frame { lines: vec!["x".repeat(20), "> ".to_owned()], cursor: Some((1, 2)) });
        area.resize(10, 10);
        assert!(area.erase().starts_with("\x1b[2A"), "twenty columns are two lines of ten");
    }
}
