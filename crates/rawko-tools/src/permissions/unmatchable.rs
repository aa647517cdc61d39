//! Rules about commands that no command can match: misspelt ones. As a denial such a rule would leave everything open.

use rawko_chart::is_unprintable;

use super::rule::RuleProblem;

/// Letters that look like others: Greek to Armenian, Cherokee, letter-like, full-width and mathematical.
fn is_lookalike(letter: char) -> bool {
    matches!(letter, '\u{370}'..='\u{58f}' | '\u{13a0}'..='\u{13ff}' | '\u{2100}'..='\u{214f}')
        || matches!(letter, '\u{ff00}'..='\u{ffef}' | '\u{1d400}'..='\u{1d7ff}')
}

/// Returns the first character that cannot be seen, or looks like a space and is none.
pub(super) fn hidden_character(text: &str) -> Option<char> {
    let is_space = |letter: char| letter.is_whitespace() && letter != ' ' && letter != '\t';
    text.chars().find(|letter| {
        is_unprintable(*letter) || is_space(*letter) || matches!(letter, '\u{fe00}'..='\u{fe0f}')
    })
}

/// Returns the reason why no command can match the text between the parentheses of a rule.
pub(crate) fn spelling_problem(text: &str) -> Option<RuleProblem> {
    let problem = |message: String, help: String| Some(RuleProblem { message, help });
    if let Some(letter) = hidden_character(text) {
        let message = format!("`{text}` has the character U+{:04X}, which cannot be seen", u32::from(letter));
        return problem(message, "type the rule again".to_owned());
    }
    let stem = text.strip_suffix(":*").or_else(|| text.strip_suffix(" *"));
    let is_open = stem.is_some();
    let stem = stem.unwrap_or(text).trim();
    let first = stem.split([' ', '\t']).next().unwrap_or_default();
    let is_drive = first.get(1..3).is_some_and(|rest| rest == ":\\" || rest == ":/");
    if let Some(at) = first.find([':', '：']).filter(|_| !is_drive) {
        let name = match &first[..at] {
            "" => "git log",
            name => name,
        };
        return problem(format!("`{text}`: no program has a `:` in its name"), format!("write `{name}:*`"));
    }
    if stem.ends_with(':') && !(is_open && text.ends_with(":*")) {
        let words = stem.trim_end_matches(':').trim();
        return problem(
            format!("`{text}` ends with a `:` that is part of the last word"),
            format!("write `{words}:*`"),
        );
    }
    if first.chars().any(|letter| letter.is_ascii_alphabetic())
        && let Some(letter) = first.chars().find(|letter| is_lookalike(*letter))
    {
        let message =
            format!("`{first}` has the character U+{:04X}, which looks like another", u32::from(letter));
        return problem(message, "type the name of the program again".to_owned());
    }
    None
}

/// Returns the reason why a rule that denies or asks never does: it is about more than one command.
pub(crate) fn joint_problem(text: &str) -> Option<RuleProblem> {
    let has_list = text.contains(":*,");
    let operator = has_list.then_some(',').or_else(|| operator(text))?;
    Some(RuleProblem {
        message: format!("`{text}` has `{operator}`, and rules are compared with each command of a line"),
        help: "write one rule for each command, without redirections".to_owned(),
    })
}

/// Returns the first operator of a shell outside quotes.
fn operator(text: &str) -> Option<char> {
    let mut letters = text.chars();
    let mut quote = None;
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some('\''), '\'') | (Some('"'), '"') => quote = None,
            (Some('\''), _) => {}
            (_, '\\') => drop(letters.next()),
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(letter),
            (None, ';' | '|' | '&' | '<' | '>' | '`' | '(' | ')') => return Some(letter),
            (None, _) => {}
        }
    }
    None
}

/// Returns the reason why an entry of a blocked list blocks nothing: `Bash(git push: *)`.
#[must_use]
pub fn blocked_entry_problem(entry: &str) -> Option<RuleProblem> {
    let inside = match crate::pattern::ToolPattern::of(entry) {
        crate::pattern::ToolPattern::Command(inside) => inside,
        crate::pattern::ToolPattern::Tool(_) | crate::pattern::ToolPattern::Narrowed { .. } => return None,
    };
    spelling_problem(inside).or_else(|| joint_problem(inside))
}

#[cfg(test)]
mod tests {
    use super::{joint_problem, spelling_problem};

    #[test]
    fn a_rule_that_no_command_can_match_is_a_problem() {
        for rule in [
            "touch: *",
            "touch:x",
            "touch:",
            "touch : *",
            "git push: *",
            "git push:",
            "touch：*",
            "t\u{43e}uch:*",
            "touch\u{200b}:*",
            "git\u{a0}push:*",
            "git push\u{fe0f}:*",
            "touch:**",
            ":*touch",
            "command:touch *",
            "touch:* # note",
            "touch:*, ls:*",
        ] {
            assert!(spelling_problem(rule).is_some(), "{rule}");
        }
        for rule in ["git push:*, git pull:*", "cd x && touch y", "ls|touch", "(touch:*)", "touch x > y"] {
            assert!(joint_problem(rule).is_some(), "{rule}");
        }
        for rule in [
            "touch:*",
            "touch :*",
            "touch *",
            "npm run test:*",
            "npm run test:unit",
            "git show HEAD:*",
            "git show HEAD:a",
            "/usr/bin/touch:*",
            "C:\\tools\\x.exe:*",
            "git * main",
            "echo 'a; b | c'",
            "echo \"a > b\"",
            "caf\u{e9} x",
            "docker run -v a:b *",
            "curl https://example.test/*",
        ] {
            assert!(spelling_problem(rule).is_none() && joint_problem(rule).is_none(), "{rule}");
        }
    }
}
