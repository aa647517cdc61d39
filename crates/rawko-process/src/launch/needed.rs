//! The directories that a program itself needs: where it is installed, and the package of a script that it is given.

use std::path::{Path, PathBuf};

use super::Launch;
use super::links;
use super::profile::Profile;

/// A directory with one of these is the top of a package.
const PACKAGES: [&str; 6] =
    ["package.json", "node_modules", "pyproject.toml", "setup.py", "Cargo.toml", "go.mod"];
/// Directories of programs, below the one in which they are installed.
const PROGRAMS: [&str; 3] = ["bin", "sbin", "shims"];
/// Directories that hold more than programs.
const SHARED: [&str; 3] = [".local", ".cargo", ".config"];
/// Beside a directory of programs: what they need. In a home directory nothing else is shown, because there it may be
/// anything: keys, notes, other projects.
const BESIDE: [&str; 11] = [
    "lib",
    "lib64",
    "libexec",
    "include",
    "share",
    "boot",
    "conf",
    "jmods",
    "packages",
    "pyvenv.cfg",
    "release",
];
/// How far above a script the top of its package can be.
const PACKAGE_DEPTH: usize = 4;

/// Files that a program of the settings names: they are needed, and the person has seen them.
pub(crate) fn of_launch(launch: &Launch, program: &Path) -> Vec<PathBuf> {
    let home = launch.confinement.home.as_deref();
    if !matches!(launch.profile, Profile::Program(_)) {
        return Vec::new();
    }
    // A link that agents can write does not widen the view.
    let written = launch.confinement.extra_write.iter().chain([&launch.confinement.root]);
    let written: Vec<PathBuf> = written.filter_map(|path| path.canonicalize().ok()).collect();
    let is_own = |path: &Path| !links::leads_through(&launch.cwd.join(path), &written);
    let program = [program.to_owned()]
        .into_iter()
        .filter(|path| path.is_absolute() && is_own(path) && is_own(&launch.program));
    // The file that a link leads to is installed elsewhere.
    let real = program.clone().filter_map(|path| path.canonicalize().ok());
    let programs = program.chain(real).filter_map(|file| Some(installation(file.parent()?, home))).flatten();
    let scripts = launch.args.iter().map(Path::new).filter(|path| path.is_absolute() && path.is_file());
    let scripts = scripts.filter(|path| is_own(path));
    programs.chain(scripts.filter_map(package)).collect()
}

/// What the programs of a directory need: the directory in which they are installed; in a home directory only parts of it.
pub(crate) fn installation(programs: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let is_programs = programs.file_name().is_some_and(|name| PROGRAMS.iter().any(|known| name == *known));
    let parent = programs.parent().filter(|parent| {
        let is_shared = parent.file_name().is_none_or(|name| SHARED.iter().any(|known| name == *known));
        is_programs && !is_shared
    });
    let Some(parent) = parent else { return vec![programs.to_owned()] };
    let is_in_home = home.is_some_and(|home| {
        let real = home.canonicalize().unwrap_or_else(|_| home.to_owned());
        parent.starts_with(home) || parent.starts_with(real)
    });
    if !is_in_home {
        return vec![parent.to_owned()];
    }
    let beside = BESIDE
        .iter()
        .map(|name| parent.join(name))
        .filter(|path| home.is_none_or(|home| path.parent() != Some(home)));
    beside.filter(|path| path.exists()).chain([programs.to_owned()]).collect()
}

/// The top of the package of a script: all of `node_modules`, or the directory with a manifest.
fn package(script: &Path) -> Option<PathBuf> {
    let real = script.canonicalize().ok()?;
    let modules =
        real.ancestors().filter(|above| above.file_name().is_some_and(|name| name == "node_modules"));
    if let Some(modules) = modules.last() {
        return Some(modules.to_owned());
    }
    let directory = real.parent()?;
    let has_manifest = |above: &&Path| PACKAGES.iter().any(|name| above.join(name).exists());
    let package = directory.ancestors().take(PACKAGE_DEPTH).find(has_manifest);
    Some(package.unwrap_or(directory).to_owned())
}

/// A path without `..`: on the way there may be directories that the program does not see. The last name stays, because
/// some programs look at the name by which they are called.
pub(crate) fn direct(path: &Path) -> PathBuf {
    let has_up = path.components().any(|part| part == std::path::Component::ParentDir);
    let real = path.parent().filter(|_| has_up).and_then(|parent| parent.canonicalize().ok());
    match (real, path.file_name()) {
        (Some(parent), Some(name)) => parent.join(name),
        _ => path.to_owned(),
    }
}

/// The same for an argument that is a file.
pub(crate) fn direct_argument(argument: &str) -> String {
    let path = Path::new(argument);
    let is_file = path.is_absolute() && path.exists();
    if is_file { direct(path).to_str().unwrap_or(argument).to_owned() } else { argument.to_owned() }
}
