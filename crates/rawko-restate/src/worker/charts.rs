//! The charts that instances began with, by hash: asked for once, and then remembered, since a hash never means another text.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rawko_host::{Edition, HostError};
use rawko_store::ChartHash;

use super::shop::passing;
use crate::client::{Ingress, Target};
use crate::layout::{CHART, ChartText, handler, hex};

pub(super) struct Charts {
    ingress: Ingress,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    editions: HashMap<ChartHash, Edition>,
    /// Those that Restate is known to keep.
    kept: HashSet<ChartHash>,
}

impl Charts {
    pub(super) fn new(ingress: Ingress) -> Self {
        Self { ingress, known: Mutex::default() }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The chart with this hash. Only a server that cannot be reached is a transient error.
    pub(super) async fn edition(&self, hash: &ChartHash) -> Result<Edition, HostError> {
        if let Some(edition) = self.known().editions.get(hash) {
            return Ok(edition.clone());
        }
        let name = hex(hash);
        let target = Target::object(CHART, &name, handler::GET);
        let text: Option<ChartText> = self.ingress.look(&target, &()).await.map_err(passing)?;
        let text = text.ok_or(HostError::NoChart(name))?;
        let edition = read(hash, &text)?;
        let mut known = self.known();
        known.kept.insert(*hash);
        known.editions.insert(*hash, edition.clone());
        Ok(edition)
    }

    pub(super) fn is_kept(&self, hash: &ChartHash) -> bool {
        self.known().kept.contains(hash)
    }

    pub(super) fn note_kept(&self, hash: ChartHash) {
        self.known().kept.insert(hash);
    }
}

/// The chart of a text that is said to have this hash, if it has.
pub(super) fn read(hash: &ChartHash, text: &ChartText) -> Result<Edition, HostError> {
    let edition = Edition::read(&text.name, &text.text)?;
    let own = edition.chart.hash();
    if own != *hash {
        let (kept, own) = (hex(hash), hex(&own));
        return Err(HostError::Refused(format!("a text for chart {kept} is that of chart {own}")));
    }
    Ok(edition)
}
