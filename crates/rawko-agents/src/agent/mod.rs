//! Agent files: the definitions of a project and its user, with a source location for every finding. Separate from the
//! code that runs agents, which only sees typed and checked definitions.

mod claude;
mod command;
mod cross_checks;
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

use rawko_chart::{Finding, SourceFile};
use rawko_core::AgentEntry;
use rawko_host::Environment;

use rawko_programs::mcp::{read_mcp_file, server_part};

pub use file::{AgentCommand, AgentFile, AgentKind, AgentLimits, AgentSuccessors, Level};
pub use model::ModelChoice;
pub use tools::ToolRules;

/// The built-in agents, each under the name shown in messages.
const BUILT_IN: [(&str, &str); 3] = [
    ("rawko's own builder.md", include_str!("../built_in/builder.md")),
    ("rawko's own explorer.md", include_str!("../built_in/explorer.md")),
    ("rawko's own planner.md", include_str!("../built_in/planner.md")),
];

/// The transition target that ends the task.
pub const COMPLETE: &str = "complete";

/// All usable agents, and the names of unusable ones.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Agents {
    /// Sorted by name.
    all: Vec<AgentFile>,
    /// Files overridden by another one of the same name.
    shadowed: Vec<AgentFile>,
    unusable: Vec<Unusable>,
}

/// An agent with an invalid file. It keeps its name, so that no agent of a lower level silently replaces it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unusable {
    /// Agent id, from the file's name.
    pub name: String,
    /// Path of the file.
    pub file: String,
}

impl Agents {
    /// Reads the agents of a project and its user, and collects all problems of their files.
    pub fn read(project_root: &Path, environment: &Environment) -> (Self, Vec<(SourceFile, Vec<Finding>)>) {
        let found = folders::look(project_root, environment);
        let (servers, _, wrong) = read_mcp_file(project_root, environment);
        // A file that cannot be read whole may have more servers.
        let servers: Vec<String> = servers.iter().map(|server| server_part(&server.name)).collect();
        cross_checks::join(found, environment, Some(&servers[..]).filter(|_| wrong.is_empty()))
    }

    /// Reads one text as if it were the only agent file of the project.
    pub fn of_source(source: &SourceFile, environment: &Environment) -> (Self, Vec<Finding>) {
        let found = folders::FoundFile::of_source(source.clone(), Level::Project);
        let (agents, problems) = cross_checks::join(vec![found], environment, None);
        (agents, problems.into_iter().flat_map(|(_, findings)| findings).collect())
    }

    /// Adds the built-in agents, unless an agent of that name exists.
    #[must_use]
    pub fn with_built_in(mut self) -> Self {
        for (name, text) in BUILT_IN {
            let found = folders::FoundFile::of_source(SourceFile::new(name, text), Level::BuiltIn);
            let (own, _) = cross_checks::join(vec![found], Environment::none(), None);
            let is_taken = |agent: &AgentFile| {
                self.get(&agent.name).is_some() || self.unusable.iter().any(|other| other.name == agent.name)
            };
            let new: Vec<AgentFile> = own.all.into_iter().filter(|agent| !is_taken(agent)).collect();
            self.all.extend(new);
        }
        self.all.sort_by(|one, other| one.name.cmp(&other.name));
        self
    }

    /// Sorted by name.
    pub fn all(&self) -> &[AgentFile] {
        &self.all
    }

    /// Returns a usable agent by name.
    pub fn get(&self, name: &str) -> Option<&AgentFile> {
        self.all.iter().find(|agent| agent.name == name)
    }

    /// Returns the agents overridden by a file nearer to the project.
    pub fn shadowed(&self) -> &[AgentFile] {
        &self.shadowed
    }

    /// Returns the agents with an invalid file.
    pub fn unusable(&self) -> &[Unusable] {
        &self.unusable
    }

    /// Returns the entries that charts see: `agents.select(role, task_type)`.
    pub fn entries(&self) -> Vec<AgentEntry> {
        self.all.iter().map(AgentFile::entry).collect()
    }
}
