//! The options of a command, read one after the other: what a wrapper or a check needs to find the first word that is
//! no option.

use super::word::Word;

/// The words after the options, and the options with their values. `Err` names a word that may be one or not.
pub(super) struct Options<'w> {
    pub(super) named: Vec<(String, Option<&'w Word>)>,
    pub(super) rest: &'w [Word],
}

/// Reads options up to the first word that is none. `with_value` lists those that take the next word (`-n`, `--max`);
/// short ones may have it attached (`-n3`), long ones after `=`.
pub(super) fn leading<'w>(words: &'w [Word], with_value: &[&str]) -> Result<Options<'w>, &'w Word> {
    let mut named = Vec::new();
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let Some(text) = word.known() else {
            return if word.may_be_option() { Err(word) } else { Ok(Options { named, rest: &words[at..] }) };
        };
        if text == "--" {
            at += 1;
            break;
        }
        if !text.starts_with('-') || text == "-" {
            break;
        }
        at += 1;
        let takes_next = with_value.contains(&text);
        let value = if takes_next { words.get(at) } else { None };
        at += usize::from(takes_next);
        named.push((text.to_owned(), value));
    }
    Ok(Options { named, rest: words.get(at..).unwrap_or_default() })
}

/// Whether a long option, perhaps shortened as many programs allow, perhaps with `=value`, can mean the one named.
pub(super) fn may_mean(word: &str, long: &str) -> bool {
    let name = word.split('=').next().unwrap_or(word);
    name.len() >= 3 && name.starts_with("--") && long.starts_with(name)
}

/// Whether a bundle of short options (`-nri`) has a letter in it.
pub(super) fn has_letter(word: &str, letter: char) -> bool {
    word.strip_prefix('-').is_some_and(|letters| !letters.starts_with('-') && letters.contains(letter))
}
