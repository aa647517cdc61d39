//! What git runs by its arguments: aliases, keys of `-c`, and options such as `--upload-pack`.

use super::git;
use super::options::{has_letter, leading, may_mean};
use super::runs::{line_of, opaque};
use super::word::Word;
use super::wrappers::WrappedCommand;

/// Options whose value is run, with the commands that have them; none stands for every command.
const OPTIONS: &[(&str, Option<char>, &[&str])] = &[
    ("--upload-pack", None, &[]),
    ("--upload-pack", Some('u'), &["clone"]),
    ("--receive-pack", None, &[]),
    ("--exec", None, &["archive", "fetch-pack", "ls-remote", "push", "send-pack", "upload-archive"]),
    ("--exec", Some('x'), &["rebase"]),
    ("--extcmd", Some('x'), &["difftool"]),
    ("--open-files-in-pager", Some('O'), &["grep"]),
    ("--sendmail-cmd", None, &["send-email"]),
    ("--smtp-server", None, &["send-email"]),
    ("--to-cmd", None, &["send-email"]),
    ("--cc-cmd", None, &["send-email"]),
    ("--header-cmd", None, &["send-email"]),
    ("--access-hook", None, &["daemon"]),
    ("--setup", None, &["filter-branch"]),
    ("--subdirectory-filter", None, &["filter-branch"]),
    ("--env-filter", None, &["filter-branch"]),
    ("--tree-filter", None, &["filter-branch"]),
    ("--index-filter", None, &["filter-branch"]),
    ("--parent-filter", None, &["filter-branch"]),
    ("--msg-filter", None, &["filter-branch"]),
    ("--commit-filter", None, &["filter-branch"]),
    ("--tag-name-filter", None, &["filter-branch"]),
];

/// Commands that run programs which files or settings name.
const OPAQUE: &[&str] = &["citool", "for-each-repo", "gui", "hook", "instaweb", "shell"];

/// Sections of the configuration in which keys name commands, or files with further keys.
const SECTIONS: &[&str] = &[
    "alias",
    "browser",
    "core",
    "credential",
    "diff",
    "difftool",
    "filter",
    "gpg",
    "guitool",
    "hook",
    "imap",
    "include",
    "includeif",
    "init",
    "instaweb",
    "interactive",
    "lfs",
    "man",
    "merge",
    "mergetool",
    "pager",
    "protocol",
    "receive",
    "remote",
    "sendemail",
    "sequence",
    "ssh",
    "submodule",
    "tar",
    "trailer",
    "uploadpack",
    "url",
    "web",
];

pub(super) fn runs(args: &[Word]) -> Vec<WrappedCommand> {
    let mut found = Vec::new();
    let options = match leading(args, &git::VALUE_OPTIONS) {
        Ok(options) => options,
        Err(word) => return vec![opaque("git", &format!("is given `{}`", word.shown))],
    };
    for (name, value) in &options.named {
        match (name.as_str(), value) {
            ("-c", Some(word)) => found.extend(key(word, options.rest)),
            ("--config-env", Some(word)) => found.extend(key_of_variable(word.text())),
            (name, _) if name.starts_with("--config-env=") => {
                found.extend(key_of_variable(&name["--config-env=".len()..]));
            }
            (name, _) if name.starts_with("--exec-path=") => {
                found.push(opaque("git", "is given another place of its programs"));
            }
            _ => {}
        }
    }
    let Some((command, rest)) = options.rest.split_first() else { return found };
    let Some(command) = command.known() else {
        found.push(opaque("git", &format!("is given the command `{}`", command.shown)));
        return found;
    };
    if !git::is_command(command) || OPAQUE.contains(&command) {
        found.push(opaque("git", &format!("runs `{command}`, which may be anything")));
    }
    found.extend(option_values(command, rest));
    found.extend(rest.iter().filter_map(address));
    match command {
        "bisect" if rest.first().is_some_and(|word| word.is("run")) => {
            found.push(WrappedCommand::Command(rest[1..].to_vec()));
        }
        "submodule" => {
            let at = rest.iter().position(|word| word.is("foreach"));
            let words = at.map(|at| &rest[at + 1..]).unwrap_or_default();
            let words: Vec<&Word> = words.iter().skip_while(|word| word.prefix.starts_with("--")).collect();
            found.extend(match words.as_slice() {
                [] => None,
                [line] => line_of("git", Some(line)),
                words => Some(WrappedCommand::Command(words.iter().map(|word| (*word).clone()).collect())),
            });
        }
        "config" => found.extend(configured(rest)),
        "clone" | "init" => {
            for (at, word) in rest.iter().enumerate() {
                let is_config = command == "clone" && (word.is("-c") || word.is("--config"));
                let attached = word.prefix.strip_prefix("--config=");
                if is_config && let Some(value) = rest.get(at + 1) {
                    found.extend(key(value, &[]));
                } else if let Some(value) = attached.filter(|_| command == "clone") {
                    found.extend(key(&Word::of_text(value), &[]));
                } else if word.prefix.len() > 4 && may_mean(&word.prefix, "--template") {
                    found.push(opaque("git", "copies hooks of a template"));
                }
            }
        }
        _ => {}
    }
    found
}

