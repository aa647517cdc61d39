//! Files of authority that a project does not have yet. The kernel can protect what exists, not a name; so what a program
//! created under such a name is renamed when its call ends.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::any_path;
use super::authority;
use super::content::{Content, LinkTarget};
use super::git;
use super::git_staged::StagedFiles;
use super::git_state::{self, Inside};
use super::guard::RestoreGuard;
use super::kept::KeptFiles;
use super::names::{self, Survey};

/// The ending of files that were set aside.
pub(super) const REFUSED: &str = ".refused";

/// The state before a call.
#[derive(Debug, Serialize, Deserialize)]
pub struct AuthorityWatch {
    #[serde(with = "any_path")]
    project: PathBuf,
    #[serde(with = "any_path::list")]
    absent: Vec<PathBuf>,
    /// Links: a mount cannot cover one.
    #[serde(with = "any_path::keys")]
    links: BTreeMap<PathBuf, LinkTarget>,
    /// What git obeys in repositories inside the project, which programs make and remove.
    #[serde(with = "any_path::keys")]
    obeyed: BTreeMap<PathBuf, Content>,
    /// Links, pipes and sockets in git directories.
    #[serde(with = "any_path::keys")]
    special: BTreeMap<PathBuf, Content>,
    /// Files of authority at any depth, with device and inode.
    #[serde(with = "any_path::keys")]
    known: BTreeMap<PathBuf, (u64, u64)>,
    /// Copies of them, if no mount protects them.
    kept: KeptFiles,
    /// True if no mount protects them.
    has_copies: bool,
    /// Their entries in git's index.
    staged: StagedFiles,
    /// True if the program cannot write to the project.
    is_of_nothing: bool,
    #[serde(skip)]
    guard: Option<RestoreGuard>,
}

impl AuthorityWatch {
    /// Records which files of authority are absent, the targets of those that are links, and what git obeys.
    pub fn of_project(project: &Path) -> Self {
        Self::surveyed(project, &Survey::of_real(project))
    }

    /// The same with copies of the files, for a program that no mount keeps from them.
    pub(crate) fn with_copies(project: &Path) -> Self {
        Self::surveyed_with_copies(project, &Survey::of_real(project))
    }

    /// Like [`Self::of_project`], with what a search found just now.
    pub(crate) fn surveyed(project: &Path, survey: &Survey) -> Self {
        Self::new(project, survey, false)
    }

    /// Like [`Self::with_copies`], with what a search found just now.
    pub(crate) fn surveyed_with_copies(project: &Path, survey: &Survey) -> Self {
        Self::new(project, survey, true)
    }

    /// For a program that cannot write to the project: there is nothing to restore.
    pub(crate) fn of_nothing(project: &Path) -> Self {
        Self {
            project: project.to_owned(),
            absent: Vec::new(),
            links: BTreeMap::new(),
            obeyed: BTreeMap::new(),
            special: BTreeMap::new(),
            known: BTreeMap::new(),
            kept: KeptFiles::default(),
            has_copies: false,
            staged: StagedFiles::default(),
            is_of_nothing: true,
            guard: None,
        }
    }

    /// For a program that is kept from the files by mounts: a person may change them meanwhile.
    pub(crate) fn drop_copies(&mut self) {
        self.kept = KeptFiles::default();
        self.has_copies = false;
    }

    /// Returns true for a program that cannot write to the project.
    pub(super) fn is_of_nothing(&self) -> bool {
        self.is_of_nothing
    }

    /// Returns the state of now, without copies.
    pub(super) fn renewed(&self) -> Self {
        Self { has_copies: self.has_copies, ..Self::of_project(&self.project) }
    }

    /// Copies the files anew if no mount protects them.
    pub(super) fn take_copies(&mut self) {
        if self.has_copies {
            self.kept = KeptFiles::of(&self.project, &Survey::of(&self.project));
        }
    }

    /// Forgets the copies between two calls: a person may edit the files.
    pub(super) fn forget_copies(&mut self) {
        self.kept = KeptFiles::default();
    }

