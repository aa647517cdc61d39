//! Loads a runnable chart from a path, or returns the findings that prevent it.

use std::path::Path;
use std::sync::Arc;

use rawko_chart::render::{self, ReportStyle};
use rawko_chart::{Finding, KnownTools, Registry, Severity, SourceFile};
use rawko_core::Chart;
use rawko_host::Edition;

#[cfg(feature = "cli")]
use crate::console::Console;
use crate::failure::CommandFailure;
use crate::files;
use crate::project::LoadedProject;

/// Ignored here: an invoke is resolved when it is reached, and only `check` knows all names.
const UNKNOWN_SERVICE: &str = "rawko::chart::unknown_service";

/// A runnable chart with its remaining findings.
#[derive(Debug)]
pub(crate) struct Runnable {
    pub(crate) chart: Arc<Chart>,
    source: SourceFile,
    findings: Vec<Finding>,
}

impl Runnable {
    /// Returns the chart with its text, as a host stores it.
    pub(crate) fn edition(&self) -> Edition {
        Edition {
            chart: Arc::clone(&self.chart),
            name: Arc::clone(&self.source.name),
            text: Arc::clone(&self.source.text),
        }
    }
}

/// Loads a chart to run or draw it.
pub(crate) fn runnable(path: &Path) -> Result<Runnable, CommandFailure> {
    runnable_text(path, &files::read(path)?)
}

/// Returns what every chart may name: the tools that rawko knows.
pub(crate) fn registry() -> Registry {
    let suggestion = |name: &str| rawko_chart::nearest(name, rawko_tools::suggested_tools());
    Registry::default().with_tools(KnownTools { is_unknown: rawko_tools::is_unknown_tool, suggestion })
}

fn runnable_text(path: &Path, text: &[u8]) -> Result<Runnable, CommandFailure> {
    let (source, loaded) = rawko_chart::load_bytes(&files::shown(path), text, &registry());
    let wrong = |finding: &Finding| finding.severity >= Severity::Error && finding.code != UNKNOWN_SERVICE;
    match loaded.chart {
        Some(chart) => {
            let findings = loaded.findings.into_iter().filter(wrong).collect();
            Ok(Runnable { chart: Arc::new(chart), source, findings })
        }
        None => {
            let findings: Vec<_> = loaded.findings.into_iter().filter(wrong).collect();
            Err(unusable(&source, &findings))
        }
    }
}

/// Adds the charts that a project has registered under other names, so that they can be invoked.
pub(crate) fn add_registered(charts: &mut Vec<Arc<Chart>>, project: Option<&LoadedProject>) {
    for path in project.map(LoadedProject::invocable_charts).unwrap_or_default() {
        // A broken registered chart matters only to charts that invoke it, and `check` reports it.
        let Ok(loaded) = runnable(&path) else { continue };
        let same =
            |chart: &Arc<Chart>| chart.id() == loaded.chart.id() && chart.version() == loaded.chart.version();
        if !charts.iter().any(same) {
            charts.push(loaded.chart);
        }
    }
}

/// The charts of a project that can be started and invoked.
#[derive(Debug, Default)]
pub(crate) struct ProjectCharts {
    pub(crate) charts: Vec<Edition>,
    /// Broken charts of the project, by id, with the reason.
    pub(crate) broken: Vec<(String, CommandFailure)>,
}

impl ProjectCharts {
    /// Returns the failure of the broken chart with this id.
    pub(crate) fn broken_chart(&self, id: &str) -> Option<CommandFailure> {
        self.broken.iter().find(|(known, _)| known == id).map(|(_, failure)| failure.again())
    }
}

pub(crate) fn offered(project: &LoadedProject) -> ProjectCharts {
    let mut offered = ProjectCharts::default();
    for path in project.invocable_charts() {
        match project.content(&path).and_then(|text| runnable_text(&path, &text)) {
            Ok(loaded) => offered.charts.push(loaded.edition()),
            Err(failure) => offered.broken.push((project.id_of(&path), failure)),
        }
    }
    offered
}

/// Prints findings that would fail `check`, though the chart can run.
#[cfg(feature = "cli")]
pub(crate) fn warn(loaded: &Runnable, console: &mut Console) {
    if !loaded.findings.is_empty() {
        console.report_aside(&loaded.findings, &loaded.source);
    }
}

/// Returns the failure of a file whose findings prevent its use.
pub(crate) fn unusable(source: &SourceFile, findings: &[Finding]) -> CommandFailure {
    CommandFailure::Findings {
        rendered: render::report(findings, source, ReportStyle { color: false }),
        message: format!("`{}` is invalid", source.name),
    }
}
