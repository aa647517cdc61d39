//! Random changes to a tree: files, links, directories, renames and rules that ignore. Apart from the tests that undo them.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use proptest::prelude::*;

/// Paths that are in each other's way, and names that text formats stumble over.
const PATHS: [&[u8]; 9] = [
    b"a",
    b"a/b",
    b"a/b/c",
    b"d/e.txt",
    b"d",
    b"new\nline",
    b"\"q\\uoted\" ",
    b"\xff\xfe",
    b"-dash/\xc3\xa9",
];

#[derive(Clone, Debug)]
pub(super) enum Op {
    Write(usize, Vec<u8>, u32),
    Link(usize, String),
    Directory(usize),
    Remove(usize),
    Rename(usize, usize),
    /// Writes `.gitignore`.
    Ignore(String),
}

/// Rules that hide some of the paths, and show them again.
const IGNORED: [&str; 5] = ["", "*.txt\n", "/a\n", "b/\n-dash/\n", "*\n!.gitignore\n"];

pub(super) fn op() -> impl Strategy<Value = Op> {
    let path = 0..PATHS.len();
    let mode = prop::sample::select(vec![0o644u32, 0o755, 0o600, 0o400]);
    let body = prop_oneof![
        Just(Vec::new()),
        Just(b"one\ntwo\n".to_vec()),
        prop::collection::vec(any::<u8>(), 0..40)
    ];
    prop_oneof![
        4 => (path.clone(), body, mode).prop_map(|(path, body, mode)| Op::Write(path, body, mode)),
        1 => (path.clone(), "[a-z/.]{1,8}").prop_map(|(path, target)| Op::Link(path, target)),
        1 => path.clone().prop_map(Op::Directory),
        2 => path.clone().prop_map(Op::Remove),
        2 => (path.clone(), path).prop_map(|(from, to)| Op::Rename(from, to)),
        2 => prop::sample::select(IGNORED.to_vec()).prop_map(|rules| Op::Ignore(rules.to_owned())),
    ]
}

fn real(root: &Path, at: usize) -> PathBuf {
    root.join(OsStr::from_bytes(PATHS[at]))
}

fn remove(path: &Path) {
    match path.symlink_metadata() {
        Ok(about) if about.is_dir() => fs::remove_dir_all(path).unwrap(),
        Ok(_) => fs::remove_file(path).unwrap(),
        Err(_) => {}
    }
}

/// Returns true if all above a path are directories.
fn is_direct(root: &Path, path: &Path) -> bool {
    let is_directory = |above: &Path| above.symlink_metadata().is_ok_and(|about| about.is_dir());
    path.ancestors().skip(1).take_while(|above| *above != root).all(is_directory)
}

/// Makes room for a path: nothing is there, and all above it are directories.
fn clear(root: &Path, path: &Path) {
    let above: Vec<&Path> = path.ancestors().skip(1).take_while(|above| *above != root).collect();
    for above in above.into_iter().rev() {
        if !above.symlink_metadata().is_ok_and(|about| about.is_dir()) {
            remove(above);
            fs::create_dir(above).unwrap();
        }
    }
    remove(path);
}

pub(super) fn perform(root: &Path, ops: &[Op]) {
    for op in ops {
        match op {
            Op::Write(at, body, mode) => {
                let path = real(root, *at);
                clear(root, &path);
                fs::write(&path, body).unwrap();
                fs::set_permissions(&path, Permissions::from_mode(*mode)).unwrap();
            }
            Op::Link(at, target) => {
                let path = real(root, *at);
                clear(root, &path);
                symlink(target, path).unwrap();
            }
            Op::Directory(at) => {
                let path = real(root, *at);
                clear(root, &path);
                fs::create_dir(path).unwrap();
            }
            Op::Remove(at) => {
                let path = real(root, *at);
                if is_direct(root, &path) {
                    remove(&path);
                }
            }
            Op::Rename(from, to) => {
                let (from, to) = (real(root, *from), real(root, *to));
                let is_apart = !from.starts_with(&to) && !to.starts_with(&from);
                if is_apart && is_direct(root, &from) && from.symlink_metadata().is_ok() {
                    clear(root, &to);
                    // Making room may have removed it.
                    let _ = fs::rename(from, to);
                }
            }
            Op::Ignore(rules) => fs::write(root.join(".gitignore"), rules).unwrap(),
        }
    }
}
