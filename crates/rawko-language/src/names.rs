//! The names outside a chart that it may refer to. Separate from the registry that checks them, which editors only list.

use rawko_chart::Registry;
use serde_json::Value;

/// The schema of charts, and the services, agents, charts and endpoints of a project.
#[derive(Clone, Debug)]
pub struct ProjectNames {
    /// JSON Schema of chart files, as `rawko schema` prints it.
    pub schema: Value,
    /// Services that an invoke may name.
    pub services: Vec<String>,
    /// Agents, without `agent:`.
    pub agents: Vec<String>,
    /// Ids of charts that can be invoked.
    pub charts: Vec<String>,
    /// Targets of `send`.
    pub endpoints: Vec<String>,
}

impl Default for ProjectNames {
    fn default() -> Self {
        ProjectNames::of(&Registry::default())
    }
}

impl ProjectNames {
    /// Lists the names of a registry.
    pub fn of(registry: &Registry) -> ProjectNames {
        let all = |names: &mut dyn Iterator<Item = &str>| names.map(str::to_owned).collect();
        ProjectNames {
            schema: rawko_chart::schema(),
            services: all(&mut registry.services()),
            agents: all(&mut registry.agents()),
            charts: all(&mut registry.charts()),
            endpoints: all(&mut registry.endpoints()),
        }
    }
}
