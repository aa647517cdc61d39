//! Files of authority that a project does not have yet. The kernel can protect what exists, not a name; so what a program
//! created under such a name is renamed when its call ends.

use std::fs;
use std::path::{Path, PathBuf};

use super::authority::AUTHORITY;
use super::git::{GIT_AUTHORITY, directories_below, git_directories};

/// The state before a call.
#[derive(Debug)]
pub struct AuthorityWatch {
    absent: Vec<PathBuf>,
    /// Links: a mount cannot cover one.
    links: Vec<(PathBuf, PathBuf)>,
}

impl AuthorityWatch {
    /// Records which files of authority are absent, and the targets of those that are links.
    pub fn of_project(project: &Path) -> Self {
        let mut paths: Vec<PathBuf> = AUTHORITY.iter().map(|name| project.join(name)).collect();
        // A project without a git directory may get one.
        for git in git_directories(project).iter().flat_map(|git| directories_below(git)) {
            paths.extend(GIT_AUTHORITY.map(|name| git.join(name)));
        }
        let links = paths.iter().filter_map(|path| Some((path.clone(), fs::read_link(path).ok()?))).collect();
        paths.retain(|path| path.symlink_metadata().is_err());
        Self { absent: paths, links }
    }

    /// Renames files that were created since, and restores links. Returns a line for each.
    pub fn restore(&self) -> Vec<String> {
        let created = self.absent.iter().filter(|path| path.symlink_metadata().is_ok());
        let replaced =
            self.links.iter().filter(|(path, target)| fs::read_link(path).ok().as_ref() != Some(target));
        let mut lines: Vec<String> = created.map(|path| set_aside(path)).collect();
        for (path, target) in replaced {
            if path.symlink_metadata().is_ok() {
                lines.push(set_aside(path));
            }
            if let Err(error) = std::os::unix::fs::symlink(target, path) {
                lines.push(format!("the link {} is lost: {error}", path.display()));
            }
        }
        lines
    }
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
            "`{name}` decides what is started and allowed, and is not created by agents: renamed to `{}`",
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
        let watch = AuthorityWatch::of_project(project.path());
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
