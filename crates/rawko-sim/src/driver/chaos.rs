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

/// What a store does with a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitFate {
    /// It is durable, and the store says so.
    Kept,
    /// Nothing is written, and the store says so.
    Refused,
    /// The store reports an error. The bytes are on the disk: the next start finds the commit, unless another one was
    /// written over it. A write-ahead log does this when its sync fails.
    Torn,
    /// It is durable, and the store reports an error: the driver cannot know, so it starts again from the store.
    Unknown,
}

/// Decides which faults happen. The default is none.
pub trait Chaos {
    /// Whether the process dies here.
    fn crashes(&mut self, _point: Point) -> bool {
        false
    }

    /// The fate of this commit.
    fn commit_fate(&mut self) -> CommitFate {
        CommitFate::Kept
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

    /// Whether an instance whose deadline passed is loaded twice, and both copies take what is due. The store has to
    /// refuse the second one.
    fn loads_twice(&mut self) -> bool {
        false
    }
}

/// No faults.
pub struct Calm;

impl Chaos for Calm {}
