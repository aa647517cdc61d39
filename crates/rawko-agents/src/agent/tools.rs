//! `tools`: our map with `allowed`, `blocked`, `bashFilter` and `network`, or Claude's list `Read, Grep, Bash(git log:*)`.

use rawko_chart::codes::agents::{NEVER_ALLOWED, NOT_ENFORCED};
use rawko_chart::{DocumentData, Span, SpannedValue};
use serde::Serialize;

use super::fields::{Fields, Reader};
use rawko_tools::BashFilter;

/// An agent's own tool rules.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolRules {
    /// `None` allows everything that other layers allow.
    pub allowed: Option<Vec<String>>,
    /// Takes precedence over `allowed`.
    pub blocked: Vec<String>,
    /// Rules on shell commands.
    pub bash_filter: Option<BashFilter>,
    /// Hosts that the agent may reach; `None` leaves it to the settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<Vec<String>>,
}

const BASH: &str = "Bash";
/// Common spellings for unrestricted tools.
const ALL_TOOLS: [&str; 3] = ["*", "all", "all tools"];

pub(super) fn read(reader: &mut Reader<'_>, fields: &Fields<'_>) -> ToolRules {
    let mut rules = ToolRules::default();
    if let Some(at) = fields.get("tools") {
        rules = match &at.data {
            DocumentData::Null => {
                reader.invalid(at.span, "`tools` is empty", "write `[]` for no tools, or remove it for all");
                ToolRules::default()
            }
            DocumentData::Map(_) => from_map(reader, at),
            DocumentData::Str(_) | DocumentData::List(_) => from_list(reader, at),
            DocumentData::Bool(_) | DocumentData::Int(_) | DocumentData::Float(_) => {
                reader.wrong_type(at, "`tools`", "a map with `allowed` and `blocked`, or a list");
                ToolRules::default()
            }
        };
    }
    if let Some(at) = fields.get("disallowedTools") {
        let names = words(reader, at, "`disallowedTools`");
        rules.blocked.extend(names.into_iter().map(|(name, _)| name));
    }
    rules
}

fn from_map(reader: &mut Reader<'_>, at: &SpannedValue) -> ToolRules {
    let fields = Fields::read(reader, at, "`tools`", &["allowed", "blocked", "bashFilter", "network"]);
    let allowed = fields.get("allowed").map(|at| words(reader, at, "`allowed` of `tools`"));
    let blocked =
        fields.get("blocked").map(|at| words(reader, at, "`blocked` of `tools`")).unwrap_or_default();
    for (name, span) in allowed.iter().flatten() {
        if let Some((_, blocked)) = blocked.iter().find(|(blocked, _)| blocked == name) {
            let finding = NEVER_ALLOWED.at(*span, format!("`{name}` is both allowed and blocked"));
            reader.report(finding.related(*blocked, "blocked wins").help("remove it from one of the lists"));
        }
    }
    let (allowed, negated) = match allowed.map(without_negated) {
        Some((words, negated)) if words.is_empty() && !negated.is_empty() => (None, negated),
        Some((words, negated)) => (Some(words), negated),
        None => (None, Vec::new()),
    };
    let mut rules = allowed.map_or_else(ToolRules::default, |words| granted(reader, words));
    rules.blocked = blocked.into_iter().map(|(name, _)| name).chain(negated).collect();
    if let Some(at) = fields.get("bashFilter") {
        rules.bash_filter = Some(bash_filter(reader, at));
    }
    rules.network = fields.get("network").map(|at| {
        let hosts = words(reader, at, "`network` of `tools`");
        hosts.into_iter().map(|(host, _)| host).collect()
    });
    rules
}

fn from_list(reader: &mut Reader<'_>, at: &SpannedValue) -> ToolRules {
    let words = words(reader, at, "`tools`");
    let (words, blocked) = without_negated(words);
    let is_all = |name: &str| ALL_TOOLS.contains(&name.to_lowercase().as_str());
    // A list of exceptions alone is one from all tools.
    let is_open = words.iter().any(|(name, _)| is_all(name)) || (words.is_empty() && !blocked.is_empty());
    let rules = if is_open { ToolRules::default() } else { granted(reader, words) };
    ToolRules { blocked, ..rules }
}

