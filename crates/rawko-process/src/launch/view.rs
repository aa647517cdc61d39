//! Plans the file system that a program sees: system directories, tool chains, the project, a private home and `/tmp`.
//! Everything else is absent, so no list of secrets has to be complete.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::authority;
use super::confinement::Confinement;
use super::git;
use super::names::Survey;
use super::profile::Profile;
use super::spec::ViewPath;
use super::{environment, home, links, needed};
use crate::pins;

/// Read-only, where the host has them.
const SYSTEM: [&str; 14] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc",
    "/opt",
    "/nix",
    "/gnu",
    "/snap",
    "/run/current-system",
    "/sys/devices/system",
];
const DEVICES: [&str; 5] = ["null", "zero", "full", "random", "urandom"];
const DEVICE_LINKS: [(&str, &str); 5] = [
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("ptmx", "pts/ptmx"),
];
const DURABLE_TEMPORARY: &str = "/var/tmp";
const TEMPORARY: &str = "/tmp";

pub(crate) struct PathView {
    pub(crate) places: BTreeMap<PathBuf, ViewPath>,
    pub(crate) writable: Vec<PathBuf>,
    /// Paths that are others on the host: home and `/tmp`.
    pub(crate) private: Vec<PathBuf>,
    pub(crate) readable: Vec<PathBuf>,
    pub(crate) home: PathBuf,
    pub(crate) temporary: PathBuf,
    /// What agents write: a link in there does not lead the view anywhere.
    of_agents: Vec<PathBuf>,
    /// Protected files whose directories may be renamed: a file in their place is found afterwards.
    movable: Vec<PathBuf>,
}

impl PathView {
    /// `own`: paths outside the usual ones that the program itself lies in. `survey`: the files of authority in a project
    /// that the program writes.
    pub(crate) fn new(
        confinement: &Confinement,
        profile: Profile,
        variables: &[(String, String)],
        own: &[PathBuf],
        survey: Option<&Survey>,
    ) -> Result<Self, String> {
        let root = confinement
            .root
            .canonicalize()
            .map_err(|error| format!("the project {} cannot be read: {error}", confinement.root.display()))?;
        if root.parent().is_none() {
            return Err("a project cannot be the root of the file system".to_owned());
        }
        let real_home =
            confinement.home.as_deref().map(|home| home.canonicalize().unwrap_or_else(|_| home.into()));
        let home = real_home.clone().filter(|home| home.is_absolute() && home.parent().is_some());
        let home = home.unwrap_or_else(|| PathBuf::from("/tmp/home"));
        let mut view = Self {
            places: BTreeMap::new(),
            writable: Vec::new(),
            private: Vec::new(),
            readable: vec![PathBuf::from("/proc")],
            home: home.clone(),
            temporary: PathBuf::from(TEMPORARY),
            of_agents: confinement
                .extra_write
                .iter()
                .filter_map(|path| path.canonicalize().ok())
                .chain([root.clone()])
                .collect(),
            movable: Vec::new(),
        };
        view.system();
        view.identity(&home);
        view.home(&home, &root);
        let directories = environment::directories(variables);
        let mut seen = Vec::new();
        for path in directories
            .flat_map(|path| needed::installation(&path, real_home.as_deref()))
            .chain(own.iter().cloned())
        {
            // A home directory as a whole is never needed.
            if !home.starts_with(&path) && !root.starts_with(&path) && !seen.contains(&path) {
                view.read(&path);
                seen.push(path);
            }
        }
        confinement.extra_read.iter().for_each(|path| view.read(path));
        confinement.extra_write.iter().for_each(|path| view.write(path));
        view.project(confinement, &root, profile, survey);
        view.temporary(confinement.scratch.as_deref());
        view.protect(&confinement.protected);
        view.hide(&authority::hidden(real_home.as_deref(), &root));
        view.hide(&confinement.hidden);
        view.pin();
        Ok(view)
    }

    fn system(&mut self) {
        for path in SYSTEM.map(PathBuf::from) {
            match path.symlink_metadata() {
                Ok(found) if found.is_symlink() => self.link(&path),
                Ok(_) => {
                    self.readable.push(path.clone());
                    self.places.insert(path, ViewPath::Read);
                }
                Err(_) => {}
            }
        }
        let device = Path::new("/dev");
        self.places.insert(device.into(), ViewPath::Private);
        for name in DEVICES {
            self.places.insert(device.join(name), ViewPath::Device);
        }
        for (name, target) in DEVICE_LINKS {
            self.places.insert(device.join(name), ViewPath::Link { target: target.into() });
        }
        self.places.insert(device.join("shm"), ViewPath::Private);
        self.places.insert(device.join("pts"), ViewPath::Terminals);
        self.places.insert("/proc".into(), ViewPath::Processes);
    }

