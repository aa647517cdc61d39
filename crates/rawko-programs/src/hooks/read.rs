//! Reads the hooks from Claude Code's settings files: the project's, the project's local ones, the user's. Other keys of
//! these files are Claude Code's own.

use std::io;
use std::path::Path;
use std::time::Duration;

use rawko_chart::codes::agents::NOT_ENFORCED;
use rawko_chart::codes::settings::UNREADABLE;
use rawko_chart::{Finding, SourceFile, Span, SpannedValue};
use rawko_settings::{Environment, SettingsReader};
use regex::Regex;

use super::{CommandHook, CommandHooks, HookMoment, SkippedHook};

/// Claude Code's default.
const TIMEOUT: Duration = Duration::from_secs(60);
/// rawko's own hook: its gate decides on the call anyway.
const OWN: &str = "rawko hook";
/// Longest part of a skipped hook that is shown.
const SHOWN_CHARS_MAX: usize = 80;

impl CommandHooks {
    /// Reads the hooks of a project and its user, and all problems of the files.
    pub fn read(root: &Path, environment: &Environment) -> (Self, Vec<(SourceFile, Vec<Finding>)>) {
        let home = environment.get("HOME").filter(|home| !home.is_empty()).map(Path::new);
        let mut files: Vec<_> = home
            .into_iter()
            .map(|home| (home.join(".claude/settings.json"), "~/.claude/settings.json"))
            .collect();
        for name in [".claude/settings.json", ".claude/settings.local.json"] {
            files.push((root.join(name), name));
        }
        let (mut all, mut problems) = (CommandHooks::default(), Vec::new());
        let mut seen = Vec::new();
        for (path, shown) in files {
            let text = match rawko_process::read_regular(&path)
                .and_then(|bytes| String::from_utf8(bytes).map_err(io::Error::other))
            {
                Ok(text) => text,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => {
                    let finding =
                        UNREADABLE.at(Span::default(), format!("`{shown}` cannot be read: {error}"));
                    problems.push((SourceFile::new(shown, ""), vec![finding]));
                    continue;
                }
            };
            // The project may be the home directory.
            let real = path.canonicalize().unwrap_or(path);
            if seen.contains(&real) {
                continue;
            }
            seen.push(real);
            let source = SourceFile::new(shown, text);
            let findings = all.add(&source, shown, environment);
            problems.push((source, findings));
        }
        (all, problems)
    }

    fn add(&mut self, source: &SourceFile, shown: &str, environment: &Environment) -> Vec<Finding> {
        let document = match SpannedValue::read(&source.text) {
            Ok(document) => document,
            Err(findings) => return findings,
        };
        let mut reader = SettingsReader::new(environment);
        let Some(hooks) = document.get("hooks") else { return Vec::new() };
        for entry in hooks.entries().unwrap_or_default() {
            let moment = HookMoment::ALL.into_iter().find(|moment| moment.name() == &*entry.key);
            for group in entry.value.items().unwrap_or_default() {
                match moment {
                    Some(moment) => self.group(moment, group, shown, &mut reader),
                    None => self.skip_group(&entry.key, group, shown),
                }
            }
        }
        reader.findings
    }

