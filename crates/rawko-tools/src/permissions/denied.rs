//! Files that rules deny, for the sandbox of commands: a program can open a file without naming it on its command line.

use std::path::PathBuf;

use super::Permissions;
use super::judge::rules;
use super::paths::{PathPattern, Roots};
use super::rule::RuleTarget;
use crate::builtin::Builtin;

/// Limit of files that patterns are compared with.
const FILES_MAX: usize = 20_000;

/// A name that no pattern names.
const ANY_NAME: &str = "\u{1}any";

/// Existing files and directories that a command must not read, or must not write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DeniedFiles {
    pub(crate) hidden: Vec<PathBuf>,
    pub(crate) protected: Vec<PathBuf>,
}

/// Returns the files that `deny` rules about paths match. Rules that ask count, too: a command cannot ask for each file.
pub(crate) fn denied_files(all: &[Permissions], roots: &Roots) -> DeniedFiles {
    let lists = all.iter().flat_map(|set| rules(&set.deny).into_iter().chain(rules(&set.ask)));
    let patterns: Vec<(Builtin, PathPattern)> = lists
        .filter_map(|rule| match rule.target {
            RuleTarget::Path(tool, pattern) => Some((tool, pattern)),
            _ => None,
        })
        .collect();
    let mut denied = DeniedFiles::default();
    if patterns.is_empty() {
        return denied;
    }
    let mut note = |tool: Builtin, path: PathBuf| {
        let list = if tool == Builtin::Read { &mut denied.hidden } else { &mut denied.protected };
        if !list.iter().any(|known| path.starts_with(known)) {
            list.push(path);
        }
    };
    for (tool, pattern) in &patterns {
        // Outside the project only what the pattern names itself.
        if let Some(path) = pattern.literal(roots).filter(|path| path.exists() && *path != roots.project) {
            note(*tool, path);
        }
    }
    let mut walk = ignore::WalkBuilder::new(&roots.project);
    walk.standard_filters(false).follow_links(false);
    for entry in walk.build().filter_map(Result::ok).take(FILES_MAX) {
        // A directory is denied as a whole if anything in it would be: nothing can be renamed into or out of it.
        let anything = entry.file_type().filter(|kind| kind.is_dir() && entry.depth() > 0);
        let anything = anything.map(|_| entry.path().join(ANY_NAME));
        let is_denied = |pattern: &PathPattern| {
            pattern.matches(entry.path(), roots)
                || anything.as_ref().is_some_and(|path| pattern.matches(path, roots))
        };
        for (tool, _) in patterns.iter().filter(|(_, pattern)| is_denied(pattern)) {
            note(*tool, entry.path().to_owned());
        }
    }
    denied
}
