//! Positions of an instance's records, as the index assigned them. They never change, so they are read once. And steps that
//! this process knows of: what it did itself is in its lists and in its journal.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rawko_store::{InstanceKey, Record, StoreError};

use super::{RestateStore, StoreCache, order};

/// Maximum time to wait for a step to reach the index.
const PATIENCE: Duration = Duration::from_secs(3);
/// Time after which the reader adds the step itself: its worker has died.
const LATE: Duration = Duration::from_millis(500);
/// Time between two looks.
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);
/// Maximum number of expected steps; later ones are not waited for.
const EXPECTED_MAX: usize = 64;
/// Maximum number of instances whose positions are cached.
const KNOWN_MAX: usize = 4_096;

/// Positions of the records of one instance.
#[derive(Clone, Debug, Default)]
pub(super) struct InstancePlaces {
    /// Number of records from before the index.
    before: u64,
    places: Vec<u64>,
}

impl InstancePlaces {
    /// Returns the number of records that the index has.
    fn records(&self) -> u64 {
        self.before + self.places.len() as u64
    }
}

impl RestateStore {
    /// Notes a step that the index will have soon. A reader of this process sees it in any case.
    pub(crate) fn expect(&self, id: &str, step: u64) {
        let mut memory = self.memory();
        if memory.expected.len() < EXPECTED_MAX || memory.expected.contains_key(id) {
            let expected = memory.expected.entry(id.into()).or_default();
            *expected = step.max(*expected);
        }
    }

    /// Waits until the index has the expected steps. Gives up after a while: a worker has died, and another repeats its part.
    pub(super) fn await_expected(&self) {
        let expected = std::mem::take(&mut self.memory().expected);
        let until = Instant::now() + PATIENCE;
        let index = self.index.quick();
        for (id, step) in expected {
            let mut late = Some(Instant::now() + LATE);
            while Instant::now() < until {
                match index.places(&id, u64::MAX) {
                    Ok(Some(of)) if of.step >= step => break,
                    Ok(_) => std::thread::sleep(BETWEEN_LOOKS),
                    Err(_) => return,
                }
                if late.take_if(|late| Instant::now() > *late).is_some() {
                    self.add_late(&id);
                }
            }
        }
    }

    /// Adds the last step of an instance to the index, unless its worker has.
    fn add_late(&self, id: &Arc<str>) {
        let index = self.index.quick();
        // Another reader adds it otherwise, or another worker.
        let Ok(live) = index.live(std::slice::from_ref(id)) else { return };
        for live in live.into_iter().flatten() {
            let _ = index.add(live.row);
        }
    }

    /// Replaces the numbers of an instance's records, which are all of its first ones, by their positions.
    pub(super) fn placed(
        &self,
        id: &Arc<str>,
        key: InstanceKey,
        records: Vec<Record>,
    ) -> Result<Vec<Record>, StoreError> {
        let known = self.memory().places.get(&key).cloned().unwrap_or_default();
        let until = Instant::now() + PATIENCE;
        let (wanted, mut late) = (records.len() as u64, Some(Instant::now() + LATE));
        let mut known = known;
        while known.records() < wanted {
            match self.more_places(id, known.clone())? {
                Some(more) => known = more,
                // Nothing of it is in the index: it is older, or its first step is on the way.
                None if !self.is_built() => break,
                None => {}
            }
            if known.records() >= wanted || Instant::now() > until {
                break;
            }
            if late.take_if(|late| Instant::now() > *late).is_some() {
                self.add_late(id);
            }
            std::thread::sleep(BETWEEN_LOOKS);
        }
        let placed = order::placed(records, known.before, &known.places);
        self.memory().keep_places(key, known);
        Ok(placed)
    }

    fn more_places(&self, id: &str, known: InstancePlaces) -> Result<Option<InstancePlaces>, StoreError> {
        if !self.is_unanswered() {
            match self.index.quick().places(id, known.records()) {
                Ok(found) => {
                    return Ok(found.map(|found| {
                        let kept = usize::try_from(found.after - found.before).unwrap_or(usize::MAX);
                        let mut places = known.places;
                        places.truncate(kept);
                        places.extend(found.places);
                        InstancePlaces { before: found.before, places }
                    }));
                }
                Err(_) => self.memory().unanswered = Some(Instant::now()),
            }
        }
        let found = self.state.places(id)?;
        Ok(found.map(|(row, mut places)| {
            places.extend(row.places);
            InstancePlaces { before: row.before, places }
        }))
    }
}

impl StoreCache {
    fn keep_places(&mut self, key: InstanceKey, places: InstancePlaces) {
        if self.places.len() >= KNOWN_MAX {
            self.places.clear();
        }
        self.places.insert(key, places);
    }
}
