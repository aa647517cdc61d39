//! Opening files below a root without following any link. The tree may be changed by agents meanwhile: a directory that
//! becomes a link must not lead a read or a write outside.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rawko_process::{BeneathLinks, is_portable, open_beneath, path_handle_flags};
use rustix::fs::{Mode, OFlags};

/// An open directory that paths are resolved in.
#[derive(Debug)]
pub(super) struct Root {
    handle: OwnedFd,
    path: PathBuf,
}

impl Root {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let flags = path_handle_flags() | OFlags::DIRECTORY;
        Ok(Self { handle: rustix::fs::open(path, flags, Mode::empty())?, path: path.to_owned() })
    }

    /// Opens a regular file for reading. A pipe does not block.
    pub(super) fn file(&self, path: &Path) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        Ok(File::from(self.beneath(path, flags)?))
    }

    /// Opens the directory of a path.
    pub(super) fn parent(&self, path: &Path) -> io::Result<Parent> {
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_owned();
        let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let flags = path_handle_flags() | OFlags::DIRECTORY | OFlags::NOFOLLOW;
        Ok(Parent { handle: self.beneath(above, flags)?, path: self.path.join(above), name })
    }

    fn beneath(&self, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
        Ok(open_beneath(&self.handle, path, flags, BeneathLinks::Never)?)
    }
}

/// An open directory, and a name in it.
pub(super) struct Parent {
    handle: OwnedFd,
    /// Its path, for systems that have no path of an open directory: a race remains there.
    path: PathBuf,
    name: OsString,
}

impl Parent {
    /// Returns the path through the open directory: it stays there, whichever links are made.
    pub(super) fn path(&self) -> PathBuf {
        self.beside(&self.name)
    }

    /// Returns the path of a draft of the file.
    pub(super) fn draft(&self) -> PathBuf {
        let mut name = self.name.clone();
        name.push(DRAFT);
        self.beside(&name)
    }

    fn beside(&self, name: &OsString) -> PathBuf {
        if is_portable() {
            return self.path.join(name);
        }
        Path::new("/proc/self/fd").join(self.handle.as_raw_fd().to_string()).join(name)
    }
}

/// The ending of drafts, which are not part of a tree.
pub(super) const DRAFT: &str = ".rawko-draft";
