//! The charts that `rawko migrate` names: the target by reference or file, the source by id and range.

use std::path::{Path, PathBuf};

use rawko_chart::version_in;
use rawko_host::Edition;

use crate::commands::run::is_name;
use crate::failure::CommandFailure;
use crate::files;
use crate::hosting::ProjectContext;
use crate::known;
use crate::loading;
use crate::walk;

/// Returns the chart of `--to`: a file, `file@version`, or `id@version` of the project, the store or this directory.
pub(super) fn edition(reference: &str, place: &ProjectContext) -> Result<Edition, CommandFailure> {
    let (name, version) = split(reference);
    if !is_name(Path::new(name)) {
        let edition = loading::runnable(Path::new(name))?.edition();
        let fits = version.is_none_or(|range| version_in(range, edition.chart.version()) == Some(true));
        return match fits {
            true => Ok(edition),
            false => Err(CommandFailure::Usage(format!(
                "`{name}` has version {}, not {}",
                edition.chart.version(),
                version.unwrap_or_default()
            ))),
        };
    }
    if version.is_some_and(|range| version_in(range, "1.0.0").is_none()) {
        let range = version.unwrap_or_default();
        return Err(CommandFailure::Usage(format!("`{range}` is not a version or version range")));
    }
    let named = place.named(reference);
    if named.is_ok() {
        return named;
    }
    let library = rawko_host::Library::default();
    if let Some(reader) = place.reader()? {
        // Oldest first, so that the newest text of a version is the one that is used.
        for row in reader.store().charts()?.iter().rev().filter(|row| row.id == name) {
            if let Ok(edition) = Edition::read(&row.name, &row.text) {
                library.offer(edition);
            }
        }
    }
    // Files win over stored texts of the same version.
    let mut broken = None;
    for path in chart_files(place)? {
        match loading::runnable(&path) {
            Ok(loaded) if loaded.chart.id() == name => library.offer(loaded.edition()),
            Ok(_) => {}
            Err(failure) if names_chart(&path, name) => broken = Some(failure),
            Err(_) => {}
        }
    }
    match (library.resolve(reference), broken) {
        (Ok(edition), _) => Ok(edition),
        (Err(_), Some(broken)) => Err(broken),
        (Err(error), None) => Err(CommandFailure::Usage(format!(
            "{error}, and there is no such file; list charts with `rawko charts`"
        ))),
    }
}

/// Splits a version off; a file name may have an `@` itself.
fn split(reference: &str) -> (&str, Option<&str>) {
    if Path::new(reference).exists() {
        return (reference, None);
    }
    match reference.rsplit_once('@') {
        Some((name, version)) if !name.is_empty() => (name, Some(version)),
        _ => (reference, None),
    }
}

/// Returns the chart files of the project, or of this directory.
fn chart_files(place: &ProjectContext) -> Result<Vec<PathBuf>, CommandFailure> {
    if let Some(charts) = place.chart_files() {
        return Ok(charts.to_vec());
    }
    let mut found = Vec::new();
    for folder in [Path::new("."), Path::new("charts")] {
        let Ok(entries) = std::fs::read_dir(folder) else { continue };
        let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        found.extend(paths.filter(|path| path.is_file() && walk::is_yaml_or_json(&path.to_string_lossy())));
    }
    found.sort();
    Ok(found)
}

/// Returns true if a file that cannot be loaded seems to be the chart with this id.
fn names_chart(path: &Path, id: &str) -> bool {
    let text = files::read_text(path).unwrap_or_default();
    text.lines().any(|line| {
        let line = line.trim().trim_start_matches('"');
        let value = line.strip_prefix("id").map(|rest| rest.trim_start_matches(['"', ':', ' ']));
        value.is_some_and(|value| value.trim_end_matches([',', '"', ' ']).trim_matches('"') == id)
    })
}

/// The instances of `--from`.
pub(super) struct Selection {
    pub(super) id: String,
    range: Option<String>,
}

impl Selection {
    pub(super) fn read(from: &str, place: &ProjectContext) -> Result<Selection, CommandFailure> {
        let (name, range) = split(from);
        if is_name(Path::new(name)) {
            if range.is_some_and(|range| version_in(range, "1.0.0").is_none()) {
                let range = range.unwrap_or_default();
                return Err(CommandFailure::Usage(format!("`{range}` is not a version or version range")));
            }
            let selection = Selection { id: name.to_owned(), range: range.map(str::to_owned) };
            selection.insist_on_chart(place)?;
            return Ok(selection);
        }
        let edition = edition(from, place)?;
        Ok(Selection { id: edition.chart.id().to_owned(), range: Some(edition.chart.version().to_owned()) })
    }

    /// A chart that was never run is a typing error, not an empty selection.
    fn insist_on_chart(&self, place: &ProjectContext) -> Result<(), CommandFailure> {
        let charts = known::reader(place)?.store().charts()?;
        let is_known = charts.iter().any(|row| row.id == self.id) || place.named(&self.id).is_ok();
        match is_known {
            true => Ok(()),
            false => Err(CommandFailure::Usage(format!(
                "no chart `{}` has run here; list charts with `rawko charts`",
                self.id
            ))),
        }
    }

    pub(super) fn includes(&self, version: &str) -> bool {
        self.range.as_deref().is_none_or(|range| version_in(range, version) == Some(true))
    }
}
