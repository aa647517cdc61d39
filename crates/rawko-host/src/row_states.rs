//! `RowState`: the part of a list's row that needs the snapshot. Cached by instance and step: a list is read again and
//! again, and restoring the snapshots of a page takes longer than everything else about it.

use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use rawko_store::{ChartHash, InstanceRow};
use rustc_hash::FxHashMap;

use crate::error::HostError;
use crate::reader::{RestoredSnapshot, SnapshotReader};

/// Rows in each of two generations; when the younger one is full, the older one is dropped.
const GENERATION_LEN: usize = 8_192;

/// The part of a row that needs the snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowState {
    /// Innermost active states.
    pub configuration: Vec<String>,
    /// The task or goal in the context, in one line.
    pub title: Option<String>,
    /// Failed work that no transition handles.
    pub failure: Option<String>,
}

/// An instance after a step. The id alone may be of a pruned instance, and a key may be local to its reader.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct RowMoment {
    id: Arc<str>,
    created_ms: i64,
    chart: ChartHash,
    step: u64,
}

impl RowMoment {
    fn of(row: &InstanceRow) -> RowMoment {
        let new = &row.new;
        RowMoment { id: Arc::clone(&new.id), created_ms: new.created_ms, chart: new.chart, step: row.step }
    }
}

#[derive(Debug, Default)]
pub(crate) struct RowStates {
    generations: Mutex<Generations>,
}

#[derive(Debug, Default)]
struct Generations {
    young: FxHashMap<RowMoment, Arc<RowState>>,
    old: FxHashMap<RowMoment, Arc<RowState>>,
}

impl RowStates {
    fn get(&self, rows: &[InstanceRow]) -> Vec<Option<Arc<RowState>>> {
        let known = self.generations.lock().unwrap_or_else(PoisonError::into_inner);
        let find = |row: &InstanceRow| {
            let moment = RowMoment::of(row);
            known.young.get(&moment).or_else(|| known.old.get(&moment)).cloned()
        };
        rows.iter().map(find).collect()
    }

    fn keep(&self, row: &InstanceRow, state: &Arc<RowState>) {
        let mut known = self.generations.lock().unwrap_or_else(PoisonError::into_inner);
        if known.young.len() >= GENERATION_LEN {
            known.old = std::mem::take(&mut known.young);
        }
        known.young.insert(RowMoment::of(row), Arc::clone(state));
    }
}

impl SnapshotReader {
    /// Returns the states of rows after their last steps; `None` for an unreadable one.
    pub fn row_states(
        &self,
        rows: &[InstanceRow],
        derive: impl Fn(&RestoredSnapshot) -> RowState,
    ) -> Result<Vec<Option<Arc<RowState>>>, HostError> {
        let mut states = self.row_states.get(rows);
        let missing: Vec<usize> = (0..rows.len()).filter(|at| states[*at].is_none()).collect();
        if missing.is_empty() {
            return Ok(states);
        }
        let wanted: Vec<InstanceRow> = missing.iter().map(|at| rows[*at].clone()).collect();
        for (at, restored) in missing.into_iter().zip(self.snapshots(&wanted)?) {
            let Some(restored) = restored else { continue };
            let state = Arc::new(derive(&restored));
            // The instance may have moved on since its row was read.
            if restored.snapshot.step_number() == rows[at].step {
                self.row_states.keep(&rows[at], &state);
            }
            states[at] = Some(state);
        }
        Ok(states)
    }
}
