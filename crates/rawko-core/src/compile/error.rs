//! Errors of compiling a blueprint.

/// An invalid blueprint. A reader reports these as its own findings beforehand; the rest are errors of code that builds
/// blueprints by hand.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CompileError {
    /// The blueprint has no node besides the root.
    #[error("a chart needs at least one state below its root")]
    Empty,
    /// A compound state has no initial state; holds its key.
    #[error("state `{0}` is compound but has no initial state")]
    NoInitial(String),
    /// A target, parent or initial state lies outside the node list; holds the key of the state that refers to it.
    #[error("state `{0}` refers to a state node that does not exist")]
    UnknownNode(String),
    /// A node does not follow its parent in preorder; holds its key.
    #[error("state `{0}` is out of document order")]
    NotPreorder(String),
    /// A history node's default leads back to its own parent; holds the path of that parent.
    #[error("state `{0}` starts in a history node that leads back to it")]
    CircularHistory(String),
    /// An atomic, final or history node has children; holds its key and its kind.
    #[error("state `{0}` is a {1} but has child states")]
    UnexpectedChildren(String, &'static str),
    /// The chart exceeds the limit on state nodes.
    #[error("a chart may have at most {max} state nodes, this one has {found}")]
    TooManyNodes {
        /// State nodes of the blueprint.
        found: usize,
        /// Upper limit of the engine.
        max: usize,
    },
}
