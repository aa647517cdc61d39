//! `Shelf`: the list of charts, with a cache of expensive data: the number of findings of a chart, and of its
//! instances. Instances never change their chart, so only new ones are counted.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use rawko_core::Chart;
use rawko_host::Edition;
use rawko_store::{ChartHash, ChartRow, Filter, InstanceKey, Store, StoreError};

use super::checking::CheckedText;
use super::wire::{About, ChartInfo, hex};
use crate::http::app::App;
use crate::http::project::ChartOrigin;

const PAGE: usize = 1_000;

#[derive(Default)]
pub(crate) struct Shelf {
    counted: Mutex<ChartCounts>,
    findings: Mutex<HashMap<ChartHash, usize>>,
}

#[derive(Default)]
struct ChartCounts {
    upto: InstanceKey,
    by_chart: HashMap<ChartHash, u64>,
}

impl Shelf {
    /// Returns the number of instances by chart.
    fn instances(&self, store: &dyn Store) -> Result<HashMap<ChartHash, u64>, StoreError> {
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        let (known, mut newest, mut before) = (counted.upto, counted.upto, None);
        loop {
            let page = store.list(&Filter { before, limit: PAGE, ..Filter::default() })?;
            for row in page.rows.iter().filter(|row| row.key > known) {
                newest = newest.max(row.key);
                *counted.by_chart.entry(row.new.chart).or_default() += 1;
            }
            before = page.next.filter(|next| *next > known);
            if before.is_none() {
                break;
            }
        }
        counted.upto = newest;
        Ok(counted.by_chart.clone())
    }

    fn findings(&self, app: &App, edition: &Edition) -> usize {
        let hash = edition.chart.hash();
        let known = self.findings.lock().unwrap_or_else(PoisonError::into_inner).get(&hash).copied();
        known.unwrap_or_else(|| {
            let count = CheckedText::of(app, &edition.name, &edition.text).findings.len();
            self.findings.lock().unwrap_or_else(PoisonError::into_inner).insert(hash, count);
            count
        })
    }

    /// Clears the cache, because a missing reference may exist now.
    pub(super) fn forget_findings(&self) {
        self.findings.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// Returns all charts: published ones in their order, then those that only instances use.
pub(super) fn list(app: &App) -> Result<Vec<ChartInfo>, StoreError> {
    let store = app.reader().store();
    let counts = app.shelf().instances(&**store)?;
    let count = |hash: &ChartHash| counts.get(hash).copied().unwrap_or(0);
    let library = app.engine().library();
    let offered = library.offered();
    let mut charts: Vec<ChartInfo> = Vec::new();
    for edition in &offered {
        let chart = &edition.chart;
        let latest = library.resolve(chart.id()).is_ok_and(|latest| latest.chart.hash() == chart.hash());
        let source = app.project().origin(chart.id(), chart.version()).unwrap_or(ChartOrigin::Stored);
        let about = About { latest, source, instances: count(&chart.hash()), ..about(chart, &edition.name) };
        charts.push(ChartInfo { about, findings: Some(app.shelf().findings(app, edition)) });
    }
    for row in store.charts()? {
        if !offered.iter().any(|edition| edition.chart.hash() == row.hash) {
            charts.push(ChartInfo {
                about: About { instances: count(&row.hash), ..stored(&row) },
                findings: None,
            });
        }
    }
    Ok(charts)
}

fn about(chart: &Chart, name: &str) -> About {
    About {
        id: chart.id().to_owned(),
        version: chart.version().to_owned(),
        hash: hex(&chart.hash()),
        name: name.to_owned(),
        source: ChartOrigin::Stored,
        description: chart.description().map(str::to_owned),
        states: chart.node_ids().count().saturating_sub(1),
        instances: 0,
        latest: false,
    }
}

fn stored(row: &ChartRow) -> About {
    match Edition::read(&row.name, &row.text) {
        Ok(edition) => about(&edition.chart, &row.name),
        Err(_) => About {
            id: row.id.clone(),
            version: row.version.clone(),
            hash: hex(&row.hash),
            name: row.name.clone(),
            source: ChartOrigin::Stored,
            description: None,
            states: 0,
            instances: 0,
            latest: false,
        },
    }
}
