//! Charts of a project that invoke each other in a cycle. Separate from the check of one chart, which does not know the
//! others: the files that a chart leads to are read here, without reporting their other findings.

use std::path::PathBuf;

use rawko_chart::{ChartStarts, Finding, Loaded, Registry, recursive_charts};

use crate::files;

/// The charts found so far, each with the index of its file in the report.
#[derive(Debug, Default)]
pub(crate) struct Recursion {
    charts: Vec<ChartStarts>,
    /// `None` for a file outside the report.
    reported: Vec<Option<usize>>,
}

impl Recursion {
    pub(crate) fn add(&mut self, loaded: &Loaded, file: Option<usize>) {
        let Some(chart) = &loaded.chart else { return };
        let (id, version) = (chart.id().to_owned(), chart.version().to_owned());
        if self.charts.iter().any(|known| known.id == id && known.version == version) {
            return;
        }
        self.charts.push(ChartStarts { id, version, starts: loaded.starts.clone() });
        self.reported.push(file);
    }

    /// Returns true if a chart unconditionally invokes one that was not read yet.
    pub(crate) fn is_open(&self) -> bool {
        self.missing().next().is_some()
    }

    fn missing(&self) -> impl Iterator<Item = &str> {
        let starts = self.charts.iter().flat_map(|chart| &chart.starts);
        let is_known = |id: &str| self.charts.iter().any(|chart| chart.id == id);
        starts.map(|start| start.id.as_str()).filter(move |id| !is_known(id))
    }

    /// Reads the charts that the known ones lead to, as far as they are among these files.
    pub(crate) fn follow(&mut self, files: &[PathBuf]) {
        let named: Vec<(String, &PathBuf)> = files
            .iter()
            .filter_map(|path| Some((super::identity(&files::read(path).ok()?)?.0, path)))
            .collect();
        loop {
            let missing: Vec<String> = self.missing().map(str::to_owned).collect();
            let before = self.charts.len();
            for (_, path) in named.iter().filter(|(id, _)| missing.contains(id)) {
                if let Ok(bytes) = files::read(path) {
                    let (_, loaded) =
                        rawko_chart::load_bytes(&files::shown(path), &bytes, &Registry::default());
                    self.add(&loaded, None);
                }
            }
            if self.charts.len() == before {
                return;
            }
        }
    }

    /// Returns the findings, each with the index of its file.
    pub(crate) fn findings(&self) -> Vec<(usize, Finding)> {
        let found = recursive_charts(&self.charts).into_iter();
        found.filter_map(|(number, finding)| Some((self.reported[number]?, finding))).collect()
    }
}
