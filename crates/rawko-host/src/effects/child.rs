//! A child instance: it begins in the same commit as the step that invoked it, so there is no moment in which one is
//! there without the other.

use std::sync::Arc;

use rawko_core::{Invoke, Value};
use rawko_store::{NewInstance, OpenEffect, Parent};

use super::At;
use super::invoke::open;
use crate::error::HostError;
use crate::instance::plan::{Plan, Work};
use crate::instance::{Live, Slot};
use crate::planning::Planner;
use crate::policy::inherited;
use crate::services::{Category, ServiceError};

/// The id of the child that an effect starts, the same every time, so that it is started once: `parent.invoke.step`, and the index where it is not the first effect of its step.
pub fn child_id(parent: &str, effect: &OpenEffect) -> Arc<str> {
    // The invoke's id is not in the row; the step and index already make it unique.
    let name = effect.name.split_once(':').map_or(&*effect.name, |(_, name)| name);
    let name = name.split('@').next().unwrap_or(name);
    match effect.index {
        0 => format!("{parent}.{name}.{}", effect.step).into(),
        index => format!("{parent}.{name}.{}.{index}", effect.step).into(),
    }
}

/// What is to begin: the chart, what holds for it, and what it is told.
struct Begin {
    reference: String,
    policy: Value,
    invoke: Invoke,
}

/// As the row of an instance has it.
fn stored(policy: &Value) -> Arc<str> {
    if policy.is_null() { Arc::default() } else { serde_json::to_string(policy).unwrap_or_default().into() }
}

impl Planner<'_> {
    pub(super) fn plan_child(
        &self,
        live: &mut Live,
        effect: OpenEffect,
        invoke: Invoke,
        at: At,
        plan: &mut Plan,
    ) {
        open(live, effect.clone(), plan);
        let reference = invoke.src.strip_prefix("statechart:").unwrap_or(&invoke.src).to_owned();
        let policy = inherited(&invoke.policy, None);
        self.plan_begin(live, effect, Begin { reference, policy, invoke }, at, plan);
    }

    /// An agent that a chart plays.
    pub(super) fn plan_played(
        &self,
        live: &mut Live,
        effect: OpenEffect,
        (reference, mut invoke): (String, Invoke),
        at: At,
        plan: &mut Plan,
    ) {
        let agent = invoke.src.strip_prefix("agent:").unwrap_or(&invoke.src);
        let policy = inherited(&invoke.policy, Some(agent));
        invoke.policy = Value::Null;
        self.plan_begin(live, effect, Begin { reference, policy, invoke }, at, plan);
    }

    fn plan_begin(&self, live: &Live, effect: OpenEffect, begin: Begin, at: At, plan: &mut Plan) {
        match self.begin_child(live, &effect, begin, at) {
            Ok((slot, child)) => {
                let Plan { commit, children, work, .. } = child;
                plan.children.push((commit, slot));
                plan.children.extend(children);
                plan.work.extend(work);
            }
            Err(error) => plan.work.push(Work::Fail { effect, error: as_service_error(&error) }),
        }
    }

    fn begin_child(
        &self,
        live: &Live,
        effect: &OpenEffect,
        begin: Begin,
        at: At,
    ) -> Result<(Arc<Slot>, Plan), HostError> {
        let Begin { reference, policy, invoke } = begin;
        let edition = self.around.resolve(&reference)?;
        self.around.keep(&edition, at.ms)?;
        let new = NewInstance {
            id: child_id(&live.new.id, effect),
            chart: edition.chart.hash(),
            chart_id: edition.chart.id().into(),
            version: edition.chart.version().into(),
            parent: Some(Parent {
                id: Arc::clone(&live.new.id),
                invocation: invoke.invocation,
                invoke: Arc::clone(&invoke.id),
                generation: 0,
            }),
            origin: None,
            created_ms: at.ms,
            policy: stored(&policy),
        };
        self.begin_slot(new, edition.chart, invoke.input, Some(at.key), at.ms)
    }
}

fn as_service_error(error: &HostError) -> ServiceError {
    let category = match error {
        HostError::NoChart(_) | HostError::NoVersion { .. } | HostError::BadRange(_) => Category::Unknown,
        HostError::Step(_) => Category::Failed,
        HostError::NoInstance(_)
        | HostError::Exists(_)
        | HostError::InvalidChart(_)
        | HostError::Over { .. }
        | HostError::Busy { .. }
        | HostError::NothingAsked { .. }
        | HostError::SeveralAsked { .. }
        | HostError::NotAsked { .. }
        | HostError::NoStep { .. }
        | HostError::NotFailed { .. }
        | HostError::BadEdit { .. }
        | HostError::Snapshot { .. }
        | HostError::Store(_)
        | HostError::Thread(_)
        | HostError::Closing
        | HostError::Refused(_)
        | HostError::Internal(_) => Category::Host,
    };
    ServiceError::new(category, error.to_string())
}