    fn new(project: &Path, survey: &Survey, has_copies: bool) -> Self {
        let project = project.canonicalize().unwrap_or_else(|_| project.to_owned());
        let mut paths: Vec<PathBuf> = authority::top_names().map(|name| project.join(name)).collect();
        paths.extend(names::at_top(&project));
        for git in git::git_directories(&project).iter().flat_map(|git| git::directories_below(git)) {
            paths.extend(git::GIT_AUTHORITY.map(|name| git.join(name)));
        }
        let of_git = project.join(".git");
        let links = paths.iter().chain([&of_git]);
        let links =
            links.filter_map(|path| Some((path.clone(), LinkTarget(fs::read_link(path).ok()?)))).collect();
        paths.extend(Some(of_git).filter(|git| git.symlink_metadata().is_err()));
        paths.retain(|path| path.symlink_metadata().is_err());
        let git = GitFiles::of(&project, survey);
        let contents = |paths: Vec<PathBuf>| {
            paths.into_iter().map(|path| (path.clone(), Content::of(&path))).collect::<BTreeMap<_, _>>()
        };
        let obeyed = git.obeyed.into_iter().map(|(_, path)| path).chain(git.astray).collect();
        Self {
            obeyed: contents(obeyed),
            special: contents(git.special),
            known: survey.identities(),
            has_copies,
            staged: StagedFiles::of(&project),
            kept: if has_copies { KeptFiles::of(&project, survey) } else { KeptFiles::default() },
            project,
            absent: paths,
            links,
            is_of_nothing: false,
            guard: None,
        }
    }

    /// Sees to it that the state is restored also if this process is killed, or drops this before [`Self::restore`].
    pub fn guard(&mut self) {
        if !self.is_of_nothing {
            self.guard = RestoreGuard::start(self);
        }
    }

    /// Renames files that were created since, and restores links. Returns a line for each.
    pub fn restore(&mut self) -> Vec<String> {
        let lines = self.restored();
        if let Some(guard) = self.guard.take() {
            guard.release();
        }
        lines
    }

    pub(crate) fn restored(&mut self) -> Vec<String> {
        let mut lines = self.restored_unless(|_, _| false);
        lines.extend(self.reported());
        lines
    }

    /// Reports what git's index has now. After the rest: it compares with the files beside it.
    fn reported(&mut self) -> Vec<String> {
        if self.is_of_nothing { Vec::new() } else { self.staged.report(&self.project) }
    }

    /// The same between two calls, when a person edits files too. Many editors save by putting a new file in the place of
    /// the old one, which is gone then; programs cannot do that: they can move such a file, not remove it.
    pub(super) fn restored_between(&mut self) -> Vec<String> {
        let mut saved = BTreeMap::new();
        let mut lines = self.restored_unless(|path, survey| {
            let now = survey.identities();
            let is_gone = |former: &(u64, u64)| !now.values().any(|identity| identity == former);
            let is_saved = self.known.get(path).is_some_and(is_gone);
            saved.extend(now.get_key_value(path).filter(|_| is_saved).map(|(path, it)| (path.clone(), *it)));
            is_saved
        });
        self.known.extend(saved);
        lines.extend(self.reported());
        lines
    }

    fn restored_unless(&self, mut is_saved: impl FnMut(&Path, &Survey) -> bool) -> Vec<String> {
        if self.is_of_nothing {
            return Vec::new();
        }
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
        lines.extend(self.kept.put_back(&self.project, set_aside));
        // A link that was put back is a new file.
        let survey = Survey::of(&self.project);
        let known = self.known.values().copied().collect();
        let created = survey.created(&self.project, &known).into_iter();
        let created = created.filter(|path| !self.links.contains_key(path) && !self.kept.has(path));
        let created = created.filter(|path| !is_saved(path, &survey));
        lines.extend(created.map(|path| set_aside(&path)));
        let git = GitFiles::of(&self.project, &survey);
        for path in git.special.iter().filter(|path| !self.links.contains_key(*path)) {
            let before = self.special.get(path);
            if before == Some(&Content::of(path)) {
                continue;
            }
            lines.push(self.remove(path));
            if let Some(Err(error)) = before.map(|content| content.put(path)) {
                lines.push(format!("{} is lost: {error}", path.display()));
            }
        }
        let suspicious = git
            .obeyed
            .into_iter()
            .filter(|(directory, path)| git_state::is_suspicious(directory, path, &self.project))
            .map(|(_, path)| path);
        for path in suspicious.chain(git.astray).filter(|path| !self.links.contains_key(path)) {
            let before = self.obeyed.get(&path);
            if path.symlink_metadata().is_err()
                || before.is_some_and(|before| before.allows(&path, &Content::of(&path)))
            {
                continue;
            }
            lines.push(set_aside(&path));
            if let Some(Err(error)) = before.map(|content| content.put(&path)) {
                lines.push(format!("{} is lost: {error}", path.display()));
            }
        }
        lines
    }

