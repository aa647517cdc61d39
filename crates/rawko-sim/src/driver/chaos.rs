//! `Chaos`: the faults of a simulated world, asked for at every point where a real process could meet one.

/// A point between two operations of the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// A transaction is about to be committed.
    BeforeCommit,
    /// It is committed, and neither acknowledged nor performed.
    AfterCommit,
    /// An action of it was performed, and the next was not.
    AfterAction,
    /// All actions were performed; the caller has no acknowledgement.
    BeforeReply,
}

/// Decides which faults happen. The default is none.
pub trait Chaos {
    /// Whether the process dies here.
    fn crashes(&mut self, _point: Point) -> bool {
        false
    }

    /// Whether the store refuses this commit.
    fn refuses_commit(&mut self) -> bool {
        false
    }

    /// Whether an input is delivered a second time.
    fn duplicates(&mut self) -> bool {
        false
    }

    /// Which of `waiting` inputs is taken next.
    fn picks(&mut self, _waiting: usize) -> usize {
        0
    }

    /// Whether an instance leaves memory now and is read back from the store.
    fn evicts(&mut self) -> bool {
        false
    }
}

/// No faults.
pub struct Calm;

impl Chaos for Calm {}
