//! Agent files: what a project and its user say about each agent, with a place for every complaint. Apart from those
//! who run agents, which see only what is here, typed and checked.

mod across;
mod command;
mod fields;
mod file;
mod folders;
mod frontmatter;
mod lenient;
mod model;
mod read;
mod tool_names;
mod tools;

use std::path::Path;

use rawko_chart::{Finding, Source};
use rawko_core::AgentEntry;
use rawko_host::Environment;

use crate::mcp::{read_mcp_file, server_part};

pub use file::{AgentCommand, AgentFile, Kind, Level, Limits, Transitions};
pub use model::ModelChoice;
pub use tools::ToolRules;

/// The agents that rawko comes with, each under the name that messages show.
const BUILT_IN: [(&str, &str); 3] = [
    ("rawko's own builder.md", include_str!("../built_in/builder.md")),
    ("rawko's own explorer.md", include_str!("../built_in/explorer.md")),
    ("rawko's own planner.md", include_str!("../built_in/planner.md")),
];

/// The target of a transition after which nothing is left to do.
pub const COMPLETE: &str = "complete";

/// All agents that can be used, and the names of those that cannot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Agents {
    /// By name.
    all: Vec<AgentFile>,
    /// Files that another one of the same name goes over.
    shadowed: Vec<AgentFile>,
    unusable: Vec<Unusable>,
}

/// An agent whose file is there but wrong. It keeps its name: nothing of a lower level silently takes its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unusable {
    pub name: String,
    pub file: String,
}

impl Agents {
    /// The agents of a project and its user, and everything that is wrong with their files.
    pub fn read(project_root: &Path, environment: &Environment) -> (Self, Vec<(Source, Vec<Finding>)>) {
        let found = folders::look(project_root, environment);
        let (servers, _, wrong) = read_mcp_file(project_root, environment);
        // A file that cannot be read whole may have more servers.
        let servers: Vec<String> = servers.iter().map(|server| server_part(&server.name)).collect();
        across::join(found, environment, Some(&servers[..]).filter(|_| wrong.is_empty()))
    }

    /// One text as if it were the only agent file of the project.
    pub fn of_source(source: &Source, environment: &Environment) -> (Self, Vec<Finding>) {
        let found = folders::Found::of_source(source.clone(), Level::Project);
        let (agents, problems) = across::join(vec![found], environment, None);
        (agents, problems.into_iter().flat_map(|(_, findings)| findings).collect())
    }

    /// Adds the agents that rawko comes with, where nobody has one of that name.
    #[must_use]
    pub fn with_built_in(mut self) -> Self {
        for (name, text) in BUILT_IN {
            let found = folders::Found::of_source(Source::new(name, text), Level::BuiltIn);
            let (own, _) = across::join(vec![found], Environment::none(), None);
            let is_taken = |agent: &AgentFile| {
                self.get(&agent.name).is_some() || self.unusable.iter().any(|other| other.name == agent.name)
            };
            let new: Vec<AgentFile> = own.all.into_iter().filter(|agent| !is_taken(agent)).collect();
            self.all.extend(new);
        }
        self.all.sort_by(|one, other| one.name.cmp(&other.name));
        self
    }

    /// By name.
    pub fn all(&self) -> &[AgentFile] {
        &self.all
    }

    pub fn get(&self, name: &str) -> Option<&AgentFile> {
        self.all.iter().find(|agent| agent.name == name)
    }

    /// Files of agents that a file nearer to the project goes over.
    pub fn shadowed(&self) -> &[AgentFile] {
        &self.shadowed
    }

    pub fn unusable(&self) -> &[Unusable] {
        &self.unusable
    }

    /// As charts see them: `agents.select(role, task_type)`.
    pub fn entries(&self) -> Vec<AgentEntry> {
        self.all.iter().map(AgentFile::entry).collect()
    }
}
