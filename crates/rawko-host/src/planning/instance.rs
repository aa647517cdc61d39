//! One instance in the hands of a host that keeps its state elsewhere between steps: restored, one thing taken, kept again.

use std::collections::VecDeque;
use std::sync::Arc;

use rawko_core::{Chart, Event, Snapshot, Status, Value};
use rawko_store::{Commit, Head, InstanceKey, NewInstance, OpenEffect};
use tokio::sync::oneshot;

use super::Planner;
use crate::effects::run::EffectResult;
use crate::error::HostError;
use crate::fork::Past;
use crate::host::{PersonAnswer, stored};
use crate::instance::delivery::{Delivery, Source};
use crate::instance::plan::{Plan, Work};
use crate::instance::{Letter, Live, Receipt, Slot, policy_of};
use crate::ledger::Ledger;
use crate::observer::{Observation, committed};
use crate::services::{Category, ServiceError};

/// What has to be kept of an instance between two steps, beside its snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    pub key: InstanceKey,
    pub new: NewInstance,
    pub parent: Option<InstanceKey>,
    pub head: Head,
    pub open: Vec<OpenEffect>,
    /// Calls of services so far.
    pub calls: u64,
    /// The time of the last step.
    pub last_ms: i64,
    /// Bytes of the last snapshot that a commit held, and of the changes since.
    pub snapshot_bytes: usize,
    pub delta_bytes: usize,
}

/// An instance between being restored and being kept again.
pub struct Instance {
    key: InstanceKey,
    live: Live,
}

/// Something that happens to an instance.
#[derive(Clone, Debug, PartialEq)]
pub enum Stimulus {
    /// From outside; the same `key` again changes nothing.
    Event { event: Event, key: Option<Arc<str>> },
    /// From another instance, or from itself.
    Letter(Letter),
    /// An effect of its own is over.
    Result { step: u64, index: u32, result: EffectResult },
    /// A person answers.
    Answer { invoke: Option<String>, answer: PersonAnswer },
    /// A person did not answer in time.
    Expired { step: u64, index: u32 },
    /// Somebody asks to try again what failed.
    Retry,
    /// Time has passed.
    Time,
}

/// A child that begins with a step of its parent.
pub struct Begun {
    pub instance: Instance,
    pub commit: Commit,
}

/// What follows from a step: to be made durable at once, and then to be done.
pub struct Planned {
    pub commit: Commit,
    /// Children, and theirs.
    pub children: Vec<Begun>,
    /// Also what the children ask for.
    pub work: Vec<Work>,
}

impl Instance {
    /// From what was kept. `snapshot` is plain JSON, not packed.
    pub fn restore(kept: Kept, chart: Arc<Chart>, snapshot: &str) -> Result<Self, HostError> {
        let Kept { key, new, parent, head, open, calls, last_ms, snapshot_bytes, delta_bytes } = kept;
        let snapshot = Snapshot::from_json(&chart, snapshot)
            .map_err(|why| HostError::Snapshot { id: new.id.to_string(), why })?;
        let live = Live {
            chart,
            snapshot,
            parent,
            policy: policy_of(&new.policy),
            ledger: Ledger::read(head.ledger.as_deref()),
            new: Arc::new(new),
            head,
            open,
            mailbox: VecDeque::new(),
            committing: false,
            evicted: false,
            armed_ms: None,
            rests: false,
            last_ms,
            snapshot_bytes,
            delta_bytes,
            calls,
        };
        Ok(Self { key, live })
    }

    /// What to keep until the next step, beside [`Instance::snapshot_json`].
    pub fn keep(&self) -> Kept {
        let live = &self.live;
        Kept {
            key: self.key,
            new: (*live.new).clone(),
            parent: live.parent,
            head: live.head.clone(),
            open: live.open.clone(),
            calls: live.calls,
            last_ms: live.last_ms,
            snapshot_bytes: live.snapshot_bytes,
            delta_bytes: live.delta_bytes,
        }
    }

    pub fn key(&self) -> InstanceKey {
        self.key
    }

    pub fn id(&self) -> &Arc<str> {
        &self.live.new.id
    }

    /// The agent that it plays, if it plays one.
    pub fn agent(&self) -> Option<&str> {
        super::agent_of(&self.live.policy)
    }

    pub fn step(&self) -> u64 {
        self.live.snapshot.step_number()
    }

    pub fn snapshot_json(&self) -> String {
        self.live.snapshot.to_json(&self.live.chart)
    }

    pub fn receipt(&self, handled: bool) -> Receipt {
        self.live.receipt(handled)
    }

