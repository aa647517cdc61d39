//! Arguments in rules that deny or ask: flags are compared as sets, because `rm -rf x`, `rm -fr x`, `rm -r -f x` and `rm x
//! -rf` are the same command.

use crate::shell::{Word, git_value_options};

/// Limit of options before a subcommand; a longer list is treated as a match.
const OPTIONS_MAX: usize = 12;
/// Longer words with one dash are names: `-delete`.
const BUNDLE_MAX: usize = 4;
/// Programs whose options have one dash and a name.
const NAMED_OPTIONS: &[&str] = &[
    "clang",
    "convert",
    "ffmpeg",
    "find",
    "gcc",
    "go",
    "java",
    "ld",
    "openssl",
    "terraform",
    "tofu",
    "xterm",
];
/// Programs whose arguments are targets.
const BUILDERS: &[&str] = &["bmake", "gmake", "make", "ninja"];
/// Short options and their names; the programs that have them, or all.
const SYNONYMS: &[(char, &str, &[&str])] = &[
    ('f', "--force", &[]),
    ('r', "--recursive", &[]),
    ('R', "--recursive", &["chgrp", "chmod", "chown", "cp", "rm"]),
    ('D', "--force", &["git"]),
    ('D', "--delete", &["git"]),
    ('d', "--delete", &["git"]),
    ('n', "--no-verify", &["git"]),
    ('a', "--all", &[]),
    ('q', "--quiet", &[]),
    ('v', "--verbose", &[]),
    ('y', "--yes", &[]),
    ('o', "--output", &[]),
    ('i', "--in-place", &["sed"]),
    ('X', "--request", &["curl"]),
    ('d', "--data", &["curl"]),
    ('T', "--upload-file", &["curl"]),
    ('F', "--form", &["curl"]),
    ('k', "--insecure", &["curl"]),
];

/// The words of a rule after the program's name.
pub(super) struct RuleArguments<'r> {
    program: &'r str,
    /// Words before the first flag: they follow the name, with only options between them.
    leading: Vec<&'r str>,
    flags: Vec<&'r str>,
    /// Words after a flag, in this order.
    operands: Vec<&'r str>,
}

impl<'r> RuleArguments<'r> {
    pub(super) fn of(program: &'r str, words: &'r [String]) -> Self {
        let mut found = Self { program, leading: Vec::new(), flags: Vec::new(), operands: Vec::new() };
        let mut is_ended = false;
        for word in words.iter().map(String::as_str) {
            is_ended |= word == "--";
            if !is_ended && word.len() > 1 && word.starts_with('-') {
                found.flags.push(word);
            } else if found.flags.is_empty() {
                found.leading.push(word);
            } else {
                found.operands.push(word);
            }
        }
        found
    }

    /// Returns true if a command has these arguments, or could once its words are known.
    pub(super) fn are_in(&self, args: &[Word]) -> bool {
        self.leads(args) && self.flags.iter().all(|flag| self.is_given(flag, args)) && self.has_operands(args)
    }

    /// Targets of a build may stand in any order, among variables: `make A=b all deploy`.
    fn leads(&self, args: &[Word]) -> bool {
        if !BUILDERS.contains(&self.program) {
            return follows(&self.leading, args, self.program == "git", 0);
        }
        let may_be = |word: &Word, wanted: &str| match word.known() {
            Some(text) => text == wanted,
            None => word.splits || wanted.starts_with(&word.prefix),
        };
        self.leading.iter().all(|wanted| args.iter().any(|word| may_be(word, wanted)))
    }

    fn has_operands(&self, args: &[Word]) -> bool {
        let mut wanted = self.operands.iter().peekable();
        for word in args {
            let Some(operand) = wanted.peek() else { return true };
            let is_same = match word.known() {
                Some(text) => text == **operand,
                None if word.splits => return true,
                None => operand.starts_with(&word.prefix),
            };
            if is_same {
                wanted.next();
            }
        }
        wanted.peek().is_none()
    }

