//! What a program can leave in a git directory for the git of the person: configuration, hooks, unfinished work with commands
//! in it, and files that lead git out of the project.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Component, Path, PathBuf};

use super::{git_config, names, regular};

/// Directories of a git directory that are looked at. As many as in a project.
const DIRECTORIES_MAX: usize = 1_000_000;
/// Files of one git directory that lead git elsewhere or have it start something; hooks are separate.
const FILES: [&str; 9] = [
    "config",
    "config.worktree",
    "commondir",
    "info/attributes",
    "objects/info/alternates",
    "rebase-merge/git-rebase-todo",
    "rebase-merge/strategy",
    "sequencer/todo",
    "MERGE_RR",
];
const HOOKS: &str = "hooks";

/// The content of a git directory, as far as git could be led by it.
#[derive(Default)]
pub(crate) struct Inside {
    /// The git directory itself, those of its submodules and worktrees, and any other in it.
    pub(crate) directories: Vec<PathBuf>,
    /// Links, pipes and sockets. Git makes none of them but one socket; it writes through them.
    pub(crate) special: Vec<PathBuf>,
}

impl Inside {
    pub(crate) fn of(git: &Path) -> Self {
        let mut inside = Self { directories: vec![git.to_owned()], special: Vec::new() };
        let (mut open, mut left) = (vec![git.to_owned()], DIRECTORIES_MAX);
        while let Some(directory) = open.pop() {
            let listing = names::listing(&directory);
            inside.special.extend(listing.special.iter().map(|name| directory.join(name)));
            if listing.is_git && directory != git {
                inside.directories.push(directory.clone());
            }
            let below = listing.directories.iter().take(left);
            left -= below.len();
            open.extend(below.map(|name| directory.join(name)));
        }
        inside.special.retain(|path| !is_old_head(path) && !is_monitor(path));
        inside
    }
}

/// Returns true for the socket of git's own daemon, which the person's git may start at any time.
fn is_monitor(path: &Path) -> bool {
    path.ends_with("fsmonitor--daemon.ipc")
        && path.symlink_metadata().is_ok_and(|found| found.file_type().is_socket())
}

/// Returns true for the link by which git named the current branch in former times.
fn is_old_head(path: &Path) -> bool {
    let is_plain = |target: PathBuf| {
        target.starts_with("refs/heads")
            && target.components().all(|part| matches!(part, Component::Normal(_)))
    };
    path.file_name().is_some_and(|name| name == "HEAD") && fs::read_link(path).is_ok_and(is_plain)
}

/// The files of a git directory that git obeys.
pub(crate) fn obeyed(git: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = FILES.iter().map(|name| git.join(name)).collect();
    let hooks = git.join(HOOKS);
    if hooks.is_symlink() {
        found.push(hooks);
    } else {
        let entries =
            fs::read_dir(hooks).into_iter().flatten().filter_map(Result::ok).map(|entry| entry.path());
        found.extend(entries.filter(|hook| hook.extension().is_none_or(|ending| ending != "sample")));
    }
    found.retain(|path| path.symlink_metadata().is_ok());
    found
}

/// Returns true if a file that [`obeyed`] returned makes git start something, or leads it out of the project.
pub(crate) fn is_suspicious(git: &Path, file: &Path, project: &Path) -> bool {
    let Some(name) = file.strip_prefix(git).ok().and_then(Path::to_str) else { return true };
    // Another name for the same file would be a way to write it later: git writes some files in place.
    let is_plain = file.symlink_metadata().is_ok_and(|found| found.is_file() && found.nlink() == 1);
    let Some(text) = regular::read(file).filter(|_| is_plain) else { return true };
    let text = String::from_utf8_lossy(&text);
    match name {
        "config" | "config.worktree" => {
            let leads_out = |tree: &str| !is_inside(git, tree, project);
            !git_config::is_harmless(&text) || git_config::worktrees(&text).iter().any(|tree| leads_out(tree))
        }
        // A worktree of this very repository.
        "commondir" => {
            let is_worktree = git.parent().is_some_and(|above| above.ends_with("worktrees"));
            !(is_worktree && text.trim() == "../..")
        }
        "objects/info/alternates" => {
            let objects = git.join("objects");
            let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
            lines.into_iter().any(|line| !is_inside(&objects, line, project))
        }
        "rebase-merge/git-rebase-todo" | "sequencer/todo" => !commands(&text).is_empty(),
        // It is a part of the name of a program, which a directory of the project could complete.
        "rebase-merge/strategy" => text.contains('/'),
        "MERGE_RR" => {
            let paths = text.split('\0').filter_map(|entry| entry.split_once('\t'));
            paths.into_iter().any(|(_, path)| !is_inside(project, path, project))
        }
        _ => true,
    }
}

