//! Trust records: for each project the files that a person trusted, with their contents for a later diff. They live in
//! the user's state directory, one file per project.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::files::{AuthorityFile, AuthorityFiles};
use crate::failure::CommandFailure;
use crate::{state_directory, times};

/// Directory below the state directory.
const FOLDER: &str = "trust";
const VERSION: u32 = 1;
const IN_CALL: &str = "a command of an agent or service cannot trust a project; run it in your own shell";

/// The trusted content of one project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TrustRecord {
    v: u32,
    /// Canonical path of the project.
    pub(crate) project: PathBuf,
    /// Milliseconds since the epoch.
    pub(crate) trusted_ms: i64,
    files: BTreeMap<String, TrustedFile>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TrustedFile {
    hash: String,
    /// For diffs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<String>,
}

/// The difference of one file to the trusted content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TrustDifference {
    New,
    Changed,
    Removed,
}

impl TrustDifference {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            TrustDifference::New => "new",
            TrustDifference::Changed => "changed",
            TrustDifference::Removed => "removed",
        }
    }
}

impl From<&AuthorityFile> for TrustedFile {
    fn from(file: &AuthorityFile) -> Self {
        TrustedFile { hash: file.hash.clone(), text: file.text.clone() }
    }
}

impl TrustRecord {
    /// Returns the record of a project; an empty one if it was never trusted.
    pub(crate) fn load(root: &Path) -> Result<TrustRecord, CommandFailure> {
        let project = canonical(root)?;
        let path = state_directory::path()?.join(FOLDER).join(file_name(&project));
        let empty = TrustRecord { v: VERSION, project: project.clone(), ..TrustRecord::default() };
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(empty),
            Err(error) => {
                return Err(CommandFailure::Usage(format!("cannot read `{}`: {error}", path.display())));
            }
        };
        state_directory::insist_on_own(&state_directory::path()?.join(FOLDER))?;
        // A damaged record, or one of another version, trusts nothing.
        let record = serde_json::from_slice::<TrustRecord>(&bytes).ok();
        Ok(record.filter(|it| it.v == VERSION && it.project == project).unwrap_or(empty))
    }

    /// Returns all records, by project.
    pub(crate) fn all() -> Result<Vec<TrustRecord>, CommandFailure> {
        let folder = state_directory::path()?.join(FOLDER);
        let Ok(entries) = fs::read_dir(&folder) else { return Ok(Vec::new()) };
        let read = |path: PathBuf| serde_json::from_slice::<TrustRecord>(&fs::read(path).ok()?).ok();
        let mut all: Vec<TrustRecord> = entries.filter_map(|entry| read(entry.ok()?.path())).collect();
        all.sort_by(|one, other| one.project.cmp(&other.project));
        Ok(all)
    }

    /// Replaces the trusted content.
    pub(crate) fn set(&mut self, files: &AuthorityFiles) {
        self.files = files.iter().map(|(path, file)| (path.to_owned(), file.into())).collect();
    }

    /// Adds files to the trusted content, and leaves the others as they are.
    pub(crate) fn extend<'p>(&mut self, files: &AuthorityFiles, paths: impl IntoIterator<Item = &'p str>) {
        for path in paths {
            if let Some(file) = files.get(path) {
                self.files.insert(path.to_owned(), file.into());
            }
        }
    }

    /// Writes the record; another process sees the old one or the new one.
    pub(crate) fn save(&mut self) -> Result<(), CommandFailure> {
        if super::is_in_call() {
            return Err(CommandFailure::Invalid(IN_CALL.to_owned()));
        }
        self.trusted_ms = times::now_ms();
        let folder = state_directory::create(FOLDER)?;
        let path = folder.join(file_name(&self.project));
        let unfinished = folder.join(format!(".{}.part", std::process::id()));
        let cannot =
            |error: io::Error| CommandFailure::Usage(format!("cannot write `{}`: {error}", path.display()));
        let bytes = serde_json::to_vec(self).map_err(|error| cannot(error.into()))?;
        let mut options = fs::OpenOptions::new();
        let mut file =
            options.write(true).create(true).truncate(true).mode(0o600).open(&unfinished).map_err(cannot)?;
        file.write_all(&bytes).and_then(|()| file.sync_all()).map_err(cannot)?;
        fs::rename(&unfinished, &path).map_err(cannot)
    }

    /// Removes the record of a project. Returns false if there was none.
    pub(crate) fn remove(root: &Path) -> Result<bool, CommandFailure> {
        let path = state_directory::path()?.join(FOLDER).join(file_name(&canonical(root)?));
        match fs::remove_file(&path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(CommandFailure::Usage(format!("cannot remove `{}`: {error}", path.display()))),
        }
    }

    /// Returns true if a project was trusted before.
    pub(crate) fn is_known(&self) -> bool {
        !self.files.is_empty()
    }

    /// Returns the trusted content of a file.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path)?.text.as_deref()
    }

    /// Returns the files that differ from the trusted content, by path. A removed file counts: it may have narrowed.
    pub(crate) fn differences(&self, files: &AuthorityFiles) -> Vec<(String, TrustDifference)> {
        let mut all = Vec::new();
        for (path, file) in files.iter() {
            match self.files.get(path) {
                Some(known) if known.hash == file.hash => {}
                Some(_) => all.push((path.to_owned(), TrustDifference::Changed)),
                None => all.push((path.to_owned(), TrustDifference::New)),
            }
        }
        let removed = self.files.keys().filter(|path| files.get(path).is_none());
        all.extend(removed.map(|path| (path.clone(), TrustDifference::Removed)));
        all.sort_by(|one, other| one.0.cmp(&other.0));
        all
    }
}

fn canonical(root: &Path) -> Result<PathBuf, CommandFailure> {
    root.canonicalize().map_err(|error| {
        CommandFailure::Usage(format!("cannot open directory `{}`: {error}", root.display()))
    })
}

fn file_name(project: &Path) -> String {
    let hash = blake3::hash(project.as_os_str().as_encoded_bytes()).to_hex();
    format!("{}.json", &hash[..32])
}
