//! Opening a path below a directory, so that no link and no `..` leads out of it: by `openat2`, or one component at a time.

use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path};

use rustix::fs::{Mode, OFlags, openat};
use rustix::io::Errno;

/// Retries while a path is renamed during its resolution.
#[cfg(target_os = "linux")]
const ATTEMPTS_MAX: usize = 8;

/// Handling of links on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BeneathLinks {
    /// Followed, as long as they stay below the directory. Without `openat2` they are refused with `EXDEV`.
    Inside,
    /// Refused with `ELOOP`.
    Never,
}

/// Returns the flags of a handle that only names a place.
pub fn path_handle_flags() -> OFlags {
    #[cfg(target_os = "linux")]
    let flags = OFlags::PATH;
    #[cfg(not(target_os = "linux"))]
    let flags = OFlags::RDONLY | OFlags::NONBLOCK;
    flags | OFlags::CLOEXEC
}

/// Opens a path below an open directory. `EXDEV` if it leads out of it.
pub fn open_beneath(
    root: impl AsFd,
    path: &Path,
    flags: OFlags,
    links: BeneathLinks,
) -> Result<OwnedFd, Errno> {
    let root = root.as_fd();
    #[cfg(target_os = "linux")]
    if !super::is_portable() {
        use rustix::fs::{ResolveFlags, openat2};
        let resolve = ResolveFlags::BENEATH
            | match links {
                BeneathLinks::Inside => ResolveFlags::NO_MAGICLINKS,
                BeneathLinks::Never => ResolveFlags::NO_SYMLINKS,
            };
        for _ in 0..ATTEMPTS_MAX {
            match openat2(root, path, flags, Mode::empty(), resolve) {
                Err(Errno::AGAIN) => {}
                // A kernel or a container without it.
                Err(Errno::NOSYS | Errno::PERM) => return step_by_step(root, path, flags, links),
                opened => return opened,
            }
        }
        return Err(Errno::AGAIN);
    }
    step_by_step(root, path, flags, links)
}

/// Opens one component at a time and follows no link, so that a directory that becomes a link meanwhile leads nowhere.
fn step_by_step(root: impl AsFd, path: &Path, flags: OFlags, links: BeneathLinks) -> Result<OwnedFd, Errno> {
    let refused = match links {
        BeneathLinks::Inside => Errno::XDEV,
        BeneathLinks::Never => Errno::LOOP,
    };
    let mut parts: Vec<&OsStr> = Vec::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::Normal(name) => parts.push(name),
            Component::Prefix(_) | Component::RootDir | Component::ParentDir => return Err(Errno::XDEV),
        }
    }
    let Some(last) = parts.pop() else { return openat(root, ".", flags, Mode::empty()) };
    let directory = path_handle_flags() | OFlags::DIRECTORY | OFlags::NOFOLLOW;
    // A link is no directory for the one call and a loop for the other.
    let step = |at: std::os::fd::BorrowedFd<'_>, name: &OsStr, flags: OFlags| {
        openat(at, name, flags | OFlags::NOFOLLOW, Mode::empty()).map_err(|error| match error {
            Errno::LOOP | Errno::NOTDIR if is_link(at, name) => refused,
            error => error,
        })
    };
    let mut at: Option<OwnedFd> = None;
    for name in parts {
        at = Some(match &at {
            Some(above) => step(above.as_fd(), name, directory)?,
            None => step(root.as_fd(), name, directory)?,
        });
    }
    let above = at.as_ref().map_or(root.as_fd(), AsFd::as_fd);
    // The caller did not ask for the link itself, and a handle of a place would be one.
    if !flags.contains(OFlags::NOFOLLOW) && is_link(above, last) {
        return Err(refused);
    }
    step(above, last, flags)
}

fn is_link(at: impl AsFd, name: &OsStr) -> bool {
    let found = rustix::fs::statat(at, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW);
    found.is_ok_and(|found| rustix::fs::FileType::from_raw_mode(found.st_mode).is_symlink())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both ways give the same for everything without a link inside; the portable one refuses those.
    #[test]
    fn nothing_leads_out() {
        let project = tempfile::tempdir().unwrap();
        let at = |name: &str| project.path().join(name);
        std::fs::create_dir_all(at("a/b")).unwrap();
        std::fs::write(at("a/b/file"), "x").unwrap();
        std::os::unix::fs::symlink("/etc", at("a/out")).unwrap();
        std::os::unix::fs::symlink("b", at("a/in")).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", at("a/b/passwd")).unwrap();
        let root = std::fs::File::open(project.path()).unwrap();
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        for (path, portable, kernel) in [
            ("a/b/file", None, None),
            (".", None, None),
            ("a/./b", None, None),
            ("a/none", Some(Errno::NOENT), Some(Errno::NOENT)),
            ("../x", Some(Errno::XDEV), Some(Errno::XDEV)),
            ("/etc/passwd", Some(Errno::XDEV), Some(Errno::XDEV)),
            ("a/out/passwd", Some(Errno::XDEV), Some(Errno::XDEV)),
            ("a/b/passwd", Some(Errno::XDEV), Some(Errno::XDEV)),
            ("a/in/file", Some(Errno::XDEV), None),
        ] {
            let found = step_by_step(&root, Path::new(path), flags, BeneathLinks::Inside).err();
            assert_eq!(found, portable, "{path}, portable");
            if !crate::is_portable() {
                let found = open_beneath(&root, Path::new(path), flags, BeneathLinks::Inside).err();
                assert_eq!(found, kernel, "{path}, kernel");
            }
        }
        for path in ["a/in/file", "a/out/passwd", "a/b/passwd"] {
            let found = step_by_step(&root, Path::new(path), flags, BeneathLinks::Never).err();
            assert_eq!(found, Some(Errno::LOOP), "{path}");
        }
    }
}
