//! Index types of compiled charts. Newtypes, so that a slot is never mistaken for a state node.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

/// A state node: its index in document order (preorder). The root is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct NodeId(pub u32);

impl NodeId {
    /// The root of every chart.
    pub const ROOT: NodeId = NodeId(0);

    /// Returns the position in the chart's node list.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A key of the context: its index in the context's slot table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(pub u32);

impl Slot {
    /// Returns the position in the context.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A transition: its index in the chart's transition table (document order).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TransitionId(pub u32);

impl TransitionId {
    /// Returns the position in the chart's transition list.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The label of an action: its index in the chart's table of labels, counted from one, so that an optional label needs
/// no more space in a trace entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LabelId(NonZeroU32);

impl LabelId {
    pub(crate) fn at(index: usize) -> Self {
        Self(NonZeroU32::MIN.saturating_add(index as u32))
    }

    pub(crate) fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// Placeholder until `Chart::compile` numbers the labels.
impl Default for LabelId {
    fn default() -> Self {
        Self::at(0)
    }
}

/// An invoke: its index in the chart's invoke table (document order).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InvokeId(pub u32);

impl InvokeId {
    /// Returns the position in the chart's invoke list.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}
