//! Confinement: every path given to a tool is resolved against the project root, and the opened file is checked, not
//! the requested path. The kernel enforces it (`openat2`, or one component at a time where that is missing), so a link
//! swapped in between does not help.

mod place;
mod protected;
mod write;

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use rawko_process::{BeneathLinks, open_beneath, path_handle_flags};
use rawko_settings::{Environment, StateDir};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

pub use protected::ProtectedPaths;
pub(crate) use write::WriteResult;

use super::outcome::{RefusedCall, ToolFailure};

/// Source of the confinement rule in refusals.
const SOURCE: &str = "the confinement of tools to the project";

/// Judges the real path of an opened file, relative to the root: a link may have been put in its way after the path was
/// judged.
pub(crate) type PlaceCheck<'c> = &'c dyn Fn(&Path) -> Result<(), RefusedCall>;

/// The project root and the rules for opening files below it.
pub(crate) struct ProjectRoot {
    /// The root as it was given; paths may start with it.
    given: PathBuf,
    root: PathBuf,
    handle: io::Result<OwnedFd>,
    /// The user's state directory, relative to the root, if a project contains it (a home directory, for example).
    state: Option<PathBuf>,
    /// Directories outside the project that commands may write to: the temporary directory and caches named by
    /// settings.
    pub(super) writable_elsewhere: Vec<PathBuf>,
}

pub(super) enum PathOpenError {
    Outside,
    /// Within the user's state directory: the operator credential is there.
    State,
    Io(io::Error),
}

impl From<io::Error> for PathOpenError {
    fn from(error: io::Error) -> Self {
        PathOpenError::Io(error)
    }
}

impl ProjectRoot {
    pub(crate) fn new(given: &Path) -> Self {
        let root = given.canonicalize().unwrap_or_else(|_| given.to_owned());
        let handle = rustix::fs::open(&root, path_handle_flags() | OFlags::DIRECTORY, Mode::empty());
        let state = StateDir::of(&Environment::of_process()).ok().and_then(|state| state.below(&root));
        Self {
            given: given.to_owned(),
            root,
            handle: handle.map_err(Into::into),
            state,
            writable_elsewhere: Vec::new(),
        }
    }

    /// The same with the state directory at a path below the root.
    #[cfg(test)]
    fn with_state(mut self, relative: &str) -> Self {
        self.state = Some(PathBuf::from(relative));
        self
    }