    /// Only the accounts that the program has to know.
    fn identity(&mut self, home: &Path) {
        let (user, group) = super::identity_inside();
        let name = std::env::var("USER").ok().filter(|name| user != 1000 && is_plain(name));
        let name = name.unwrap_or_else(|| "user".to_owned());
        let passwd = format!(
            "root:x:0:0::/:/bin/sh\n{name}:x:{user}:{group}::{}:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n",
            home.display()
        );
        let groups = format!("root:x:0:\n{name}:x:{group}:\nnogroup:x:65534:\n");
        for (file, text) in [("/etc/passwd", passwd), ("/etc/group", groups)] {
            if Path::new(file).is_file() {
                self.places.insert(file.into(), ViewPath::Text { text });
            }
        }
    }

    /// A private home with the caches of tool chains. If the project contains it, only credentials are hidden.
    fn home(&mut self, home: &Path, root: &Path) {
        if home.starts_with(root) {
            return;
        }
        self.private.push(home.to_owned());
        self.places.insert(home.to_owned(), ViewPath::Private);
        for path in home::tool_chains(home) {
            self.read(&path);
        }
        for path in home::caches(home) {
            if self.places.get(&path) == Some(&ViewPath::Read) {
                self.places.insert(path, ViewPath::Copy);
            }
        }
        if let Some(text) = home::git_identity(home) {
            self.places.insert(home.join(".gitconfig"), ViewPath::Text { text });
        }
    }

    fn project(&mut self, confinement: &Confinement, root: &Path, profile: Profile, survey: Option<&Survey>) {
        let git = git::git_directories(root);
        if !profile.writes_project() {
            self.read(&confinement.root);
            git.iter().for_each(|path| self.read(path));
            return;
        }
        self.write(&confinement.root);
        for path in &git {
            match git::shared_repository(path, root) {
                // The repository is the project's: a copy changes neither its index nor its branches.
                Some(shared) => {
                    self.read(path);
                    self.places.insert(path.clone(), ViewPath::Copy);
                    self.private.push(path.clone());
                    self.protect(&shared.kept);
                    shared.written.iter().for_each(|part| self.write(part));
                }
                // A place of its own, so that it cannot be moved away from under the files that are protected in it.
                None => self.write(path),
            }
        }
        let own = authority::protected(root);
        self.protect(&own);
        // A directory between two mounts cannot be renamed into another one: everyday work with files would fail.
        let nested = survey.into_iter().flat_map(|survey| survey.mounted(root));
        self.movable = nested.filter(|path| !own.contains(path)).cloned().collect();
        self.movable.extend(pins::pinned_below(root));
        self.protect(&self.movable.clone());
    }

    /// `/tmp` is kept between the calls of a session, unless other places lie in it: a program could have put links
    /// there.
    fn temporary(&mut self, scratch: Option<&Path>) {
        // A place in it cannot be behind a link.
        let durable = Path::new(DURABLE_TEMPORARY);
        if !self.places.contains_key(durable) {
            let is_used = self.places.keys().any(|path| path.starts_with(durable));
            let link = ViewPath::Link { target: TEMPORARY.into() };
            self.places.insert(durable.into(), if is_used { ViewPath::Private } else { link });
        }
        // It is the project.
        if self.places.contains_key(Path::new(TEMPORARY)) {
            return;
        }
        let scratch = scratch.and_then(|path| path.canonicalize().ok());
        let is_used = self.places.keys().any(|path| path.starts_with(TEMPORARY));
        match scratch {
            Some(source) if !is_used => {
                self.places.insert(TEMPORARY.into(), ViewPath::Write { source });
            }
            Some(source) => {
                self.places.insert(TEMPORARY.into(), ViewPath::Private);
                self.temporary.clone_from(&source);
                self.write(&source);
            }
            None => {
                self.places.insert(TEMPORARY.into(), ViewPath::Private);
            }
        }
        self.private.push(TEMPORARY.into());
    }

    /// Makes existing files read-only, although they lie in a writable place.
    fn protect(&mut self, protected: &[PathBuf]) {
        for path in protected.iter().filter_map(|path| without_links(path)) {
            if self.is_on_host(&path) && path.symlink_metadata().is_ok_and(|found| !found.is_symlink()) {
                self.places.insert(path, ViewPath::Read);
            }
        }
    }

