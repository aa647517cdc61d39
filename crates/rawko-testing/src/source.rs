//! Scenario files and charts from disk, with errors that name the file.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rawko_chart::render::{self, ReportStyle};
use rawko_chart::{Finding, Registry, Severity, SourceFile, load_bytes};
use rawko_core::Chart;

use crate::TestError;
use crate::find::{ENDINGS, file_name};
use crate::model::ScenarioFile;

/// A larger file is neither a chart nor a scenario; reading it would only fill the memory.
const BYTES_MAX: u64 = 64 * 1024 * 1024;

/// An invoke's `src` is looked up when it is called; only `rawko check` knows all services.
const UNKNOWN_SERVICE: &str = "rawko::chart::unknown_service";

/// A path as reports show it.
pub(crate) fn shown(path: &Path) -> String {
    let short = path.strip_prefix(".").ok().filter(|short| !short.as_os_str().is_empty());
    short.unwrap_or(path).display().to_string()
}

pub(crate) fn read_source(path: &Path) -> Result<SourceFile, TestError> {
    let text = String::from_utf8(read(path)?)
        .map_err(|error| TestError::NotText { name: shown(path), at: error.utf8_error().valid_up_to() })?;
    Ok(SourceFile::new(shown(path), text))
}

fn read(path: &Path) -> Result<Vec<u8>, TestError> {
    let name = shown(path);
    let bytes = read_bytes(path).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => TestError::NoFile { name: name.clone() },
        _ if path.is_dir() => TestError::IsDirectory { name: name.clone() },
        _ => TestError::Read { name: name.clone(), source },
    })?;
    if bytes.len() as u64 > BYTES_MAX {
        return Err(TestError::TooLarge { name, limit_mb: BYTES_MAX / 1024 / 1024 });
    }
    Ok(bytes)
}

fn read_bytes(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(BYTES_MAX + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The charts of a scenario file with their names: the chart under test first, then those it may invoke.
pub(crate) fn charts_of(file: &ScenarioFile) -> Result<Vec<(String, Arc<Chart>)>, String> {
    let folder = file.path.parent().unwrap_or(Path::new(""));
    let main = match &file.chart {
        Some(chart) => folder.join(chart),
        None => chart_beside(&file.path)?,
    };
    let all = std::iter::once(main).chain(file.with.iter().map(|chart| folder.join(chart)));
    all.map(|path| Ok((shown(&path), load_chart(&path)?))).collect()
}

fn load_chart(path: &Path) -> Result<Arc<Chart>, String> {
    let bytes = read(path).map_err(|error| error.to_string())?;
    let (source, loaded) = load_bytes(&shown(path), &bytes, &Registry::default());
    if let Some(chart) = loaded.chart {
        return Ok(Arc::new(chart));
    }
    let wrong = |finding: &Finding| finding.severity >= Severity::Error && finding.code != UNKNOWN_SERVICE;
    let findings: Vec<_> = loaded.findings.into_iter().filter(wrong).collect();
    Err(render::report(&findings, &source, ReportStyle { color: false }))
}

/// `order.scenario.yaml` is about `order.yaml`, `order.yml` or `order.json`.
fn chart_beside(path: &Path) -> Result<PathBuf, String> {
    let name = file_name(path);
    let stem = name.split(".scenario.").next().unwrap_or_default();
    let candidates = ENDINGS.map(|ending| path.with_file_name(format!("{stem}.{ending}")));
    candidates.into_iter().find(|candidate| candidate.is_file()).ok_or_else(|| {
        let help = format!("put `{stem}.yaml` next to it or set `chart: FILE` in it");
        format!("there is no chart for `{}`: {help}", path.display())
    })
}
