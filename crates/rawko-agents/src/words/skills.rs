//! Agent Skills: directories with a SKILL.md, whose frontmatter names and describes them.

use std::path::{Path, PathBuf};

use rawko_chart::{DocumentData, SpannedValue};
use rawko_tools::Skill;

use super::{cut, read_text};

const FOLDERS: [&str; 2] = [".agents/skills", ".claude/skills"];
const FILE: &str = "SKILL.md";
const SKILLS_MAX: usize = 100;
const DESCRIPTION_CHARS_MAX: usize = 1_024;
const NAME_CHARS_MAX: usize = 64;
/// Other files of a skill that are named.
const FILES_MAX: usize = 50;

/// Reads the skills of a project, sorted by name. Of two with one name, that of `.agents` counts.
pub(super) fn read(root: &Path) -> Vec<Skill> {
    let mut skills: Vec<Skill> = Vec::new();
    for directory in directories(root) {
        if let Some(skill) = skill(root, &directory)
            && !skills.iter().any(|known| known.name == skill.name)
        {
            skills.push(skill);
        }
    }
    skills.sort_by(|one, other| one.name.cmp(&other.name));
    skills
}

/// Returns the files that are read.
pub(super) fn files(root: &Path) -> Vec<PathBuf> {
    directories(root).into_iter().map(|directory| directory.join(FILE)).collect()
}

fn directories(root: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for folder in FOLDERS {
        let entries = std::fs::read_dir(root.join(folder)).into_iter().flatten().flatten();
        let mut own: Vec<PathBuf> =
            entries.map(|entry| entry.path()).filter(|path| path.join(FILE).is_file()).collect();
        own.sort();
        all.extend(own);
    }
    all.truncate(SKILLS_MAX);
    all
}

fn skill(root: &Path, directory: &Path) -> Option<Skill> {
    let text = read_text(&directory.join(FILE))?;
    let (yaml, body) = split(&text)?;
    let document = SpannedValue::read(yaml).ok()?;
    let text = |key: &str| document.get(key).and_then(SpannedValue::text).map(|text| text.trim().to_owned());
    // Only a person may call such a skill.
    if document.get("disable-model-invocation").is_some_and(|at| at.data == DocumentData::Bool(true)) {
        return None;
    }
    let own_name = directory.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = text("name").or(own_name)?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':');
    if name.is_empty() || name.chars().count() > NAME_CHARS_MAX || !name.chars().all(is_plain) {
        return None;
    }
    let description: String = text("description")?.chars().take(DESCRIPTION_CHARS_MAX).collect();
    let shown = |path: &Path| path.strip_prefix(root).unwrap_or(path).display().to_string();
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut files: Vec<String> =
        entries.filter(|entry| entry.file_name() != FILE).map(|entry| shown(&entry.path())).collect();
    files.sort();
    files.truncate(FILES_MAX);
    let description = description.replace('\n', " ");
    Some(Skill { name, description, directory: shown(directory), body: cut(body.to_owned()), files })
}

/// Splits a file at its frontmatter.
fn split(text: &str) -> Option<(&str, &str)> {
    let rest = text.trim_start_matches('\u{feff}').trim_start().strip_prefix("---")?;
    let end = rest.find("\n---")?;
    let after = rest[end + 4..].find('\n').map_or("", |line_end| &rest[end + 4 + line_end + 1..]);
    Some((&rest[..end], after))
}
