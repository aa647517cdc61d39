//! Files of authority that a project does not have yet. The kernel can protect what exists, not a name; so what a program
//! created under such a name is renamed when its call ends.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::any_path;
use super::authority;
use super::git;
use super::guard::Guard;
use super::names;
use super::regular;

/// The state before a call.
#[derive(Debug, Serialize, Deserialize)]
pub struct AuthorityWatch {
    #[serde(with = "any_path")]
    project: PathBuf,
    #[serde(with = "any_path::list")]
    absent: Vec<PathBuf>,
    /// Links: a mount cannot cover one.
    #[serde(with = "any_path::keys")]
    links: BTreeMap<PathBuf, Target>,
    /// What git obeys in repositories inside the project, which programs make and remove.
    #[serde(with = "any_path::keys")]
    obeyed: BTreeMap<PathBuf, Content>,
    /// Files of authority at any depth, by device and inode.
    known: BTreeSet<(u64, u64)>,
    #[serde(skip)]
    guard: Option<Guard>,
}

/// Where a link leads.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Target(#[serde(with = "any_path")] PathBuf);

impl AuthorityWatch {
    /// Records which files of authority are absent, the targets of those that are links, and what git obeys.
    pub fn of_project(project: &Path) -> Self {
        let project = project.canonicalize().unwrap_or_else(|_| project.to_owned());
        let mut paths: Vec<PathBuf> = authority::top_names().map(|name| project.join(name)).collect();
        for git in git::git_directories(&project).iter().flat_map(|git| git::directories_below(git)) {
            paths.extend(git::GIT_AUTHORITY.map(|name| git.join(name)));
        }
        let of_git = project.join(".git");
        let links = paths.iter().chain([&of_git]);
        let links =
            links.filter_map(|path| Some((path.clone(), Target(fs::read_link(path).ok()?)))).collect();
        paths.extend(Some(of_git).filter(|git| git.symlink_metadata().is_err()));
        paths.retain(|path| path.symlink_metadata().is_err());
        let obeyed = obeyed(&project).into_iter().map(|path| (path.clone(), Content::of(&path)));
        let known = names::known(&project);
        Self { obeyed: obeyed.collect(), project, absent: paths, links, known, guard: None }
    }

    /// Sees to it that the state is restored also if this process is killed, or drops this before [`Self::restore`].
    pub fn guard(&mut self) {
        self.guard = Guard::start(self);
    }

    /// Renames files that were created since, and restores links. Returns a line for each.
    pub fn restore(&mut self) -> Vec<String> {
        let lines = self.restored();
        if let Some(guard) = self.guard.take() {
            guard.release();
        }
        lines
    }

    pub(crate) fn restored(&self) -> Vec<String> {
        // A repository that was made since is welcome, unless it makes git start something.
        let is_new_repository =
            |path: &Path| path == self.project.join(".git") && path.is_dir() && !path.is_symlink();
        let created = self.absent.iter().filter(|path| path.symlink_metadata().is_ok());
        let replaced =
            self.links.iter().filter(|(path, target)| fs::read_link(path).ok().as_ref() != Some(&target.0));
        let mut lines: Vec<String> =
            created.filter(|path| !is_new_repository(path)).map(|path| set_aside(path)).collect();
        for (path, target) in replaced {
            if path.symlink_metadata().is_ok() {
                lines.push(set_aside(path));
            }
            if let Err(error) = std::os::unix::fs::symlink(&target.0, path) {
                lines.push(format!("the link {} is lost: {error}", path.display()));
            }
        }
        // A link that was put back is a new file.
        let created = names::created(&self.project, &self.known).into_iter();
        lines.extend(created.filter(|path| !self.links.contains_key(path)).map(|path| set_aside(&path)));
        for path in obeyed(&self.project).into_iter().filter(|path| !self.links.contains_key(path)) {
            let before = self.obeyed.get(&path);
            if before == Some(&Content::of(&path)) {
                continue;
            }
            lines.push(set_aside(&path));
            if let Some(Err(error)) = before.map(|content| content.put(&path)) {
                lines.push(format!("{} is lost: {error}", path.display()));
            }
        }
        lines
    }
}

/// The content of a path.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Content {
    File(Vec<u8>),
    Link(Target),
    /// A directory, or nothing that can be read.
    Other,
}

impl Content {
    fn of(path: &Path) -> Self {
        match (fs::read_link(path), regular::read(path)) {
            (Ok(target), _) => Content::Link(Target(target)),
            (Err(_), Some(bytes)) => Content::File(bytes),
            (Err(_), None) => Content::Other,
        }
    }

    fn put(&self, path: &Path) -> std::io::Result<()> {
        match self {
            Content::File(bytes) => fs::write(path, bytes),
            Content::Link(target) => std::os::unix::fs::symlink(&target.0, path),
            Content::Other => Ok(()),
        }
    }
}

/// What makes git start something, in every git directory of a project and of repositories inside it.
fn obeyed(project: &Path) -> Vec<PathBuf> {
    let own = git::git_directories(project).into_iter();
    let nested: Vec<PathBuf> =
        git::nested(project).iter().map(|repository| repository.join(".git")).collect();
    let (directories, files): (Vec<PathBuf>, Vec<PathBuf>) =
        nested.into_iter().partition(|git| git.is_dir() && !git.is_symlink());
    let directories = own.chain(directories).flat_map(|git| git::directories_below(&git));
    let mut all: Vec<PathBuf> = directories.flat_map(|git| git::suspicious(&git)).collect();
    all.extend(files.into_iter().filter(|file| git::is_led_astray(file, project)));
    all.sort();
    all.dedup();
    all
}

fn set_aside(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let aside = (0..).map(|number| match number {
        0 => path.with_file_name(format!("{name}.refused")),
        _ => path.with_file_name(format!("{name}.refused-{number}")),
    });
    let aside = aside.into_iter().find(|aside| aside.symlink_metadata().is_err()).unwrap_or_default();
    match fs::rename(path, &aside) {
        Ok(()) => format!(
            "`{name}` controls which programs start and what they may do; agents may not create it: renamed to `{}`",
            aside.file_name().unwrap_or_default().to_string_lossy()
        ),
        Err(error) => format!("`{name}` was created by an agent and could not be renamed: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_call_created_is_set_aside_and_what_was_there_stays() {
        let project = tempfile::tempdir().unwrap();
        let at = |name: &str| project.path().join(name);
        fs::write(at("AGENTS.md"), "mine").unwrap();
        std::os::unix::fs::symlink("AGENTS.md", at("CLAUDE.md")).unwrap();
        let mut watch = AuthorityWatch::of_project(project.path());
        assert_eq!(watch.restore(), Vec::<String>::new());
        fs::write(at(".mcp.json"), "{}").unwrap();
        fs::remove_file(at("CLAUDE.md")).unwrap();
        fs::write(at("CLAUDE.md"), "evil").unwrap();
        let lines = watch.restore();
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(!at(".mcp.json").exists() && at(".mcp.json.refused").exists());
        assert_eq!(fs::read_to_string(at("CLAUDE.md")).unwrap(), "mine");
        assert_eq!(fs::read_to_string(at("CLAUDE.md.refused")).unwrap(), "evil");
    }
}
