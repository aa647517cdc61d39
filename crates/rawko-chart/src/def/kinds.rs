//! What goes with each kind of state. The reader reports what does not, and the JSON Schema refuses it, by one table.

use rawko_core::{HistoryVariant, NodeKind};

/// The kind that a word under `type` means. A history state's variant stands elsewhere.
pub(crate) fn kind_of_word(word: &str, variant: HistoryVariant) -> Option<NodeKind> {
    match word {
        "atomic" => Some(NodeKind::Atomic),
        "compound" => Some(NodeKind::Compound),
        "parallel" => Some(NodeKind::Parallel),
        "final" => Some(NodeKind::Final),
        "history" => Some(NodeKind::History(variant)),
        _ => None,
    }
}

/// Keys that mean nothing on a kind of state.
pub(crate) fn misplaced(kind: NodeKind) -> &'static [&'static str] {
    match kind {
        NodeKind::Atomic => &["initial", "variant", "target", "actions", "output", "onDone", "onAllDone"],
        NodeKind::Compound => &["variant", "target", "actions", "output", "onAllDone"],
        NodeKind::Parallel => &["initial", "variant", "target", "actions", "output"],
        NodeKind::Final => &["initial", "variant", "target", "actions", "onDone", "onAllDone"],
        NodeKind::History(_) => &[
            "initial",
            "output",
            "onDone",
            "onAllDone",
            "on",
            "always",
            "after",
            "invoke",
            "entry",
            "exit",
            "tools",
            "budget",
            "loop",
        ],
    }
}
