//! `Editor`: the input: text of one or more lines, cursor, earlier inputs and completion.

use super::keys::TerminalKey;
use crate::live_area::width;

const HISTORY_MAX: usize = 100;

#[derive(Debug, Default)]
pub(crate) struct Editor {
    text: String,
    /// Byte offset in the text.
    cursor: usize,
    history: Vec<String>,
    /// The shown entry of the history, from its end; 0 is the text being written.
    back: usize,
    draft: String,
}

impl Editor {
    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the earlier inputs, the oldest first.
    pub(crate) fn history(&self) -> &[String] {
        &self.history
    }

    /// Adds inputs of earlier sessions, the oldest first.
    pub(crate) fn remember(&mut self, earlier: Vec<String>) {
        let own = std::mem::replace(&mut self.history, earlier);
        self.history.extend(own);
        self.history.dedup();
        let surplus = self.history.len().saturating_sub(HISTORY_MAX);
        self.history.drain(..surplus);
    }

    /// Returns the text and clears the line.
    pub(crate) fn take(&mut self) -> String {
        let text = std::mem::take(&mut self.text);
        (self.cursor, self.back) = (0, 0);
        if !text.trim().is_empty() && self.history.last() != Some(&text) {
            self.history.push(text.clone());
            let surplus = self.history.len().saturating_sub(HISTORY_MAX);
            self.history.drain(..surplus);
        }
        text
    }

    pub(crate) fn clear(&mut self) {
        self.set(String::new());
    }

    /// Replaces the text; the cursor is at its end.
    pub(crate) fn set(&mut self, text: String) {
        self.cursor = text.len();
        self.text = text;
    }

    /// Handles an editing key. Returns false if the key has no meaning here.
    pub(crate) fn press(&mut self, key: &TerminalKey) -> bool {
        match key {
            TerminalKey::Char(letter) => self.insert(letter.encode_utf8(&mut [0; 4])),
            TerminalKey::Paste(text) => {
                let text = text.trim_end_matches('\n').replace('\t', "    ");
                let is_kept = |letter: &char| *letter == '\n' || !letter.is_control();
                self.insert(&text.chars().filter(is_kept).collect::<String>());
            }
            TerminalKey::Newline => self.insert("\n"),
            TerminalKey::Backspace => {
                let before = self.before();
                self.text.replace_range(before..self.cursor, "");
                self.cursor = before;
            }
            TerminalKey::Delete => {
                let after = self.after();
                self.text.replace_range(self.cursor..after, "");
            }
            TerminalKey::Left => self.cursor = self.before(),
            TerminalKey::Right => self.cursor = self.after(),
            TerminalKey::WordLeft => self.cursor = self.word_before(),
            TerminalKey::WordRight => self.cursor = self.word_after(),
            TerminalKey::Home | TerminalKey::Ctrl('a') => self.cursor = self.line_start(),
            TerminalKey::End | TerminalKey::Ctrl('e') => self.cursor = self.line_end(),
            TerminalKey::Ctrl('u') => {
                let start = self.line_start();
                self.text.replace_range(start..self.cursor, "");
                self.cursor = start;
            }
            TerminalKey::Ctrl('k') => {
                let end = self.line_end();
                self.text.replace_range(self.cursor..end, "");
            }
            TerminalKey::DeleteWord => {
                let start = self.word_before();
                self.text.replace_range(start..self.cursor, "");
                self.cursor = start;
            }
            TerminalKey::Up => match self.text[..self.line_start()].strip_suffix('\n') {
                Some(above) => self.cursor = self.column_in(above.rfind('\n').map_or(0, |at| at + 1)),
                None => self.leaf(self.back + 1),
            },
            TerminalKey::Down => match self.text[self.line_end()..].starts_with('\n') {
                true => self.cursor = self.column_in(self.line_end() + 1),
                false => self.leaf(self.back.saturating_sub(1)),
            },
            TerminalKey::Enter | TerminalKey::Tab | TerminalKey::Escape | TerminalKey::Ctrl(_) => {
                return false;
            }
        }
        true
    }

    fn insert(&mut self, text: &str) {
        self.text.insert_str(self.cursor, text);
        self.cursor += text.len();
    }

