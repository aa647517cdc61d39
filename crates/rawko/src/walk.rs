//! Finds files below a directory, in the same order on every machine, skipping folders without charts.

use std::path::{Path, PathBuf};

use rawko_testing::find;
pub(crate) use rawko_testing::find::is_scenario;

use crate::failure::CommandFailure;

/// Returns all files below `dir` whose name `wanted` accepts, sorted by path.
pub(crate) fn files_below(dir: &Path, wanted: &dyn Fn(&str) -> bool) -> Result<Vec<PathBuf>, CommandFailure> {
    find::files_below(dir, wanted).map_err(|error| {
        CommandFailure::Usage(format!("cannot read the directory `{}`: {error}", dir.display()))
    })
}

/// Returns true for names with the extension of a supported text format.
pub(crate) fn is_yaml_or_json(name: &str) -> bool {
    [".yaml", ".yml", ".json"].iter().any(|ending| name.ends_with(ending))
}
