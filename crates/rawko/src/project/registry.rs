//! `machine_registry` documents on disk: entries with their files, and what is wrong with those files.

use std::path::{Path, PathBuf};

use rawko_chart::{Finding, RegistryFile, Severity, Source, read_registry};

/// One entry, its file resolved beside the registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Registered {
    pub(crate) id: String,
    pub(crate) version: String,
    pub(crate) path: PathBuf,
}

pub(super) const MISSING_FILE: &str = "rawko::project::registry_file_missing";

/// The entries of a registry whose files are there, and everything that is wrong with it.
pub(super) fn read(path: &Path, source: &Source) -> (Vec<Registered>, Vec<Finding>) {
    let RegistryFile { entries, mut findings } = read_registry(source);
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut registered = Vec::new();
    for entry in entries {
        let path = folder.join(&entry.src);
        if path.is_file() {
            registered.push(Registered { id: entry.id, version: entry.version, path });
        } else {
            let message = format!("`{}` is registered, but there is no file `{}`", entry.id, entry.src);
            let finding = Finding::new(MISSING_FILE, Severity::Error, entry.span, message);
            findings.push(finding.help("`src` is relative to the directory of the registry"));
        }
    }
    (registered, findings)
}