    fn before(&self) -> usize {
        self.text[..self.cursor].char_indices().next_back().map_or(0, |(at, _)| at)
    }

    fn after(&self) -> usize {
        self.text[self.cursor..].chars().next().map_or(self.cursor, |letter| self.cursor + letter.len_utf8())
    }

    fn line_start(&self) -> usize {
        self.text[..self.cursor].rfind('\n').map_or(0, |at| at + 1)
    }

    fn line_end(&self) -> usize {
        self.text[self.cursor..].find('\n').map_or(self.text.len(), |at| self.cursor + at)
    }

    /// Returns the place in the line from `start` that is below or above the cursor.
    fn column_in(&self, start: usize) -> usize {
        let column = self.text[self.line_start()..self.cursor].chars().count();
        let line = self.text[start..].lines().next().unwrap_or_default();
        start + line.char_indices().nth(column).map_or(line.len(), |(at, _)| at)
    }

    fn word_before(&self) -> usize {
        let kept = self.text[..self.cursor].trim_end();
        kept.rfind(char::is_whitespace)
            .map_or(0, |at| at + kept[at..].chars().next().map_or(1, char::len_utf8))
    }

    fn word_after(&self) -> usize {
        let after = &self.text[self.cursor..];
        let word = after.len() - after.trim_start().len();
        self.cursor + after[word..].find(char::is_whitespace).map_or(after.len(), |at| word + at)
    }

    fn leaf(&mut self, back: usize) {
        if back > self.history.len() || back == self.back {
            return;
        }
        if self.back == 0 {
            self.draft = self.text.clone();
        }
        self.back = back;
        let text = match back {
            0 => self.draft.clone(),
            back => self.history[self.history.len() - back].clone(),
        };
        self.set(text);
    }

    /// Returns the text before the cursor.
    pub(crate) fn before_cursor(&self) -> &str {
        &self.text[..self.cursor]
    }

    /// Returns the word before the cursor.
    pub(crate) fn word(&self) -> &str {
        let before = self.before_cursor();
        &before[before.rfind([' ', '\n']).map_or(0, |at| at + 1)..]
    }

    /// Replaces the word before the cursor.
    pub(crate) fn complete(&mut self, word: &str) {
        let start = self.cursor - self.word().len();
        let end = if self.text[self.cursor..].starts_with(' ') { "" } else { " " };
        self.text.replace_range(start..self.cursor, &format!("{word}{end}"));
        self.cursor = start + word.len() + 1;
    }

    /// Returns the rows around the cursor, wrapped to the columns, and the place of the cursor in them.
    pub(crate) fn view(&self, columns: usize, rows_max: usize) -> InputView {
        let columns = columns.max(2);
        // Only the visible part is laid out: a pasted text may be long, and this runs with every key.
        let visible = columns * rows_max;
        let before = &self.text[..self.cursor];
        let start = before.char_indices().rev().take(visible).last().map_or(before.len(), |(at, _)| at);
        let start = match before[start..].find('\n') {
            Some(at) if start > 0 => start + at + 1,
            Some(_) | None => start,
        };
        let (mut rows, mut column, mut cursor) = (vec![String::new()], 0, (0, 0));
        for (at, letter) in self.text[start..].char_indices() {
            let at = start + at;
            if at == self.cursor {
                cursor = (rows.len() - 1, column);
            }
            if at >= self.cursor && rows.len() > cursor.0 + rows_max {
                break;
            }
            if letter == '\n' {
                rows.push(String::new());
                column = 0;
                continue;
            }
            let wide = letter_width(letter);
            if column + wide > columns {
                rows.push(String::new());
                column = 0;
                if at == self.cursor {
                    cursor = (rows.len() - 1, 0);
                }
            }
            rows.last_mut().into_iter().for_each(|row| row.push(letter));
            column += wide;
        }
        if self.cursor == self.text.len() {
            if column >= columns {
                rows.push(String::new());
                column = 0;
            }
            cursor = (rows.len() - 1, column);
        }
        let first = (cursor.0 + 1).saturating_sub(rows_max);
        let lines: Vec<String> = rows.into_iter().skip(first).take(rows_max).collect();
        InputView { lines, cursor: (cursor.0 - first, cursor.1) }
    }

    /// Returns the number of lines.
    pub(crate) fn line_count(&self) -> usize {
        self.text.matches('\n').count() + 1
    }
}

