//! `command` and related keys: the command line of agents that are programs.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use rawko_chart::codes::agents::{CONFLICTING_KEYS, MISSING_KEY};
use rawko_chart::{DocumentData, Span, SpannedValue};

use super::fields::Fields;
use super::file::{AgentCommand, AgentKind};
use super::read::AgentFileReader;

impl AgentFileReader<'_, '_, '_> {
    pub(super) fn command(&mut self, fields: &Fields<'_>, kind: AgentKind) -> Option<AgentCommand> {
        let given = ["command", "args", "env", "cwd"].into_iter().filter_map(|key| fields.entry(key));
        if !kind.has_command() {
            for entry in given {
                let message =
                    format!("`{}` is not valid for an agent of kind `{}`", entry.key, kind.as_str());
                let finding = CONFLICTING_KEYS.at(entry.key_span, message);
                self.reader.report(finding.help("use it with `kind: process` or `kind: acp`"));
            }
            return None;
        }
        let words = self.command_words(fields, kind);
        let args = fields.get("args").map(|at| self.reader.texts(at, "`args`")).unwrap_or_default();
        let env = self.env(fields);
        let cwd = fields.get("cwd").and_then(|at| self.inside(at, "`cwd`"));
        let (program, first) =
            words?.split_first().map(|(program, rest)| (program.clone(), rest.to_vec()))?;
        let args = first.into_iter().chain(args.into_iter().map(|(arg, _)| arg.to_owned())).collect();
        Some(AgentCommand { program, args, env, cwd: cwd.unwrap_or_else(|| PathBuf::from(".")) })
    }

    /// Reads a program alone, or a list with its arguments.
    fn command_words(&mut self, fields: &Fields<'_>, kind: AgentKind) -> Option<Vec<String>> {
        let Some(entry) = fields.entry("command") else {
            let place = fields.get("kind").map_or(Span::new(0, 0), |at| at.span);
            let message = format!("an agent of kind `{}` needs a command", kind.as_str());
            self.reader.report(MISSING_KEY.at(place, message).help("add `command: [program, argument]`"));
            return None;
        };
        let at = &entry.value;
        let words: Vec<String> = match &at.data {
            DocumentData::Str(program) => vec![program.clone()],
            DocumentData::Null
            | DocumentData::Bool(_)
            | DocumentData::Int(_)
            | DocumentData::Float(_)
            | DocumentData::List(_)
            | DocumentData::Map(_) => {
                self.reader.texts(at, "`command`").into_iter().map(|(word, _)| word.to_owned()).collect()
            }
        };
        let program = words.first().map_or("", String::as_str);
        let is_one_word = !program.is_empty() && !program.contains(char::is_whitespace);
        if !is_one_word && (at.text().is_some() || at.items().is_some_and(|items| items.len() == words.len()))
        {
            let list = program.split_whitespace().collect::<Vec<_>>().join(", ");
            if list.is_empty() {
                self.reader.invalid(
                    at.span,
                    "`command` has no program",
                    "write for example `[python3, agent.py]`",
                );
                return None;
            }
            let message = format!("`{program}` is not a valid program name");
            self.reader.invalid(
                at.span,
                message,
                format!("the command is not run by a shell: write `command: [{list}]`"),
            );
        }
        is_one_word.then_some(words)
    }

    fn env(&mut self, fields: &Fields<'_>) -> BTreeMap<String, String> {
        let Some(at) = fields.get("env") else { return BTreeMap::new() };
        let mut env = BTreeMap::new();
        for entry in self.reader.entries(at, "`env`") {
            if let Some(value) = self.reader.scalar(&entry.value, &format!("`{}` in `env`", entry.key)) {
                env.insert(entry.key.clone(), value);
            }
        }
        env
    }

    /// Reads a path within the project.
    pub(super) fn inside(&mut self, at: &SpannedValue, what: &str) -> Option<PathBuf> {
        let path = Path::new(self.reader.text(at, what)?);
        let is_inside =
            path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        if !is_inside {
            let help = "write a path inside the project, without `..`";
            self.reader.invalid(at.span, format!("{what} is outside the project"), help);
        }
        is_inside.then(|| path.to_owned())
    }
}
