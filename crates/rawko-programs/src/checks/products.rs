//! Test programs that were built since the last run of the checks. A build takes a product for current by its time, so a
//! program that an agent wrote in its place would run instead of the tests. Without it, the build makes it anew. Separate
//! from `stamps`, which is about sources.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::base::failing;
use super::definition::ProjectCheck;
use super::places::places;
use super::report::CheckResult;
use super::settings_of;
use crate::checkpoints::Root;

/// The folder of the products of cargo and Maven.
const TARGET: &str = "target";
/// A larger folder is not searched.
const PRODUCTS_MAX: usize = 100_000;
/// The file whose time is that of the last run.
const MARK: &str = "checked";

/// Removes test programs that were written since the last run of the checks, or since `begun` if there was none. `state`:
/// the folder of the project in the user's state directory. Returns a failing result for each that cannot be removed.
pub fn remove_products(
    root: &Path,
    checks: &[ProjectCheck],
    state: &Path,
    begun: SystemTime,
) -> Vec<CheckResult> {
    let mut left = Vec::new();
    let last = fs::metadata(state.join(MARK)).and_then(|about| about.modified()).ok();
    let since = last.map_or(begun, |last| last.max(begun));
    let Ok(inside) = Root::open(root) else { return left };
    for check in checks {
        let text = settings_of::whole_text(root, check).to_lowercase();
        let has = |word: &str| text.split(|letter: char| !letter.is_alphanumeric()).any(|part| part == word);
        let mut found = Vec::new();
        let places = places(root, check).into_iter().map(|place| place.folder);
        for folder in places.chain([PathBuf::new()]).collect::<BTreeSet<_>>() {
            let folder = folder.join(TARGET);
            let folder = folder.strip_prefix(".").unwrap_or(&folder);
            if has("cargo") {
                found.extend(programs(root, folder));
            }
            if has("mvn") || has("mvnw") {
                collect(root, &folder.join("test-classes"), &mut found, |name| name.ends_with(".class"));
            }
        }
        for path in found {
            let touched = root.join(&path).symlink_metadata().map(|about| touched(&about));
            if touched.is_ok_and(|touched| touched > since) {
                let place = inside.without_links(&path).and_then(|path| inside.parent(&path));
                let removed = match place {
                    Ok(place) => fs::remove_file(place.path()),
                    // A person's link to a place for builds, from before the task.
                    Err(_) if is_old_link(root, &path, begun) => fs::remove_file(root.join(&path)),
                    Err(error) => Err(error),
                };
                if let Err(error) = removed.or_else(|error| match error.kind() {
                    io::ErrorKind::NotFound => Ok(()),
                    _ => Err(error),
                }) {
                    let path = path.display().to_string();
                    let why = format!("{path} may differ from the sources, and cannot be removed: {error}");
                    left.push(failing(&path, &why));
                }
            }
        }
    }
    left
}

/// Returns true if the folder of products of this path is a link that was there at the beginning.
fn is_old_link(root: &Path, path: &Path, begun: SystemTime) -> bool {
    let target = path.ancestors().find(|above| above.ends_with(TARGET));
    let about = target.and_then(|target| root.join(target).symlink_metadata().ok());
    about.is_some_and(|about| about.is_symlink() && touched(&about) <= begun)
}

/// Notes that the checks have run: what they built is theirs.
pub fn keep_products(state: &Path) {
    let _ = fs::create_dir_all(state).and_then(|()| fs::write(state.join(MARK), ""));
}

/// The time of the last touch, which no program can set.
fn touched(about: &fs::Metadata) -> SystemTime {
    let seconds = Duration::from_secs(u64::try_from(about.ctime()).unwrap_or(0));
    let nanos = Duration::from_nanos(u64::try_from(about.ctime_nsec()).unwrap_or(0));
    SystemTime::UNIX_EPOCH + seconds + nanos
}

/// Returns the programs that cargo built: `target/debug/deps/app-0123`, `target/TRIPLE/debug/deps/app-0123`.
fn programs(root: &Path, target: &Path) -> Vec<PathBuf> {
    let folders = |path: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(root.join(path)).into_iter().flatten().flatten();
        let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        folders.map(|entry| path.join(entry.file_name())).collect()
    };
    let profiles = folders(target);
    let others = profiles.iter().flat_map(|profile| folders(profile));
    let mut found = Vec::new();
    for profile in profiles.iter().cloned().chain(others) {
        // A program has no ending.
        collect_here(root, &profile.join("deps"), &mut found, |name| !name.contains('.'));
    }
    found
}

fn collect_here(root: &Path, folder: &Path, found: &mut Vec<PathBuf>, is_it: impl Fn(&str) -> bool) {
    let is_link = root.join(folder).symlink_metadata().map_or(true, |about| !about.is_dir());
    if is_link {
        return;
    }
    for entry in fs::read_dir(root.join(folder)).into_iter().flatten().flatten().take(PRODUCTS_MAX) {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_program =
            entry.metadata().is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0);
        if is_it(&name) && (is_program || name.ends_with(".class")) {
            found.push(folder.join(entry.file_name()));
        }
    }
}

fn collect(root: &Path, folder: &Path, found: &mut Vec<PathBuf>, is_it: impl Fn(&str) -> bool + Copy) {
    if found.len() > PRODUCTS_MAX {
        return;
    }
    collect_here(root, folder, found, is_it);
    for entry in fs::read_dir(root.join(folder)).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            collect(root, &folder.join(entry.file_name()), found, is_it);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::detect;

    #[test]
    fn programs_that_were_written_since_the_last_run_are_removed() {
        let (project, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (root, before) = (project.path(), SystemTime::now() - Duration::from_secs(60));
        fs::write(root.join("Cargo.toml"), "").unwrap();
        let deps = root.join("target/debug/deps");
        fs::create_dir_all(&deps).unwrap();
        let program = deps.join("app-0123");
        let write = || {
            for name in ["app-0123", "app-0123.d", "libapp-0123.rlib"] {
                fs::write(deps.join(name), "x").unwrap();
                fs::set_permissions(deps.join(name), fs::Permissions::from_mode(0o755)).unwrap();
            }
        };
        let remove = |begun| remove_products(root, &detect(root), state.path(), begun);
        write();
        remove(SystemTime::now() + Duration::from_secs(60));
        assert!(program.exists(), "it was there before the task");
        remove(before);
        assert!(
            !program.exists() && deps.join("app-0123.d").exists() && deps.join("libapp-0123.rlib").exists()
        );
        write();
        keep_products(state.path());
        let mark = fs::File::open(state.path().join(MARK)).unwrap();
        mark.set_modified(SystemTime::now() + Duration::from_secs(1)).unwrap();
        remove(before);
        assert!(program.exists(), "the checks built it");
    }

    #[test]
    fn a_new_link_to_products_elsewhere_fails_the_check() {
        let (project, state, elsewhere) =
            (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (root, hour) = (project.path(), Duration::from_secs(60 * 60));
        fs::write(root.join("Cargo.toml"), "").unwrap();
        let program = elsewhere.path().join("debug/deps/app-0123");
        fs::create_dir_all(program.parent().unwrap()).unwrap();
        fs::write(&program, "x").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), root.join(TARGET)).unwrap();
        let left = remove_products(root, &detect(root), state.path(), SystemTime::now() - hour);
        assert!(!left.is_empty() && left.iter().all(|result| !result.ok) && program.exists());
        let path = Path::new("target/debug/deps/app-0123");
        assert!(is_old_link(root, path, SystemTime::now() + hour), "a person's link");
    }
}
