//! `Editor`: the input line: text, cursor, earlier inputs and completion of commands.

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

    fn set(&mut self, text: String) {
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
            TerminalKey::Home | TerminalKey::Ctrl('a') => self.cursor = 0,
            TerminalKey::End | TerminalKey::Ctrl('e') => self.cursor = self.text.len(),
            TerminalKey::Ctrl('u') => {
                self.text.replace_range(..self.cursor, "");
                self.cursor = 0;
            }
            TerminalKey::Ctrl('k') => self.text.truncate(self.cursor),
            TerminalKey::Ctrl('w') => {
                let kept = self.text[..self.cursor].trim_end();
                let start = kept.rfind(' ').map_or(0, |at| at + 1);
                self.text.replace_range(start..self.cursor, "");
                self.cursor = start;
            }
            TerminalKey::Up => self.leaf(self.back + 1),
            TerminalKey::Down => self.leaf(self.back.saturating_sub(1)),
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

    /// Completes the word before the cursor to the common beginning of the candidates that fit. Returns the candidates
    /// if several do.
    pub(crate) fn complete(&mut self, candidates: &[String]) -> Vec<String> {
        let start = self.before_cursor().rfind([' ', '\n']).map_or(0, |at| at + 1);
        let word = self.text[start..self.cursor].to_owned();
        let fitting: Vec<&String> = candidates.iter().filter(|it| it.starts_with(&word)).collect();
        let completed = match fitting.as_slice() {
            [] => return Vec::new(),
            // A folder is continued.
            [one] if one.ends_with('/') => (*one).clone(),
            [one] => format!("{one} "),
            [first, rest @ ..] => {
                let common = rest.iter().fold(first.len(), |length, other| {
                    let same = first.chars().zip(other.chars()).take_while(|(one, two)| one == two);
                    length.min(same.map(|(one, _)| one.len_utf8()).sum())
                });
                if common > word.len() { first[..common].to_owned() } else { word }
            }
        };
        self.text.replace_range(start..self.cursor, &completed);
        self.cursor = start + completed.len();
        if fitting.len() > 1 { fitting.into_iter().cloned().collect() } else { Vec::new() }
    }

    /// Returns the part of the text that fits into the columns, and the column of the cursor in it.
    pub(crate) fn view(&self, columns: usize) -> (String, usize) {
        let columns = columns.max(2);
        let (before, after) = self.text.split_at(self.cursor);
        // Only the visible part is measured: a pasted text may be long, and this runs with every key.
        let mut column = 0;
        let tail = before.char_indices().rev().take_while(|(_, letter)| {
            column += letter_width(*letter);
            column < columns
        });
        let start = tail.last().map_or(before.len(), |(at, _)| at);
        let mut shown = one_line(&before[start..]);
        let column = width(&shown);
        let mut taken = column;
        let rest = after.chars().take_while(|letter| {
            taken += letter_width(*letter);
            taken <= columns
        });
        shown.push_str(&one_line(&rest.collect::<String>()));
        (shown, column)
    }
}

/// A pasted line end is one character of the line.
const LINE_END: &str = "⏎";

fn one_line(text: &str) -> String {
    text.replace('\n', LINE_END)
}

fn letter_width(letter: char) -> usize {
    if letter == '\n' { width(LINE_END) } else { width(letter.encode_utf8(&mut [0; 4])) }
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
        editor.press(&TerminalKey::Ctrl('w'));
        assert_eq!(editor.take(), "äx teh ");
        editor.press(&TerminalKey::Up);
        assert_eq!(editor.text(), "äx teh ");
        editor.press(&TerminalKey::Down);
        assert!(editor.is_empty());
    }

    #[test]
    fn commands_are_completed() {
        let all: Vec<String> = ["/pause", "/plan", "/help"].map(str::to_owned).to_vec();
        let mut editor = Editor::default();
        typed(&mut editor, "/p");
        assert_eq!(editor.complete(&all), ["/pause", "/plan"]);
        typed(&mut editor, "l");
        assert!(editor.complete(&all).is_empty());
        assert_eq!(editor.text(), "/plan ");
        editor.clear();
        typed(&mut editor, "read @sr and");
        for _ in 0..4 {
            editor.press(&TerminalKey::Left);
        }
        assert!(editor.complete(&["@src/".to_owned()]).is_empty());
        assert_eq!(editor.text(), "read @src/ and");
    }

    #[test]
    fn a_long_line_shows_the_part_around_the_cursor() {
        let mut editor = Editor::default();
        typed(&mut editor, "abcdefghij");
        assert_eq!(editor.view(4), ("hij".to_owned(), 3));
        editor.press(&TerminalKey::Home);
        assert_eq!(editor.view(4), ("abcd".to_owned(), 0));
        editor.clear();
        editor.press(&TerminalKey::Paste("a\n日本語".to_owned()));
        assert_eq!(editor.view(20), ("a⏎日本語".to_owned(), 8));
        assert_eq!(editor.view(6), ("本語".to_owned(), 4));
    }
}
