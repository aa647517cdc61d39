//! The file system that the program sees: built on an empty root from the places of the view, after which the root of the
//! host is gone from the namespace.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, StatVfsMountFlags, openat2, statvfs};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind, mount_bind_recursive, mount_change,
    mount_remount, unmount,
};
use rustix::process::{chdir, pivot_root};

use super::init::Init;
use crate::launch::{LaunchRefusal, ViewPath};

/// The new root while it is built, and the host beside it.
pub(super) const NEW: &str = "/new";
const OLD: &str = "/old";
const EMPTY: &str = "/empty";

/// Any directory of the host will do: a mount there is seen in this namespace only.
const BASES: [&str; 4] = ["/tmp", "/var", "/usr", "/etc"];

/// Replaces the root. `init` mounts `/proc`, because it shows the processes of the namespace that mounts it.
pub(super) fn replace(view: &BTreeMap<PathBuf, ViewPath>, init: &mut Init) -> Result<(), LaunchRefusal> {
    let mounted = mount_points();
    let failed = |what: &str, error: &io::Error| refusal(format!("{what}: {error}"), error, true);
    init.is_ready().map_err(|error| failed("the namespace has no first process", &error))?;
    begin().map_err(|error| failed("cannot make a new root", &error))?;
    let builder = RootBuilder { view, mounted };
    for (path, place) in view {
        let built = if *place == ViewPath::Processes {
            builder.directory(path).and_then(|()| init.mount_processes())
        } else {
            builder.put(path, place)
        };
        built.map_err(|error| {
            let is_of_host =
                !matches!(place, ViewPath::Write { .. } | ViewPath::Hidden) && !builder.is_written(path);
            refusal(format!("cannot place {}: {error}", path.display()), &error, is_of_host)
        })?;
    }
    end().map_err(|error| failed("cannot change to the new root", &error))
}

/// Files that an agent can write must not lead to a weaker confinement; neither must a machine that is short of something.
fn refusal(message: String, error: &io::Error, is_of_host: bool) -> LaunchRefusal {
    const OF_KERNEL: [i32; 6] =
        [libc::EPERM, libc::EACCES, libc::ENOSYS, libc::ENODEV, libc::EINVAL, libc::EOPNOTSUPP];
    let is_of_kernel = error.raw_os_error().is_some_and(|code| OF_KERNEL.contains(&code));
    if is_of_host && is_of_kernel {
        LaunchRefusal::View { message }
    } else {
        LaunchRefusal::Place { message }
    }
}

/// Moves the root of the host to `/old`, with an empty `/new` beside it.
fn begin() -> io::Result<()> {
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    let base = BASES.iter().find(|base| Path::new(base).is_dir()).unwrap_or(&"/");
    private(Path::new(base), c"mode=0755,size=1g")?;
    chdir(*base)?;
    fs::create_dir("old")?;
    pivot_root(".", "old")?;
    chdir("/")?;
    fs::create_dir(NEW)?;
    fs::write(EMPTY, "")?;
    fs::set_permissions(EMPTY, fs::Permissions::from_mode(0o000))?;
    private(Path::new(NEW), c"mode=0755,size=16m")
}

fn end() -> io::Result<()> {
    mount_remount(NEW, MountFlags::BIND | MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV, c"")?;
    chdir(NEW)?;
    pivot_root(".", ".")?;
    unmount(".", UnmountFlags::DETACH)?;
    Ok(chdir("/")?)
}

/// A file system in memory.
fn private(at: &Path, options: &std::ffi::CStr) -> io::Result<()> {
    Ok(mount("rawko", at, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, options)?)
}

struct RootBuilder<'v> {
    view: &'v BTreeMap<PathBuf, ViewPath>,
    /// Where the host has file systems.
    mounted: Vec<PathBuf>,
}