    fn group(
        &mut self,
        moment: HookMoment,
        group: &SpannedValue,
        file: &str,
        reader: &mut SettingsReader<'_>,
    ) {
        let matcher = group.get("matcher").and_then(SpannedValue::text);
        let matcher = match matcher.filter(|_| moment.is_about_tools()) {
            None | Some("" | "*") => None,
            Some(text) => match Regex::new(&format!("^(?:{text})$")) {
                Ok(pattern) => Some(pattern),
                Err(_) => {
                    let span = group.get("matcher").map_or(group.span, |at| at.span);
                    let message = format!("the matcher `{text}` is not a regular expression");
                    return reader.invalid(span, message, "write `Edit|Write`, for example");
                }
            },
        };
        for hook in group.get("hooks").and_then(SpannedValue::items).unwrap_or_default() {
            // Prompts and requests of Claude Code have no meaning here.
            let Some(command) = command_of(hook) else {
                let skipped = SkippedHook::new(moment.name(), hook, file);
                if moment == HookMoment::PreToolUse {
                    let message = format!("a hook does not run for rawko's agents: {skipped}");
                    let help = "write it as a command hook, or as a rule in `permissions`";
                    reader.findings.push(NOT_ENFORCED.at(hook.span, message).help(help));
                }
                self.skipped.push(skipped);
                continue;
            };
            if is_own(command) {
                continue;
            }
            let seconds = hook.get("timeout").and_then(|at| at.to_json().as_f64());
            let timeout = seconds.filter(|seconds| (0.0..1e6).contains(seconds));
            self.hooks.push(CommandHook {
                moment,
                matcher: matcher.clone(),
                command: command.to_owned(),
                timeout: timeout.map_or(TIMEOUT, Duration::from_secs_f64),
                file: file.to_owned(),
            });
        }
    }

    /// Notes the hooks of an event of Claude Code's own sessions.
    fn skip_group(&mut self, event: &str, group: &SpannedValue, file: &str) {
        let hooks = group.get("hooks").and_then(SpannedValue::items).unwrap_or_default();
        let others = hooks.iter().filter(|hook| !command_of(hook).is_some_and(is_own));
        self.skipped.extend(others.map(|hook| SkippedHook::new(event, hook, file)));
    }
}

impl SkippedHook {
    fn new(event: &str, hook: &SpannedValue, file: &str) -> Self {
        let text = |key: &str| hook.get(key).and_then(SpannedValue::text);
        let kind = text("type").unwrap_or("command").to_owned();
        let what = ["command", "url", "prompt", "tool"].into_iter().find_map(text).unwrap_or_default();
        let what = what.chars().take(SHOWN_CHARS_MAX).collect();
        Self { event: event.to_owned(), kind, what, file: file.to_owned() }
    }
}

/// Returns the command of a command hook.
fn command_of(hook: &SpannedValue) -> Option<&str> {
    let kind = hook.get("type").and_then(SpannedValue::text);
    hook.get("command").and_then(SpannedValue::text).filter(|_| kind.is_none_or(|kind| kind == "command"))
}

fn is_own(command: &str) -> bool {
    command.trim_start().starts_with(OWN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hooks_that_do_not_run_are_listed_and_those_that_refuse_are_findings() {
        let text = r#"{"hooks": {
            "PreToolUse": [{"hooks": [
                {"type": "command", "command": "check.sh"},
                {"type": "command", "command": "rawko hook || exit 2"},
                {"type": "http", "url": "http://127.0.0.1:1/gate"},
                {"type": "prompt", "prompt": "Is it safe?"}]}],
            "PostToolUse": [{"hooks": [{"type": "prompt", "prompt": "Did it work?"}]}],
            "Stop": [{"matcher": "(", "hooks": [{"type": "command", "command": "tests.sh"}]}],
            "SessionEnd": [{"hooks": [{"type": "command", "command": "rawko hook"}, {"type": "command", "command": "notify.sh"}]}]}}"#;
        let (mut hooks, environment) = (CommandHooks::default(), Environment::default());
        let findings = hooks.add(&SourceFile::new("settings.json", text), "settings.json", &environment);
        let messages: Vec<&str> = findings.iter().map(|finding| &*finding.message).collect();
        let refusing = "a hook does not run for rawko's agents: PreToolUse";
        let expected = [
            format!("{refusing} (http `http://127.0.0.1:1/gate`)"),
            format!("{refusing} (prompt `Is it safe?`)"),
        ];
        assert_eq!(messages, expected.each_ref().map(|text| format!("{text} of settings.json")));
        let skipped: Vec<String> = hooks.skipped().iter().map(ToString::to_string).collect();
        assert_eq!(
            skipped[2..],
            [
                "PostToolUse (prompt `Did it work?`) of settings.json",
                "SessionEnd (command `notify.sh`) of settings.json",
            ]
        );
        assert_eq!(hooks.hooks.len(), 2);
    }
}
