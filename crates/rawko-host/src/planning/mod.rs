//! Planning: given one instance and one thing that happened to it, what is to be written and what is to be done. Synchronous,
//! without a disk, a task or a clock of its own, so that any host can use it; the host on one machine does, and the one on
//! Restate does.
//!
//! A host restores an [`Instance`], lets a [`Planner`] take a [`Stimulus`], makes the [`Planned`] commit durable together with
//! the instance's new state, and only then does the work. What the planner cannot know it asks the host: [`Surroundings`].

mod instance;

use std::sync::Arc;

use rawko_core::World;
use rawko_store::{InstanceKey, StoreError};

pub use crate::effects::child::child_id;
pub use crate::effects::run::{EffectResult, Running};
pub use crate::effects::send::returned;
pub use crate::fork::Past;
pub use crate::instance::plan::{EffectRef, Request, Work};
pub use crate::instance::{EffectNote, Letter, is_work};
pub use crate::load::made_up_id;
pub use crate::observer::not_called;
pub use crate::policy::agent_of;
pub use instance::{Begun, Instance, Kept, Planned, Stimulus};

use crate::cast::Cast;
use crate::error::HostError;
use crate::gate::Gate;
use crate::library::{Edition, Library};
use crate::services::Services;

/// What a project brings to its instances, whoever hosts them.
#[derive(Clone, Default)]
pub struct Project {
    /// The charts that can be started and invoked.
    pub library: Arc<Library>,
    pub services: Services,
    /// Where `send` may go besides instances.
    pub endpoints: Services,
    pub gate: Gate,
    /// Who plays the agents. Without a cast, `agent:` names are services.
    pub cast: Option<Arc<dyn Cast>>,
    /// What expressions see as `env` and `agents`.
    pub world: World,
}

/// What a planner asks its host.
pub trait Surroundings {
    /// The instance that a `send` may mean by this name.
    fn instance(&self, name: &str) -> Result<Option<InstanceKey>, StoreError>;

    /// A child that began.
    fn child(&self, id: &str) -> Result<Option<InstanceKey>, StoreError> {
        self.instance(id)
    }

    /// The step that a delivery with this key led to.
    fn delivered(&self, instance: InstanceKey, key: &str) -> Result<Option<u64>, StoreError>;

    /// The chart that a reference means now.
    fn resolve(&self, reference: &str) -> Result<Edition, HostError>;

    /// Makes sure that a chart's text is kept for as long as there are instances of it.
    fn keep(&self, edition: &Edition, at_ms: i64) -> Result<(), HostError>;

    /// The key of an instance that is about to begin.
    fn new_key(&self, id: &str) -> InstanceKey;

    /// A number for an event on its way, above all before.
    fn next_inbound(&self) -> i64;
}

/// Plans, for one project within one host.
#[derive(Clone, Copy)]
pub struct Planner<'a> {
    pub(crate) project: &'a Project,
    pub(crate) around: &'a dyn Surroundings,
}

impl<'a> Planner<'a> {
    pub fn new(project: &'a Project, around: &'a dyn Surroundings) -> Self {
        Self { project, around }
    }
}
