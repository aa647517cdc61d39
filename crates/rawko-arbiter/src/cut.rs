//! Truncates texts to fit a prompt. Separate, because this file defines every length limit of the arbiter's input.

/// Limit of an output in a history.
pub(super) const HISTORY_CHARS: usize = 300;
/// Limit of the summary of the last execution.
pub(super) const SUMMARY_CHARS: usize = 500;
/// Limit of the output of the last execution.
pub(super) const FULL_CHARS: usize = 2_000;

/// Returns the first `most` characters, with an ellipsis if there were more. Never splits a character.
pub(super) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_between_characters() {
        let table = [
            ("", 3, ""),
            ("abc", 3, "abc"),
            ("abcd", 3, "abc..."),
            ("äöüß", 3, "äöü..."),
            ("日本語", 3, "日本語"),
            ("🦀🦀", 1, "🦀..."),
            ("a", 0, "..."),
        ];
        for (text, most, expected) in table {
            assert_eq!(cut(text, most), expected, "{text} at {most}");
        }
    }
}
