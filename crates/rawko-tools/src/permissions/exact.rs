//! Exact commands: their words in a rule, and the rule for one command.

use super::commands::CommandPattern;
use super::unmatchable::spelling_problem;
use crate::shell::Simple;

/// Splits a command of a rule into words, with the quotes of a shell.
pub(super) fn split(text: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match letters.next() {
                        Some(end) if end == letter => break,
                        Some('\\') if letter == '"' => word.extend(letters.next()),
                        Some(other) => word.push(other),
                        None => return Err(format!("{letter} is not closed")),
                    }
                }
            }
            '\\' => word.get_or_insert_default().extend(letters.next()),
            ' ' | '\t' => words.extend(word.take()),
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    Ok(words)
}

/// Returns the exact rule for a command; `None` if its words are not all known, or a wildcard would change its meaning.
pub(super) fn exact_rule(simple: &Simple) -> Option<String> {
    let mut text = simple.name().to_owned();
    for word in simple.args() {
        text.push(' ');
        text.push_str(&quoted(word.known()?)?);
    }
    let parsed = CommandPattern::parse(&text).ok().filter(|_| spelling_problem(&text).is_none())?;
    (parsed.is_exact() && parsed.allows(simple)).then(|| format!("Bash({text})"))
}

fn quoted(word: &str) -> Option<String> {
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_./=:,@%+#~^".contains(letter);
    if word.contains(['\n', '\0']) {
        return None;
    }
    match !word.is_empty() && word.chars().all(is_plain) {
        true => Some(word.to_owned()),
        false => Some(format!("'{}'", word.replace('\'', r"'\''"))),
    }
}
