//! `Denials`: the calls that the gate refused, with its reasons. They are read from the audit, which has a line for each.

use rawko_store::Store;

/// Reads the audit from one line of a report to the next.
#[derive(Default)]
pub(crate) struct Denials {
    seen: usize,
}

impl Denials {
    /// Returns the reasons of the refusals since the last call.
    pub(crate) fn take(&mut self, store: &dyn Store) -> Vec<String> {
        let new = store.audit_after(self.seen).unwrap_or_default();
        self.seen += new.len();
        new.into_iter().filter(|line| &*line.decision == "refused").map(|line| line.reason).collect()
    }
}
