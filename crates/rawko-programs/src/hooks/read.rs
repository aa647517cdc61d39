//! Reads the hooks from Claude Code's settings files: the project's, the project's local ones, the user's. Other keys of
//! these files are Claude Code's own.

use std::io;
use std::path::Path;
use std::time::Duration;

use rawko_chart::codes::settings::UNREADABLE;
use rawko_chart::{Finding, SourceFile, Span, SpannedValue};
use rawko_settings::{Environment, SettingsReader};
use regex::Regex;

use super::{CommandHook, CommandHooks, HookMoment};

/// Claude Code's default.
const TIMEOUT: Duration = Duration::from_secs(60);
/// rawko's own hook: its gate decides on the call anyway.
const OWN: &str = "rawko hook";

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
        for moment in [HookMoment::PreToolUse, HookMoment::PostToolUse] {
            let Some(groups) = hooks.get(moment.name()) else { continue };
            for group in groups.items().unwrap_or_default() {
                self.group(moment, group, shown, &mut reader);
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
        let matcher = match group.get("matcher").and_then(SpannedValue::text) {
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
            let Some(command) = hook.get("command").and_then(SpannedValue::text) else { continue };
            // Prompts and requests of Claude Code have no meaning here.
            let is_command =
                hook.get("type").and_then(SpannedValue::text).is_none_or(|kind| kind == "command");
            if !is_command || command.trim_start().starts_with(OWN) {
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
}
