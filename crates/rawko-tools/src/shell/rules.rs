//! Compiled command rules of a grant: entries such as `git status`, `cargo *`, `npm run test:*`, and blocked patterns.

use regex::Regex;

use super::reading::{Simple, bare_name};
use super::word::Word;
use crate::grant::GrantLayer;
use crate::pattern::{ToolPattern, wildcard};
use crate::permissions::{CommandPattern, texts_without_options};

/// One entry of a command list.
#[derive(Debug)]
pub(super) struct CommandRule {
    text: String,
    words: Vec<String>,
    /// True if nothing may follow.
    is_exact: bool,
}

impl CommandRule {
    /// Parses an entry of `allowedCommands`: a prefix of the command.
    fn open(text: &str) -> Self {
        let mut words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        if words.len() > 1 && words.last().is_some_and(|last| last == "*") {
            words.pop();
        }
        Self { text: text.to_owned(), words, is_exact: false }
    }

    /// Parses an entry of `Bash(…)`: exact, unless it ends with a star.
    fn in_parentheses(text: &str) -> Self {
        Self { is_exact: !text.trim_end().ends_with('*'), ..Self::open(text) }
    }

    pub(super) fn matches(&self, simple: &Simple) -> bool {
        let words = &simple.words;
        let is_long_enough =
            if self.is_exact { words.len() == self.words.len() } else { words.len() >= self.words.len() };
        !self.words.is_empty()
            && is_long_enough
            && self.words.iter().zip(words).enumerate().all(|(at, (rule, word))| is_word(rule, word, at == 0))
    }

    /// Returns true if the entry names a program rather than any.
    fn names_program(&self) -> bool {
        self.words.first().is_some_and(|first| !first.contains('*'))
    }
}

/// Matches a word; `test:*` matches `test` and everything that begins with `test:`.
fn is_word(rule: &str, word: &Word, is_name: bool) -> bool {
    let Some(text) = word.known() else { return false };
    let text = if is_name { bare_name(text) } else { text };
    rule.strip_suffix(":*").is_some_and(|stem| stem == text) || wildcard(rule, text)
}

