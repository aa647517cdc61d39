//! Compiled code of installed Python modules, for checks. A check must not read compiled code of the project, so Python
//! gets a directory for compiled code that has none of it. Without any, each start compiles the standard library anew:
//! a fifth of a second for `unittest`, more for pytest. So the directory holds links to the compiled code of modules that
//! no agent can write. Separate from `run.rs`, because it knows how Python is installed and how it names such files.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rawko_process::Confinement;
use rawko_settings::Environment;

/// Links to the compiled code of one library; more of it is compiled at each start.
const LINKS_MAX: usize = 1_500;
/// Parts of the standard library that no check imports.
const SKIPPED: [&str; 7] = [COMPILED, "test", "tests", "idlelib", "lib2to3", "turtledemo", "ensurepip"];
/// Modules that do not come with Python.
const INSTALLED: [&str; 2] = ["site-packages", "dist-packages"];
/// Programs that may start Python although no word of their command names it.
const RUNNERS: [&str; 8] = ["make", "just", "tox", "nox", "uv", "poetry", "pdm", "hatch"];
/// Where compiled code lies beside its source.
const COMPILED: &str = "__pycache__";

/// Returns the directory for `PYTHONPYCACHEPREFIX`, which is created if it does not exist. `None` if there is no installed
/// Python, or if agents could write it.
pub(super) fn directory(
    command: &[String],
    environment: &Environment,
    confinement: &Confinement,
) -> Option<PathBuf> {
    let is_runner = command.iter().any(|word| RUNNERS.contains(&word.as_str()));
    if !is_runner && !command.iter().any(|word| word.contains("py")) {
        return None;
    }
    let written: Vec<PathBuf> = std::iter::once(&confinement.root)
        .chain(&confinement.extra_write)
        .filter_map(|path| path.canonicalize().ok())
        .collect();
    let is_written = |path: &Path| written.iter().any(|written| path.starts_with(written));
    let mut libraries = libraries(environment.get("PATH")?);
    libraries.retain(|path| !is_written(path));
    let folder = cache(environment)?.join("rawko/python");
    fs::create_dir_all(&folder).ok()?;
    let folder = folder.canonicalize().ok().filter(|folder| !is_written(folder))?;
    let directory = folder.join(name(&libraries)?);
    if !directory.is_dir() {
        create(&directory, &libraries).ok()?;
    }
    Some(directory)
}

fn cache(environment: &Environment) -> Option<PathBuf> {
    let whole = |name: &str| environment.get(name).map(PathBuf::from).filter(|path| path.is_absolute());
    whole("XDG_CACHE_HOME").or_else(|| whole("HOME").map(|home| home.join(".cache")))
}

/// Returns the libraries of the interpreters in `PATH`: `lib/python3.11` beside `bin`, and that of the version which
/// pyenv's shims start.
fn libraries(path: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in std::env::split_paths(path).filter_map(|folder| folder.canonicalize().ok()) {
        let Some(above) = folder.parent() else { continue };
        let mut installations = vec![above.to_owned()];
        if folder.ends_with("shims") {
            let chosen = fs::read_to_string(above.join("version")).unwrap_or_default();
            let is_chosen = |path: &PathBuf| chosen.lines().any(|name| path.ends_with(name.trim()));
            installations.extend(entries(&above.join("versions")).into_iter().filter(is_chosen));
        }
        let libraries = installations.iter().flat_map(|above| entries(&above.join("lib")));
        let is_python = |path: &PathBuf| {
            path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"python3"))
        };
        found.extend(libraries.filter(is_python).filter_map(|path| path.canonicalize().ok()));
    }
    found.sort();
    found.dedup();
    found
}

/// Returns the directories in a directory, without links; modules that do not come with Python last.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let all = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_folder = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    let mut found: Vec<PathBuf> = all.filter(is_folder).map(|entry| entry.path()).collect();
    found.sort_by_key(|path| (INSTALLED.iter().any(|name| path.ends_with(name)), path.clone()));
    found
}

/// Returns a name that changes when modules are installed or removed; `None` without a library.
fn name(libraries: &[PathBuf]) -> Option<String> {
    let mut hasher = blake3::Hasher::new();
    for library in libraries {
        for folder in ["", COMPILED, "site-packages", "dist-packages"].map(|part| library.join(part)) {
            let Ok(found) = fs::metadata(&folder) else { continue };
            hasher.update(folder.as_os_str().as_encoded_bytes());
            hasher.update(&found.mtime().to_le_bytes());
            hasher.update(&found.mtime_nsec().to_le_bytes());
        }
    }
    (!libraries.is_empty()).then(|| hasher.finalize().to_hex()[..16].to_owned())
}

/// Creates the directory under another name first: another process may create it at the same time, or be killed.
fn create(directory: &Path, libraries: &[PathBuf]) -> io::Result<()> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let unfinished = directory.with_extension(format!("{}-{number}", std::process::id()));
    let linked = libraries.iter().try_for_each(|library| link(library, &unfinished, &mut { LINKS_MAX }));
    let placed = linked.and_then(|()| match fs::rename(&unfinished, directory) {
        Err(_) if directory.is_dir() => Ok(()),
        other => other,
    });
    let _ = fs::remove_dir_all(&unfinished);
    placed
}

/// Links to the compiled code of a directory and those in it. Python looks for that of `/lib/a.py` at
/// `<directory>/lib/a.cpython-311.pyc`, and compares it with its source as always.
fn link(folder: &Path, directory: &Path, left: &mut usize) -> io::Result<()> {
    let compiled = folder.join(COMPILED);
    let mut inner = entries(folder);
    inner.retain(|path| !SKIPPED.iter().any(|skipped| path.ends_with(skipped)));
    let place = directory.join(folder.strip_prefix("/").unwrap_or(folder));
    if *left == 0 || inner.is_empty() && !compiled.is_dir() {
        return Ok(());
    }
    // One link is enough for a package without packages in it.
    if inner.is_empty() {
        fs::create_dir_all(place.parent().unwrap_or(directory))?;
        *left -= 1;
        return symlink(compiled, place);
    }
    fs::create_dir_all(&place)?;
    for entry in fs::read_dir(compiled).into_iter().flatten().flatten() {
        // Python reads those only with `-O`.
        if *left > 0 && !entry.file_name().as_encoded_bytes().windows(5).any(|part| part == b".opt-") {
            symlink(entry.path(), place.join(entry.file_name()))?;
            *left -= 1;
        }
    }
    inner.iter().try_for_each(|inner| link(inner, directory, left))
}
