//! Git directories of a project: where they are, and what in them git executes or follows. Whatever an agent can write there
//! is looked at, never obeyed: it does not decide what a program sees.

use std::fs;
use std::path::{Path, PathBuf};

/// In a git directory: what git executes, and what leads it to another directory.
pub(crate) const GIT_AUTHORITY: [&str; 4] = ["config", "config.worktree", "hooks", "commondir"];

/// Depth to which submodules are looked for.
const MODULES_DEPTH: usize = 4;
/// With more submodules than this, all of them are read-only.
const MODULES_MAX: usize = 500;

/// The git directory of a project, or the one that it shares with other worktrees. A `.git` file of a worktree names it;
/// one that does not lead to a git directory is not followed.
pub(crate) fn git_directories(project: &Path) -> Vec<PathBuf> {
    let own = project.join(".git");
    let Ok(metadata) = own.symlink_metadata() else { return Vec::new() };
    if metadata.is_dir() {
        return vec![own];
    }
    if metadata.is_symlink() {
        let is_inside =
            |real: &PathBuf| real.is_dir() && real.parent().is_some_and(|parent| parent.starts_with(project));
        return own.canonicalize().ok().filter(is_inside).into_iter().collect();
    }
    let Some(named) = named_directory(&own) else { return Vec::new() };
    // Git writes the way back; a file that came with a project cannot have made one elsewhere.
    let back = fs::read_to_string(named.join("gitdir")).unwrap_or_default();
    let is_worktree =
        named.join("HEAD").is_file() && Path::new(back.trim()).canonicalize().ok() == own.canonicalize().ok();
    // The layout is git's own. The file `commondir` says the same, and agents may have written it.
    let above = named.parent().filter(|above| above.file_name().is_some_and(|name| name == "worktrees"));
    match above.and_then(Path::parent) {
        Some(common) if is_worktree && common.join("objects").is_dir() => vec![common.to_owned()],
        Some(_) | None => Vec::new(),
    }
}

/// The directory that a `.git` file names.
fn named_directory(file: &Path) -> Option<PathBuf> {
    let text = fs::read_to_string(file).ok()?;
    file.parent()?.join(text.strip_prefix("gitdir:")?.trim()).canonicalize().ok()
}

/// The files in git directories of a project that git executes or follows.
pub(crate) fn authority(project: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for git in git_directories(project) {
        for directory in directories_below(&git) {
            found.extend(GIT_AUTHORITY.iter().map(|name| directory.join(name)));
        }
        let modules = git.join("modules");
        if found.len() > MODULES_MAX * GIT_AUTHORITY.len() {
            found.retain(|path| !path.starts_with(&modules));
            found.push(modules);
        }
        for worktree in directories(&git.join("worktrees")) {
            found.extend(["config.worktree", "hooks"].map(|name| worktree.join(name)));
            // A worktree inside the project is one that agents make and remove.
            let place = fs::read_to_string(worktree.join("gitdir")).unwrap_or_default();
            let place = Path::new(place.trim());
            if !place.parent().is_some_and(|tree| tree != project && tree.starts_with(project)) {
                found.extend(["commondir", "gitdir"].map(|name| worktree.join(name)));
            }
        }
    }
    found
}

/// A git directory, and those of its submodules: `git status` in the project obeys their configuration.
pub(crate) fn directories_below(git: &Path) -> Vec<PathBuf> {
    let mut found = vec![git.to_owned()];
    modules(&git.join("modules"), MODULES_DEPTH, &mut found);
    for worktree in directories(&git.join("worktrees")) {
        modules(&worktree.join("modules"), MODULES_DEPTH, &mut found);
    }
    found
}

fn modules(directory: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    let Some(depth) = depth.checked_sub(1) else { return };
    for path in directories(directory) {
        if path.join("HEAD").is_file() {
            modules(&path.join("modules"), depth, found);
            found.push(path);
        } else {
            modules(&path, depth, found);
        }
    }
}

/// The directories in a directory. A link is none: it leads anywhere.
fn directories(directory: &Path) -> Vec<PathBuf> {
    if !directory.symlink_metadata().is_ok_and(|found| found.is_dir()) {
        return Vec::new();
    }
    let entries = fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok);
    entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .collect()
}
