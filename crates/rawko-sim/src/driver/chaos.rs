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

/// The result of a commit in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitFate {
    /// The commit is durable, and the store reports success.
    Kept,
    /// Nothing is written, and the store reports an error.
    Refused,
    /// The store reports an error. The bytes are on the disk: the next start finds the commit, unless another one was
    /// written over it. A write-ahead log does this when its sync fails.
    Torn,
    /// It is durable, and the store reports an error: the driver cannot know, so it starts again from the store.
    Unknown,
}

/// Decides which faults happen. The default is none.
pub trait Chaos {
    /// Returns true if the process dies here.
    fn crashes(&mut self, _point: Point) -> bool {
        false
    }

    /// The fate of this commit.
    fn commit_fate(&mut self) -> CommitFate {
        CommitFate::Kept
    }

    /// Returns true if an input is delivered a second time.
    fn duplicates(&mut self) -> bool {
        false
    }

    /// Which of `waiting` inputs is taken next.
    fn picks(&mut self, _waiting: usize) -> usize {
        0
    }

    /// Returns true if an instance is evicted from memory now and read back from the store.
    fn evicts(&mut self) -> bool {
        false
    }

    /// Returns true if an instance with an expired deadline is loaded twice, and both copies process the deadline. The
    /// store has to reject the second commit.
    fn loads_twice(&mut self) -> bool {
        false
    }
}

/// No faults.
pub struct Calm;

impl Chaos for Calm {}
