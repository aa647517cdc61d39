//! Files that agents changed in worktrees that are not merged yet, so that two agents that change the same file are
//! reported long before their merges conflict. On disk, because a host may be killed in between.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;

use serde::Serialize;

use super::{Worktree, Worktrees};

/// A file that agents changed in several worktrees.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Overlap {
    /// Its path in the project.
    pub path: String,
    /// The names of the worktrees.
    pub worktrees: Vec<String>,
}

impl Worktrees {
    /// Notes files that were changed in a worktree. Returns those that were changed in others, too.
    pub fn touch(&self, name: &str, paths: &[&str]) -> io::Result<Vec<Overlap>> {
        let mut own = self.touched(name);
        let before = own.len();
        own.extend(paths.iter().map(|path| (*path).to_owned()));
        if own.len() > before {
            rawko_settings::make_private(&self.state)?;
            let (file, text) = (self.file(name, "touched"), serde_json::to_vec(&own)?);
            let draft = file.with_extension(format!("draft-{}", std::process::id()));
            fs::write(&draft, text)?;
            fs::rename(draft, file)?;
        }
        let is_meant = |overlap: &Overlap| {
            paths.contains(&overlap.path.as_str()) && overlap.worktrees.iter().any(|tree| tree == name)
        };
        Ok(self.overlaps(|_| true)?.into_iter().filter(is_meant).collect())
    }

    /// Returns the files that agents changed in several of these worktrees.
    pub fn overlaps(&self, is_meant: impl Fn(&Worktree) -> bool) -> io::Result<Vec<Overlap>> {
        let mut by_path: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for tree in self.all()?.into_iter().filter(|tree| is_meant(tree)) {
            for path in self.touched(&tree.name) {
                by_path.entry(path).or_default().push(tree.name.clone());
            }
        }
        let several = by_path.into_iter().filter(|(_, worktrees)| worktrees.len() > 1);
        Ok(several.map(|(path, worktrees)| Overlap { path, worktrees }).collect())
    }

    fn touched(&self, name: &str) -> BTreeSet<String> {
        let text = fs::read(self.file(name, "touched")).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }
}
