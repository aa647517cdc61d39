//! Arbiter settings: the section `arbiter:` and the prompts.

use std::io::{Error, ErrorKind};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::decide::Moment;
use super::prompt::PromptTemplate;

/// Folder of a project's own prompts, relative to the project.
const FOLDER: &str = ".rawko/prompts";

/// The section `arbiter` of the settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ArbiterSettings {
    /// `provider/model`; `None` uses the project's default.
    pub model: Option<String>,
    /// The agent used if nothing else decides; `None` is the first one that is not the planner.
    pub fallback_agent: Option<String>,
    /// The agent that makes the plan if there is none.
    pub planner: String,
    /// Retries after an unusable response.
    pub retries: u32,
    /// Template that overrides the file.
    pub select_prompt: Option<String>,
    /// Template of the evaluation prompt that overrides the file.
    pub evaluate_prompt: Option<String>,
}

/// The templates of both questions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompts {
    /// Question for the next agent.
    pub select: PromptTemplate,
    /// Question about the last execution.
    pub evaluate: PromptTemplate,
}

impl Default for ArbiterSettings {
    fn default() -> Self {
        Self {
            model: None,
            fallback_agent: None,
            planner: "planner".to_owned(),
            retries: 2,
            select_prompt: None,
            evaluate_prompt: None,
        }
    }
}

impl Default for Prompts {
    fn default() -> Self {
        Self {
            select: PromptTemplate::new(include_str!("select.md")),
            evaluate: PromptTemplate::new(include_str!("evaluate.md")),
        }
    }
}

impl Prompts {
    /// Reads the templates: settings take precedence over the project's files, and those over the built-in ones. The
    /// only place that reads files.
    pub fn read(project: &Path, settings: &ArbiterSettings) -> Result<Self, Error> {
        let usual = Self::default();
        let at = |name: &str| project.join(FOLDER).join(name);
        Ok(Self {
            select: found(settings.select_prompt.as_ref(), &at("select.md"), usual.select)?,
            evaluate: found(settings.evaluate_prompt.as_ref(), &at("evaluate.md"), usual.evaluate)?,
        })
    }

    /// Returns the template of a question.
    pub fn of(&self, moment: Moment) -> &PromptTemplate {
        match moment {
            Moment::Select => &self.select,
            Moment::Evaluate => &self.evaluate,
        }
    }
}

fn found(given: Option<&String>, path: &Path, usual: PromptTemplate) -> Result<PromptTemplate, Error> {
    if let Some(text) = given {
        return Ok(PromptTemplate::new(text.as_str()));
    }
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(PromptTemplate::new(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(usual),
        Err(error) => Err(error),
    }
}
