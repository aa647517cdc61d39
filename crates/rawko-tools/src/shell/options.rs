//! Parses command options, so that a wrapper or check can find the first word that is not an option.

use super::word::Word;

/// The words after the options, and the options with their values. `Err` names a word that may or may not be an option.
pub(super) struct CommandOptions<'w> {
    pub(super) named: Vec<(String, Option<&'w Word>)>,
    pub(super) rest: &'w [Word],
}

/// Parses options up to the first other word. `with_value` must list all options that take the next word (`-n`,
/// `--max`): the value of a missing one would be taken for the command. Short options may be bundled (`-rn 3`) or have
/// the value attached (`-n3`); long ones may be abbreviated or have it after `=`.
pub(super) fn leading<'w>(words: &'w [Word], with_value: &[&str]) -> Result<CommandOptions<'w>, &'w Word> {
    let mut named = Vec::new();
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let Some(text) = word.known() else {
            return if word.may_be_option() {
                Err(word)
            } else {
                Ok(CommandOptions { named, rest: &words[at..] })
            };
        };
        if text == "--" {
            at += 1;
            break;
        }
        if !text.starts_with('-') || text == "-" {
            break;
        }
        at += 1;
        let value = if takes_next(text, with_value) { words.get(at) } else { None };
        at += usize::from(value.is_some());
        named.push((text.to_owned(), value));
    }
    Ok(CommandOptions { named, rest: words.get(at..).unwrap_or_default() })
}

fn takes_next(text: &str, with_value: &[&str]) -> bool {
    if text.starts_with("--") {
        return !text.contains('=') && with_value.iter().any(|long| may_mean(text, long));
    }
    let letters: Vec<char> = text.chars().skip(1).collect();
    let takes = |letter: &char| with_value.iter().any(|short| short.len() == 2 && short.ends_with(*letter));
    letters.iter().position(takes).is_some_and(|at| at + 1 == letters.len())
}

/// Returns true if a word can mean the long option, allowing abbreviation and `=value`.
pub(super) fn may_mean(word: &str, long: &str) -> bool {
    let name = word.split('=').next().unwrap_or(word);
    name.len() >= 3 && name.starts_with("--") && long.starts_with(name)
}

/// Returns true if a bundle of short options (`-nri`) contains a letter.
pub(super) fn has_letter(word: &str, letter: char) -> bool {
    word.strip_prefix('-').is_some_and(|letters| !letters.starts_with('-') && letters.contains(letter))
}
