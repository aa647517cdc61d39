//! Reading files that agents can replace by a pipe, a device or something endless: only regular files, up to a size.

use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// A larger file is not one that git wrote.
const BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Reads a file that a project brings along, at most 64 MB; links are followed. A pipe, a device or a socket is an error:
/// reading one would wait, or never end.
pub fn read_regular(path: &Path) -> io::Result<Vec<u8>> {
    // Opening a pipe would wait for the other end.
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
    let flags = flags.bits().cast_signed();
    let mut file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let found = file.metadata()?;
    if found.is_dir() {
        return Err(rustix::io::Errno::ISDIR.into());
    }
    if !found.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    if found.len() > BYTES_MAX {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is larger than 64 MB"));
    }
    let mut bytes = Vec::new();
    file.by_ref().take(BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The content of a regular file; links are followed.
pub(crate) fn read(path: &Path) -> Option<Vec<u8>> {
    read_regular(path).ok()
}

/// The same as text.
pub(crate) fn text(path: &Path) -> Option<String> {
    String::from_utf8(read(path)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_are_read() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        std::fs::write(&file, "text").unwrap();
        assert_eq!(text(&file).as_deref(), Some("text"));
        for path in [directory.path(), Path::new("/dev/zero"), &directory.path().join("missing")] {
            assert_eq!(read(path), None, "{}", path.display());
        }
        let pipe = directory.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0)
            .unwrap();
        assert_eq!(read(&pipe), None);
    }
}