/// The visible rows of the input, and the row and column of the cursor.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct InputView {
    pub(crate) lines: Vec<String>,
    pub(crate) cursor: (usize, usize),
}

fn letter_width(letter: char) -> usize {
    width(letter.encode_utf8(&mut [0; 4]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(editor: &mut Editor, text: &str) {
        text.chars().for_each(|letter| assert!(editor.press(&TerminalKey::Char(letter))));
    }

    #[test]
    fn a_line_is_edited() {
        let mut editor = Editor::default();
        typed(&mut editor, "fix teh tests");
        editor.press(&TerminalKey::Home);
        editor.press(&TerminalKey::Right);
        editor.press(&TerminalKey::Delete);
        editor.press(&TerminalKey::Char('ä'));
        editor.press(&TerminalKey::Left);
        editor.press(&TerminalKey::Backspace);
        assert_eq!(editor.text(), "äx teh tests");
        editor.press(&TerminalKey::End);
        editor.press(&TerminalKey::DeleteWord);
        assert_eq!(editor.take(), "äx teh ");
        editor.press(&TerminalKey::Up);
        assert_eq!(editor.text(), "äx teh ");
        editor.press(&TerminalKey::Down);
        assert!(editor.is_empty());
    }

    #[test]
    fn words_are_completed() {
        let mut editor = Editor::default();
        typed(&mut editor, "/pl");
        editor.complete("/plan");
        assert_eq!(editor.text(), "/plan ");
        editor.clear();
        typed(&mut editor, "read @sr and");
        for _ in 0..4 {
            editor.press(&TerminalKey::Left);
        }
        assert_eq!(editor.word(), "@sr");
        editor.complete("@src/main.rs");
        typed(&mut editor, "now");
        assert_eq!(editor.text(), "read @src/main.rs nowand");
    }

    #[test]
    fn a_long_text_is_wrapped_around_the_cursor() {
        let view = |editor: &Editor, columns, rows| {
            let view = editor.view(columns, rows);
            (view.lines.join("|"), view.cursor)
        };
        let mut editor = Editor::default();
        assert_eq!(view(&editor, 4, 3), (String::new(), (0, 0)));
        typed(&mut editor, "abcdefghij");
        assert_eq!(view(&editor, 4, 3), ("abcd|efgh|ij".to_owned(), (2, 2)));
        assert_eq!(view(&editor, 5, 2), ("fghij|".to_owned(), (1, 0)));
        editor.press(&TerminalKey::Home);
        assert_eq!(view(&editor, 4, 2), ("abcd|efgh".to_owned(), (0, 0)));
        editor.clear();
        editor.press(&TerminalKey::Paste("a\n日本語".to_owned()));
        assert_eq!(view(&editor, 20, 6), ("a|日本語".to_owned(), (1, 6)));
        assert_eq!(view(&editor, 5, 6), ("a|日本|語".to_owned(), (2, 2)));
        editor.press(&TerminalKey::Paste("\nline".repeat(100_000)));
        assert_eq!(view(&editor, 20, 3), ("line|line|line".to_owned(), (2, 4)));
        assert_eq!(editor.line_count(), 100_002);
    }

    #[test]
    fn up_and_down_move_between_the_lines_of_a_text() {
        let mut editor = Editor::default();
        typed(&mut editor, "earlier");
        editor.take();
        typed(&mut editor, "one two");
        editor.press(&TerminalKey::Newline);
        typed(&mut editor, "three");
        editor.press(&TerminalKey::Up);
        typed(&mut editor, "X");
        assert_eq!(editor.text(), "one tXwo\nthree");
        editor.press(&TerminalKey::WordLeft);
        editor.press(&TerminalKey::WordLeft);
        typed(&mut editor, "Y");
        assert_eq!(editor.text(), "Yone tXwo\nthree");
        editor.press(&TerminalKey::WordRight);
        editor.press(&TerminalKey::DeleteWord);
        assert_eq!(editor.text(), " tXwo\nthree");
        editor.press(&TerminalKey::Up);
        assert_eq!(editor.text(), "earlier");
        editor.press(&TerminalKey::Down);
        assert_eq!(editor.text(), " tXwo\nthree");
    }
}