    /// What observers are told once `commit` is durable. `before`: what it was, and what it had open; nothing when it
    /// begins here.
    pub fn committed(
        &self,
        commit: &Commit,
        before: Option<(Status, &[OpenEffect])>,
        now_ms: i64,
    ) -> Observation {
        let (status, open) = before.unzip();
        let committed = committed(&self.live, commit, status, open.unwrap_or_default(), now_ms);
        Observation::Committed(committed)
    }

    fn of(slot: Arc<Slot>) -> Option<Self> {
        let key = slot.key;
        Some(Self { key, live: Arc::into_inner(slot)?.into_live() })
    }
}

impl Planner<'_> {
    /// The first step of an instance that somebody outside starts, within a budget if there is one.
    pub fn start(
        &self,
        id: &str,
        chart: Arc<Chart>,
        input: Value,
        budget: Value,
        now_ms: i64,
    ) -> Result<(Instance, Planned), HostError> {
        let new = NewInstance {
            id: id.into(),
            chart: chart.hash(),
            chart_id: chart.id().into(),
            version: chart.version().into(),
            parent: None,
            origin: None,
            created_ms: now_ms,
            policy: stored(budget),
        };
        let (slot, plan) = self.begin_slot(new, chart, input, None, now_ms)?;
        begun(slot, plan)
    }

    /// An instance that goes on from a step of another one, with keys of its context set to what expressions give.
    pub fn fork(
        &self,
        past: Past,
        set: &[(String, String)],
        id: &str,
        now_ms: i64,
    ) -> Result<(Instance, Planned), HostError> {
        let (slot, plan) = self.fork_slot(past, set, id, now_ms)?;
        begun(slot, plan)
    }

    /// Takes what is due and then what happened. Without a plan there is nothing to write.
    pub fn take(
        &self,
        instance: &mut Instance,
        stimulus: Stimulus,
        now_ms: i64,
    ) -> (Option<Planned>, Result<Receipt, HostError>) {
        let live = &mut instance.live;
        let delivery = match delivery_of(live, stimulus) {
            Ok(delivery) => delivery,
            Err(error) => return (None, Err(error)),
        };
        let unasked = live.receipt(false);
        let (reply, mut answer) = oneshot::channel();
        let is_asked = delivery.is_some();
        live.mailbox.extend(delivery.map(|(event, source)| Delivery { event, source, reply: Some(reply) }));
        let mut planned = self.take_waiting(instance.key, live, now_ms);
        // More was due than goes into one commit: what happened waits for the next one.
        while is_asked && !live.mailbox.is_empty() {
            let Some(next) = self.take_waiting(instance.key, live, now_ms) else { break };
            match &mut planned {
                Some(plan) => plan.append(next),
                None => planned = Some(next),
            }
        }
        let said = planned.as_mut().and_then(|plan| plan.replies.pop()).map(|(_, answer)| answer);
        let said = said.or_else(|| answer.try_recv().ok()).unwrap_or(Ok(unasked));
        (planned.map(Planned::of), said)
    }
}

/// What a stimulus puts into the mailbox; time alone puts nothing there.
fn delivery_of(live: &Live, stimulus: Stimulus) -> Result<Option<(Option<Event>, Source)>, HostError> {
    let outside = |event, key| Some((Some(event), Source::Outside { key }));
    let of_effect = |step, index, EffectResult { event, note }: EffectResult| {
        Some((event, Source::Effect { step, index, note }))
    };
    Ok(match stimulus {
        Stimulus::Event { event, key } => outside(event, key),
        Stimulus::Letter(Letter { event, child, spent }) => {
            Some((Some(event), Source::Inbound { seq: 0, child, spent }))
        }
        Stimulus::Result { step, index, result } => of_effect(step, index, result),
        Stimulus::Answer { invoke, answer } => {
            let effect = live.asked(invoke.as_deref())?;
            let (event, note) = answer.as_result(&effect);
            of_effect(effect.step, effect.index, EffectResult { event: Some(event), note })
        }
        Stimulus::Expired { step, index } => live.open_effect(step, index).and_then(|at| {
            let error = ServiceError::new(Category::Expired, "nobody answered in time");
            of_effect(step, index, EffectResult::of(&live.open[at], Err(error)))
        }),
        Stimulus::Retry => {
            live.can_retry()?;
            outside(Event::RetryRequested, None)
        }
        Stimulus::Time => None,
    })
}

fn begun(slot: Arc<Slot>, plan: Plan) -> Result<(Instance, Planned), HostError> {
    let id = slot.id.to_string();
    let instance = Instance::of(slot).ok_or(HostError::Internal(id))?;
    Ok((instance, Planned::of(plan)))
}

impl Planned {
    fn of(plan: Plan) -> Self {
        let Plan { commit, children, work, .. } = plan;
        let begun = |(commit, slot)| Instance::of(slot).map(|instance| Begun { instance, commit });
        Self { commit, children: children.into_iter().filter_map(begun).collect(), work }
    }
}
