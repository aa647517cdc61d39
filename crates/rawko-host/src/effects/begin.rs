//! The first step of an instance, for whoever starts one: a person, a parent, an embedder.

use std::collections::VecDeque;
use std::sync::Arc;

use rawko_core::{Chart, Now, Value, start};
use rawko_store::{Commit, Head, InstanceKey, NewInstance, Record, RecordKind};

use crate::error::HostError;
use crate::instance::plan::Plan;
use crate::instance::policy_of;
use crate::instance::{Live, Slot, save_snapshot};
use crate::ledger::Ledger;
use crate::planning::Planner;

impl Planner<'_> {
    /// Takes the first step. The instance is not there until the plan's commit is.
    pub(crate) fn begin_slot(
        &self,
        new: NewInstance,
        chart: Arc<Chart>,
        input: Value,
        parent: Option<InstanceKey>,
        at_ms: i64,
    ) -> Result<(Arc<Slot>, Plan), HostError> {
        let key = self.around.new_key(&new.id);
        let now = Now { ms: at_ms, world: &self.project.world };
        let event = serde_json::to_string(&input).unwrap_or_default();
        let (snapshot, step) = start(&chart, input, now)?;
        let policy = policy_of(&new.policy);
        let new = Arc::new(new);
        let mut live = Live {
            chart,
            snapshot,
            new: Arc::clone(&new),
            parent,
            head: Head::default(),
            open: Vec::new(),
            mailbox: VecDeque::new(),
            committing: true,
            evicted: false,
            armed_ms: None,
            rests: false,
            last_ms: at_ms,
            snapshot_bytes: 0,
            delta_bytes: 0,
            calls: 0,
            policy,
            ledger: Ledger::default(),
        };
        let mut plan = Plan::new(key, &live);
        plan.commit = Commit { instance: key, create: Some(Box::new((*new).clone())), ..Commit::default() };
        let effects = serde_json::to_string(&step.effects).unwrap_or_default();
        let record = Record {
            seq: 0,
            instance: key,
            step: step.number,
            at_ms,
            kind: RecordKind::Started,
            event: plan.pack(event),
            delta: String::new(),
            effects: if step.effects.is_empty() { String::new() } else { plan.pack(effects) },
        };
        plan.commit.records.push(record);
        self.plan_effects(key, &mut live, step, at_ms, &mut plan);
        live.head = live.head_now();
        plan.commit.head = Some(Box::new(live.head.clone()));
        save_snapshot(&mut live, &mut plan);
        Ok((Slot::new(key, live), plan))
    }
}
