//! Finding files below a directory, in one order on every machine, without the places no chart lives in.

use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// Deeper than this is a mistake (or a bind mount of something onto itself), not a project.
const DEPTH_MAX: usize = 64;

/// All files below `dir` whose name `wanted` accepts, sorted by path.
pub(crate) fn files_below(dir: &Path, wanted: &dyn Fn(&str) -> bool) -> Result<Vec<PathBuf>, Failure> {
    let mut found = Vec::new();
    visit(dir, wanted, &mut found, 0)
        .map_err(|error| Failure::Usage(format!("cannot read the directory `{}`: {error}", dir.display())))?;
    found.sort();
    Ok(found)
}

/// Whether a name ends like the text formats we read.
pub(crate) fn is_yaml_or_json(name: &str) -> bool {
    [".yaml", ".yml", ".json"].iter().any(|ending| name.ends_with(ending))
}

/// Whether a name is that of a scenario file.
pub(crate) fn is_scenario(name: &str) -> bool {
    [".scenario.yaml", ".scenario.yml", ".scenario.json"].iter().any(|ending| name.ends_with(ending))
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
