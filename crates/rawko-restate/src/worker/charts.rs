//! A cache of the charts of instances, by hash. A hash never refers to another text, so each is fetched once.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rawko_host::{Edition, HostError};
use rawko_store::ChartHash;

use super::state::passing;
use crate::client::{HandlerTarget, Ingress};
use crate::layout::{CHART, ChartSource, handler, hex};

pub(super) struct WorkerCharts {
    ingress: Ingress,
    known: Mutex<KnownChart>,
}

#[derive(Default)]
struct KnownChart {
    editions: HashMap<ChartHash, Edition>,
    /// Charts that are known to be stored in Restate.
    kept: HashSet<ChartHash>,
}

impl WorkerCharts {
    pub(super) fn new(ingress: Ingress) -> Self {
        Self { ingress, known: Mutex::default() }
    }

    fn known(&self) -> MutexGuard<'_, KnownChart> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the chart with this hash. Only an unreachable server is a transient error.
    pub(super) async fn edition(&self, hash: &ChartHash) -> Result<Edition, HostError> {
        if let Some(edition) = self.known().editions.get(hash) {
            return Ok(edition.clone());
        }
        let name = hex(hash);
        let target = HandlerTarget::object(CHART, &name, handler::GET);
        let text: Option<ChartSource> = self.ingress.look(&target, &()).await.map_err(passing)?;
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

/// Reads the chart of a text and verifies its hash.
pub(super) fn read(hash: &ChartHash, text: &ChartSource) -> Result<Edition, HostError> {
    let edition = Edition::read(&text.name, &text.text)?;
    let own = edition.chart.hash();
    if own != *hash {
        let (kept, own) = (hex(hash), hex(&own));
        return Err(HostError::Refused(format!("the text stored for chart {kept} belongs to chart {own}")));
    }
    Ok(edition)
}
