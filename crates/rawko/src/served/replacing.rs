//! Replaces a file of the project atomically. Agents may write beside it, so the unfinished file is created anew: a link
//! that waits under its name is not followed.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

const ATTEMPTS_MAX: usize = 100;

/// Writes a file, or nothing. Permissions of the file before it are kept.
pub(super) fn replace(path: &Path, text: &str) -> io::Result<()> {
    let (mut file, unfinished) = unfinished(path.parent().unwrap_or(Path::new(".")))?;
    let written = write(&mut file, path, text).and_then(|()| fs::rename(&unfinished, path));
    if written.is_err() {
        let _ = fs::remove_file(&unfinished);
    }
    written
}

fn write(file: &mut File, path: &Path, text: &str) -> io::Result<()> {
    file.write_all(text.as_bytes())?;
    if let Some(before) = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file) {
        file.set_permissions(before.permissions())?;
    }
    file.sync_all()
}

fn unfinished(folder: &Path) -> io::Result<(File, PathBuf)> {
    for number in 0..ATTEMPTS_MAX {
        let path = folder.join(format!(".{}-{number}.part", std::process::id()));
        match File::create_new(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            created => return Ok((created?, path)),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_under_the_name_of_the_unfinished_file_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("precious"), "mine").unwrap();
        for name in [format!(".{}.part", std::process::id()), format!(".{}-0.part", std::process::id())] {
            std::os::unix::fs::symlink("precious", at(&name)).unwrap();
        }
        replace(&at("chart.yaml"), "new").unwrap();
        assert_eq!(fs::read_to_string(at("precious")).unwrap(), "mine");
        assert_eq!(fs::read_to_string(at("chart.yaml")).unwrap(), "new");
        assert!(!at("chart.yaml").is_symlink());
    }
}