/// Returns the lines of a list of git's steps that run a command.
pub(crate) fn commands(steps: &str) -> Vec<&str> {
    let is_command = |line: &&str| matches!(line.split_whitespace().next(), Some("exec" | "x"));
    steps.split(['\n', '\r']).filter(is_command).collect()
}

/// Returns true if a path, relative to a directory, stays in the project.
fn is_inside(base: &Path, path: &str, project: &Path) -> bool {
    let path = path.trim().trim_matches('"');
    let mut plain = PathBuf::new();
    for part in base.join(path).components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            Component::Normal(_) | Component::RootDir | Component::Prefix(_) => plain.push(part),
        }
    }
    let real = base.join(path).canonicalize();
    !path.starts_with('~') && plain.starts_with(project) && real.is_ok_and(|real| real.starts_with(project))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_git_obeys() {
        let directory = tempfile::tempdir().unwrap();
        let project = directory.path().canonicalize().unwrap().join("project");
        let git = project.join("near/.git");
        for name in ["hooks", "info", "objects/info", "rebase-merge", "sequencer", "worktrees/w"] {
            fs::create_dir_all(git.join(name)).unwrap();
        }
        fs::create_dir_all(project.join("tree")).unwrap();
        for (name, text, expected) in [
            ("config", "[core]\n\tbare = false\n", false),
            ("config", "[core]\n\tfsmonitor = x\n", true),
            ("config", "[core]\n\tworktree = ../../tree\n", false),
            ("config", "[core]\n\tworktree = ../../..\n", true),
            ("config", "[core]\n\tworktree = ~\n", true),
            ("config", "[core]\n\tworktree = \"/etc\"\n", true),
            ("hooks/pre-commit", "", true),
            ("commondir", "../..", true),
            ("worktrees/w/commondir", "../..", false),
            ("worktrees/w/commondir", "../../../..", true),
            ("info/attributes", "* filter=x", true),
            ("objects/info/alternates", "../../../tree", false),
            ("objects/info/alternates", "/var/lib/x", true),
            ("rebase-merge/git-rebase-todo", "pick 1234567 x y\nlabel exec\n", false),
            ("rebase-merge/git-rebase-todo", "pick 1234567\n  x touch y\n", true),
            ("rebase-merge/git-rebase-todo", "pick 1234567\nexec\ttouch y\n", true),
            ("sequencer/todo", "pick 1\r\nexec y\n", true),
            ("rebase-merge/strategy", "ort\n", false),
            ("rebase-merge/strategy", "a/b\n", true),
            ("MERGE_RR", "0123\ttree\0", false),
            ("MERGE_RR", "0123\t../../../.ssh/id\0", true),
        ] {
            let file = git.join(name);
            fs::write(&file, text).unwrap();
            let owner = if name.starts_with("worktrees") { git.join("worktrees/w") } else { git.clone() };
            assert!(obeyed(&owner).contains(&file), "{name}");
            assert_eq!(is_suspicious(&owner, &file, &project), expected, "{name}: {text}");
            fs::remove_file(&file).unwrap();
        }
        fs::write(git.join("config"), "[core]\n\tbare = false\n").unwrap();
        fs::hard_link(git.join("config"), git.join("COMMIT_EDITMSG")).unwrap();
        assert!(is_suspicious(&git, &git.join("config"), &project));
    }

    #[test]
    fn links_at_any_place() {
        let directory = tempfile::tempdir().unwrap();
        let git = directory.path().join(".git");
        fs::create_dir_all(git.join("objects/ab")).unwrap();
        fs::create_dir_all(git.join("a/b/c/d/e/f")).unwrap();
        let link = |target: &str, name: &str| std::os::unix::fs::symlink(target, git.join(name)).unwrap();
        link("refs/heads/main", "HEAD");
        let _monitor = std::os::unix::net::UnixListener::bind(git.join("fsmonitor--daemon.ipc")).unwrap();
        assert_eq!(Inside::of(&git).special, Vec::<PathBuf>::new());
        let names = ["FETCH_HEAD", "a/b/c/d/e/f/x", "objects/ab/cd"];
        names.iter().for_each(|name| link("/dev/null", name));
        fs::remove_file(git.join("HEAD")).unwrap();
        link("refs/heads/../../config", "HEAD");
        let mut found = Inside::of(&git).special;
        found.sort();
        assert_eq!(
            found,
            ["FETCH_HEAD", "HEAD", "a/b/c/d/e/f/x", "objects/ab/cd"].map(|name| git.join(name))
        );
    }
}
