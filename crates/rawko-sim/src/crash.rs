//! `Crash`: where a simulation loses its memory and continues from what was committed.

use rawko_core::Snapshot;

use crate::{ErrorKind, Simulation};

/// One crash of the driver, at one commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crash {
    /// [`CommitPoint::number`] of the commit.
    pub commit: u64,
    pub moment: CrashMoment,
}

/// When the driver crashes, relative to a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrashMoment {
    /// The commit is durable; none of its actions was performed.
    AfterCommit,
    /// All actions were performed; the sender of the input has no acknowledgement and sends it again.
    BeforeAcknowledgement,
}

impl CrashMoment {
    pub const ALL: [CrashMoment; 2] = [CrashMoment::AfterCommit, CrashMoment::BeforeAcknowledgement];
}

/// A commit that a simulation made, and so a place where it can crash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitPoint {
    /// 0 for the start; counts over all instances.
    pub number: u64,
    /// [`Line::step`](crate::Line::step) of the line it belongs to.
    pub line: u64,
    /// 0 is the simulated instance.
    pub instance: usize,
}

impl Simulation {
    /// The commits so far, in order. A child begins within the commit of its parent.
    pub fn commit_points(&self) -> &[CommitPoint] {
        &self.commits
    }

    pub(crate) fn note_commit(&mut self, instance: usize) -> u64 {
        let number = self.commits.len() as u64;
        self.commits.push(CommitPoint { number, line: self.line.step, instance });
        number
    }

    pub(crate) fn crash_at(&mut self, commit: u64, moment: CrashMoment) {
        if self.options.crash == Some(Crash { commit, moment }) {
            self.restart();
        }
    }

    /// Every instance continues from its serialised snapshot, and timers from the snapshots. Stubbed services are the
    /// outside world: they keep working, and answer when they would have.
    fn restart(&mut self) {
        for instance in &mut self.instances {
            let saved = instance.snapshot.to_json(&instance.chart);
            match Snapshot::from_json(&instance.chart, &saved) {
                Ok(snapshot) => instance.snapshot = snapshot,
                Err(error) => {
                    self.line.fail(ErrorKind::Other, format!("cannot restore the snapshot: {error}"));
                }
            }
        }
        let instances = &self.instances;
        let is_pending = |of: usize, timer: u64| {
            instances
                .get(of)
                .is_some_and(|instance| instance.snapshot.timers().iter().any(|known| known.id == timer))
        };
        self.agenda.retain_timers(is_pending);
    }
}