impl RootBuilder<'_> {
    fn put(&self, path: &Path, place: &ViewPath) -> io::Result<()> {
        let at = new(path);
        match place {
            ViewPath::Private => {
                self.directory(path)?;
                // Memory of the machine: half of it would be the kernel's limit for each.
                let is_shared = path == Path::new("/tmp") || path == Path::new("/dev/shm");
                private(&at, if is_shared { c"mode=1777,size=512m" } else { c"mode=0755,size=512m" })
            }
            ViewPath::Read => {
                self.target(path, path)?;
                self.bind(path, path)?;
                self.read_only(path)
            }
            ViewPath::Copy => {
                self.target(path, path)?;
                if overlay(path, &at).is_ok() {
                    return Ok(());
                }
                // A kernel that has no such layer for users: read-only.
                mount_bind_recursive(old(path), &at)?;
                self.read_only(path)
            }
            ViewPath::Write { source } => {
                self.target(path, source)?;
                self.bind(source, path)
            }
            ViewPath::Link { target } => {
                self.parent(path)?;
                symlink(target, at)
            }
            ViewPath::Text { text } if self.is_on_host(path) => {
                let file = PathBuf::from(format!("/text-{}", path.display().to_string().replace('/', "-")));
                fs::write(&file, text)?;
                mount_bind(&file, &at)?;
                read_only(&at)
            }
            ViewPath::Text { text } => {
                self.parent(path)?;
                fs::write(at, text)
            }
            ViewPath::Hidden => {
                let opened = self.opened(&at, path)?;
                if opened.at().is_dir() {
                    private(opened.at(), c"mode=0555,size=4k")?;
                } else {
                    mount_bind(EMPTY, opened.at())?;
                }
                read_only(self.opened(&at, path)?.at())
            }
            ViewPath::Device => {
                self.target(path, path)?;
                Ok(mount_bind(old(path), &at)?)
            }
            ViewPath::Terminals => {
                self.directory(path)?;
                let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
                Ok(mount("rawko", &at, "devpts", flags, c"newinstance,ptmxmode=0666,mode=0620")?)
            }
            // Mounted by the first process of the namespace.
            ViewPath::Processes => Ok(()),
        }
    }

    /// Returns true if the nearest place above a path is one of the host: nothing is created there.
    fn is_on_host(&self, path: &Path) -> bool {
        let above = path.ancestors().skip(1).find_map(|above| self.view.get(above));
        matches!(above, Some(ViewPath::Read | ViewPath::Copy | ViewPath::Write { .. }))
    }

    fn bind(&self, source: &Path, path: &Path) -> io::Result<()> {
        let (from, to) = (self.opened(&old(source), path)?, self.opened(&new(path), path)?);
        Ok(mount_bind_recursive(from.at(), to.at())?)
    }

    /// Opens a path without following links if programs can write there: another one that runs at this moment could put a
    /// link in its way.
    fn opened(&self, at: &Path, path: &Path) -> io::Result<HeldPath> {
        if !self.is_written(path) {
            return Ok(HeldPath { _held: None, at: at.to_owned() });
        }
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        match openat2(CWD, at, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
            Ok(held) => {
                let at = PathBuf::from(format!("{OLD}/proc/self/fd/{}", held.as_raw_fd()));
                Ok(HeldPath { _held: Some(held), at })
            }
            Err(Errno::NOSYS) => Ok(HeldPath { _held: None, at: at.to_owned() }),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns true if a path lies in a place that programs write.
    fn is_written(&self, path: &Path) -> bool {
        path.ancestors().any(|above| matches!(self.view.get(above), Some(ViewPath::Write { .. })))
    }

    /// Makes sure that something of the same kind as the source is there to be mounted on.
    fn target(&self, path: &Path, source: &Path) -> io::Result<()> {
        if old(source).is_dir() {
            return self.directory(path);
        }
        self.parent(path)?;
        if !self.is_on_host(path) {
            fs::write(new(path), "")?;
        }
        Ok(())
    }

    fn directory(&self, path: &Path) -> io::Result<()> {
        if self.is_on_host(path) { Ok(()) } else { fs::create_dir_all(new(path)) }
    }

    fn parent(&self, path: &Path) -> io::Result<()> {
        match path.parent() {
            Some(parent) if !self.is_on_host(path) => fs::create_dir_all(new(parent)),
            Some(_) | None => Ok(()),
        }
    }

    /// Makes a bound tree read-only, with the file systems below it.
    fn read_only(&self, path: &Path) -> io::Result<()> {
        read_only(self.opened(&new(path), path)?.at())?;
        for below in self.mounted.iter().filter(|mounted| mounted.starts_with(path) && *mounted != path) {
            // One that is covered by another is not reachable.
            let _ = read_only(&new(below));
        }
        Ok(())
    }
}

/// A path that stays what it is.
struct HeldPath {
    _held: Option<OwnedFd>,
    at: PathBuf,
}

impl HeldPath {
    fn at(&self) -> &Path {
        &self.at
    }
}

/// A layer in memory above a directory of the host.
fn overlay(path: &Path, at: &Path) -> io::Result<()> {
    let lower = old(path).display().to_string();
    if lower.contains([':', ',', '\\', '\n']) {
        return Err(io::ErrorKind::Unsupported.into());
    }
    let layer = format!("/layer-{}", lower.replace('/', "-"));
    let (upper, work) = (format!("{layer}/upper"), format!("{layer}/work"));
    fs::create_dir_all(&upper)?;
    fs::create_dir_all(&work)?;
    let options = format!("lowerdir={lower},upperdir={upper},workdir={work},userxattr");
    let options = std::ffi::CString::new(options).map_err(|_| io::ErrorKind::InvalidInput)?;
    Ok(mount("rawko", at, "overlay", MountFlags::NOSUID | MountFlags::NODEV, options.as_c_str())?)
}

/// The options of the file system stay: a user namespace may not remove them.
fn read_only(at: &Path) -> io::Result<()> {
    let now = statvfs(at)?.f_flag;
    let kept = [
        (StatVfsMountFlags::NODEV, MountFlags::NODEV),
        (StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
        (StatVfsMountFlags::NOATIME, MountFlags::NOATIME),
        (StatVfsMountFlags::NODIRATIME, MountFlags::NODIRATIME),
        (StatVfsMountFlags::RELATIME, MountFlags::RELATIME),
    ];
    let kept = kept.iter().filter(|(flag, _)| now.contains(*flag)).map(|(_, flag)| *flag);
    let flags = kept.fold(MountFlags::BIND | MountFlags::RDONLY | MountFlags::NOSUID, |all, flag| all | flag);
    Ok(mount_remount(at, flags, c"")?)
}

fn new(path: &Path) -> PathBuf {
    below(NEW, path)
}

fn old(path: &Path) -> PathBuf {
    below(OLD, path)
}

fn below(root: &str, path: &Path) -> PathBuf {
    Path::new(root).join(path.strip_prefix("/").unwrap_or(path))
}

/// The fifth field of each line, in which a space is `\040`.
fn mount_points() -> Vec<PathBuf> {
    let text = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let field = |line: &str| line.split(' ').nth(4).map(|path| PathBuf::from(path.replace("\\040", " ")));
    text.lines().filter_map(field).collect()
}
