//! Commands in rules: `git status` (exactly this), `git log:*` (with anything after it), `git * main`.
//!
//! A rule that allows is read strictly and a rule that denies or asks broadly: `git -C . push`, `/usr/bin/git push` and
//! `strace git push` are all caught by `git push:*`, and none of them is allowed by it.

use super::arguments::RuleArguments;
use super::exact::split;
use super::synonyms::{as_git, module, usual};
use crate::pattern::wildcard;
use crate::shell::{
    Simple, Word, commands_of, git_value_options, has_objection, is_filter_program, is_git_command,
};

/// Programs that run the command in their arguments. Each of their arguments may be its first word.
const RUNNERS: &[&str] = &[
    "arch",
    "aws-vault",
    "bunx",
    "bwrap",
    "caffeinate",
    "chpst",
    "chroot",
    "chrt",
    "conda",
    "cpulimit",
    "dbus-run-session",
    "direnv",
    "doas",
    "docker",
    "doppler",
    "dumb-init",
    "entr",
    "envdir",
    "expect",
    "faketime",
    "fakeroot",
    "firejail",
    "flock",
    "gdb",
    "gosu",
    "hyperfine",
    "kubectl",
    "ld.so",
    "linux32",
    "linux64",
    "ltrace",
    "mise",
    "nix",
    "nix-shell",
    "npm",
    "npx",
    "nsenter",
    "numactl",
    "op",
    "parallel",
    "perf",
    "pipenv",
    "pipx",
    "pnpm",
    "podman",
    "poetry",
    "prlimit",
    "proot",
    "rtk",
    "runuser",
    "script",
    "setarch",
    "setpriv",
    "ssh",
    "ssh-agent",
    "strace",
    "su",
    "sudo",
    "systemd-run",
    "taskset",
    "tini",
    "torsocks",
    "unbuffer",
    "unshare",
    "uv",
    "uvx",
    "valgrind",
    "watch",
    "xvfb-run",
    "yarn",
];
/// Programs that write and do not run their arguments.
const PLAIN: &[&str] = &[
    "basename", "cargo", "chgrp", "chmod", "chown", "cp", "curl", "dd", "gcc", "git", "go", "gzip",
    "install", "ln", "make", "mkdir", "mktemp", "mv", "node", "perl", "php", "pip", "pip3", "python",
    "python3", "rm", "rmdir", "rsync", "ruby", "rustc", "scp", "sed", "split", "tar", "tee", "touch",
    "truncate", "unzip", "wget", "zip",
];
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommandPattern {
    words: Vec<String>,
    shape: CommandShape,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum CommandShape {
    Exact,
    /// Anything may follow.
    Prefix,
    /// `*` within the text stands for any text.
    Wild(String),
}

impl CommandPattern {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text.contains('\0') || text.contains('\n') {
            return Err("it has more than one line".to_owned());
        }
        let (stem, is_open) = match text.strip_suffix(":*") {
            Some(stem) => (stem, true),
            None => match text.strip_suffix(" *") {
                Some(stem) => (stem, true),
                None => (text, false),
            },
        };
        if stem.contains('*') && !stem.contains(['\'', '"']) {
            let whole = if is_open { format!("{}*", stem.trim_end()) } else { stem.to_owned() };
            return Ok(Self { words: Vec::new(), shape: CommandShape::Wild(whole) });
        }
        let words = split(stem)?;
        if words.is_empty() {
            return Err("it is empty".to_owned());
        }
        Ok(Self { words, shape: if is_open { CommandShape::Prefix } else { CommandShape::Exact } })
    }

    pub(super) fn is_exact(&self) -> bool {
        self.shape == CommandShape::Exact
    }

    /// Returns true if the rule, as one that allows, covers a command. A rule about a command that only reads does not
    /// cover arguments with which it writes: `git log:*` does not allow `git log --output=x`.
    pub(super) fn allows(&self, simple: &Simple) -> bool {
        let is_match = match &self.shape {
            CommandShape::Exact => simple.words.len() == self.words.len() && self.starts(simple),
            CommandShape::Prefix => self.starts(simple),
            CommandShape::Wild(pattern) => {
                let is_known = simple.words.iter().all(|word| word.known().is_some());
                is_known && wildcard(pattern, &simple.text())
            }
        };
        is_match && (self.shape == CommandShape::Exact || !self.widens(simple))
    }

    fn starts(&self, simple: &Simple) -> bool {
        let last = self.words.len() - 1;
        simple.words.len() >= self.words.len()
            && self.words.iter().zip(&simple.words).enumerate().all(|(at, (rule, word))| match word.known() {
                Some(_) if at == 0 => simple.name() == rule,
                // `npm run test:*` also covers `npm run test:unit`.
                Some(text) if at == last && self.shape == CommandShape::Prefix => {
                    text == rule || text.strip_prefix(rule.as_str()).is_some_and(|rest| rest.starts_with(':'))
                }
                Some(text) => text == rule,
                None => false,
            })
    }

    /// Returns true if the rule's own words only read while the command may write.
    fn widens(&self, simple: &Simple) -> bool {
        let words = match &self.shape {
            CommandShape::Wild(pattern) => {
                pattern.split('*').next().unwrap_or_default().split_whitespace().collect()
            }
            CommandShape::Exact | CommandShape::Prefix => {
                self.words.iter().map(String::as_str).collect::<Vec<_>>()
            }
        };
        // A name alone stands for all uses of a program that has commands of its own: `git:*`.
        if words.is_empty() || (words.len() == 1 && !is_filter_program(words[0])) {
            return false;
        }
        let own = Simple { words: words.into_iter().map(Word::of_text).collect() };
        !has_objection(&own) && has_objection(simple)
    }

    /// Returns true if the rule, as one that denies or asks, concerns a command, or could once its words are known.
    pub(crate) fn catches(&self, simple: &Simple) -> bool {
        self.catches_within(simple, 0)
    }

    fn catches_within(&self, simple: &Simple, depth: usize) -> bool {
        let by_name = as_git(simple.by_last_name());
        let of_module = module(&by_name).filter(|_| depth < 4);
        if self.is_caught(&by_name) || of_module.is_some_and(|it| self.catches_within(&it, depth + 1)) {
            return true;
        }
        let name = by_name.words.first().and_then(Word::known).unwrap_or_default();
        // An unknown program may run its arguments, too.
        let may_run = RUNNERS.contains(&name) || (!PLAIN.contains(&name) && has_objection(simple));
        if depth > 3 || !may_run {
            return false;
        }
        (1..simple.words.len()).any(|at| {
            let inner = Simple { words: simple.words[at..].to_vec() };
            let is_line = |word: &Word| word.known().is_some_and(|text| text.contains(char::is_whitespace));
            let in_text = inner.words.first().filter(|word| is_line(word));
            // `--program=touch`
            let value = inner.words.first().and_then(|word| word.known()?.split_once('='));
            let value = value.map(|(_, value)| value).filter(|value| !value.is_empty());
            let of_value = value.map(|value| {
                let words = value.split_whitespace().map(Word::of_text);
                Simple { words: words.chain(simple.words[at + 1..].iter().cloned()).collect() }
            });
            self.catches_within(&inner, depth + 1)
                || of_value
                    .is_some_and(|inner| !inner.words.is_empty() && self.catches_within(&inner, depth + 1))
                || in_text.and_then(Word::known).is_some_and(|text| {
                    commands_of(text).iter().any(|command| self.catches_within(command, depth + 1))
                })
        })
    }

    /// Compares the words as they are, and under their usual names.
    fn is_caught(&self, simple: &Simple) -> bool {
        let words = usual(simple.words.clone());
        let own = self.words.iter().enumerate();
        let own = own.map(|(at, word)| Word::of_text(if at == 0 { last_name(word) } else { word })).collect();
        let own: Vec<String> = usual(own).iter().map(|word| word.text().to_owned()).collect();
        self.is_caught_as(&self.words, simple) || self.is_caught_as(&own, &Simple { words })
    }

    fn is_caught_as(&self, own: &[String], simple: &Simple) -> bool {
        match &self.shape {
            CommandShape::Wild(pattern) => {
                let plain = pattern.replace(" ./", " ");
                let is_match = |text: &str| wildcard(pattern, text) || wildcard(&plain, text);
                is_match(&simple.text()) || texts_without_options(simple).iter().any(|text| is_match(text))
            }
            CommandShape::Exact | CommandShape::Prefix => {
                let (first, rest) = own.split_first().map_or(("", &[][..]), |(a, b)| (a.as_str(), b));
                // A rule for `/usr/bin/touch` is one for `touch`.
                let first = last_name(first);
                let name = simple.words.first();
                let is_name = name.is_some_and(|word| match word.known() {
                    Some(text) => text == first,
                    None => first.starts_with(&word.prefix),
                });
                let is_alias = || first == "git" && !rest.is_empty() && is_git_alias(simple.args());
                let rule = RuleArguments::of(first, rest);
                is_name && (rule.are_in(simple.args()) || is_alias())
            }
        }
    }

    /// Returns true if a text in another language contains the words of the rule.
    pub(super) fn is_named_in(&self, text: &str) -> bool {
        let words = match &self.shape {
            CommandShape::Wild(pattern) => {
                pattern.split(['*', ' ']).filter(|word| !word.is_empty()).collect::<Vec<_>>()
            }
            CommandShape::Exact | CommandShape::Prefix => {
                self.words.iter().map(|word| last_name(word)).filter(|word| !word.starts_with('-')).collect()
            }
        };
        let is_part = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '-';
        words.iter().all(|word| text.split(|letter| !is_part(letter)).any(|part| part == *word))
    }
}

