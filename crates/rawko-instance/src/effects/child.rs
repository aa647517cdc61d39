//! Child instances: a child starts in the same commit as the step that invoked it, so that neither ever exists without
//! the other.

use std::sync::Arc;

use rawko_core::{Invoke, ServiceName, Value, split_item_name};

use super::EffectPosition;
use crate::environment::MachineEnvironment;
use crate::error::InstanceError;
use crate::failure::{Category, ServiceError};
use crate::family::Newcomer;
use crate::instance::Instance;
use crate::policy::{inherited, policy_text};
use crate::records::{InstanceKey, NewInstance, OpenEffect, ParentInvocation};
use crate::start::begin;
use crate::transaction::{StartedChild, Transaction};

/// Returns the id of the child that an effect starts. Deterministic, so that it is started once: `parent.invoke.step`,
/// and the index if it is not the first effect of its step.
pub fn child_id(parent: &str, effect: &OpenEffect) -> Arc<str> {
    // The row does not contain the invoke's id; the step and index already make it unique.
    let name = ServiceName::of(&effect.name).member;
    let name = name.split('@').next().unwrap_or(name);
    match effect.index {
        0 => format!("{parent}.{name}.{}", effect.step).into(),
        index => format!("{parent}.{name}.{}.{index}", effect.step).into(),
    }
}

/// The chart to start, its policy, and the invocation with its input.
struct ChildStart {
    reference: String,
    policy: Value,
    invoke: Invoke,
}

impl Instance {
    pub(super) fn plan_child(
        &mut self,
        effect: OpenEffect,
        invoke: Invoke,
        at: EffectPosition,
        env: &dyn MachineEnvironment,
        tx: &mut Transaction,
    ) {
        let reference = ServiceName::of(&invoke.src).member.to_owned();
        let policy = inherited(&invoke.policy, None);
        self.plan_begin(effect, ChildStart { reference, policy, invoke }, at, env, tx);
    }

    /// Plans an agent that is implemented by a chart.
    pub(super) fn plan_agent_chart(
        &mut self,
        effect: OpenEffect,
        (reference, mut invoke): (String, Invoke),
        at: EffectPosition,
        env: &dyn MachineEnvironment,
        tx: &mut Transaction,
    ) {
        let agent = ServiceName::of(&invoke.src).member;
        let policy = inherited(&invoke.policy, Some(agent));
        invoke.policy = Value::Null;
        self.plan_begin(effect, ChildStart { reference, policy, invoke }, at, env, tx);
    }

    fn plan_begin(
        &mut self,
        effect: OpenEffect,
        beginning: ChildStart,
        at: EffectPosition,
        env: &dyn MachineEnvironment,
        tx: &mut Transaction,
    ) {
        match self.begin_child(&effect, beginning, at, env, tx) {
            Ok((instance, child)) => {
                let Transaction { commit, children, actions, refused, traces, failures, .. } = child;
                self.open(effect, tx);
                tx.children.push(StartedChild { instance, commit });
                tx.children.extend(children);
                tx.actions.extend(actions);
                tx.refused.extend(refused);
                tx.traces.extend(traces);
                tx.failures.extend(failures);
            }
            Err(error) => self.refuse(effect, error, tx),
        }
    }

    fn begin_child(
        &mut self,
        effect: &OpenEffect,
        beginning: ChildStart,
        at: EffectPosition,
        env: &dyn MachineEnvironment,
        tx: &mut Transaction,
    ) -> Result<(Instance, Transaction), ServiceError> {
        let ChildStart { reference, policy, invoke } = beginning;
        let generation = self.next_generation(&invoke.id, at, env, tx)?;
        let chart = env.chart(&reference)?;
        let new = NewInstance {
            id: child_id(&self.new.id, effect),
            chart: chart.hash(),
            chart_id: chart.id().into(),
            version: chart.version().into(),
            parent: Some(ParentInvocation {
                id: Arc::clone(&self.new.id),
                invocation: invoke.invocation,
                invoke: Arc::clone(&invoke.id),
                generation,
            }),
            origin: None,
            created_ms: at.ms,
            policy: policy_text(&policy),
        };
        begin(new, chart, invoke.input, Some(self.key), &mut tx.uncommitted, at.ms, env)
            .map_err(|error| as_service_error(&error))
    }

    /// Returns the generation of a child, if limits allow one.
    fn next_generation(
        &mut self,
        invoke: &str,
        at: EffectPosition,
        env: &dyn MachineEnvironment,
        tx: &Transaction,
    ) -> Result<u32, ServiceError> {
        let limits = env.limits();
        let exceeded = |code: &str, message: String| {
            let details = Value::map([("code", Value::str(code))]);
            Err(ServiceError::new(Category::Limit, message).with_details(details))
        };
        let generation = self.new.parent.as_ref().map_or(0, |parent| parent.generation) + 1;
        if generation > limits.generations_max {
            let most = limits.generations_max;
            return exceeded("generations", format!("more than {most} generations of children"));
        }
        let second = at.ms.div_euclid(1_000);
        if self.pace.children_second != second {
            (self.pace.children_second, self.pace.children) = (second, 0);
        }
        // A fan-out counts once: its list bounds it.
        if !is_later_item(invoke) {
            self.pace.children += 1;
        }
        if self.pace.children > limits.children_per_second_max {
            let most = limits.children_per_second_max;
            return exceeded("children_per_second", format!("more than {most} children within one second"));
        }
        let newcomer = Newcomer {
            root: self.new.root(),
            uncommitted: tx.uncommitted.len(),
            is_later_item: is_later_item(invoke),
        };
        if let Some(limit) = env.refused_by_family(newcomer, at.ms) {
            return exceeded(limit.code(), limit.to_string());
        }
        Ok(generation)
    }

    /// Returns the key of a child, including one that starts in this transaction.
    pub(crate) fn key_of_child(
        &self,
        id: &str,
        env: &dyn MachineEnvironment,
        tx: &Transaction,
    ) -> Option<InstanceKey> {
        tx.uncommitted.get(id).copied().or_else(|| env.child(id).ok().flatten())
    }
}

/// Returns true for the second and later items of an `each`. Limits of runaway loops count only the first.
pub(crate) fn is_later_item(invoke: &str) -> bool {
    split_item_name(invoke).is_some_and(|(_, index)| index > 0)
}

fn as_service_error(error: &InstanceError) -> ServiceError {
    let category = match error {
        InstanceError::Step(_) => Category::Execution,
        InstanceError::Over { .. }
        | InstanceError::NothingAsked { .. }
        | InstanceError::SeveralAsked { .. }
        | InstanceError::NotAsked { .. }
        | InstanceError::Superseded { .. }
        | InstanceError::EventRefused { .. }
        | InstanceError::AnswerRefused { .. }
        | InstanceError::NotFailed { .. }
        | InstanceError::ItemNotRetried { .. }
        | InstanceError::Paused { .. }
        | InstanceError::BadEdit { .. }
        | InstanceError::MigrationRefused { .. }
        | InstanceError::Snapshot { .. }
        | InstanceError::Store(_)
        | InstanceError::Internal(_) => Category::Host,
    };
    ServiceError::new(category, error.to_string())
}
