//! All changes since a snapshot as one patch that `git apply` and `patch -p1` accept. Separate from the diffs of a result,
//! which are cut: a patch has every line or names the file that it leaves out.

use std::path::Path;

use similar::TextDiff;

use super::{ChangeStatus, FileChange, FolderSnapshot};
use crate::checkpoints::{quoted, text_inside};

/// Changes as text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patch {
    /// The diffs of all files.
    pub text: String,
    /// Paths of the files in it.
    pub files: Vec<String>,
    /// Changed files without text: large or binary ones, and links.
    pub left_out: Vec<String>,
}

impl FolderSnapshot {
    /// Returns the difference between the snapshot and the project now, whole.
    pub fn patch(&self, root: &Path) -> Patch {
        let mut patch = Patch::default();
        for change in self.changes(root) {
            match self.part(root, &change) {
                Some(part) => {
                    patch.text.push_str(&part);
                    patch.files.push(change.path);
                }
                None => patch.left_out.push(change.path),
            }
        }
        patch
    }

    fn part(&self, root: &Path, change: &FileChange) -> Option<String> {
        let path = &change.path;
        let (from, to) = (quoted("a", path), quoted("b", path));
        // The text of a link is not that of the file it leads to, which may be outside the project.
        let now = || text_inside(root, Path::new(path)).filter(|text| !text.contains('\0'));
        let (old, new) = match change.status {
            ChangeStatus::Added => (String::new(), now()?),
            ChangeStatus::Deleted => (self.text_before(path)?, String::new()),
            ChangeStatus::Modified => (self.text_before(path)?, now()?),
        };
        let mode = match change.status {
            ChangeStatus::Added => "new file mode 100644\n",
            ChangeStatus::Deleted => "deleted file mode 100644\n",
            ChangeStatus::Modified => "",
        };
        let nowhere = "/dev/null".to_owned();
        let (old_name, new_name) = match change.status {
            ChangeStatus::Added => (&nowhere, &to),
            ChangeStatus::Deleted => (&from, &nowhere),
            ChangeStatus::Modified => (&from, &to),
        };
        let diff = TextDiff::from_lines(&old, &new);
        let hunks = diff.unified_diff().context_radius(3).header(old_name, new_name).to_string();
        Some(format!("diff --git {from} {to}\n{mode}{hunks}"))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use super::super::FolderSnapshot;

    /// `git apply` turns the beginning into the present, byte for byte.
    #[test]
    fn git_applies_it() {
        let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let [project, state, copy] = dirs.each_ref().map(|dir| dir.path());
        let long: String = (0..3_000).map(|line| format!("line {line}\n")).collect();
        let before =
            [("a.txt", "one\ntwo\n"), ("gone.txt", "x\n"), ("end.txt", "no newline"), ("long.txt", &long)];
        for root in [project, copy] {
            fs::create_dir(root.join("sub")).unwrap();
            before.iter().for_each(|(path, text)| fs::write(root.join(path), text).unwrap());
            fs::write(root.join("image.bin"), [0, 1, 2]).unwrap();
        }
        let snapshot = FolderSnapshot::take(project, state, "t").unwrap();
        fs::write(project.join("a.txt"), "one\n2\nthree").unwrap();
        fs::write(project.join("end.txt"), "a newline\n").unwrap();
        fs::write(project.join("sub/new.txt"), "new\n").unwrap();
        fs::write(project.join("long.txt"), long.replace("7", "seven")).unwrap();
        fs::write(project.join("image.bin"), [0, 1, 3]).unwrap();
        fs::remove_file(project.join("gone.txt")).unwrap();

        let patch = snapshot.patch(project);
        assert_eq!(patch.files, ["a.txt", "end.txt", "gone.txt", "long.txt", "sub/new.txt"]);
        assert_eq!(patch.left_out, ["image.bin"]);
        fs::write(copy.join("p.patch"), &patch.text).unwrap();
        let applied = Command::new("git").args(["apply", "p.patch"]).current_dir(copy).output().unwrap();
        assert!(applied.status.success(), "{}", String::from_utf8_lossy(&applied.stderr));
        for path in ["a.txt", "end.txt", "long.txt", "sub/new.txt"] {
            assert_eq!(fs::read(copy.join(path)).unwrap(), fs::read(project.join(path)).unwrap(), "{path}");
        }
        assert!(!copy.join("gone.txt").exists());
    }
    /// A link to a file that agents cannot read: its content is not part of the work.
    #[test]
    fn the_target_of_a_link_is_left_out() {
        let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let [project, state, outside] = [dirs[0].path(), dirs[1].path(), dirs[2].path()];
        fs::write(outside.join("key"), "KEY\n").unwrap();
        fs::write(project.join("a.txt"), "a\n").unwrap();
        let snapshot = FolderSnapshot::take(project, state, "t").unwrap();
        fs::remove_file(project.join("a.txt")).unwrap();
        for name in ["a.txt", "new.txt"] {
            std::os::unix::fs::symlink(outside.join("key"), project.join(name)).unwrap();
        }
        fs::write(project.join("b.txt"), "b\n").unwrap();
        let patch = snapshot.patch(project);
        assert!(!patch.text.contains("KEY") && patch.text.contains("+b"), "{}", patch.text);
        assert_eq!(patch.left_out, ["a.txt", "new.txt"]);
    }
}
