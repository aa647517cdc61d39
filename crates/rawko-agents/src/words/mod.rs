//! The words of a project for its agents: AGENTS.md and CLAUDE.md of the root and of directories below it, the files that
//! they import, and Agent Skills. They carry authority, so they are read once, together with the agents' files, and the
//! trust of a project covers exactly the files that are read here.

mod find;
mod imports;
mod settings;
mod skills;

pub use settings::WordSettings;

use std::path::{Path, PathBuf};

use rawko_tools::Skill;

use find::WordPlace;

/// Limit of one file. The rest is cut, with a note.
const FILE_BYTES_MAX: usize = 64 * 1024;

/// The instructions of one directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WordFile {
    /// The file, relative to the project: `src/AGENTS.md`.
    pub path: String,
    /// The directory that it is about; empty for the root.
    pub directory: String,
    /// Its text, with imports in place.
    pub text: String,
}

/// All words of a project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProjectWords {
    /// The root's first, then by path.
    pub files: Vec<WordFile>,
    /// Agent Skills, by name.
    pub skills: Vec<Skill>,
    /// Section `instructions` of the settings.
    pub settings: WordSettings,
}

impl ProjectWords {
    /// Reads the words of a project. Files that cannot be read are left out: agents work without them.
    pub fn read(root: &Path, settings: WordSettings) -> Self {
        let files = if settings.files { find::places(root) } else { Vec::new() };
        let mut words: Vec<WordFile> = files.iter().filter_map(|place| word_file(root, place)).collect();
        // A file that only repeats another one of its directory is left out.
        let texts: Vec<(String, String)> =
            words.iter().map(|file| (file.directory.clone(), file.text.clone())).collect();
        let mut at = 0;
        words.retain(|file| {
            let is_repeated = texts[..at]
                .iter()
                .any(|(directory, text)| *directory == file.directory && *text == file.text);
            at += 1;
            !is_repeated
        });
        let skills = if settings.skills { skills::read(root) } else { Vec::new() };
        Self { files: words, skills, settings }
    }

    /// Returns the part of a system prompt: the root's instructions and the list of skills, within the budget.
    pub fn prompt(&self, preloaded: &[String], has_skill_tool: bool) -> String {
        let mut left = self.settings.bytes_max;
        let mut parts = Vec::new();
        for file in self.files.iter().filter(|file| file.directory.is_empty()) {
            parts.extend(within(&mut left, format!("## {}\n\n{}", file.path, file.text.trim())));
        }
        for skill in self.skills.iter().filter(|skill| preloaded.contains(&skill.name)) {
            parts.extend(within(&mut left, skill.shown()));
        }
        let listed: Vec<String> = self
            .skills
            .iter()
            .filter(|skill| has_skill_tool && !preloaded.contains(&skill.name))
            .map(|skill| format!("- {}: {}", skill.name, skill.description))
            .collect();
        if !listed.is_empty() {
            let intro = "## Skills\n\nCall `Skill` with the name of a skill before work that it is about.";
            parts.extend(within(&mut left, format!("{intro}\n{}", listed.join("\n"))));
        }
        if parts.is_empty() {
            String::new()
        } else {
            format!("# Project instructions\n\n{}", parts.join("\n\n"))
        }
    }

    /// Returns the instructions for a file that an agent works on: those of the directories above it, except the root's
    /// and those in `known`, outermost first.
    pub fn about(&self, root: &Path, path: &str, known: &[String]) -> Vec<&WordFile> {
        let Some(path) = relative(root, path) else { return Vec::new() };
        let is_above = |file: &&WordFile| !file.directory.is_empty() && path.starts_with(&file.directory);
        let mut found: Vec<&WordFile> =
            self.files.iter().filter(is_above).filter(|file| !known.contains(&file.path)).collect();
        found.sort_by_key(|file| file.directory.len());
        found
    }
}

/// Returns the path relative to the project, without `.` and `..`.
fn relative(root: &Path, path: &str) -> Option<PathBuf> {
    let path = Path::new(path);
    let path = if path.is_absolute() { path.strip_prefix(root).ok()? } else { path };
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::Normal(name) => plain.push(name),
            std::path::Component::ParentDir => {
                if !plain.pop() {
                    return None;
                }
            }
            std::path::Component::CurDir => {}
            std::path::Component::Prefix(_) | std::path::Component::RootDir => return None,
        }
    }
    Some(plain)
}

/// Returns every file that is read into prompts, for the trust of a project.
pub fn authority(root: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for place in find::places(root) {
        let imports = read_text(&place.path).map(|text| imports::files(root, &place.path, &text));
        all.push(place.path);
        all.extend(imports.unwrap_or_default());
    }
    all.extend(skills::files(root));
    all
}

fn word_file(root: &Path, place: &WordPlace) -> Option<WordFile> {
    let text = read_text(&place.path)?;
    let text = imports::resolved(root, &place.path, &text);
    let path = place.path.strip_prefix(root).unwrap_or(&place.path).display().to_string();
    (!text.trim().is_empty()).then(|| WordFile { path, directory: place.directory.clone(), text: cut(text) })
}

/// Reads a regular file as text; reading a pipe would block.
fn read_text(path: &Path) -> Option<String> {
    let is_file = std::fs::metadata(path).is_ok_and(|about| about.is_file() && about.len() < 4 * 1024 * 1024);
    if is_file { String::from_utf8(std::fs::read(path).ok()?).ok() } else { None }
}

fn cut(mut text: String) -> String {
    if text.len() > FILE_BYTES_MAX {
        text.truncate(text.floor_char_boundary(FILE_BYTES_MAX));
        text.push_str("\n[the rest of this file is left out]");
    }
    text
}

/// Takes a text from the budget; what does not fit is cut.
fn within(left: &mut usize, text: String) -> Option<String> {
    if *left == 0 {
        return None;
    }
    if text.len() <= *left {
        *left -= text.len();
        return Some(text);
    }
    let end = text.floor_char_boundary(*left);
    *left = 0;
    Some(format!("{}\n[the rest is left out: project instructions are limited]", &text[..end]))
}
