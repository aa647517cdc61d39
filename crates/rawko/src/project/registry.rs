//! `machine_registry` documents on disk: entries with their files, and the problems of those files.

use std::path::{Path, PathBuf};

use rawko_chart::codes::project::{REGISTRY_FILE_MISSING, REGISTRY_MISMATCH};
use rawko_chart::{Finding, RegistryEntry, RegistryFile, SourceFile, read_registry};

/// One entry, with its file resolved relative to the registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RegisteredChart {
    pub(crate) id: String,
    pub(crate) version: String,
    pub(crate) path: PathBuf,
}

/// Returns the entries whose files exist, and all problems of the registry.
pub(super) fn read(path: &Path, source: &SourceFile) -> (Vec<RegisteredChart>, Vec<Finding>) {
    let RegistryFile { entries, mut findings } = read_registry(source);
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut registered = Vec::new();
    for entry in entries {
        let path = folder.join(&entry.src);
        match rawko_process::read_regular(&path) {
            Ok(bytes) => {
                findings.extend(mismatch(&entry, &bytes));
                registered.push(RegisteredChart { id: entry.id, version: entry.version, path });
            }
            Err(_) => {
                let message =
                    format!("`{}` is registered, but its file `{}` does not exist", entry.id, entry.src);
                let finding = REGISTRY_FILE_MISSING.at(entry.span, message);
                findings.push(finding.help("`src` is relative to the directory of the registry"));
            }
        }
    }
    (registered, findings)
}

/// Reports an entry whose name or version differs from the chart's own.
fn mismatch(entry: &RegistryEntry, bytes: &[u8]) -> Option<Finding> {
    let (id, version) = super::identity(bytes)?;
    if id == entry.id && (version == entry.version || version.is_empty()) {
        return None;
    }
    let message =
        format!("`{}@{}` is registered, but `{}` is `{id}@{version}`", entry.id, entry.version, entry.src);
    let finding = REGISTRY_MISMATCH.at(entry.span, message);
    Some(finding.help("give both the same id and version"))
}
