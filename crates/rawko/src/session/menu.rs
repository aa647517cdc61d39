//! `Menu`: the completions of the word before the cursor, shown below the input while it is typed.

use super::completion::Candidate;
use super::keys::TerminalKey;
use crate::console::{Console, TextStyle};
use crate::live_area::{fitted, width};

/// Rows of the menu.
const ROWS_MAX: usize = 8;

#[derive(Debug, Default)]
pub(crate) struct Menu {
    candidates: Vec<Candidate>,
    selected: usize,
    /// The person moved the selection: Enter takes it.
    is_moved: bool,
    /// Escape closed the menu until the text changes.
    is_closed: bool,
}

/// The effect of a key on an open menu.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum MenuKey {
    Ignored,
    Handled,
    /// Completes the word before the cursor.
    Complete(String),
    /// Completes the word, and Enter then handles the text.
    Enter(String),
}

impl Menu {
    /// Replaces the candidates after a change of the text.
    pub(crate) fn offer(&mut self, candidates: Vec<Candidate>) {
        *self = Menu { candidates, ..Menu::default() };
    }

    pub(crate) fn is_open(&self) -> bool {
        !self.is_closed && !self.candidates.is_empty()
    }

    /// Handles a key. `word`: the word before the cursor.
    pub(crate) fn press(&mut self, key: &TerminalKey, word: &str) -> MenuKey {
        let count = self.candidates.len();
        if !self.is_open() {
            return MenuKey::Ignored;
        }
        match key {
            TerminalKey::Up => (self.selected, self.is_moved) = ((self.selected + count - 1) % count, true),
            TerminalKey::Down => (self.selected, self.is_moved) = ((self.selected + 1) % count, true),
            TerminalKey::Escape => self.is_closed = true,
            TerminalKey::Tab => {
                let chosen = self.candidates.get(self.selected).map(|it| it.word.clone());
                return chosen.map_or(MenuKey::Ignored, MenuKey::Complete);
            }
            // An unfinished name is taken if it can mean one thing only, or if it was selected.
            TerminalKey::Enter if self.is_moved || count == 1 => {
                let Some(chosen) = self.candidates.get(self.selected) else { return MenuKey::Ignored };
                return match chosen.is_partial {
                    _ if chosen.word == word => MenuKey::Ignored,
                    true => MenuKey::Complete(chosen.word.clone()),
                    false => MenuKey::Enter(chosen.word.clone()),
                };
            }
            _ => return MenuKey::Ignored,
        }
        MenuKey::Handled
    }

    /// Returns the lines of the menu, at most `rows_max`.
    pub(crate) fn lines(&self, columns: usize, rows_max: usize, console: &Console) -> Vec<String> {
        let rows = rows_max.min(ROWS_MAX);
        if !self.is_open() || rows == 0 {
            return Vec::new();
        }
        let first = (self.selected + 1).saturating_sub(rows);
        let wide = self.candidates.iter().map(|it| width(&it.word)).max().unwrap_or(0).min(columns / 2);
        let shown = self.candidates.iter().enumerate().skip(first).take(rows);
        let line = |(place, candidate): (usize, &Candidate)| {
            let space = " ".repeat(wide.saturating_sub(width(&candidate.word)) + 2);
            let is_selected = place == self.selected;
            let mark = if is_selected { "›" } else { " " };
            let word = format!("{mark} {}", candidate.word);
            let word = fitted(&word, columns);
            let about = fitted(&candidate.about, columns.saturating_sub(width(&word) + space.len()));
            let style = if is_selected { TextStyle::Bold } else { TextStyle::Plain };
            format!("{}{space}{}", console.paint(style, &word), console.paint(TextStyle::Dim, &about))
                .trim_end()
                .to_owned()
        };
        shown.map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn menu(words: &[&str]) -> Menu {
        let mut menu = Menu::default();
        let candidate = |word: &&str| Candidate {
            word: (*word).to_owned(),
            about: String::new(),
            is_partial: word.starts_with('@') || *word == "/agent",
        };
        menu.offer(words.iter().map(candidate).collect());
        menu
    }

    #[test]
    fn tab_takes_the_selected_word_and_enter_only_what_was_meant() {
        let mut plan = menu(&["/pause", "/plan"]);
        assert_eq!(plan.press(&TerminalKey::Enter, "/p"), MenuKey::Ignored, "two are possible");
        assert_eq!(plan.press(&TerminalKey::Tab, "/p"), MenuKey::Complete("/pause".to_owned()));
        assert_eq!(plan.press(&TerminalKey::Down, "/p"), MenuKey::Handled);
        assert_eq!(plan.press(&TerminalKey::Enter, "/p"), MenuKey::Enter("/plan".to_owned()));
        assert_eq!(plan.press(&TerminalKey::Up, "/p"), MenuKey::Handled);
        assert_eq!(plan.press(&TerminalKey::Tab, "/p"), MenuKey::Complete("/pause".to_owned()));
        let mut only = menu(&["/diff"]);
        assert_eq!(only.press(&TerminalKey::Enter, "/di"), MenuKey::Enter("/diff".to_owned()));
        assert_eq!(only.press(&TerminalKey::Enter, "/diff"), MenuKey::Ignored, "it is complete");
        assert_eq!(only.press(&TerminalKey::Escape, "/di"), MenuKey::Handled);
        assert_eq!(only.press(&TerminalKey::Tab, "/di"), MenuKey::Ignored, "it is closed");
        let agent = MenuKey::Complete("/agent".to_owned());
        assert_eq!(menu(&["/agent"]).press(&TerminalKey::Enter, "/ag"), agent, "it needs a name");
        assert_eq!(menu(&["@a"]).press(&TerminalKey::Enter, "@"), MenuKey::Complete("@a".to_owned()));
        assert_eq!(menu(&[]).press(&TerminalKey::Up, ""), MenuKey::Ignored);
    }
}
