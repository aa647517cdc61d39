//! `machine_registry`: which chart files a project knows by id and version.

use std::path::{Path, PathBuf};

use rawko_chart::{Document, Finding, Severity};

/// One entry, its file resolved beside the registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RegistryEntry {
    pub(crate) id: String,
    pub(crate) version: String,
    pub(crate) path: PathBuf,
}

const MISSING_FILE: &str = "rawko::chart::registry_file_missing";
const TWICE: &str = "rawko::chart::registry_entry_twice";

/// The entries of a registry that can be used, and what is wrong with the files of the others.
pub(super) fn read(path: &Path, document: &Document) -> (Vec<RegistryEntry>, Vec<Finding>) {
    let folder = path.parent().unwrap_or(Path::new(""));
    let (mut entries, mut findings) = (Vec::<RegistryEntry>::new(), Vec::new());
    for item in document.get("machine_registry").and_then(Document::items).unwrap_or_default() {
        let text = |key: &str| item.get(key).and_then(Document::text);
        let (Some(id), Some(src)) = (text("id"), text("src")) else { continue };
        let version = item.get("version").map(|version| plain(&version.to_json())).unwrap_or_default();
        let entry = RegistryEntry { id: id.to_owned(), version, path: folder.join(src) };
        if let Some(span) = item.get("src").map(|src| src.span).filter(|_| !entry.path.is_file()) {
            let message = format!("there is no file `{}`", entry.path.display());
            let help = "`src` is relative to the directory of the registry";
            findings.push(Finding::new(MISSING_FILE, Severity::Error, span, message).help(help));
        }
        if entries.iter().any(|other| other.id == entry.id && other.version == entry.version) {
            let message = format!("`{}@{}` is registered twice", entry.id, entry.version);
            findings.push(Finding::new(TWICE, Severity::Error, item.span, message));
        }
        entries.push(entry);
    }
    (entries, findings)
}

fn plain(json: &serde_json::Value) -> String {
    json.as_str().map_or_else(|| json.to_string(), str::to_owned)
}
