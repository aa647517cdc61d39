//! `Base`: what the checks were when a task began. Agents may change the project, and not what judges them: the checks of
//! the base decide, files that a check names are put back, and a changed definition counts as a failure.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::definition::Check;
use super::report::{CheckFinding, CheckResult};
use super::run::shown;
use super::settings_of;

/// A larger file is only compared, not kept.
const KEPT_BYTES_MAX: u64 = 256 * 1024;
const KEPT_BYTES_TOTAL: usize = 2 * 1024 * 1024;

/// Plain data of a chart's context.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Base {
    pub checks: Vec<Check>,
    /// The files that decide, by path in the project.
    pub files: BTreeMap<String, KeptFile>,
    /// Hashes of what defines each check elsewhere, such as a script in `package.json`.
    pub settings: BTreeMap<String, String>,
    /// Name of the snapshot of the project's files; `None` if it could not be taken.
    pub snapshot: Option<String>,
    /// Why there is no snapshot.
    pub snapshot_problem: Option<String>,
}

/// A file at the start of the task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptFile {
    pub hash: String,
    /// `None` if it is too large or not text.
    pub text: Option<String>,
}

impl Base {
    /// Records the checks, and the files that they name or that match `protected`.
    pub fn of(root: &Path, checks: Vec<Check>, protected: &[String]) -> Self {
        let mut base = Self { settings: settings_of::all(root, &checks), ..Self::default() };
        let named = checks.iter().flat_map(|check| named_files(root, check));
        let mut paths: Vec<String> = named.chain(matching(root, protected)).collect();
        paths.sort();
        paths.dedup();
        let mut total = 0;
        for path in paths {
            let Some(mut kept) = KeptFile::read(&root.join(&path)) else { continue };
            total += kept.text.as_ref().map_or(0, String::len);
            if total > KEPT_BYTES_TOTAL {
                kept.text = None;
            }
            base.files.insert(path, kept);
        }
        base.checks = checks;
        base
    }

    /// Puts changed files back. Returns those that were changed, and as a failing check those that cannot be put back.
    pub fn restore(&self, root: &Path) -> (Vec<String>, Vec<CheckResult>) {
        let (mut restored, mut lost) = (Vec::new(), Vec::new());
        for (path, kept) in &self.files {
            let place = root.join(path);
            let is_same =
                !place.is_symlink() && KeptFile::read(&place).is_some_and(|now| now.hash == kept.hash);
            if is_same {
                continue;
            }
            match kept.text.as_deref().map(|text| put_back(root, path, text)) {
                Some(Ok(())) => restored.push(path.clone()),
                Some(Err(error)) => lost.push(not_restored(path, &error.to_string())),
                None => lost.push(not_restored(path, "it was too large to keep a copy")),
            }
        }
        (restored, lost)
    }

    /// Returns a failing result per check whose definition was changed.
    pub fn redefined(&self, root: &Path) -> Vec<CheckResult> {
        let now = settings_of::all(root, &self.checks);
        let changed = self.settings.iter().filter(|(name, hash)| now.get(*name) != Some(hash));
        changed
            .map(|(name, _)| failing(name, &format!("{name} says what this check runs, and was changed")))
            .collect()
    }

    /// Adds checks that the project did not have when the task began.
    pub fn with_new(&self, now: Vec<Check>) -> Vec<Check> {
        let new = now.into_iter().filter(|check| self.checks.iter().all(|known| known.name != check.name));
        self.checks.iter().cloned().chain(new).collect()
    }
}

impl KeptFile {
    fn read(path: &Path) -> Option<Self> {
        let length = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?.len();
        let body = std::fs::read(path).ok()?;
        let hash = blake3::hash(&body).to_hex()[..32].to_owned();
        let text = (length <= KEPT_BYTES_MAX).then(|| String::from_utf8(body).ok()).flatten();
        Some(Self { hash, text })
    }
}

/// Writes the file, replacing a link or a folder of that name. The permissions of an existing file stay.
fn put_back(root: &Path, path: &str, text: &str) -> std::io::Result<()> {
    let place = root.join(path);
    let folder = place.parent().unwrap_or(root);
    std::fs::create_dir_all(folder)?;
    if !folder.canonicalize()?.starts_with(root.canonicalize()?) {
        return Err(std::io::Error::other("its folder leads outside the project"));
    }
    if place.is_symlink() {
        std::fs::remove_file(&place)?;
    } else if place.is_dir() {
        std::fs::remove_dir_all(&place)?;
    }
    std::fs::write(&place, text)
}

fn not_restored(path: &str, why: &str) -> CheckResult {
    failing(path, &format!("a check uses {path}, which was changed and cannot be put back: {why}"))
}

fn failing(name: &str, why: &str) -> CheckResult {
    let finding = CheckFinding::new(None, None, why);
    CheckResult {
        name: name.to_owned(),
        command: String::new(),
        ok: false,
        decides: true,
        errors: 1,
        summary: finding.message.clone(),
        findings: vec![finding],
    }
}

/// Returns the files of the project that a command names, or the script or rule that it runs.
fn named_files(root: &Path, check: &Check) -> Vec<String> {
    let text = format!("{} {}", shown(&check.command), settings_of::commands(root, check));
    let words = text.split(|c: char| c.is_whitespace() || "\"'`;&|()<>=$".contains(c));
    let folders = [check.cwd.clone(), PathBuf::from(".")];
    let mut found = Vec::new();
    for word in words.filter(|word| !word.is_empty() && !word.starts_with('-')) {
        for folder in &folders {
            let Some(path) = normal(&folder.join(word)) else { continue };
            if root.join(&path).is_file() {
                found.push(path);
                break;
            }
        }
    }
    found
}

/// A relative path inside the project, without `.` and `..`.
fn normal(path: &Path) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => parts.push(name.to_str()?),
            Component::CurDir => {}
            Component::ParentDir => {
                parts.pop()?;
            }
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    (!parts.is_empty()).then(|| parts.join("/"))
}

fn matching(root: &Path, patterns: &[String]) -> Vec<String> {
    let mut set = globset::GlobSetBuilder::new();
    for pattern in patterns {
        if let Ok(glob) = globset::Glob::new(pattern) {
            set.add(glob);
        }
    }
    let Ok(set) = set.build() else { return Vec::new() };
    if set.is_empty() {
        return Vec::new();
    }
    let walk = ignore::WalkBuilder::new(root).require_git(false).hidden(false).build();
    let files = walk.flatten().filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
    let paths = files.filter_map(|entry| Some(entry.path().strip_prefix(root).ok()?.to_str()?.to_owned()));
    paths.filter(|path| set.is_match(path)).collect()
}
