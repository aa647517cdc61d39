//! `ScenarioPlan`: one scenario as data, without its expectations. For playing it on a driver other than the simulation.

use std::path::PathBuf;
use std::sync::Arc;

use rawko_core::{Chart, Value, World};
use rawko_sim::{Gate, Simulation, Stimulus, Stubs, agents_from_json};
use serde_json::{Map, Value as Json};

use crate::model::Scenario;
use crate::play::ScenarioStage;
use crate::read::stimulus;

/// The initial setup and the stimuli of a scenario.
#[derive(Clone, Debug)]
pub struct ScenarioPlan {
    /// Path of the scenario file.
    pub file: PathBuf,
    /// `name` of the scenario; not necessarily unique within its file.
    pub name: String,
    /// The chart under test first, then those it may invoke.
    pub charts: Vec<Arc<Chart>>,
    /// Answers of services, in the form that [`Stubs::from_value`] reads.
    pub stubs: Value,
    /// `env` and `agents` of the scenario; without `agents`, those of the project.
    pub world: World,
    /// The gate of the project; `None` allows every call.
    pub gate: Option<Gate>,
    /// `input` of the chart under test: a map, empty if the scenario has none.
    pub input: Value,
    /// Events and waits in the order of the steps; steps that only have expectations are left out.
    pub stimuli: Vec<Stimulus>,
}

impl ScenarioPlan {
    pub(crate) fn of(stage: &ScenarioStage<'_>, scenario: &Scenario, file: PathBuf) -> Result<Self, String> {
        let setup = stage.setup.overridden_by(&scenario.setup);
        let agents = match &setup.agents {
            Some(agents) => agents_from_json(agents).map_err(|error| error.to_string())?,
            None => stage.agents.to_vec(),
        };
        let stimuli = scenario.steps.iter().filter_map(|step| step.stimulus.as_ref());
        Ok(Self {
            file,
            name: scenario.name.clone(),
            charts: stage.charts.to_vec(),
            stubs: object(&setup.services),
            world: World { env: object(&setup.env), agents },
            gate: stage.gate.filter(|_| !setup.open_gate).cloned(),
            input: object(&setup.input),
            stimuli: stimuli.map(stimulus).collect::<Result<_, _>>()?,
        })
    }

    /// The simulation that this scenario is played in. An error names the stub that cannot be read.
    pub fn simulation(&self) -> Result<Simulation, String> {
        let (first, others) = self.charts.split_first().ok_or("there is no chart to run")?;
        let stubs = Stubs::from_value(&self.stubs).map_err(|error| error.to_string())?;
        let (world, input) = (self.world.clone(), self.input.clone());
        let simulation = Simulation::new(Arc::clone(first), others.to_vec(), stubs, world, input);
        Ok(simulation.with_stimuli(&self.stimuli).with_gate(self.gate.clone()))
    }
}

/// An empty map stays a map, so that `input.key` is null and not a mistake.
fn object(map: &Map<String, Json>) -> Value {
    Json::Object(map.clone()).into()
}