    /// Returns the path of the state directory, if it is in the project.
    pub(crate) fn state(&self) -> Option<PathBuf> {
        self.state.as_ref().map(|state| self.root.join(state))
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns a path relative to the root, without resolving links. `..` is removed lexically.
    pub(super) fn relative(&self, path: &str) -> Result<PathBuf, RefusedCall> {
        let outside = || RefusedCall::new("path_outside", SOURCE, format!("`{path}` is outside the project"));
        let asked = Path::new(path.trim_end_matches('/'));
        let asked =
            if path.starts_with('/') && asked.as_os_str().is_empty() { Path::new("/") } else { asked };
        let plain = plain(asked).ok_or_else(outside)?;
        if !plain.is_absolute() {
            return Ok(plain);
        }
        let below = plain.strip_prefix(&self.root).or_else(|_| plain.strip_prefix(&self.given));
        below.map(Path::to_owned).map_err(|_| outside())
    }

    /// Opens a file for reading; rejects directories.
    pub(crate) fn open_file(
        &self,
        path: &str,
        check: PlaceCheck<'_>,
    ) -> Result<(File, PathBuf), ToolFailure> {
        let relative = self.relative(path)?;
        // Non-blocking: a pipe without a writer must not block a tool.
        let opened = self.open_below(&relative, OFlags::RDONLY | OFlags::NONBLOCK);
        let handle = opened.map_err(|error| self.failure(path, error))?;
        let real = self.place_of(&handle, &relative);
        check(&real)?;
        Ok((File::from(handle), real))
    }

    /// Opens a file found by a directory walk. No link is followed, not even in a directory above: the walk found none,
    /// and the rules judged the path that it found.
    pub(crate) fn open_found(&self, path: &Path) -> io::Result<File> {
        let relative = path.strip_prefix(&self.root).map_err(|_| io::ErrorKind::PermissionDenied)?;
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW;
        match self.open_real(relative, flags) {
            Ok(handle) => Ok(File::from(handle)),
            Err(PathOpenError::Outside | PathOpenError::State) => Err(io::ErrorKind::PermissionDenied.into()),
            Err(PathOpenError::Io(error)) => Err(error),
        }
    }

    /// Returns the real path of a directory or file to search.
    pub(crate) fn searched(&self, path: &str) -> Result<PathBuf, ToolFailure> {
        let relative = self.relative(path)?;
        let opened = self.open_below(&relative, path_handle_flags());
        let handle = opened.map_err(|error| self.failure(path, error))?;
        Ok(self.root.join(self.place_of(&handle, &relative)))
    }

    /// Opens a path that has no links: one that became a link meanwhile is refused.
    pub(super) fn open_real(&self, place: &Path, flags: OFlags) -> Result<OwnedFd, PathOpenError> {
        let root = self.handle.as_ref().map_err(|error| io::Error::from(error.kind()))?;
        let asked = if place.as_os_str().is_empty() { Path::new(".") } else { place };
        if self.state.as_ref().is_some_and(|state| place.starts_with(state)) {
            return Err(PathOpenError::State);
        }
        open_beneath(root, asked, flags | OFlags::CLOEXEC, BeneathLinks::Never).map_err(|error| match error {
            Errno::XDEV | Errno::LOOP => PathOpenError::Outside,
            error => io::Error::from(error).into(),
        })
    }

    pub(super) fn open_below(&self, relative: &Path, flags: OFlags) -> Result<OwnedFd, PathOpenError> {
        let handle = self.open_anywhere_below(relative, flags)?;
        match &self.state {
            Some(state) if self.place_of(&handle, relative).starts_with(state) => Err(PathOpenError::State),
            Some(_) | None => Ok(handle),
        }
    }

    fn open_anywhere_below(&self, relative: &Path, flags: OFlags) -> Result<OwnedFd, PathOpenError> {
        let root = self.handle.as_ref().map_err(|error| io::Error::from(error.kind()))?;
        let asked = if relative.as_os_str().is_empty() { Path::new(".") } else { relative };
        let flags = flags | OFlags::CLOEXEC;
        match open_beneath(root, asked, flags, BeneathLinks::Inside) {
            Ok(handle) => Ok(handle),
            // To the kernel, an absolute link leaves the directory, even if it leads back in.
            Err(Errno::XDEV) => self.open_canonical(root, relative, flags),
            Err(Errno::AGAIN) => Err(io::Error::from(io::ErrorKind::ResourceBusy).into()),
            Err(error) => Err(io::Error::from(error).into()),
        }
    }

    fn open_canonical(
        &self,
        root: &OwnedFd,
        relative: &Path,
        flags: OFlags,
    ) -> Result<OwnedFd, PathOpenError> {
        let canonical = self.root.join(relative).canonicalize()?;
        let below = canonical.strip_prefix(&self.root).map_err(|_| PathOpenError::Outside)?;
        let below = if below.as_os_str().is_empty() { Path::new(".") } else { below };
        match open_beneath(root, below, flags, BeneathLinks::Never) {
            Ok(handle) => Ok(handle),
            Err(Errno::XDEV | Errno::LOOP) => Err(PathOpenError::Outside),
            Err(error) => Err(io::Error::from(error).into()),
        }
    }

    /// Returns the real path of an open file, relative to the root.
    pub(super) fn place_of(&self, handle: impl AsFd, asked: &Path) -> PathBuf {
        let link = format!("/proc/self/fd/{}", handle.as_fd().as_raw_fd());
        let real = std::fs::read_link(link).or_else(|_| self.root.join(asked).canonicalize());
        // The kernel marks a file that was removed after it was opened.
        let real = real.map(|real| match real.to_str().and_then(|text| text.strip_suffix(" (deleted)")) {
            Some(before) if !real.exists() => PathBuf::from(before),
            Some(_) | None => real,
        });
        let real = real.ok().and_then(|real| real.strip_prefix(&self.root).map(Path::to_owned).ok());
        real.unwrap_or_else(|| asked.to_owned())
    }

    pub(super) fn failure(&self, path: &str, error: PathOpenError) -> ToolFailure {
        match error {
            PathOpenError::Outside => {
                let why = format!("`{path}` leads out of the project through a link");
                ToolFailure::Refused(RefusedCall::new("path_outside", SOURCE, why))
            }
            PathOpenError::State => ToolFailure::Refused(own_state(path)),
            PathOpenError::Io(error) => ToolFailure::Said(self.said(path, &error)),
        }
    }
}

/// The refusal of a path in the user's state directory.
fn own_state(path: &str) -> RefusedCall {
    RefusedCall::new("path_protected", SOURCE, format!("`{path}` is in rawko's state directory"))
}

/// Removes `.` and `..` lexically; `None` if the path leads above its start.
fn plain(path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Prefix(_) | Component::CurDir => {}
            Component::RootDir => plain.push("/"),
            Component::ParentDir if plain.parent().is_some() => drop(plain.pop()),
            Component::ParentDir => return None,
            Component::Normal(name) => plain.push(name),
        }
    }
    Some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A home directory can be a project, and the credential is in it.
    #[test]
    fn the_state_directory_is_neither_read_nor_written() {
        let directory = tempfile::tempdir().unwrap();
        let secret = directory.path().join("state/rawko/operator.token");
        std::fs::create_dir_all(secret.parent().unwrap()).unwrap();
        std::fs::write(&secret, "secret").unwrap();
        std::fs::write(directory.path().join("state/other"), "x").unwrap();
        std::os::unix::fs::symlink("state/rawko", directory.path().join("link")).unwrap();
        std::os::unix::fs::symlink(&secret, directory.path().join("token")).unwrap();
        let project = ProjectRoot::new(directory.path()).with_state("state/rawko");
        assert!(project.open_file("state/other", &|_| Ok(())).is_ok());
        for path in [
            "state/rawko/operator.token",
            "state/../state/rawko/operator.token",
            "link/operator.token",
            "token",
        ] {
            let refused = project.open_file(path, &|_| Ok(())).unwrap_err();
            assert!(format!("{refused:?}").contains("path_protected"), "{path}: {refused:?}");
            assert!(
                project.replace(path, b"mine", &|_| Ok(())).is_err() && project.check_writable(path).is_err(),
                "{path}"
            );
        }
        for path in ["state/rawko/new", "state/rawko/projects/x/rawko.db", "link/new"] {
            assert!(
                project.replace(path, b"mine", &|_| Ok(())).is_err() && project.check_writable(path).is_err(),
                "{path}"
            );
        }
        assert!(project.searched("state/rawko").is_err());
        assert!(project.open_found(&project.root().join("state/rawko/operator.token")).is_err());
        assert_eq!(std::fs::read_to_string(&secret).unwrap(), "secret");
        assert!(project.replace("state/other", b"y", &|_| Ok(())).is_ok());
    }
}