    fn is_given(&self, flag: &str, args: &[Word]) -> bool {
        let words: Vec<&Word> = args.iter().take_while(|word| !word.is("--")).collect();
        if words.iter().any(|word| word.known().is_none() && word.may_be_option()) {
            return true;
        }
        let known: Vec<&str> = words.iter().filter_map(|word| word.known()).collect();
        // A refspec with a plus is pushed by force.
        let is_forced = self.program == "git" && self.leading.first() == Some(&"push");
        if is_forced && ["-f", "--force"].contains(&flag) && known.iter().any(|word| word.starts_with('+')) {
            return true;
        }
        if known.contains(&flag) {
            return true;
        }
        if flag.starts_with("--") {
            return self.has_long(flag, &known);
        }
        let letters = &flag[1..];
        if letters.len() > BUNDLE_MAX || NAMED_OPTIONS.contains(&self.program) {
            let is_named = |word: &&str| word.trim_start_matches('-').split('=').next() == Some(letters);
            return known.iter().filter(|word| word.starts_with('-')).any(is_named);
        }
        letters.chars().all(|letter| self.has_letter(letter, &known))
    }

    fn synonyms(&self) -> impl Iterator<Item = (char, &'static str)> {
        let program = self.program.to_owned();
        SYNONYMS
            .iter()
            .filter(move |(_, _, programs)| programs.is_empty() || programs.contains(&program.as_str()))
            .map(|(letter, long, _)| (*letter, *long))
    }

    fn has_long(&self, flag: &str, known: &[&str]) -> bool {
        let name = |word: &str| word.split('=').next().unwrap_or_default().to_owned();
        let wanted = name(flag);
        let is_long = |word: &&str| {
            let given = name(word);
            given.len() > 2 && given.starts_with("--") && wanted.starts_with(&given) && is_value(flag, word)
        };
        let letters = self.synonyms().filter(|(_, long)| *long == wanted).map(|(letter, _)| letter);
        known.iter().any(is_long) || letters.into_iter().any(|letter| is_bundled(letter, known))
    }

    fn has_letter(&self, letter: char, known: &[&str]) -> bool {
        let longs: Vec<&str> =
            self.synonyms().filter(|(short, _)| *short == letter).map(|(_, long)| long).collect();
        let letters: Vec<char> =
            self.synonyms().filter(|(_, long)| longs.contains(long)).map(|(short, _)| short).collect();
        let is_long = |word: &&str| {
            let given = word.split('=').next().unwrap_or_default();
            given.len() > 2 && given.starts_with("--") && longs.iter().any(|long| long.starts_with(given))
        };
        is_bundled(letter, known)
            || letters.into_iter().any(|letter| is_bundled(letter, known))
            || known.iter().any(is_long)
    }
}

/// Returns true unless both have a value and they differ.
fn is_value(flag: &str, word: &str) -> bool {
    match (flag.split_once('='), word.split_once('=')) {
        (Some((_, wanted)), Some((_, given))) => wanted == given,
        _ => true,
    }
}

fn is_bundled(letter: char, known: &[&str]) -> bool {
    known.iter().any(|word| {
        word.strip_prefix('-').is_some_and(|letters| !letters.starts_with('-') && letters.contains(letter))
    })
}

/// Returns true if the rule's words occur in order, with only options and their possible values between them.
fn follows(rule: &[&str], words: &[Word], is_git: bool, skipped: usize) -> bool {
    let Some((wanted, rest)) = rule.split_first() else { return true };
    if skipped > OPTIONS_MAX {
        return true;
    }
    let Some((word, after)) = words.split_first() else { return false };
    let is_same = match word.known() {
        Some(text) => text == *wanted || text.strip_prefix(*wanted).is_some_and(|rest| rest.starts_with(':')),
        None if word.splits => return true,
        None => wanted.starts_with(&word.prefix),
    };
    if is_same && follows(rest, after, is_git, skipped) {
        return true;
    }
    let is_option = word.may_be_option() || word.known().is_some_and(|text| text.starts_with('+'));
    if !is_option {
        return false;
    }
    let takes_value = match (is_git, word.known()) {
        (true, Some(text)) => git_value_options().contains(&text),
        (_, Some(text)) => !text.contains('='),
        (_, None) => true,
    };
    let may_be_alone = !(is_git && takes_value);
    (may_be_alone && follows(rule, after, is_git, skipped + 1))
        || (takes_value
            && after.split_first().is_some_and(|(_, after)| follows(rule, after, is_git, skipped + 1)))
}
