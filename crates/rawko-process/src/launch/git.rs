//! Git directories of a project: where they are, and what in them git executes or follows. Files that an agent can write there
//! are looked at, never obeyed: they do not decide what a program sees.

use std::fs;
use std::path::{Path, PathBuf};

use super::git_config::NamedKind;
use super::{git_config, git_index, names, regular};

/// In a git directory: what git executes, and what leads it to another directory.
pub(crate) const GIT_AUTHORITY: [&str; 5] =
    ["config", "config.worktree", "hooks", "commondir", "info/attributes"];

/// Depth to which submodules are looked for. Their names are paths.
const MODULES_DEPTH: usize = 16;
/// Files of configuration that are read because others include them.
const CONFIGURATIONS_MAX: usize = 64;
/// With more submodules than this, all of them are read-only.
const MODULES_MAX: usize = 500;

/// End of the path of the folder in which rawko keeps copies of projects, one folder for each project.
const COPIES: &str = "rawko/worktrees";

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
    let back = regular::text(&named.join("gitdir")).unwrap_or_default();
    let is_worktree =
        named.join("HEAD").is_file() && Path::new(back.trim()).canonicalize().ok() == own.canonicalize().ok();
    // The layout is git's own. The file `commondir` has the same, and agents may have written it.
    let above = named.parent().filter(|above| above.file_name().is_some_and(|name| name == "worktrees"));
    match above.and_then(Path::parent) {
        Some(common) if is_worktree && common.join("objects").is_dir() => vec![common.to_owned()],
        Some(_) | None => Vec::new(),
    }
}

/// What a copy of a project does with the repository that it shares with the project.
pub(crate) struct SharedRepository {
    /// Objects, its own place among the worktrees, and branches of copies.
    pub(crate) written: Vec<PathBuf>,
    /// References: git fails to change others. What it writes elsewhere, such as locks, is gone with the call.
    pub(crate) kept: Vec<PathBuf>,
}

/// Returns the repository of a copy that rawko made; `None` for a project, which owns its repository.
pub(crate) fn shared_repository(git: &Path, project: &Path) -> Option<SharedRepository> {
    let own = place_of_copy(git, project)?;
    // What does not exist cannot be a place of its own. Without the file, git would pack a branch into one that is gone.
    let _ = fs::OpenOptions::new().write(true).create_new(true).open(git.join("packed-refs"));
    let written = ["objects", "refs/heads/rawko", "logs/refs/heads/rawko"].into_iter();
    let written = written.filter_map(|name| real_directory(git, name)).chain([own]).collect();
    let kept = ["refs", "logs", "worktrees", "packed-refs"].map(|name| git.join(name)).into();
    Some(SharedRepository { written, kept })
}

/// Returns the place of a copy that rawko made among the worktrees of a repository.
fn place_of_copy(git: &Path, project: &Path) -> Option<PathBuf> {
    let is_copy = project.parent().and_then(Path::parent).is_some_and(|above| above.ends_with(COPIES));
    let own =
        named_directory(&project.join(".git")).filter(|own| own.parent() == Some(&git.join("worktrees")));
    own.filter(|own| is_copy && !git.starts_with(project) && own.is_dir())
}

/// Returns a directory below another one, created if it is missing; `None` if a link or a file is in the way.
fn real_directory(above: &Path, name: &str) -> Option<PathBuf> {
    let mut at = above.to_owned();
    for part in Path::new(name) {
        at.push(part);
        match at.symlink_metadata() {
            Ok(found) if found.is_dir() => {}
            Ok(_) => return None,
            Err(_) => fs::create_dir(&at).ok()?,
        }
    }
    Some(at)
}

/// The directory that a `.git` file names.
fn named_directory(file: &Path) -> Option<PathBuf> {
    let text = regular::text(file)?;
    file.parent()?.join(text.strip_prefix("gitdir:")?.trim()).canonicalize().ok()
}

/// The files of a project that git executes or follows, in its git directories and beside them.
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
        found.extend(worktrees_of_others(&git, project));
        found.extend(named_files(&git, project).into_iter().map(|(path, _)| path));
    }
    for repository in submodules(project).into_iter().take(MODULES_MAX) {
        let own = repository.join(".git");
        if own.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            found.extend(GIT_AUTHORITY.iter().map(|name| own.join(name)));
        } else if !is_worktree_of(&own, project) {
            found.push(own);
        }
    }
    found
}

/// What leads from a worktree to its repository and back. A worktree inside the project is one that agents make and remove.
fn worktrees_of_others(git: &Path, project: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for worktree in directories(&git.join("worktrees")) {
        found.extend(["config.worktree", "hooks"].map(|name| worktree.join(name)));
        let place = regular::text(&worktree.join("gitdir")).unwrap_or_default();
        let tree = Path::new(place.trim()).parent();
        if !tree.is_some_and(|tree| tree != project && tree.starts_with(project)) {
            found.extend(["commondir", "gitdir"].map(|name| worktree.join(name)));
        }
    }
    found
}

