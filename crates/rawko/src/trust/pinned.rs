//! Services whose programs are files of the project: each call runs the content that was trusted at the start, or is
//! refused. Agents can write such a file while a server runs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rawko_core::Value;
use rawko_host::{Category, OnRestart, Service, ServiceCall, ServiceError, ServiceFuture, Services};

use super::files::AuthorityFiles;
use super::starts::{ProjectStart, programs, starts};

/// A service with the content of its programs.
struct PinnedService {
    inner: Arc<dyn Service>,
    root: PathBuf,
    /// Files with their hashes.
    programs: Vec<(PathBuf, String)>,
}

/// Pins the services of these names that start files of the project.
pub(crate) fn pinned(services: Services, names: &[&str], root: &Path, files: &AuthorityFiles) -> Services {
    names.iter().fold(services, |services, name| {
        let Some(inner) = services.find(name) else { return services };
        let programs = pins(&*inner, root, files);
        match programs.is_empty() {
            true => services,
            false => services.add(*name, Arc::new(PinnedService { inner, root: root.to_owned(), programs })),
        }
    })
}

/// Has the launcher and the tools refuse changed programs of servers, services and agents.
pub(crate) fn pin_all(root: &Path, files: &AuthorityFiles) {
    let all = programs(&starts(files), root);
    let hashes: Vec<(PathBuf, String)> = all
        .into_iter()
        .filter_map(|path| {
            let hash = files.hash_of(root, &path)?;
            Some((path.canonicalize().unwrap_or(path), hash))
        })
        .collect();
    let paths = hashes.iter().map(|(path, _)| path.clone()).collect();
    let own = root.to_owned();
    rawko_process::pin_programs(root, paths, move |path| {
        let known = hashes.iter().find(|(known, _)| known == path);
        known.is_none_or(|(path, hash)| is_same(&own, path, hash))
    });
}

/// Returns true if a file still has this content.
fn is_same(root: &Path, path: &Path, hash: &str) -> bool {
    let mut now = AuthorityFiles::default();
    now.add(root, path).is_ok() && now.hash_of(root, path).as_deref() == Some(hash)
}

fn pins(service: &dyn Service, root: &Path, files: &AuthorityFiles) -> Vec<(PathBuf, String)> {
    let provenance = service.provenance();
    let words = provenance.get("command").as_list().unwrap_or_default().iter();
    let words = words.filter_map(Value::as_str).map(str::to_owned).collect();
    let start = ProjectStart { kind: "service", name: String::new(), words };
    let hash = |path: PathBuf| Some((path.clone(), files.hash_of(root, &path)?));
    programs(&[start], root).into_iter().filter_map(hash).collect()
}

impl PinnedService {
    /// Returns the program that changed, if any.
    fn changed(&self) -> Option<&Path> {
        let changed = self.programs.iter().find(|(path, hash)| !is_same(&self.root, path, hash));
        changed.map(|(path, _)| path.as_path())
    }
}

impl Service for PinnedService {
    fn call(&self, call: ServiceCall) -> ServiceFuture {
        match self.changed() {
            None => self.inner.call(call),
            Some(path) => {
                let why = format!(
                    "`{}` changed since it was trusted; restart rawko to review it",
                    crate::files::shown(path)
                );
                Box::pin(async { Err(ServiceError::new(Category::Refused, why)) })
            }
        }
    }

    fn on_restart(&self) -> OnRestart {
        self.inner.on_restart()
    }

    fn on_restart_of(&self, name: &str, input: &Value) -> OnRestart {
        self.inner.on_restart_of(name, input)
    }

    fn provenance(&self) -> Value {
        self.inner.provenance()
    }
}