/// Takes `!Write` out of a list: such a tool is blocked.
fn without_negated(words: Vec<(String, Span)>) -> (Vec<(String, Span)>, Vec<String>) {
    let (negated, kept): (Vec<_>, Vec<_>) = words.into_iter().partition(|(word, _)| word.starts_with('!'));
    let blocked = negated.into_iter().map(|(word, _)| word[1..].trim().to_owned());
    (kept, blocked.filter(|word| !word.is_empty()).collect())
}

/// Reads names, some with a rule in parentheses. `Bash(git log:*)` is Bash with a filter; a tool with a rule that
/// cannot be enforced is removed, so that an agent never gets more than its file allows.
fn granted(reader: &mut Reader<'_>, words: Vec<(String, Span)>) -> ToolRules {
    let mut allowed: Vec<String> = Vec::new();
    let mut commands = Vec::new();
    let is_bash_whole = words.iter().any(|(word, _)| word == BASH);
    for (word, span) in words {
        let (name, rule) = taken_apart(&word);
        match rule {
            Some(rule) if name == BASH => commands.extend(commands_of(rule)),
            Some(_) => {
                let message =
                    format!("`{word}` is narrower than rawko can enforce, so `{name}` is not allowed");
                let help = format!("allow all of `{name}`, or confine the agent in the project's settings");
                reader.report(NOT_ENFORCED.at(span, message).help(help));
                continue;
            }
            None => {}
        }
        if !allowed.iter().any(|known| known == name) {
            allowed.push(name.to_owned());
        }
    }
    let bash_filter = (!commands.is_empty() && !is_bash_whole)
        .then(|| BashFilter { allowed_commands: Some(commands), blocked_patterns: Vec::new() });
    ToolRules { allowed: Some(allowed), bash_filter, ..ToolRules::default() }
}

fn taken_apart(word: &str) -> (&str, Option<&str>) {
    match word.split_once('(') {
        Some((name, rest)) => (name.trim(), Some(rest.strip_suffix(')').unwrap_or(rest).trim())),
        None => (word, None),
    }
}

/// `git log:*` matches the command alone and with any arguments.
fn commands_of(rule: &str) -> Vec<String> {
    match rule.strip_suffix(":*") {
        Some(prefix) => vec![prefix.to_owned(), format!("{prefix} *")],
        None => vec![rule.to_owned()],
    }
}

/// Reads a list, or one text with commas. A comma in parentheses belongs to the rule.
fn words(reader: &mut Reader<'_>, at: &SpannedValue, what: &str) -> Vec<(String, Span)> {
    let DocumentData::Str(text) = &at.data else {
        let words = reader.texts(at, what);
        return words.into_iter().map(|(word, span)| (word.trim().to_owned(), span)).collect();
    };
    let mut depth = 0_usize;
    let mut found = vec![String::new()];
    for character in text.chars() {
        depth = match character {
            '(' => depth + 1,
            ')' => depth.saturating_sub(1),
            _ => depth,
        };
        match found.last_mut() {
            Some(last) if character != ',' || depth > 0 => last.push(character),
            _ => found.push(String::new()),
        }
    }
    let words = found.iter().map(|word| word.trim()).filter(|word| !word.is_empty());
    words.map(|word| (word.to_owned(), place(text, word, at.span))).collect()
}

/// Returns the location of a word in plain text; in quoted text offsets may differ, so the whole value is marked.
fn place(text: &str, word: &str, whole: Span) -> Span {
    match text.find(word) {
        Some(offset) if whole.range().len() == text.len() => {
            let start = whole.start as usize + offset;
            Span::new(start, start + word.len())
        }
        _ => whole,
    }
}

fn bash_filter(reader: &mut Reader<'_>, at: &SpannedValue) -> BashFilter {
    let fields = Fields::read(reader, at, "`bashFilter`", &["allowedCommands", "blockedPatterns"]);
    let mut list = |key: &str| {
        let at = fields.get(key)?;
        let texts = reader.texts(at, &format!("`{key}` of `bashFilter`"));
        Some(texts.into_iter().map(|(text, _)| text.to_owned()).collect::<Vec<_>>())
    };
    BashFilter {
        allowed_commands: list("allowedCommands"),
        blocked_patterns: list("blockedPatterns").unwrap_or_default(),
    }
}
