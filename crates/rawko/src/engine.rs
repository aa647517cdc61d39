//! The simulation as the commands use it: JSON in, reports out. The one file that knows how the engine is called.

use std::sync::Arc;

use rawko_core::sim::{Choice, Line, Simulation, Stimulus, Stubs};
use rawko_core::{Chart, Trace, Value, World};
use serde_json::{Map, Value as Json};

use crate::inputs;
use crate::project::Project;
use crate::scenario::model::Setup;
use crate::simulation::explain;

/// What a simulation starts with besides its charts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Start {
    pub(crate) stubs: Stubs,
    pub(crate) world: World,
    pub(crate) input: Value,
}

/// One simulation from start to end.
pub(crate) struct Session {
    simulation: Simulation,
}

/// What one stimulus did.
#[derive(Clone, Debug)]
pub(crate) struct Report {
    pub(crate) json: Json,
    /// A step that could not be taken.
    pub(crate) error: Option<String>,
    line: Line,
}

/// Reads a stimulus in the form of the stimuli file.
pub(crate) fn stimulus(json: &Json) -> Result<Stimulus, String> {
    Stimulus::from_value(&json.clone().into()).map_err(|error| error.to_string())
}

/// Reads stubs in the form of the services file.
pub(crate) fn stubs(services: &Map<String, Json>) -> Result<Stubs, String> {
    Stubs::from_value(&Json::Object(services.clone()).into()).map_err(|error| error.to_string())
}

/// What a scenario says to start with; the agents are those of its project unless it names some.
pub(crate) fn start_of(setup: &Setup, project: Option<&Project>) -> Result<Start, String> {
    let agents = match (&setup.agents, project) {
        (Some(agents), _) => inputs::agents_from(agents)?,
        (None, Some(project)) => project.agents.clone(),
        (None, None) => Vec::new(),
    };
    Ok(Start {
        stubs: stubs(&setup.services)?,
        world: World { env: object(&setup.env), agents },
        input: object(&setup.input),
    })
}

/// An empty map stays a map, so that `input.key` is null and not a mistake.
pub(crate) fn object(map: &Map<String, Json>) -> Value {
    Json::Object(map.clone()).into()
}

impl Session {
    /// The first chart is simulated, the others may be invoked by it.
    pub(crate) fn new(charts: &[Arc<Chart>], start: Start) -> Option<Self> {
        let (first, others) = charts.split_first()?;
        let Start { stubs, world, input } = start;
        Some(Self { simulation: Simulation::new(Arc::clone(first), others.to_vec(), stubs, world, input) })
    }

    pub(crate) fn start(&mut self) -> Report {
        Report::new(self.simulation.start())
    }

    pub(crate) fn apply(&mut self, stimulus: &Stimulus) -> Report {
        Report::new(self.simulation.apply(stimulus))
    }

    pub(crate) fn chart(&self) -> &Chart {
        self.simulation.chart()
    }

    pub(crate) fn choices(&self) -> Vec<Choice> {
        self.simulation.choices()
    }

    /// Every active state, ancestors included, in document order.
    pub(crate) fn active_paths(&self) -> Vec<String> {
        let chart = self.chart();
        let Some(snapshot) = self.simulation.snapshot() else { return Vec::new() };
        let active = chart.active(snapshot.configuration());
        let nodes = chart.node_ids().skip(1).filter(|node| active.contains(*node));
        nodes.map(|node| chart.node(node).path.to_string()).collect()
    }

    /// How long until a timer fires or a stubbed service answers.
    pub(crate) fn next_due_in_ms(&self) -> Option<u64> {
        let due = self.simulation.next_due_ms()?;
        u64::try_from(due.saturating_sub(self.simulation.now_ms())).ok()
    }
}

impl Report {
    fn new(line: Line) -> Self {
        let json = serde_json::to_value(&line).unwrap_or_default();
        Self { json, error: line.error.clone(), line }
    }

    /// The steps behind the report, each with the chart it was a step of.
    pub(crate) fn traces(&self) -> impl Iterator<Item = (&Chart, &Trace)> {
        self.line.traces.iter().map(|step| (&*step.chart, &step.trace))
    }

    /// Expressions that failed.
    pub(crate) fn faults(&self) -> &[rawko_core::Fault] {
        &self.line.faults
    }

    /// What happened and why, a line each. Steps of children say whose they are.
    pub(crate) fn story(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for step in &self.line.traces {
            let child = if step.instance > 0 { format!("{}: ", step.chart.id()) } else { String::new() };
            lines.extend(
                explain::story(&step.chart, &step.trace).into_iter().map(|line| format!("{child}{line}")),
            );
        }
        lines
    }
}
