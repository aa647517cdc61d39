//! Agent files as far as charts need them: which names exist, and what `agents.select` can find. The whole format is
//! read elsewhere, by whoever runs agents.

use std::fs;
use std::path::{Path, PathBuf};

use rawko_chart::{Document, Finding, Source};
use rawko_core::AgentEntry;
use serde_json::Value as Json;

use crate::files;
use crate::inputs;

type Unusable = (Source, Vec<Finding>);

/// The agents of a directory, by file name. A directory that is not there holds none.
pub(super) fn read_all(directory: &Path) -> Vec<Result<AgentEntry, Unusable>> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let mut paths: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(|path| is_agent(path)).collect();
    paths.sort();
    paths.iter().filter_map(|path| files::read_text(path).ok().map(|text| read(path, &text))).collect()
}

fn is_agent(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    path.is_file() && matches!(ending, Some("md" | "yaml" | "yml"))
}

fn read(path: &Path, text: &str) -> Result<AgentEntry, Unusable> {
    let settings =
        if path.extension().is_some_and(|ending| ending == "md") { frontmatter(text) } else { text };
    let document =
        Document::read(settings).map_err(|findings| (Source::new(files::shown(path), settings), findings))?;
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(entry(stem, document.to_json()))
}

/// What stands between the first two `---` lines; empty when there is none.
fn frontmatter(text: &str) -> &str {
    let Some(rest) = text.trim_start_matches('\u{feff}').strip_prefix("---") else { return "{}" };
    rest.find("\n---").map_or("{}", |end| &rest[..end])
}

/// Roles are the agent's own name and what `roles` says, at the top or under `metadata`.
fn entry(stem: String, mut settings: Json) -> AgentEntry {
    if let (Some(object), Some(metadata)) =
        (settings.as_object().cloned(), settings["metadata"].as_object().cloned())
    {
        let mut all = metadata;
        all.extend(object);
        settings = Json::Object(all);
    }
    let name = settings["name"].as_str().map_or(stem, str::to_owned);
    let described = inputs::agents_from(&serde_json::json!({ name.clone(): settings }));
    let plain =
        AgentEntry { id: name, roles: Vec::new(), task_types: Vec::new(), details: rawko_core::Value::Null };
    described.ok().and_then(|mut all| all.pop()).unwrap_or(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(name: &str, text: &str) -> (String, Vec<String>) {
        read(Path::new(name), text).map(|agent| (agent.id, agent.roles)).unwrap()
    }

    #[test]
    fn an_agent_is_known_by_its_name_or_its_file() {
        assert_eq!(agent("builder.md", "---\nname: mason\n---\nBuild."), ("mason".into(), vec![]));
        assert_eq!(agent("builder.md", "Build."), ("builder".into(), vec![]));
        assert_eq!(
            agent("b.yaml", "name: bo\nmetadata: {roles: [reviewer]}"),
            ("bo".into(), vec!["reviewer".into()])
        );
        assert_eq!(agent("b.yaml", "roles: [tester]"), ("b".into(), vec!["tester".into()]));
    }
}
