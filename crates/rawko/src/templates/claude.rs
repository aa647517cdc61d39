//! The files of `rawko init --claude`: a chart, and Claude Code's settings, skill and plugin folder. Settings that are
//! there already are kept and extended.

use std::fs;
use std::io;
use std::path::Path;

use serde_json::{Map, Value as Json, json};

use super::{FileTemplate, SettingsTemplate, TemplateWrite, template};
use crate::failure::CommandFailure;
use crate::files;

/// The chart of new sessions.
const CHART: &str = "plan_first";
/// The settings file of Claude Code that a project shares.
pub(crate) const SETTINGS: &str = ".claude/settings.json";
const SKILL: &str = include_str!("claude/plugin/SKILL.md");

const COMMON: [(&str, &str); 6] = [
    (".rawko/charts/plan_first.yaml", include_str!("claude/plan_first.yaml")),
    (".rawko/charts/plan_first.scenario.yaml", include_str!("claude/plan_first.scenario.yaml")),
    (".claude/skills/rawko-charts/SKILL.md", SKILL),
    (".claude/rawko-plugin/.claude-plugin/plugin.json", include_str!("claude/plugin/plugin.json")),
    (".claude/rawko-plugin/skills/rawko-charts/SKILL.md", SKILL),
    (".claude/rawko-plugin/README.md", include_str!("claude/plugin/README.md")),
];

/// The hooks: the event, its matcher, and the timeout in seconds. A Stop waits for the project's checks.
const HOOKS: [(&str, Option<&str>, u32); 4] = [
    ("SessionStart", None, 30),
    ("PreToolUse", Some("*"), 30),
    ("PostToolUse", Some("*"), 30),
    ("Stop", None, 600),
];

/// Returns the files besides the settings of Claude Code.
pub(crate) fn claude(settings: &SettingsTemplate) -> Vec<FileTemplate> {
    let own = FileTemplate { path: ".rawko/config.yaml", text: settings.text() };
    std::iter::once(own).chain(COMMON.map(template)).collect()
}

/// Adds the hooks to the settings of Claude Code, unless `rawko hook` is there for an event.
pub(crate) fn add_hooks(dir: &Path) -> Result<TemplateWrite, CommandFailure> {
    let path = dir.join(SETTINGS);
    let shown = files::shown(&path);
    let cannot = |error: io::Error| CommandFailure::Usage(format!("cannot write `{shown}`: {error}"));
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => "{}".to_owned(),
        Err(error) => return Err(CommandFailure::Usage(format!("cannot read `{shown}`: {error}"))),
    };
    let before: Json = serde_json::from_str(&text)
        .map_err(|error| CommandFailure::Usage(format!("`{shown}` is not JSON: {error}; fix it first")))?;
    let after = with_hooks(&before).ok_or_else(|| {
        CommandFailure::Usage(format!("`hooks` in `{shown}` has another shape than Claude Code's"))
    })?;
    if after == before {
        return Ok(TemplateWrite::Kept);
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(cannot)?;
    }
    let text = serde_json::to_string_pretty(&after).map_err(|error| cannot(error.into()))?;
    fs::write(&path, text + "\n").map_err(cannot)?;
    Ok(TemplateWrite::Wrote)
}

/// Returns the settings with all hooks; `None` if they are not an object of objects of lists.
fn with_hooks(settings: &Json) -> Option<Json> {
    let mut all = settings.as_object()?.clone();
    let hooks = all.entry("hooks").or_insert_with(|| Json::Object(Map::new())).as_object_mut()?;
    for (event, matcher, timeout) in HOOKS {
        let groups = hooks.entry(event).or_insert_with(|| json!([])).as_array_mut()?;
        if groups.iter().any(has_rawko) {
            continue;
        }
        // Fails closed: Claude Code blocks a call only if the exit code is 2, also if there is no rawko.
        let command = format!("rawko hook --chart {CHART} || exit 2");
        let hook = json!({"type": "command", "command": command, "timeout": timeout});
        let mut group = Map::new();
        group.extend(matcher.map(|matcher| ("matcher".to_owned(), json!(matcher))));
        group.insert("hooks".to_owned(), json!([hook]));
        groups.push(Json::Object(group));
    }
    Some(Json::Object(all))
}

fn has_rawko(group: &Json) -> bool {
    let hooks = group["hooks"].as_array().map(Vec::as_slice).unwrap_or_default();
    hooks.iter().filter_map(|hook| hook["command"].as_str()).any(|command| command.contains("rawko hook"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hooks_are_added_once_and_everything_else_is_kept() {
        let own = json!({"model": "opus", "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]}});
        let first = with_hooks(&own).unwrap();
        assert_eq!(first["model"], "opus");
        assert_eq!(first["hooks"]["Stop"][0], own["hooks"]["Stop"][0]);
        assert_eq!(first["hooks"]["Stop"][1]["hooks"][0]["timeout"], 600);
        assert_eq!(first["hooks"]["PreToolUse"][0]["matcher"], "*");
        assert_eq!(with_hooks(&first).unwrap(), first);
        for odd in [json!([]), json!({"hooks": []}), json!({"hooks": {"Stop": {}}})] {
            assert_eq!(with_hooks(&odd), None, "{odd}");
        }
    }
}
