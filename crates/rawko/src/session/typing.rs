//! `TextInput`: the input of a session: the text, the menu of completions, and the search in earlier inputs.

use super::completion::InputCompletion;
use super::editor::Editor;
use super::keys::TerminalKey;
use super::menu::{Menu, MenuKey};
use super::search::{HistorySearch, SearchKey};
use crate::hosting::ProjectContext;

#[derive(Debug, Default)]
pub(crate) struct TextInput {
    pub(crate) editor: Editor,
    pub(crate) menu: Menu,
    pub(crate) search: Option<HistorySearch>,
    completion: InputCompletion,
}

/// The effect of a key on the menu or the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InputKey {
    /// The session handles it.
    Ignored,
    Handled,
}

impl TextInput {
    /// Adds inputs of earlier sessions.
    pub(crate) fn remember(&mut self, earlier: Vec<String>) {
        if !earlier.is_empty() {
            self.editor.remember(earlier);
        }
    }

    /// Handles a key that belongs to the menu or the search.
    pub(crate) fn press(&mut self, key: &TerminalKey, place: &ProjectContext) -> InputKey {
        if let Some(search) = &mut self.search {
            let (text, outcome) = match search.press(key, self.editor.history()) {
                SearchKey::Handled => return InputKey::Handled,
                // Enter shows the match, so that it can be changed before it is sent.
                SearchKey::Take(text) if *key == TerminalKey::Enter => (text, InputKey::Handled),
                SearchKey::Take(text) => (text, InputKey::Ignored),
                SearchKey::Cancel(text) => (text, InputKey::Handled),
            };
            self.search = None;
            self.editor.set(text);
            return outcome;
        }
        if *key == TerminalKey::Ctrl('r') {
            self.search = Some(HistorySearch::new(self.editor.text()));
            self.menu = Menu::default();
            return InputKey::Handled;
        }
        match self.menu.press(key, self.editor.word()) {
            MenuKey::Ignored => InputKey::Ignored,
            MenuKey::Handled => InputKey::Handled,
            MenuKey::Complete(word) => {
                self.editor.complete(&word);
                self.offer(place);
                InputKey::Handled
            }
            MenuKey::Enter(word) => {
                self.editor.complete(&word);
                self.menu = Menu::default();
                InputKey::Ignored
            }
        }
    }

    /// Finds the completions of the word before the cursor.
    pub(crate) fn offer(&mut self, place: &ProjectContext) {
        let found = self.completion.candidates(self.editor.before_cursor(), place);
        self.menu.offer(found.unwrap_or_default());
    }

    /// Closes the menu.
    pub(crate) fn offer_nothing(&mut self) {
        self.menu = Menu::default();
    }

    /// Inserts a line end: Enter after a backslash. Returns false if there is none.
    pub(crate) fn breaks_line(&mut self) -> bool {
        let is_broken = self.editor.before_cursor().ends_with('\\');
        if is_broken {
            self.editor.press(&TerminalKey::Backspace);
            self.editor.press(&TerminalKey::Newline);
        }
        is_broken
    }
}
