//! Links on the way to a path. Resolved step by step, because one that an agent can write must not decide about mounts.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// As many as the kernel follows.
const LINKS_MAX: usize = 40;

/// Returns true if a path leads through a link that lies in one of these directories to a place outside of all of them.
pub(crate) fn leads_through(path: &Path, directories: &[PathBuf]) -> bool {
    let (mut at, mut left) = (PathBuf::from("/"), names(path));
    let (mut is_theirs, mut links) = (false, 0);
    while let Some(name) = left.pop_front() {
        if name == ".." {
            at.pop();
            continue;
        }
        let next = at.join(name);
        let Ok(target) = fs::read_link(&next) else {
            at = next;
            continue;
        };
        links += 1;
        if links > LINKS_MAX {
            return true;
        }
        is_theirs |= directories.iter().any(|directory| at.starts_with(directory));
        if target.is_absolute() {
            at = PathBuf::from("/");
        }
        let rest = std::mem::take(&mut left);
        left = names(&target);
        left.extend(rest);
    }
    is_theirs && !directories.iter().any(|directory| at.starts_with(directory))
}

fn names(path: &Path) -> VecDeque<OsString> {
    let name = |part: Component<'_>| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::Prefix(_) | Component::RootDir | Component::CurDir => None,
    };
    path.components().filter_map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn only_a_link_of_theirs_that_leads_out_counts() {
        let directory = tempfile::tempdir().unwrap();
        let at = directory.path().canonicalize().unwrap();
        for name in ["theirs/in", "mine/bin"] {
            fs::create_dir_all(at.join(name)).unwrap();
        }
        symlink(at.join("mine"), at.join("theirs/out")).unwrap();
        symlink("../../mine", at.join("theirs/in/up")).unwrap();
        symlink("in", at.join("theirs/within")).unwrap();
        symlink("theirs/out", at.join("by-me")).unwrap();
        symlink("theirs/in", at.join("straight")).unwrap();
        symlink("loop", at.join("theirs/loop")).unwrap();
        for (path, expected) in [
            ("theirs/in", false),
            ("theirs/within", false),
            ("theirs/out/bin", true),
            ("theirs/in/up", true),
            ("theirs/within/up/bin", true),
            ("by-me/bin", true),
            ("straight", false),
            ("theirs/loop", true),
            ("mine/bin", false),
            ("theirs/missing", false),
        ] {
            assert_eq!(leads_through(&at.join(path), &[at.join("theirs")]), expected, "{path}");
        }
    }
}
