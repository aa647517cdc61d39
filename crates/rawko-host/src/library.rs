//! `Library`: the charts a host can start, by id and version, and the exact charts of stored instances.

use std::sync::{Arc, Mutex, PoisonError};

use rawko_chart::render::{self, ReportStyle};
use rawko_chart::{Registry, Resolution, Severity};
use rawko_core::Chart;
use rawko_store::{ChartHash, ChartRow, Store, content};
use rustc_hash::FxHashMap;

use crate::error::HostError;

/// A chart with its source text.
#[derive(Clone, Debug)]
pub struct Edition {
    /// Compiled chart.
    pub chart: Arc<Chart>,
    /// Name of the source file, for messages.
    pub name: Arc<str>,
    /// Source text, stored with each instance.
    pub text: Arc<str>,
}

impl Edition {
    /// Reads a chart to run it. Findings that fail `check` but that `run` tolerates are ignored.
    pub fn read(name: &str, text: &str) -> Result<Edition, HostError> {
        let (source, loaded) = rawko_chart::load_bytes(name, text.as_bytes(), &Registry::default());
        match loaded.chart {
            Some(chart) => Ok(Edition { chart: Arc::new(chart), name: name.into(), text: text.into() }),
            None => {
                let fatal: Vec<_> = loaded
                    .findings
                    .into_iter()
                    .filter(|finding| finding.severity >= Severity::Error)
                    .collect();
                Err(HostError::InvalidChart(render::report(&fatal, &source, ReportStyle { color: false })))
            }
        }
    }

    pub(crate) fn row(&self, added_ms: i64) -> ChartRow {
        ChartRow {
            hash: self.chart.hash(),
            id: self.chart.id().to_owned(),
            version: self.chart.version().to_owned(),
            name: self.name.to_string(),
            text: self.text.to_string(),
            added_ms,
        }
    }
}

/// A chart that is read when it is needed for the first time.
#[derive(Clone, Copy, Debug)]
pub struct DeferredEdition {
    /// The id of the chart.
    pub id: &'static str,
    /// Reads it by its id; `None` if it cannot be loaded.
    pub read: fn(&str) -> Option<Edition>,
}

/// The charts that can be started, and those of stored instances.
#[derive(Debug, Default)]
pub struct Library {
    offered: Mutex<PublishedCharts>,
    /// Charts of stored instances, by hash. Shared, so that ten thousand instances hold one copy.
    kept: Mutex<FxHashMap<ChartHash, Arc<Chart>>>,
}

#[derive(Debug, Default)]
struct PublishedCharts {
    registry: Registry,
    editions: Vec<Edition>,
    deferred: Vec<DeferredEdition>,
}

impl PublishedCharts {
    /// Reads the deferred charts with this id, or all. A chart of the same id and version that is there already stays.
    fn read(&mut self, id: Option<&str>) {
        let is_wanted = |deferred: &mut DeferredEdition| id.is_none_or(|id| id == deferred.id);
        for deferred in self.deferred.extract_if(.., is_wanted).collect::<Vec<_>>() {
            let Some(edition) = (deferred.read)(deferred.id) else { continue };
            let (id, version) = (edition.chart.id(), edition.chart.version());
            if !self.editions.iter().any(|known| known.chart.id() == id && known.chart.version() == version) {
                self.registry.add_chart(id, version);
                self.editions.push(edition);
            }
        }
    }
}

impl Library {
    /// Publishes a chart that is read when it is needed.
    pub fn offer_deferred(&self, deferred: DeferredEdition) {
        self.offered.lock().unwrap_or_else(PoisonError::into_inner).deferred.push(deferred);
    }

    /// Publishes a chart. It replaces a chart of the same id and version; running instances keep theirs.
    pub fn offer(&self, edition: Edition) {
        let mut offered = self.offered.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |known: &Edition| {
            known.chart.id() == edition.chart.id() && known.chart.version() == edition.chart.version()
        };
        match offered.editions.iter_mut().find(|known| same(known)) {
            Some(known) => *known = edition,
            None => {
                offered.registry.add_chart(edition.chart.id(), edition.chart.version());
                offered.editions.push(edition);
            }
        }
    }

    /// Stops publishing a version of a chart; running instances keep theirs.
    pub fn withdraw(&self, id: &str, version: &str) {
        let mut offered = self.offered.lock().unwrap_or_else(PoisonError::into_inner);
        offered.read(Some(id));
        offered.registry.remove_chart(id, version);
        offered.editions.retain(|known| known.chart.id() != id || known.chart.version() != version);
    }

