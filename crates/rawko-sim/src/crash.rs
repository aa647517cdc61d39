//! `Crash`: a point at which a simulation loses its memory and continues from the committed state.

use std::cell::Cell;
use std::rc::Rc;

use crate::driver::{Chaos, Point};

/// One crash of the driver, at one commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crash {
    /// [`CommitPoint::number`] of the commit.
    pub commit: u64,
    /// Position of the crash relative to the commit.
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
    /// All variants, for crash runs that try each.
    pub const ALL: [CrashMoment; 2] = [CrashMoment::AfterCommit, CrashMoment::BeforeAcknowledgement];
}

/// A commit that a simulation made, and so a place where it can crash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitPoint {
    /// 0 for the start; counts over all instances.
    pub number: u64,
    /// [`Line::step`](crate::ReportLine::step) of the line it belongs to.
    pub line: u64,
}

/// Counts commits, and crashes at one of them.
pub(crate) struct CrashOnce {
    pub(crate) crash: Option<Crash>,
    /// Number of commits so far.
    pub(crate) commits: Rc<Cell<u64>>,
}

impl Chaos for CrashOnce {
    fn crashes(&mut self, point: Point) -> bool {
        let moment = match point {
            Point::BeforeCommit | Point::AfterAction => return false,
            Point::AfterCommit => {
                self.commits.set(self.commits.get() + 1);
                CrashMoment::AfterCommit
            }
            Point::BeforeReply => CrashMoment::BeforeAcknowledgement,
        };
        let here = Crash { commit: self.commits.get().saturating_sub(1), moment };
        self.crash.take_if(|crash| *crash == here).is_some()
    }
}
