//! Contents of past states: from the vault, or from the commit that was the latest at that entry.

use std::io;

use super::record::Checkpoints;
use super::{HistoryEntry, NetChanges, PathChange, PathKind, PathState};

impl Checkpoints {
    /// Returns the contents of paths as they were after an entry; `None` for directories and contents that are lost.
    pub async fn contents(&self, wanted: &[(String, PathState, u64)]) -> io::Result<Vec<Option<Vec<u8>>>> {
        let entries = self.entries()?;
        let (mut found, mut asked) = (Vec::new(), Vec::new());
        for (at, (name, mark, number)) in wanted.iter().enumerate() {
            let has_content = matches!(mark.kind, PathKind::File | PathKind::Link);
            let body = if has_content { self.vault.get(&mark.hash) } else { None };
            if body.is_none()
                && has_content
                && let Some(commit) = commit_at(&entries, *number)
            {
                asked.push((at, (commit.to_owned(), name.clone(), mark.hash.clone())));
            }
            found.push(body);
        }
        if let Some(git) = self.git.as_ref().filter(|_| !asked.is_empty()) {
            let (places, requests): (Vec<usize>, Vec<_>) = asked.into_iter().unzip();
            for (at, body) in places.into_iter().zip(git.contents(&requests).await?) {
                found[at] = body;
            }
        }
        Ok(found)
    }

    /// Returns both sides of changes.
    pub async fn sides(&self, net: &NetChanges) -> io::Result<Vec<(Option<Vec<u8>>, Option<Vec<u8>>)>> {
        let none = || PathState { kind: PathKind::Directory, mode: 0, size: 0, hash: String::new() };
        let of = |change: &PathChange, mark: &Option<PathState>, at: u64| {
            (change.path.clone(), mark.clone().unwrap_or_else(none), at)
        };
        let mut wanted = Vec::new();
        for (change, (first, last)) in net.changes.iter().zip(&net.between) {
            wanted.push(of(change, &change.before, first.saturating_sub(1)));
            wanted.push(of(change, &change.after, *last));
        }
        let mut bodies = self.contents(&wanted).await?.into_iter();
        let mut sides = Vec::new();
        while let (Some(old), Some(new)) = (bodies.next(), bodies.next()) {
            sides.push((old, new));
        }
        Ok(sides)
    }

    /// Copies contents of past states to the vault, where they can be applied from. Returns the paths whose contents are
    /// lost.
    pub(super) async fn fetch(&self, wanted: &[(String, PathState, u64)]) -> io::Result<Vec<String>> {
        let mut lost = Vec::new();
        for ((name, mark, _), body) in wanted.iter().zip(self.contents(wanted).await?) {
            match body {
                Some(body) => self.vault.put(&mark.hash, &body)?,
                None if mark.kind == PathKind::Directory => {}
                None => lost.push(name.clone()),
            }
        }
        Ok(lost)
    }
}

/// The latest commit at an entry: its tree has every content that is not in the vault.
fn commit_at(entries: &[HistoryEntry], number: u64) -> Option<&str> {
    entries.iter().rev().filter(|entry| entry.number <= number).find_map(|entry| entry.commit.as_deref())
}
