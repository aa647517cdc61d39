//! The word that ends a turn, for agents that can only send text.

/// A text that ends in this word completes the turn; the word is removed.
pub const COMPLETE_WORD: &str = "TURN_COMPLETE";

/// Returns the text without the word, and whether the word was present.
pub fn split_complete(text: &str) -> (&str, bool) {
    let trimmed = text.trim_end();
    let Some(rest) = trimmed.strip_suffix(COMPLETE_WORD) else { return (text, false) };
    let is_word = !rest.ends_with(|before: char| before.is_alphanumeric() || before == '_');
    if is_word { (rest.trim_end(), true) } else { (text, false) }
}

#[cfg(test)]
mod tests {
    use super::split_complete;

    #[test]
    fn the_word_counts_at_the_end_and_as_a_word() {
        for (text, said, complete) in [
            ("All done. TURN_COMPLETE", "All done.", true),
            ("All done.\nTURN_COMPLETE\n", "All done.", true),
            ("TURN_COMPLETE", "", true),
            ("Done.TURN_COMPLETE", "Done.", true),
            ("I say TURN_COMPLETE when I am done", "I say TURN_COMPLETE when I am done", false),
            ("MY_TURN_COMPLETE", "MY_TURN_COMPLETE", false),
            ("turn_complete", "turn_complete", false),
            ("Hello ", "Hello ", false),
        ] {
            assert_eq!(split_complete(text), (said, complete), "{text:?}");
        }
    }
}