    /// Returns the newest chart that matches a reference: `id`, `id@1.2.0`, `id@^1`, `id@latest`.
    pub fn resolve(&self, reference: &str) -> Result<Edition, HostError> {
        let (id, wanted) = reference.split_once('@').unwrap_or((reference, "latest"));
        let mut offered = self.offered.lock().unwrap_or_else(PoisonError::into_inner);
        offered.read(Some(id));
        let version = match offered.registry.resolve(id, wanted) {
            Resolution::Found(version) => version,
            Resolution::NoVersion(known) => {
                let (id, wanted) = (id.to_owned(), wanted.to_owned());
                return Err(HostError::NoVersion { id, wanted, known: known.join(", ") });
            }
            Resolution::BadRange => return Err(HostError::BadRange(wanted.to_owned())),
            Resolution::Unknown => return Err(HostError::NoChart(id.to_owned())),
        };
        let fits = |edition: &&Edition| edition.chart.id() == id && edition.chart.version() == version;
        offered.editions.iter().find(fits).cloned().ok_or_else(|| HostError::NoChart(id.to_owned()))
    }

    /// Like [`Library::resolve`]; charts that are not published are looked up among the stored ones: an instance may have
    /// been started with charts of its own, by a host that is gone.
    pub(crate) fn resolve_or_kept(&self, reference: &str, store: &dyn Store) -> Result<Edition, HostError> {
        let missing = match self.resolve(reference) {
            Err(error @ (HostError::NoChart(_) | HostError::NoVersion { .. })) => error,
            other => return other,
        };
        let (id, wanted) = reference.split_once('@').unwrap_or((reference, "latest"));
        let mut rows = store.charts()?;
        rows.retain(|row| row.id == id);
        let mut registry = Registry::default();
        rows.iter().for_each(|row| registry.add_chart(&row.id, &row.version));
        let Resolution::Found(version) = registry.resolve(id, wanted) else { return Err(missing) };
        let fitting = rows.iter().filter(|row| row.version == version);
        match fitting.max_by_key(|row| row.added_ms) {
            Some(row) => Edition::read(&row.name, &row.text),
            None => Err(missing),
        }
    }

    /// Returns all charts that can be started, in order of publication.
    pub fn offered(&self) -> Vec<Edition> {
        let mut offered = self.offered.lock().unwrap_or_else(PoisonError::into_inner);
        offered.read(None);
        offered.editions.clone()
    }

    /// Stores a chart's text before an instance of it begins.
    pub(crate) fn keep(&self, edition: &Edition, store: &dyn Store, now_ms: i64) -> Result<(), HostError> {
        let hash = edition.chart.hash();
        if self.kept(&hash).is_some() {
            return Ok(());
        }
        store.put_chart(&edition.row(now_ms))?;
        self.remember(hash, Arc::clone(&edition.chart));
        Ok(())
    }

    /// Returns exactly the chart that an instance began with.
    pub(crate) fn by_hash(&self, hash: &ChartHash, store: &dyn Store) -> Result<Arc<Chart>, HostError> {
        if let Some(chart) = self.kept(hash) {
            return Ok(chart);
        }
        let row = store.chart(hash)?.ok_or_else(|| HostError::NoChart(content::hex(hash)))?;
        let chart = Edition::read(&row.name, &row.text)?.chart;
        self.remember(*hash, Arc::clone(&chart));
        Ok(chart)
    }

    fn kept(&self, hash: &ChartHash) -> Option<Arc<Chart>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).get(hash).cloned()
    }

    fn remember(&self, hash: ChartHash, chart: Arc<Chart>) {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).insert(hash, chart);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn a_deferred_chart_is_read_once_and_only_if_it_is_needed() {
        static READ: AtomicUsize = AtomicUsize::new(0);
        let light = |version: &str| {
            let text = format!("{{id: light, version: {version}, initial: on, states: {{on: {{}}}}}}");
            Edition::read("light.yaml", &text).unwrap()
        };
        let library = Library::default();
        library.offer(light("2.0.0"));
        for id in ["dark", "broken"] {
            let read = |id: &str| {
                READ.fetch_add(1, Ordering::Relaxed);
                let text = format!("{{id: {id}, initial: off, states: {{off: {{}}}}}}");
                (id != "broken").then(|| Edition::read("dark.yaml", &text).unwrap())
            };
            library.offer_deferred(DeferredEdition { id, read });
        }
        assert_eq!(library.resolve("light").unwrap().chart.version(), "2.0.0");
        assert_eq!(READ.load(Ordering::Relaxed), 0);
        assert_eq!(library.resolve("dark").unwrap().chart.id(), "dark");
        assert!(library.resolve("dark").is_ok() && library.resolve("broken").is_err());
        assert_eq!(READ.load(Ordering::Relaxed), 2);
        assert_eq!(library.offered().len(), 2);
        assert_eq!(READ.load(Ordering::Relaxed), 2);
    }
}
