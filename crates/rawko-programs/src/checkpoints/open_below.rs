//! Opening files below a root without following any link. The tree may be changed by agents meanwhile: a directory that
//! becomes a link must not lead a read or a write outside.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rawko_process::{BeneathLinks, is_portable, open_beneath, path_handle_flags};
use rustix::fs::{Mode, OFlags};

/// An open directory that paths are resolved in.
#[derive(Debug)]
pub(crate) struct Root {
    handle: OwnedFd,
    path: PathBuf,
}

impl Root {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let flags = path_handle_flags() | OFlags::DIRECTORY;
        Ok(Self { handle: rustix::fs::open(path, flags, Mode::empty())?, path: path.to_owned() })
    }

    /// Opens a regular file for reading. A pipe does not block.
    pub(crate) fn file(&self, path: &Path) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        Ok(File::from(self.beneath(path, flags)?))
    }

    /// Opens the directory of a path.
    pub(crate) fn parent(&self, path: &Path) -> io::Result<OpenParent> {
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_owned();
        let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let flags = path_handle_flags() | OFlags::DIRECTORY | OFlags::NOFOLLOW;
        Ok(OpenParent { handle: self.beneath(above, flags)?, path: self.path.join(above), name })
    }

    /// Creates a directory and those above it.
    pub(crate) fn make_directories(&self, path: &Path) -> io::Result<()> {
        for path in above(path).into_iter().chain([path]).filter(|path| !path.as_os_str().is_empty()) {
            match fs::create_dir(self.parent(path)?.path()) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => made?,
            }
        }
        Ok(())
    }

    /// Removes links that took the place of directories above a path.
    pub(crate) fn remove_links_above(&self, path: &Path) -> io::Result<()> {
        for path in above(path) {
            let parent = match self.parent(path) {
                Ok(parent) => parent,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
                Err(error) => return Err(error),
            };
            if parent.path().is_symlink() {
                fs::remove_file(parent.path())?;
            }
        }
        Ok(())
    }

    /// Returns the same path without links among its directories. One that leads out of the root is an error.
    pub(crate) fn without_links(&self, path: &Path) -> io::Result<PathBuf> {
        let root = self.path.canonicalize()?;
        let mut rest: Vec<OsString> = Vec::new();
        let mut at = root.join(path);
        loop {
            rest.push(at.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_owned());
            at.pop();
            match at.canonicalize() {
                Ok(real) => {
                    let real = real.strip_prefix(&root).map_err(|_| {
                        io::Error::other(format!(
                            "the directory of {} leads out of the project",
                            path.display()
                        ))
                    })?;
                    return Ok(rest.iter().rev().fold(real.to_owned(), |path, name| path.join(name)));
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound && !at.is_symlink() => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn beneath(&self, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
        Ok(open_beneath(&self.handle, path, flags, BeneathLinks::Never)?)
    }
}

/// Reads a regular file below a root as text. No link is followed.
pub(crate) fn text_inside(root: &Path, path: &Path) -> Option<String> {
    let mut file = Root::open(root).ok()?.file(path).ok()?;
    let mut text = String::new();
    let is_file = file.metadata().is_ok_and(|found| found.is_file());
    (is_file && file.read_to_string(&mut text).is_ok()).then_some(text)
}

/// Returns the directories above a path, the outermost first.
fn above(path: &Path) -> Vec<&Path> {
    let mut above: Vec<&Path> =
        path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()).collect();
    above.reverse();
    above
}

/// An open directory, and a name in it.
pub(crate) struct OpenParent {
    handle: OwnedFd,
    /// Its path, for systems that have no path of an open directory: a race remains there.
    path: PathBuf,
    name: OsString,
}

impl OpenParent {
    /// Returns the path through the open directory: it stays there, whichever links are made.
    pub(crate) fn path(&self) -> PathBuf {
        self.beside(&self.name)
    }

    /// Replaces the file by one that `write` makes. A link in its place is replaced, never followed.
    pub(crate) fn put(&self, write: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
        let draft = self.draft();
        if draft.symlink_metadata().is_ok() {
            fs::remove_file(&draft)?;
        }
        write(&draft)?;
        fs::rename(&draft, self.path()).inspect_err(|_| {
            let _ = fs::remove_file(&draft);
        })
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