fn last_name(word: &str) -> &str {
    word.rsplit('/').find(|part| !part.is_empty()).unwrap_or(word)
}

/// Returns true if git may run an alias: one on the command line, or a command that git does not have.
fn is_git_alias(args: &[Word]) -> bool {
    let mut rest = args.iter();
    while let Some(word) = rest.next() {
        let Some(text) = word.known() else { return false };
        if text == "-c" || text == "--config-env" {
            if rest.next().is_some_and(|value| value.prefix.to_ascii_lowercase().starts_with("alias.")) {
                return true;
            }
        } else if git_value_options().contains(&text) {
            rest.next();
        } else if !text.starts_with('-') {
            return !is_git_command(text);
        } else if text.to_ascii_lowercase().contains("=alias.") {
            return true;
        }
    }
    false
}

/// Returns the forms of a command without the options before its first other word, each with and without its value.
pub(crate) fn texts_without_options(simple: &Simple) -> Vec<String> {
    let mut found = Vec::new();
    let name = simple.by_last_name().words.first().map(|word| word.text().to_owned()).unwrap_or_default();
    let mut open = vec![(simple.args(), 0_usize)];
    while let Some((rest, skipped)) = open.pop() {
        if skipped > 0 {
            let words = rest.iter().map(Word::text);
            found.push(std::iter::once(name.as_str()).chain(words).collect::<Vec<_>>().join(" "));
        }
        let Some((word, after)) = rest.split_first() else { continue };
        if skipped < 6 && word.known().is_some_and(|text| text.starts_with(['-', '+']) && text != "--") {
            open.push((after, skipped + 1));
            if let Some((value, after)) = after.split_first()
                && !value.text().starts_with('-')
            {
                open.push((after, skipped + 1));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(line: &str) -> Vec<Simple> {
        commands_of(line)
    }

    #[test]
    fn a_rule_that_denies_cannot_be_evaded_and_one_that_allows_is_exact() {
        // Rule, line, caught as a denial, covered as an allowance.
        let table = [
            ("git push:*", "git push", true, true),
            ("git push:*", "git push --force origin main", true, true),
            ("git push:*", "git -C . push", true, false),
            ("git push:*", "git -c a.b=c push", true, false),
            ("git push:*", "git --git-dir .git push", true, false),
            ("git push:*", "git --no-pager push", true, false),
            ("git push:*", "/usr/bin/git push", true, true),
            ("git push:*", "/opt/x/git push", true, false),
            ("git push:*", "\"git\" 'pu'sh", true, true),
            ("git push:*", "git pushy", true, false),
            ("git push:*", "git log push", false, false),
            ("git push:*", "git -C push log", false, false),
            ("git push:*", "git $x", true, false),
            ("git push:*", "git log $x", false, false),
            ("git push:*", "sudo -u me git push", true, false),
            ("git push:*", "strace -f git push", true, false),
            ("git push:*", "su -c 'git push' me", true, false),
            ("git push:*", "ssh host 'cd x && git push'", true, false),
            ("git push:*", "git -c alias.x=push x", true, false),
            ("git push:*", "git p", true, false),
            ("git push:*", "git commit -m push", false, false),
            ("git push:*", "git-push", true, false),
            ("git push:*", "/usr/lib/git-core/git-push origin", true, false),
            ("git push --force:*", "git push -f", true, false),
            ("git push --force:*", "git push origin +main", true, false),
            ("git push --force:*", "git push origin main --force", true, false),
            ("git push --force:*", "git push origin main", false, false),
            ("rm -rf:*", "rm -rf src", true, true),
            ("rm -rf:*", "rm -fr src", true, false),
            ("rm -rf:*", "rm -r -f src", true, false),
            ("rm -rf:*", "rm src -rf", true, false),
            ("rm -rf:*", "rm -rfv src", true, false),
            ("rm -rf:*", "rm -Rf src", true, false),
            ("rm -rf:*", "rm --recursive --force src", true, false),
            ("rm -rf:*", "rm --rec -f src", true, false),
            ("rm -rf:*", "rm \"$x\" src", true, false),
            ("rm -rf:*", "rm -r src", false, false),
            ("rm -rf:*", "rm -f src", false, false),
            ("rm -rf:*", "rm -- -rf", false, false),
            ("rm -rf /", "rm -rf a /", true, false),
            ("rm -rf /", "rm -rf a", false, false),
            ("find . -delete", "find . -delete", true, true),
            ("find . -delete", "find . -type d -empty -delete", true, false),
            ("find . -delete", "find . -type d -ls", false, false),
            ("/usr/bin/touch:*", "touch x", true, false),
            ("/usr/bin/touch:*", "/usr/bin/touch x", true, false),
            ("touch:*", "coreutils --coreutils-prog=touch x", true, false),
            ("touch:*", "chronic touch x", true, false),
            ("touch:*", "cp touch x", false, false),
            ("touch:*", "grep touch x", false, false),
            ("npm publish", "npm publish", true, true),
            ("npm publish", "npm publish --tag x", true, false),
            ("npm publish", "npm --prefix a publish", true, false),
            ("npm run test:*", "npm run test:unit", true, true),
            ("npm run test:*", "npm run tests", false, false),
            ("cargo publish:*", "cargo +nightly publish", true, false),
            ("docker push:*", "docker -H tcp://x push y", true, false),
            ("docker push:*", "docker -H tcp://x -D push y", true, false),
            ("git * main", "git push origin main", true, true),
            ("git log:*", "git log --output=x", true, false),
            ("git log:*", "git log --stat", true, true),
            ("echo 'a b'", "echo 'a b'", true, true),
            ("echo 'a b'", "echo a b", false, false),
        ];
        for (rule, line, caught, allowed) in table {
            let pattern = CommandPattern::parse(rule).unwrap();
            let commands = command(line);
            let first = commands.last().unwrap();
            assert_eq!(pattern.catches(first), caught, "{rule} catches {line}");
            assert_eq!(pattern.allows(first), allowed, "{rule} allows {line}");
        }
    }
}