/// Files of the project that the configuration names, also in further configuration: programs, directories of hooks.
fn named_files(git: &Path, project: &Path) -> Vec<(PathBuf, NamedKind)> {
    let mut found = Vec::new();
    let mut open: Vec<PathBuf> = ["config", "config.worktree"].map(|name| git.join(name)).into();
    let mut left = CONFIGURATIONS_MAX;
    while let Some(file) = open.pop() {
        left -= 1;
        if left == 0 {
            break;
        }
        let beside = file.parent().unwrap_or(git).to_owned();
        for (name, kind) in git_config::named(&regular::text(&file).unwrap_or_default()) {
            // A program is named from the working tree, further configuration from the file.
            let places =
                [project.join(&name), beside.join(&name)].into_iter().filter_map(|at| at.canonicalize().ok());
            let places = places.filter(|at| at != project && at.starts_with(project) && !git.starts_with(at));
            for place in places.map(|at| (at, kind)) {
                if !found.contains(&place) {
                    open.extend(Some(place.0.clone()).filter(|_| kind == NamedKind::Configuration));
                    found.push(place);
                }
            }
        }
    }
    found
}

/// The files of a project that git's configuration names: further configuration, directories of hooks, and programs. Their
/// content decides what git starts.
pub fn files_named_by_git(project: &Path) -> Vec<PathBuf> {
    let Ok(project) = project.canonicalize() else { return Vec::new() };
    let named = git_directories(&project).into_iter().flat_map(|git| named_files(&git, &project));
    // A word in a command may happen to be a directory.
    named.filter(|(path, kind)| *kind == NamedKind::Hooks || path.is_file()).map(|(path, _)| path).collect()
}

/// Directories that the index lists as submodules, and that have a `.git`. The index of an agent may name anything.
pub(crate) fn submodules(project: &Path) -> Vec<PathBuf> {
    let directories = git_directories(project);
    let listed = directories.iter().flat_map(|git| git_index::submodules(&git.join("index")));
    let has_git = |path: &PathBuf| path.join(".git").symlink_metadata().is_ok();
    let is_direct = |path: &PathBuf| path.canonicalize().is_ok_and(|real| real == *path);
    listed.map(|path| project.join(path)).filter(|path| has_git(path) && is_direct(path)).collect()
}

/// The git directories of the submodules of a project: `git status` in the project obeys them.
pub fn submodule_directories(project: &Path) -> Vec<PathBuf> {
    let own = git_directories(project);
    let below = own.iter().flat_map(|git| directories_below(git).split_off(1));
    let nested = submodules(project).into_iter().map(|submodule| submodule.join(".git"));
    let nested = nested.filter(|git| git.symlink_metadata().is_ok_and(|found| found.is_dir()));
    below.chain(nested).collect()
}

/// The files that git's index lists, relative to the project: git can print them from its own storage.
pub fn tracked_files(project: &Path) -> Vec<PathBuf> {
    indexes(project).iter().flat_map(|index| git_index::files(index)).collect()
}

/// The indexes of a project.
pub(crate) fn indexes(project: &Path) -> Vec<PathBuf> {
    let Ok(project) = project.canonicalize() else { return Vec::new() };
    let own = project.join(".git");
    // The index of a worktree is not in the directory that it shares.
    let named = named_directory(&own).filter(|_| own.is_file());
    let directories = named.into_iter().chain(git_directories(&project));
    directories.map(|git| git.join("index")).collect()
}

/// The indexes that programs can write: a copy has its own, and not that of the project.
pub(crate) fn written_indexes(project: &Path) -> Vec<PathBuf> {
    let Ok(project) = project.canonicalize() else { return Vec::new() };
    let shared = git_directories(&project).into_iter().filter(|git| place_of_copy(git, &project).is_some());
    let shared: Vec<PathBuf> = shared.map(|git| git.join("index")).collect();
    indexes(&project).into_iter().filter(|index| !shared.contains(index)).collect()
}

/// Returns true if a `.git` file is that of a worktree of the project's own repository.
pub(crate) fn is_worktree_of(file: &Path, project: &Path) -> bool {
    let Some(named) = named_directory(file).filter(|_| !file.is_symlink()) else { return false };
    git_directories(project).iter().filter_map(|git| git.canonicalize().ok()).any(|git| {
        let is_in = named.parent() == Some(&git.join("worktrees"));
        let common = regular::text(&named.join("commondir")).unwrap_or_default();
        is_in && common.trim() == "../.."
    })
}

/// The `.git` of a repository inside the project that does not lead where git itself would have led it.
pub(crate) fn is_led_astray(file: &Path, project: &Path) -> bool {
    let Ok(metadata) = file.symlink_metadata() else { return false };
    if metadata.is_dir() {
        return false;
    }
    let named = named_directory(file).filter(|_| metadata.is_file());
    let modules = git_directories(project)
        .into_iter()
        .filter_map(|git| git.canonicalize().ok())
        .flat_map(|git| directories_below(&git).split_off(1));
    !is_worktree_of(file, project)
        && !named.is_some_and(|named| modules.into_iter().any(|module| module == named))
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
    names::listing(directory).directories.iter().map(|name| directory.join(name)).collect()
}
