//! Skill: the text of an Agent Skill, read when a model asks for it. Its name and description are in the prompt. The
//! texts were read together with the project's other instructions, because trust covers that content.

use rawko_core::Value;

use super::input::text;
use super::outcome::ToolOutcome;

/// A skill of the project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    /// The name that agents call it by.
    pub name: String,
    /// When to use it.
    pub description: String,
    /// The directory, relative to the project.
    pub directory: String,
    /// The text below the frontmatter of SKILL.md.
    pub body: String,
    /// Other files in the directory, relative to the project.
    pub files: Vec<String>,
}

impl Skill {
    /// Returns the text for a model.
    pub fn shown(&self) -> String {
        let files = match self.files.as_slice() {
            [] => String::new(),
            files => format!("\n\nFiles of this skill, to be read with Read: {}", files.join(", ")),
        };
        format!("# Skill {} (in {})\n\n{}{files}", self.name, self.directory, self.body.trim())
    }
}

pub(super) fn load(skills: &[Skill], input: &Value) -> ToolOutcome {
    let name = text(input, "name").trim();
    match skills.iter().find(|skill| skill.name == name) {
        Some(skill) => ToolOutcome::ok(skill.shown()),
        None => {
            let known: Vec<&str> = skills.iter().map(|skill| skill.name.as_str()).collect();
            ToolOutcome::failed(format!("there is no skill `{name}`. The skills are {}.", known.join(", ")))
        }
    }
}