fn option_values(command: &str, rest: &[Word]) -> Vec<WrappedCommand> {
    let mut found = Vec::new();
    let applies = |commands: &[&str]| commands.is_empty() || commands.contains(&command);
    for (at, word) in rest.iter().enumerate().take_while(|(_, word)| !word.is("--")) {
        let text = word.prefix.as_str();
        for (long, letter, _) in OPTIONS.iter().filter(|(_, _, commands)| applies(commands)) {
            let is_pager = *long == "--open-files-in-pager";
            let attached = if text.len() > 4 && may_mean(text, long) {
                text.split_once('=').map(|(_, value)| value)
            } else if let Some(letter) = letter.filter(|letter| has_letter(text, *letter)) {
                text.split_once(letter).map(|(_, value)| value).filter(|value| !value.is_empty())
            } else {
                continue;
            };
            found.extend(match (word.known(), attached) {
                (None, _) => Some(opaque("git", &format!("runs `{}`", word.shown))),
                (Some(_), Some(value)) => Some(WrappedCommand::Line(value.to_owned())),
                // Without a value the pager of the configuration.
                (Some(_), None) if is_pager => None,
                (Some(_), None) => line_of("git", rest.get(at + 1)),
            });
        }
    }
    found
}

/// `ext::command` is an address that runs a command.
fn address(word: &Word) -> Option<WrappedCommand> {
    let at = word.prefix.find("ext::")?;
    match word.known() {
        Some(text) => Some(WrappedCommand::Line(text[at + 5..].to_owned())),
        None => Some(opaque("git", &format!("runs `{}`", word.shown))),
    }
}

/// `git config NAME VALUE`, `git config set NAME VALUE`.
fn configured(rest: &[Word]) -> Vec<WrappedCommand> {
    let words: Vec<&Word> = rest.iter().filter(|word| !word.prefix.starts_with('-')).collect();
    let words = match words.split_first() {
        Some((verb, rest)) if verb.is("set") => rest,
        _ => &words,
    };
    match words {
        [name, value, ..] => match (name.known(), value.known()) {
            (Some(name), Some(value)) => key(&Word::of_text(&format!("{name}={value}")), &[]),
            (Some(name), None) if is_risky(name) => vec![opaque("git", &format!("sets `{name}`"))],
            (None, _) => vec![opaque("git", "sets a key that is only known then")],
            (Some(_), None) => Vec::new(),
        },
        [_] | [] => Vec::new(),
    }
}

fn is_risky(name: &str) -> bool {
    let section = name.split('.').next().unwrap_or_default().to_ascii_lowercase();
    SECTIONS.contains(&section.as_str()) && !rawko_process::is_harmless_git_key(name)
}

fn key_of_variable(pair: &str) -> Option<WrappedCommand> {
    let name = pair.split('=').next().unwrap_or_default();
    is_risky(name).then(|| opaque("git", &format!("takes `{name}` from a variable")))
}

/// `NAME=VALUE` of `-c`, with the words of the command.
fn key(word: &Word, command: &[Word]) -> Vec<WrappedCommand> {
    let Some(text) = word.known() else {
        let name = word.prefix.split('=').next().unwrap_or_default();
        let is_known = word.prefix.contains('=') && !is_risky(name);
        return if is_known {
            Vec::new()
        } else {
            vec![opaque("git", &format!("is configured by `{}`", word.shown))]
        };
    };
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    if !is_risky(name) {
        return Vec::new();
    }
    let lower = name.to_ascii_lowercase();
    let section = lower.split('.').next().unwrap_or_default();
    let last = lower.rsplit('.').next().unwrap_or_default();
    match (section, last) {
        ("alias", _) => match value.strip_prefix('!') {
            Some(line) => vec![WrappedCommand::Line(line.to_owned())],
            None => {
                let words = std::iter::once("git").chain(value.split_whitespace()).map(Word::of_text);
                let rest = command.get(1..).unwrap_or_default().iter().cloned();
                vec![WrappedCommand::Command(words.chain(rest).collect())]
            }
        },
        ("include" | "includeif" | "protocol" | "url" | "init", _) | (_, "hookspath") => {
            vec![opaque("git", &format!("is configured by `{name}`"))]
        }
        (_, "url" | "pushurl") => address(word).into_iter().collect(),
        _ => vec![WrappedCommand::Line(value.trim_start_matches('!').to_owned())],
    }
}
