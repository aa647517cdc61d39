//! Finds scenario files: below a directory, beside a chart, or by their own name. In one order on every machine.

use std::fs;
use std::path::{Path, PathBuf};

use crate::TestError;

/// Deeper than this is a mistake (or a bind mount of something onto itself), not a project.
const DEPTH_MAX: usize = 64;
/// The endings of the text formats that rawko reads.
pub(crate) const ENDINGS: [&str; 3] = ["yaml", "yml", "json"];

/// Returns true for the name of a scenario file.
pub fn is_scenario(name: &str) -> bool {
    ENDINGS.iter().any(|ending| name.ends_with(&format!(".scenario.{ending}")))
}

/// The scenario files that a path means: the file itself, those beside a chart, or all below a directory.
pub fn scenario_files(path: &Path) -> Result<Vec<PathBuf>, TestError> {
    let found = if path.is_dir() {
        files_below(path, &is_scenario)
            .map_err(|source| TestError::Directory { path: path.to_owned(), source })?
    } else if !path.exists() || is_scenario(&file_name(path)) {
        vec![path.to_owned()]
    } else {
        let beside = |ending: &str| path.with_extension(format!("scenario.{ending}"));
        let generated = path.with_extension("generated.scenario.yaml");
        ENDINGS.map(beside).into_iter().chain([generated]).filter(|file| file.is_file()).collect()
    };
    if found.is_empty() {
        let place = if path.is_dir() { "below" } else { "beside" };
        return Err(TestError::NoScenarios { place, path: path.to_owned() });
    }
    Ok(found)
}

/// All files below `dir` whose name `wanted` accepts, sorted by path. Leaves out hidden directories, build output and
/// installed packages.
pub fn files_below(dir: &Path, wanted: &dyn Fn(&str) -> bool) -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    visit(dir, wanted, &mut found, 0)?;
    found.sort();
    Ok(found)
}

pub(crate) fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn visit(
    dir: &Path,
    wanted: &dyn Fn(&str) -> bool,
    found: &mut Vec<PathBuf>,
    depth: usize,
) -> std::io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let kind = entry.file_type()?;
        // A link to a directory is not followed, so that a loop of links ends; a link to a file is a file.
        if kind.is_dir() {
            if depth < DEPTH_MAX && is_project_directory(dir, &name) {
                visit(&entry.path(), wanted, found, depth + 1)?;
            }
        } else if wanted(&name) && entry.path().is_file() {
            found.push(entry.path());
        }
    }
    Ok(())
}

fn is_project_directory(parent: &Path, name: &str) -> bool {
    let state_of_rawko = name == "state" && parent.file_name().is_some_and(|parent| parent == ".rawko");
    let hidden = name.starts_with('.') && name != ".rawko";
    !hidden && !state_of_rawko && name != "node_modules" && name != "target"
}
