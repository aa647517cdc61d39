//! Names of paths as text: JSON and messages need UTF-8, file systems do not.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Marks a name that is not UTF-8; no file name contains NUL.
const ENCODED: &str = "\0bytes:";

/// Returns the name of a path.
pub(crate) fn name_of(path: &Path) -> String {
    match path.to_str() {
        Some(name) => name.to_owned(),
        None => {
            let bytes = path.as_os_str().as_bytes().iter();
            bytes.fold(ENCODED.to_owned(), |name, byte| name + &format!("{byte:02x}"))
        }
    }
}

/// Returns the path of a name.
pub fn real_path(name: &str) -> PathBuf {
    let Some(digits) = name.strip_prefix(ENCODED) else { return PathBuf::from(name) };
    let byte = |at: usize| digits.get(at..at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
    PathBuf::from(OsString::from_vec((0..digits.len()).step_by(2).map_while(byte).collect()))
}

/// Returns true if there is something at a path of the tree, not reached through a link.
pub(super) fn exists(root: &Path, name: &str) -> bool {
    let path = real_path(name);
    let is_direct = |above: &Path| root.join(above).symlink_metadata().is_ok_and(|about| about.is_dir());
    path.ancestors().skip(1).all(is_direct) && root.join(&path).symlink_metadata().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_comes_back() {
        for bytes in [&b"a/b.txt"[..], b"\xff\xfe/x", b"new\nline", b"\xc3\xa9"] {
            let path = PathBuf::from(OsString::from_vec(bytes.to_vec()));
            assert_eq!(real_path(&name_of(&path)), path);
        }
    }
}