    /// Binds every directory between a writable place and something protected or hidden in it onto itself: a mount point
    /// cannot be renamed, so nothing else can be put at the same path.
    fn pin(&mut self) {
        let mut pinned = Vec::new();
        for (path, place) in &self.places {
            if !matches!(place, ViewPath::Read | ViewPath::Hidden) || self.movable.contains(path) {
                continue;
            }
            let above = path.ancestors().skip(1).take_while(|above| !self.places.contains_key(*above));
            let above: Vec<&Path> = above.collect();
            let nearest = above.last().unwrap_or(&path.as_path()).parent();
            if let Some(ViewPath::Write { source }) = nearest.and_then(|nearest| self.places.get(nearest))
                && nearest == Some(source)
            {
                pinned.extend(above.into_iter().map(Path::to_owned));
            }
        }
        for path in pinned {
            self.places.insert(path.clone(), ViewPath::Write { source: path });
        }
    }

    fn hide(&mut self, hidden: &[PathBuf]) {
        let hidden: &[PathBuf] = &hidden.iter().filter_map(|path| without_links(path)).collect::<Vec<_>>();
        for path in hidden {
            // The project may lie below something that is hidden, and stays visible.
            let is_kept = self.writable.iter().any(|kept| kept.starts_with(path) && kept != path);
            if !is_kept
                && self.is_on_host(path)
                && path.symlink_metadata().is_ok_and(|found| !found.is_symlink())
            {
                self.places.insert(path.clone(), ViewPath::Hidden);
            }
        }
        let below_hidden = |path: &PathBuf| {
            path.ancestors().skip(1).any(|above| hidden.iter().any(|hidden| hidden == above))
        };
        let places = &self.places;
        let lost: Vec<PathBuf> = places
            .keys()
            .filter(|path| {
                below_hidden(path)
                    && path.ancestors().skip(1).any(|above| places.get(above) == Some(&ViewPath::Hidden))
            })
            .cloned()
            .collect();
        for path in lost {
            self.places.remove(&path);
        }
        self.readable = self.readable.iter().flat_map(|path| without(path, hidden)).collect();
    }

    fn is_on_host(&self, path: &Path) -> bool {
        let nearest = path.ancestors().find_map(|above| self.places.get(above));
        matches!(nearest, Some(ViewPath::Read | ViewPath::Copy | ViewPath::Write { .. }))
    }

    fn read(&mut self, path: &Path) {
        if links::leads_through(path, &self.of_agents) {
            return;
        }
        let Ok(real) = path.canonicalize() else { return };
        let is_seen = self.is_on_host(&real);
        if real != path {
            self.link(path);
        }
        self.readable.push(real.clone());
        if !is_seen && !self.places.contains_key(&real) {
            self.places.insert(real, ViewPath::Read);
        }
    }

    fn write(&mut self, path: &Path) {
        if links::leads_through(path, &self.of_agents) {
            return;
        }
        let Ok(real) = path.canonicalize() else { return };
        if real != path {
            self.link(path);
        }
        self.readable.push(real.clone());
        self.writable.push(real.clone());
        self.places.insert(real.clone(), ViewPath::Write { source: real });
    }

    /// Repeats the links on the way to a path.
    fn link(&mut self, path: &Path) {
        let mut ways: Vec<&Path> = path.ancestors().collect();
        ways.reverse();
        for way in ways {
            if let Ok(target) = fs::read_link(way)
                && !self.is_on_host(way)
            {
                self.places.insert(way.to_owned(), ViewPath::Link { target });
                return;
            }
        }
    }
}

/// Everything at a path without the hidden parts: for each directory above something hidden, its other entries.
fn without(path: &Path, hidden: &[PathBuf]) -> Vec<PathBuf> {
    let (mut kept, mut open) = (Vec::new(), vec![path.to_owned()]);
    while let Some(path) = open.pop() {
        if hidden.contains(&path) {
            continue;
        }
        if !hidden.iter().any(|hidden| hidden.starts_with(&path) && hidden.exists()) {
            kept.push(path);
            continue;
        }
        let entries = fs::read_dir(&path).into_iter().flatten().filter_map(Result::ok);
        // A link is not allowed as such: its target is allowed or denied at its real location.
        open.extend(entries.filter(|e| e.file_type().is_ok_and(|kind| !kind.is_symlink())).map(|e| e.path()));
    }
    kept
}

/// The same file by a way without links; the file itself may be one.
fn without_links(path: &Path) -> Option<PathBuf> {
    Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?))
}

fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}
