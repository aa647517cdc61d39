//! Rules of `.gitignore` and `.ignore`, for walks over a project. Read here and not by the walk: agents can make such a file a
//! pipe, or a link to an endless device, and a walk that opens it never ends.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use ignore::{DirEntry, Match, WalkBuilder};

/// The rules of one directory.
#[derive(Debug)]
struct Rules {
    /// `.ignore`.
    own: Gitignore,
    /// `.gitignore`.
    git: Gitignore,
}

/// The rules of a directory and of those above it, the nearest first, without empty ones.
type RuleChain = Arc<Vec<Arc<Rules>>>;

/// The rules of all directories of a walk, read once.
#[derive(Debug)]
pub struct IgnoreRules {
    /// Directories above are not looked at.
    top: PathBuf,
    has_own: bool,
    /// The root of a copy, and the project it is a copy of.
    copy: Option<(PathBuf, PathBuf)>,
    known: Mutex<HashMap<PathBuf, RuleChain>>,
}

impl IgnoreRules {
    /// Switches the rules of a walk off, and returns them for its filter. `has_own`: `.ignore` counts as well as
    /// `.gitignore`; `has_parents`: so do the rules of directories above the root.
    pub fn of_walk(walk: &mut WalkBuilder, root: &Path, has_own: bool, has_parents: bool) -> Self {
        walk.git_ignore(false).ignore(false);
        let top = if has_parents { PathBuf::new() } else { root.to_owned() };
        Self { top, has_own, copy: None, known: Mutex::default() }
    }

    /// Applies the rules of directories above a project to a copy of it, which is elsewhere.
    #[must_use]
    pub fn of_copy(mut self, project: &Path) -> Self {
        self.copy = Some((self.top.clone(), project.to_owned()));
        self
    }

    /// Returns true for an entry that a rule of a directory above it leaves out.
    pub fn is_ignored(&self, entry: &DirEntry) -> bool {
        entry.depth() > 0
            && self.leaves_out(entry.path(), entry.file_type().is_some_and(|kind| kind.is_dir()))
    }

    fn leaves_out(&self, path: &Path, is_directory: bool) -> bool {
        let above = self.chain_of(path.ancestors().skip(1).take_while(|above| above.starts_with(&self.top)));
        let original = self.copy.as_ref().and_then(|(copy, project)| {
            let original = project.join(path.strip_prefix(copy).ok()?);
            Some((original, self.chain_of(project.ancestors().skip(1))))
        });
        let around =
            original.iter().flat_map(|(original, chain)| chain.iter().map(move |rules| (&**original, rules)));
        let mut of_git = Match::None;
        for (path, rules) in above.iter().map(|rules| (path, rules)).chain(around) {
            match rules.own.matched(path, is_directory) {
                Match::None => {}
                found => return found.is_ignore(),
            }
            if of_git.is_none() {
                of_git = rules.git.matched(path, is_directory).map(|_| ());
            }
        }
        of_git.is_ignore()
    }

    /// Returns the rules of directories, each above the one before. One look-up for each path: agents can nest directories a
    /// thousand deep.
    fn chain_of<'d>(&self, directories: impl Iterator<Item = &'d Path>) -> RuleChain {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut chain, mut unknown) = (RuleChain::default(), Vec::new());
        for directory in directories {
            if let Some(found) = known.get(directory) {
                chain = Arc::clone(found);
                break;
            }
            unknown.push(directory);
        }
        for directory in unknown.into_iter().rev() {
            let own = if self.has_own { read(directory, ".ignore") } else { Gitignore::empty() };
            let rules = Rules { own, git: read(directory, ".gitignore") };
            if !rules.own.is_empty() || !rules.git.is_empty() {
                let nearest = std::iter::once(Arc::new(rules));
                chain = Arc::new(nearest.chain(chain.iter().cloned()).collect());
            }
            known.insert(directory.to_owned(), Arc::clone(&chain));
        }
        chain
    }
}

fn read(directory: &Path, name: &str) -> Gitignore {
    let Ok(bytes) = rawko_process::read_regular(&directory.join(name)) else { return Gitignore::empty() };
    let text = String::from_utf8_lossy(&bytes);
    let mut rules = GitignoreBuilder::new(directory);
    for line in text.trim_start_matches('\u{feff}').lines() {
        // A line that is no pattern leaves nothing out.
        let _ = rules.add_line(None, line);
    }
    rules.build().unwrap_or_else(|_| Gitignore::empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walked(root: &Path, prepare: impl Fn(&mut WalkBuilder)) -> Vec<String> {
        let mut walk = WalkBuilder::new(root);
        walk.require_git(false).hidden(false).sort_by_file_path(Path::cmp);
        prepare(&mut walk);
        let names = walk
            .build()
            .flatten()
            .map(|entry| entry.path().strip_prefix(root).unwrap().display().to_string());
        names.collect()
    }

    fn by_rules(root: &Path) -> Vec<String> {
        walked(root, |walk| {
            let rules = IgnoreRules::of_walk(walk, root, true, true);
            walk.filter_entry(move |entry| !rules.is_ignored(entry));
        })
    }

    /// The same files as the walk finds with rules of its own.
    #[test]
    fn the_rules_are_those_of_git() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        for (name, text) in [
            (".gitignore", "\u{feff}*.log\n/build\nout/\n!keep.log\n# comment\ndeep/**/x\nsp\\ ace\n"),
            (".ignore", "own.txt\n!forced.log\n"),
            ("a.log", ""),
            ("keep.log", ""),
            ("forced.log", ""),
            ("own.txt", ""),
            ("sp ace", ""),
            ("build/a", ""),
            ("src/build/a", ""),
            ("src/.gitignore", "!a.log\nlocal\n"),
            ("src/a.log", ""),
            ("src/b.log", ""),
            ("src/local/x", ""),
            ("out/a", ""),
            ("src/out/a", ""),
            ("deep/1/2/x", ""),
            ("deep/1/2/y", ""),
            ("nested/.git/HEAD", ""),
            ("nested/a.log", ""),
            ("nested/.gitignore", "z\n"),
            ("nested/z", ""),
        ] {
            std::fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            std::fs::write(root.join(name), text).unwrap();
        }
        let found = by_rules(root);
        assert_eq!(found, walked(root, |_| {}));
        assert!(found.contains(&"src/a.log".to_owned()) && !found.contains(&"src/b.log".to_owned()));
        // Rules of the directories around it.
        for name in ["src", "nested", "deep/1"] {
            assert_eq!(by_rules(&root.join(name)), walked(&root.join(name), |_| {}), "{name}");
        }
    }

    #[test]
    fn a_pipe_or_an_endless_file_has_no_rules() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        std::fs::write(root.join("a"), "").unwrap();
        let mode = rustix::fs::Mode::RWXU;
        rustix::fs::mknodat(rustix::fs::CWD, root.join(".ignore"), rustix::fs::FileType::Fifo, mode, 0)
            .unwrap();
        std::os::unix::fs::symlink("/dev/zero", root.join(".gitignore")).unwrap();
        assert_eq!(by_rules(root), ["", ".gitignore", ".ignore", "a"]);
    }
}
