//! Allowed keys for each kind of state. One table for the reader, which reports other keys, and for the JSON Schema,
//! which rejects them.

use rawko_core::{HistoryVariant, NodeKind};

/// Returns the kind for a word under `type`. A history state's variant is a separate key.
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

/// Returns the keys that are invalid on a kind of state.
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
            "isolation",
        ],
    }
}