    /// Removes a link, a pipe or a socket: nothing but its target is lost.
    fn remove(&self, path: &Path) -> String {
        let name = path.strip_prefix(&self.project).unwrap_or(path).display().to_string();
        let target = fs::read_link(path).map(|target| format!(" to `{}`", target.display()));
        let kind = if target.is_ok() { "a link" } else { "a pipe or a socket" };
        match fs::remove_file(path) {
            Ok(()) => format!(
                "`{name}`, {kind}{}, was removed: git would write through it later, without a sandbox",
                target.unwrap_or_default()
            ),
            Err(error) => format!("`{name}` is {kind} of an agent and could not be removed: {error}"),
        }
    }
}

/// The files of all git directories of a project, and of repositories inside it.
struct GitFiles {
    /// What git obeys, each with its git directory.
    obeyed: Vec<(PathBuf, PathBuf)>,
    /// Links, pipes and sockets.
    special: Vec<PathBuf>,
    /// Files `.git` that do not lead where git would have led them.
    astray: Vec<PathBuf>,
}

impl GitFiles {
    fn of(project: &Path, survey: &Survey) -> Self {
        let own = git::git_directories(project).into_iter();
        let submodules = git::submodules(project).into_iter().map(|repository| repository.join(".git"));
        let nested = survey.repositories.iter().cloned().chain(submodules);
        let (directories, files): (Vec<PathBuf>, Vec<PathBuf>) =
            nested.partition(|git| git.is_dir() && !git.is_symlink());
        let (mut obeyed, mut special) = (Vec::new(), Vec::new());
        for inside in own.chain(directories).map(|git| Inside::of(&git)) {
            special.extend(inside.special);
            for directory in inside.directories {
                obeyed
                    .extend(git_state::obeyed(&directory).into_iter().map(|file| (directory.clone(), file)));
            }
        }
        let mut astray: Vec<PathBuf> =
            files.into_iter().filter(|file| git::is_led_astray(file, project)).collect();
        for all in [&mut special, &mut astray] {
            all.sort();
            all.dedup();
        }
        obeyed.sort();
        obeyed.dedup();
        Self { obeyed, special, astray }
    }
}

fn set_aside(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let aside = (0..).map(|number| match number {
        0 => path.with_file_name(format!("{name}{REFUSED}")),
        _ => path.with_file_name(format!("{name}{REFUSED}-{number}")),
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
    use std::os::unix::fs::PermissionsExt;

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
    /// Where nothing confines a program: content, permissions and directories are as before.
    #[test]
    fn what_a_call_changed_is_put_back() {
        let project = tempfile::tempdir().unwrap();
        let root = project.path().canonicalize().unwrap();
        let outside = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            fs::write(root.join(name), text).unwrap();
        };
        let names = [".rawko/config.yaml", "a/AGENTS.md", ".claude/agents/x.md", ".husky/pre-commit"];
        names.iter().for_each(|name| write(name, "mine"));
        let mode = |mode: u32| fs::Permissions::from_mode(mode);
        fs::set_permissions(root.join(".husky/pre-commit"), mode(0o755)).unwrap();
        let mut watch = AuthorityWatch::with_copies(&root);
        assert_eq!(watch.restore(), Vec::<String>::new());
        write(".rawko/config.yaml", "evil");
        write(".rawko/agents/new.md", "evil");
        fs::remove_file(root.join("a/AGENTS.md")).unwrap();
        fs::rename(root.join(".claude"), root.join("moved")).unwrap();
        std::os::unix::fs::symlink(outside.path(), root.join(".claude")).unwrap();
        fs::set_permissions(root.join(".husky/pre-commit"), mode(0o644)).unwrap();
        watch.restore();
        for name in names {
            assert_eq!(fs::read_to_string(root.join(name)).unwrap(), "mine", "{name}");
        }
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
        assert!(!root.join(".rawko/agents/new.md").exists());
        let hook = root.join(".husky/pre-commit").metadata().unwrap();
        assert_eq!(hook.permissions().mode() & 0o777, 0o755);
    }
}
