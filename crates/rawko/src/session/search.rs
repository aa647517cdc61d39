//! `HistorySearch`: Ctrl-R finds an earlier input by a part of its text.

use super::keys::TerminalKey;

#[derive(Debug, Default)]
pub(crate) struct HistorySearch {
    pub(crate) wanted: String,
    /// Matches that are skipped, from the newest.
    skipped: usize,
    /// The text before the search.
    before: String,
}

/// The effect of a key on a search.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SearchKey {
    Handled,
    /// Ends the search with this text; the key is handled as usual if it is not Enter.
    Take(String),
    /// Ends the search with the text before it.
    Cancel(String),
}

impl HistorySearch {
    pub(crate) fn new(before: &str) -> HistorySearch {
        HistorySearch { before: before.to_owned(), ..HistorySearch::default() }
    }

    /// Returns the input that is found, if any.
    pub(crate) fn found<'h>(&self, history: &'h [String]) -> Option<&'h String> {
        let wanted = self.wanted.to_lowercase();
        let fits = |input: &&String| !wanted.is_empty() && input.to_lowercase().contains(&wanted);
        history.iter().rev().filter(fits).nth(self.skipped)
    }

    pub(crate) fn press(&mut self, key: &TerminalKey, history: &[String]) -> SearchKey {
        match key {
            TerminalKey::Char(letter) => {
                self.wanted.push(*letter);
                self.skipped = 0;
            }
            TerminalKey::Paste(text) => self.wanted.extend(text.chars().filter(|it| !it.is_control())),
            TerminalKey::Backspace => drop((self.wanted.pop(), self.skipped = 0)),
            TerminalKey::Ctrl('r') => {
                self.skipped += 1;
                if self.found(history).is_none() {
                    self.skipped -= 1;
                }
            }
            TerminalKey::Escape | TerminalKey::Ctrl('c' | 'g') => {
                return SearchKey::Cancel(std::mem::take(&mut self.before));
            }
            _ => {
                let found = self.found(history).cloned();
                return SearchKey::Take(found.unwrap_or_else(|| std::mem::take(&mut self.before)));
            }
        }
        SearchKey::Handled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_earlier_input_is_found() {
        let history = ["fix the tests", "run it", "add Tests"].map(str::to_owned);
        let mut search = HistorySearch::new("draft");
        for letter in "test".chars() {
            assert_eq!(search.press(&TerminalKey::Char(letter), &history), SearchKey::Handled);
        }
        assert_eq!(search.found(&history), Some(&history[2]));
        search.press(&TerminalKey::Ctrl('r'), &history);
        assert_eq!(search.found(&history), Some(&history[0]));
        search.press(&TerminalKey::Ctrl('r'), &history);
        assert_eq!(search.press(&TerminalKey::Enter, &history), SearchKey::Take("fix the tests".to_owned()));
        search.press(&TerminalKey::Char('x'), &history);
        assert_eq!(search.press(&TerminalKey::Escape, &history), SearchKey::Cancel("draft".to_owned()));
    }
}
