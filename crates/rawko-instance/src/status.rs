//! The status of an instance in lists: the reason for waiting, and the outcome. Computed here once, so that the store,
//! the API and the terminal agree.

use rawko_core::{Chart, Snapshot, Status};
use serde::{Deserialize, Serialize};

use crate::instance::Instance;
use crate::records::{EffectKind, Head, Outcome, WaitReason};

/// The status of an instance for people: the words of lists, the API and the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InstanceStatus {
    /// A service, an agent or a child works.
    Running,
    /// For a person, an event or a timer; or for a host, if none drives it.
    Waiting,
    /// A person paused it; only a resume continues it.
    Paused,
    /// Nothing moves it any more: a step or a call failed.
    Stalled,
    /// It has an outcome.
    Ended,
}

impl InstanceStatus {
    /// All variants, for parsers and lists.
    pub const ALL: [InstanceStatus; 5] = [
        InstanceStatus::Running,
        InstanceStatus::Waiting,
        InstanceStatus::Paused,
        InstanceStatus::Stalled,
        InstanceStatus::Ended,
    ];

    /// Returns the status of an instance. `is_driven`: a host moves it.
    pub fn of(head: &Head, is_driven: bool) -> InstanceStatus {
        Self::of_parts(head.status, head.wait, head.fault.is_some(), is_driven)
    }

    /// Returns the status from the columns of a store. `is_faulty`: the last step failed; `is_driven`: a host moves
    /// the instance.
    pub fn of_parts(status: Status, wait: WaitReason, is_faulty: bool, is_driven: bool) -> InstanceStatus {
        match (status, wait) {
            (Status::Done | Status::Cancelled, _) => InstanceStatus::Ended,
            (Status::Active | Status::Error, WaitReason::Paused) => InstanceStatus::Paused,
            (Status::Error, _) | (Status::Active, WaitReason::Nothing) => InstanceStatus::Stalled,
            (Status::Active, _) if is_faulty => InstanceStatus::Stalled,
            (Status::Active, WaitReason::Work) if is_driven => InstanceStatus::Running,
            (
                Status::Active,
                WaitReason::Work | WaitReason::Person | WaitReason::Event | WaitReason::Timer,
            ) => InstanceStatus::Waiting,
        }
    }

    /// Returns the name used in the store and the API.
    pub fn as_str(self) -> &'static str {
        match self {
            InstanceStatus::Running => "running",
            InstanceStatus::Waiting => "waiting",
            InstanceStatus::Paused => "paused",
            InstanceStatus::Stalled => "stalled",
            InstanceStatus::Ended => "ended",
        }
    }
}

/// Returns true if an effect of this kind progresses by itself.
pub fn is_work(kind: EffectKind) -> bool {
    match kind {
        EffectKind::Service | EffectKind::Agent | EffectKind::Child | EffectKind::Call | EffectKind::Send => {
            true
        }
        EffectKind::Person | EffectKind::Unknown | EffectKind::Held => false,
    }
}

/// Returns the outcome of an ended instance, from the tags of its final states.
pub fn outcome_of(chart: &Chart, snapshot: &Snapshot) -> Option<Outcome> {
    match snapshot.status() {
        Status::Active | Status::Error => None,
        Status::Cancelled => Some(Outcome::Cancelled),
        Status::Done => {
            let finals = snapshot.configuration().frontier().iter();
            let tags: Vec<&str> =
                finals.flat_map(|node| &chart.node(*node).docs.tags).map(|tag| tag.as_str()).collect();
            let by_tag = [
                ("limit", Outcome::Limit),
                ("loop", Outcome::Loop),
                ("stuck", Outcome::Stuck),
                ("cancelled", Outcome::Cancelled),
                ("error", Outcome::Failed),
                ("failed", Outcome::Failed),
            ];
            let tagged = by_tag.into_iter().find(|(tag, _)| tags.contains(tag));
            Some(tagged.map_or(Outcome::Succeeded, |(_, outcome)| outcome))
        }
    }
}

impl Instance {
    /// Returns the head for the current snapshot and open effects.
    pub(crate) fn head_now(&self) -> Head {
        let status = self.snapshot.status();
        let next_due_ms = self.next_due_ms();
        Head {
            status,
            wait: self.wait(next_due_ms),
            next_due_ms,
            fault: self.fault.clone(),
            ledger: self.ledger.write(),
            outcome: outcome_of(&self.chart, &self.snapshot),
        }
    }

    fn wait(&self, next_due_ms: Option<i64>) -> WaitReason {
        let any = |which: fn(EffectKind) -> bool| self.open.iter().any(|effect| which(effect.kind));
        if self.snapshot.status().is_over() {
            WaitReason::Nothing
        } else if self.is_paused() {
            WaitReason::Paused
        } else if self.open.tally().people > 0 {
            WaitReason::Person
        } else if any(is_work) {
            WaitReason::Work
        } else if next_due_ms.is_some() {
            WaitReason::Timer
        } else {
            WaitReason::Event
        }
    }
}