pub(super) struct LayerRules<'l> {
    pub(super) layer: &'l GrantLayer,
    /// A command needs a matching entry in each list.
    lists: Vec<Vec<CommandRule>>,
    blocked: Vec<CommandRule>,
    /// The same, read broadly: flags as sets, any wrapper.
    broad: Vec<(&'l str, CommandPattern)>,
    patterns: Vec<(&'l str, Result<Regex, regex::Error>)>,
}

impl<'l> LayerRules<'l> {
    pub(super) fn of(layer: &'l GrantLayer) -> Self {
        let filter = layer.bash.as_ref();
        let named = filter.and_then(|filter| filter.allowed_commands.as_ref());
        let named = named.map(|entries| entries.iter().map(|entry| CommandRule::open(entry)).collect());
        let patterns = filter.iter().flat_map(|filter| &filter.blocked_patterns);
        Self {
            layer,
            lists: named.into_iter().chain(in_parentheses(layer)).collect(),
            blocked: layer
                .blocked
                .iter()
                .filter_map(|entry| command(entry))
                .map(CommandRule::in_parentheses)
                .collect(),
            broad: layer
                .blocked
                .iter()
                .filter_map(|entry| command(entry))
                .filter_map(|text| Some((text, CommandPattern::parse(text).ok()?)))
                .collect(),
            patterns: patterns.map(|pattern| (pattern.as_str(), Regex::new(pattern))).collect(),
        }
    }

    /// Returns true if the layer has rules about commands.
    pub(super) fn is_filter(&self) -> bool {
        !(self.lists.is_empty() && self.blocked.is_empty() && self.patterns.is_empty())
    }

    /// Returns true if commands are blocked by name.
    pub(super) fn blocks_commands(&self) -> bool {
        !self.blocked.is_empty()
    }

    pub(super) fn allows(&self, simple: &Simple) -> bool {
        self.lists.iter().all(|list| list.iter().any(|rule| rule.matches(simple)))
    }

    /// Returns true if an allowed list names this program.
    pub(super) fn names(&self, simple: &Simple) -> bool {
        let is_named =
            |list: &Vec<CommandRule>| list.iter().any(|rule| rule.names_program() && rule.matches(simple));
        !self.lists.is_empty() && self.lists.iter().all(is_named)
    }

    /// Returns true if the entry that names this program is itself read-only, as `git log` is.
    pub(super) fn names_reading(&self, simple: &Simple) -> bool {
        let is_reading = |rule: &CommandRule| {
            let words = rule.words.iter().map(|word| Word::of_text(word.trim_end_matches(":*"))).collect();
            let own = Simple { words };
            let is_family = own.words.len() == 1 && !super::is_filter_program(own.name());
            !is_family && super::read_only::objection(&own).is_none()
        };
        self.lists.iter().flatten().any(|rule| rule.matches(simple) && is_reading(rule))
    }

    pub(super) fn entries(&self) -> Vec<&str> {
        self.lists.iter().flatten().map(|rule| rule.text.as_str()).collect()
    }

    pub(super) fn bad_pattern(&self) -> Option<&'l str> {
        self.patterns.iter().find(|(_, regex)| regex.is_err()).map(|(pattern, _)| *pattern)
    }

    /// Returns the entry or pattern that blocks a command, or that could block it once its variables are known.
    pub(super) fn blocking(&self, simple: &Simple) -> Option<&str> {
        let broad = || Some(self.broad.iter().find(|(_, pattern)| pattern.catches(simple))?.0);
        self.blocking_as(simple).or_else(|| self.blocking_as(&simple.by_last_name())).or_else(broad)
    }

    fn blocking_as(&self, simple: &Simple) -> Option<&str> {
        let entry = self.blocked.iter().find(|rule| rule.matches(simple)).map(|rule| rule.text.as_str());
        let entry = entry.or_else(|| self.matching(&simple.text())).or_else(|| self.possible(simple));
        // `git -C . push` is also `git push`.
        entry.or_else(|| {
            texts_without_options(simple).iter().find_map(|text| {
                let words = text.split(' ').map(Word::of_text).collect();
                let shorter = Simple { words };
                let rule = self.blocked.iter().find(|rule| rule.matches(&shorter));
                rule.map(|rule| rule.text.as_str()).or_else(|| self.matching(text))
            })
        })
    }

    pub(super) fn matching(&self, text: &str) -> Option<&str> {
        let is_match =
            |regex: &Result<Regex, regex::Error>| regex.as_ref().is_ok_and(|regex| regex.is_match(text));
        self.patterns.iter().find(|(_, regex)| is_match(regex)).map(|(pattern, _)| *pattern)
    }

    /// Finds a possible block: `rm $x` where `rm -rf` is blocked. Only for plain-text patterns; others are not tried on
    /// unknown words.
    fn possible(&self, simple: &Simple) -> Option<&str> {
        let plain = self
            .patterns
            .iter()
            .map(|(pattern, _)| *pattern)
            .filter(|pattern| regex::escape(pattern).replace("\\-", "-") == **pattern);
        let mut plain = plain.filter(|pattern| pattern.contains(' '));
        plain.find(|pattern| {
            let mut words = simple.words.iter();
            let is_name = |rule: &str, word: &Word| word.known().is_some_and(|text| bare_name(text) == rule);
            let mut rules = pattern.split_whitespace();
            let starts = rules.next().zip(words.next()).is_some_and(|(rule, word)| is_name(rule, word));
            starts && could_follow(rules, words)
        })
    }
}

/// Returns true if the words can begin with those of a rule; an unknown word matches anything.
fn could_follow<'r>(rules: impl Iterator<Item = &'r str>, words: impl Iterator<Item = &'r Word>) -> bool {
    let mut words = words;
    for rule in rules {
        match words.next().map(|word| (word, word.known())) {
            Some((_, Some(text))) if text.starts_with(rule) => {}
            Some((word, None)) if rule.starts_with(&word.prefix) => {
                if word.splits {
                    return true;
                }
            }
            Some(_) | None => return false,
        }
    }
    true
}

/// Returns the `Bash(…)` entries of an allowed list, unless it also contains plain `Bash`.
fn in_parentheses(layer: &GrantLayer) -> Option<Vec<CommandRule>> {
    let allowed = layer.allowed.as_ref()?;
    let is_whole = |entry: &String| match ToolPattern::of(entry) {
        ToolPattern::Tool(name) => crate::pattern::names(name, "Bash"),
        ToolPattern::Command(_) | ToolPattern::Narrowed { .. } => false,
    };
    let rules: Vec<CommandRule> =
        allowed.iter().filter_map(|entry| command(entry)).map(CommandRule::in_parentheses).collect();
    (!rules.is_empty() && !allowed.iter().any(is_whole)).then_some(rules)
}

fn command(entry: &str) -> Option<&str> {
    match ToolPattern::of(entry) {
        ToolPattern::Command(command) => Some(command),
        ToolPattern::Tool(_) | ToolPattern::Narrowed { .. } => None,
    }
}
