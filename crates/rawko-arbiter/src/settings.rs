//! What a project says about the arbiter: `arbiter:` in its settings, and its prompts.

use std::io::{Error, ErrorKind};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::decide::Moment;
use super::prompt::Template;

/// Where a project's own prompts lie, below the project.
const FOLDER: &str = ".rawko/prompts";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ArbiterSettings {
    /// `provider/model`; `None`: the project's usual one.
    pub model: Option<String>,
    /// Who works when nothing else decides; `None`: the first that is not the planner.
    pub fallback_agent: Option<String>,
    /// Who makes the plan when there is none.
    pub planner: String,
    /// How often an answer that cannot be used is asked for again.
    pub retries: u32,
    /// Templates, instead of the files.
    pub select_prompt: Option<String>,
    pub evaluate_prompt: Option<String>,
}

/// The templates of both questions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompts {
    pub select: Template,
    pub evaluate: Template,
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
            select: Template::new(include_str!("select.md")),
            evaluate: Template::new(include_str!("evaluate.md")),
        }
    }
}

impl Prompts {
    /// The settings go before the project's files, and these before what comes with rawko. The one place that reads files.
    pub fn read(project: &Path, settings: &ArbiterSettings) -> Result<Self, Error> {
        let usual = Self::default();
        let at = |name: &str| project.join(FOLDER).join(name);
        Ok(Self {
            select: found(settings.select_prompt.as_ref(), &at("select.md"), usual.select)?,
            evaluate: found(settings.evaluate_prompt.as_ref(), &at("evaluate.md"), usual.evaluate)?,
        })
    }

    pub fn of(&self, moment: Moment) -> &Template {
        match moment {
            Moment::Select => &self.select,
            Moment::Evaluate => &self.evaluate,
        }
    }
}

fn found(given: Option<&String>, path: &Path, usual: Template) -> Result<Template, Error> {
    if let Some(text) = given {
        return Ok(Template::new(text.as_str()));
    }
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Template::new(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(usual),
        Err(error) => Err(error),
    }
}
