//! Reads `command:` and the keys beside it.

use std::path::{Component, Path, PathBuf};

use rawko_chart::codes::settings::UNSET_VARIABLE;
use rawko_chart::{Span, SpannedValue};

use super::reader::HostSettingsReader;
use crate::services::command::{CommandForm, OUTPUT_BYTES_MAX};
use crate::services::template::TextTemplate;
use rawko_settings::is_variable_name;

pub(super) fn read(
    reader: &mut HostSettingsReader<'_>,
    at: &SpannedValue,
    command: &SpannedValue,
    what: &str,
) -> Option<CommandForm> {
    let words = reader.texts(command, &format!("`command` of {what}"));
    let cwd = at.get("cwd").and_then(|cwd| reader.cwd(cwd, what));
    let env = at.get("env").map(|env| reader.env(env, what)).unwrap_or_default();
    let pass_env =
        at.get("pass_env").map(|names| reader.variable_names(names, &format!("`pass_env` of {what}")));
    let pass_env = pass_env.unwrap_or_default();
    for (name, span) in &pass_env {
        reader.check_set(name, *span);
    }
    let output_max =
        at.get("output_max").and_then(|size| reader.size(size, &format!("`output_max` of {what}")));
    let is_trusted = at.get("sandbox").is_some_and(|sandbox| reader.sandbox_is_off(sandbox, what));
    let is_list = command.items().is_some_and(|items| items.len() == words.len());
    let Some(((program, _), args)) = words.split_first().filter(|((program, _), _)| !program.is_empty())
    else {
        if is_list {
            reader.invalid(
                command.span,
                format!("`command` of {what} is empty"),
                "for example `[python3, services/name.py]`",
            );
        }
        return None;
    };
    is_list.then(|| CommandForm {
        program: (*program).to_owned(),
        args: args.iter().map(|(arg, _)| (*arg).to_owned()).collect(),
        cwd: cwd.unwrap_or_else(|| PathBuf::from(".")),
        env,
        pass_env: pass_env.into_iter().map(|(name, _)| name).collect(),
        output_bytes_max: output_max.unwrap_or(OUTPUT_BYTES_MAX),
        is_trusted,
    })
}

impl HostSettingsReader<'_> {
    /// Some YAML versions read a bare `off` as false.
    fn sandbox_is_off(&mut self, at: &SpannedValue, what: &str) -> bool {
        match self.scalar(at, &format!("`sandbox` of {what}")).as_deref() {
            Some("off" | "false") => true,
            Some("on" | "true") | None => false,
            Some(other) => {
                self.invalid(at.span, format!("unknown sandbox mode `{other}`"), "write `on` or `off`");
                false
            }
        }
    }

    fn cwd(&mut self, at: &SpannedValue, what: &str) -> Option<PathBuf> {
        let cwd = Path::new(self.text(at, &format!("`cwd` of {what}"))?);
        let is_inside = cwd.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        if !is_inside {
            self.invalid(
                at.span,
                format!("`cwd` of {what} is outside the project"),
                "use a directory of the project, without `..`",
            );
        }
        is_inside.then(|| cwd.to_owned())
    }

    fn env(&mut self, at: &SpannedValue, what: &str) -> Vec<(String, TextTemplate)> {
        let mut env = Vec::new();
        for entry in self.entries(at, &format!("`env` of {what}")) {
            if self.check_variable_name(&entry.key, entry.key_span)
                && let Some(value) =
                    self.template(&entry.value, &format!("`{}` in `env` of {what}", entry.key))
            {
                env.push((entry.key.clone(), value));
            }
        }
        env
    }

    pub(super) fn variable_names(&mut self, at: &SpannedValue, what: &str) -> Vec<(String, Span)> {
        let names = self.texts(at, what);
        let names = names.into_iter().filter(|(name, span)| self.check_variable_name(name, *span));
        names.map(|(name, span)| (name.to_owned(), span)).collect()
    }

    fn check_variable_name(&mut self, name: &str, span: Span) -> bool {
        let is_name = is_variable_name(name);
        if !is_name {
            self.invalid(
                span,
                format!("`{name}` cannot be the name of a variable"),
                "letters, digits and `_`, not beginning with a digit",
            );
        }
        is_name
    }

    /// Reads text with `${NAME}` placeholders and warns about unset variables.
    pub(super) fn template(&mut self, at: &SpannedValue, what: &str) -> Option<TextTemplate> {
        let text = self.scalar(at, what)?;
        match TextTemplate::parse(&text) {
            Ok(template) => {
                for name in template.variables() {
                    self.check_set(name, at.span);
                }
                Some(template)
            }
            Err(why) => {
                self.invalid(
                    at.span,
                    format!("{what}: {why}"),
                    "a variable is written `${NAME}`, a plain `${` as `$${`",
                );
                None
            }
        }
    }

    fn check_set(&mut self, name: &str, span: Span) {
        if self.environment().get(name).is_none() {
            let message = format!("the environment variable `{name}` is not set");
            self.say(&UNSET_VARIABLE, span, message, "set it where the host is started, or correct its name");
        }
    }
}
