//! `CheckBase`: what the checks were when a task began. Agents may change the project, and not what judges them: the checks of
//! the base decide, files that a check names are put back, and a changed definition counts as a failure.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::definition::{CheckFormat, ProjectCheck};
use super::formats::TestNames;
use super::hidden_failures::HiddenFailures;
use super::named::named_files;
use super::report::{CheckFinding, CheckReport, CheckResult};
use super::settings_of;
use crate::checkpoints::Root;

/// A larger file is only compared, not kept.
const KEPT_BYTES_MAX: u64 = 256 * 1024;
const KEPT_BYTES_TOTAL: usize = 2 * 1024 * 1024;

/// Plain data of a chart's context.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CheckBase {
    /// The checks at the start of the task.
    pub checks: Vec<ProjectCheck>,
    /// The files that decide, by path in the project.
    pub files: BTreeMap<String, KeptFile>,
    /// Names that a check would run or read, without a file so far.
    pub absent: BTreeSet<String>,
    /// The patterns of protected files, for new ones.
    pub protected: Vec<String>,
    /// Hashes of what defines each check elsewhere, such as a script in `package.json`.
    pub settings: BTreeMap<String, String>,
    /// Name of the snapshot of the project's files; `None` if it could not be taken.
    pub snapshot: Option<String>,
    /// Why there is no snapshot.
    pub snapshot_problem: Option<String>,
    /// The tests of each check before the task, by name; empty if they were not measured.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub start: BTreeMap<String, TestCount>,
    /// The errors of the checks that failed before the task; empty if they were not measured.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub failing: BTreeMap<String, u64>,
    /// Changes of an earlier task without which a check fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unfixed: Option<HiddenFailures>,
}

/// The tests of a check before the task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestCount {
    /// Tests that ran.
    pub tests: u64,
    /// Number of errors.
    pub errors: u64,
    /// Number of skipped tests.
    #[serde(default)]
    pub skipped: u64,
    /// The first failing ones.
    #[serde(default)]
    pub failing: Vec<String>,
}

/// Failing tests that are remembered by name.
const FAILING_MAX: usize = 200;

/// A file at the start of the task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptFile {
    /// Hash of the content.
    pub hash: String,
    /// `None` if it is too large or not text.
    pub text: Option<String>,
    /// Its permissions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<u32>,
    /// The target of a link; the file it leads to is kept by its own name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
}

impl CheckBase {
    /// Records the checks, and the files that they name or that match `protected`.
    pub fn of(root: &Path, checks: Vec<ProjectCheck>, protected: &[String]) -> Self {
        let mut base = Self {
            settings: settings_of::all(root, &checks),
            protected: protected.to_vec(),
            ..Self::default()
        };
        let mut paths: BTreeSet<String> = matching(root, protected).into_iter().collect();
        for check in &checks {
            let named = named_files(root, check);
            paths.extend(named.existing);
            base.absent.extend(named.absent);
        }
        let linked: Vec<String> = paths.iter().filter_map(|path| target_of(root, path)).collect();
        paths.extend(linked);
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

    /// Begins with checks that an earlier task has not fixed.
    pub fn take_unfixed(&mut self, unfixed: Option<HiddenFailures>) {
        self.failing.extend(unfixed.iter().flat_map(|unfixed| unfixed.failing.clone()));
        self.unfixed = unfixed;
    }

    /// Puts changed files back. Returns those that were changed, and as failing checks those that cannot be put back and
    /// new files that would decide. New files stay: they may be a person's.
    pub fn restore(&self, root: &Path) -> (Vec<String>, Vec<CheckResult>) {
        let (mut restored, mut lost) = (Vec::new(), Vec::new());
        for (path, kept) in &self.files {
            if KeptFile::read(&root.join(path)).is_some_and(|now| now.is_same(kept)) {
                continue;
            }
            match kept.put_back(root, path) {
                Ok(true) => restored.push(path.clone()),
                Ok(false) => lost.push(not_restored(path, "it was too large to keep a copy")),
                Err(error) => lost.push(not_restored(path, &error.to_string())),
            }
        }
        lost.extend(self.new_files(root).into_iter().map(|path| match self.absent.contains(&path) {
            true => {
                let why = format!("a check would run {path}, which is new since the task began; remove it");
                failing(&path, &why)
            }
            false => failing(&path, &format!("{path} is protected and new since the task began; remove it")),
        }));
        (restored, lost)
    }

    /// Returns the files that decide and did not exist when the task began.
    pub(super) fn new_files(&self, root: &Path) -> Vec<String> {
        let is_there = |path: &&String| root.join(path).symlink_metadata().is_ok();
        let named = self.absent.iter().filter(is_there).cloned();
        let protected = matching(root, &self.protected).into_iter();
        let is_new = |path: &String| !self.files.contains_key(path) && !self.absent.contains(path);
        named.chain(protected.filter(is_new)).collect()
    }

    /// Returns a failing result per check whose definition was changed.
    pub fn redefined(&self, root: &Path) -> Vec<CheckResult> {
        let now = settings_of::all(root, &self.checks);
        let changed = self.settings.iter().filter(|(name, hash)| now.get(*name) != Some(hash));
        changed
            .map(|(name, _)| failing(name, &format!("{name} defines what this check runs, and was changed")))
            .collect()
    }

    /// Remembers how many tests ran before the task.
    pub fn measure(&mut self, report: &CheckReport) {
        let counted = report.checks.iter().filter_map(|check| {
            let failing = check.names.failed.iter().take(FAILING_MAX).cloned().collect();
            let skipped = check.names.skipped;
            let count = TestCount { tests: check.tests?, errors: check.errors, skipped, failing };
            Some((check.name.clone(), count))
        });
        self.start = counted.collect();
        let failed = report.checks.iter().filter(|check| !check.ok && check.decides);
        self.failing = failed.map(|check| (check.name.clone(), check.errors)).collect();
    }

    /// Returns the checks that failed before the task and have fewer errors now: a control run shows whether they are fixed.
    pub fn improved(&self, checks: &[ProjectCheck], results: &[CheckResult]) -> Vec<ProjectCheck> {
        let is_less = |check: &&ProjectCheck| {
            let now = results.iter().find(|result| result.name == check.name);
            let before = self.failing.get(&check.name);
            let is_command = !matches!(check.format, CheckFormat::Lsp { .. });
            is_command && now.zip(before).is_some_and(|(now, before)| now.errors < *before)
        };
        checks.iter().filter(is_less).cloned().collect()
    }

    /// Returns the checks that pass and did not fail before the task.
    pub fn kept(&self, checks: &[ProjectCheck], results: &[CheckResult]) -> Vec<ProjectCheck> {
        let passes = |check: &&ProjectCheck| {
            let is_command = !matches!(check.format, CheckFormat::Lsp { .. });
            let now = results.iter().find(|result| result.name == check.name);
            is_command && !self.failing.contains_key(&check.name) && now.is_some_and(|now| now.ok)
        };
        checks.iter().filter(passes).cloned().collect()
    }

    /// Fails checks that pass only because code ends or disarms them. `taken_back`: the files with that code.
    pub fn disarm(&self, results: &mut [CheckResult], control: &CheckReport, taken_back: &[String]) {
        for result in results {
            let run = control.checks.iter().find(|run| run.name == result.name);
            if let Some(run) = run.filter(|run| run.errors > result.errors) {
                result.disarmed(run, taken_back);
            }
        }
    }

    /// Counts errors that are only gone because of changes that a control run takes back. `taken_back`: those files.
    pub fn compare(&self, results: &mut [CheckResult], control: &CheckReport, taken_back: &[String]) {
        for result in results {
            let run = control.checks.iter().find(|run| run.name == result.name);
            if let Some((run, before)) = run.zip(self.failing.get(&result.name)) {
                result.compare(run, self.start.get(&result.name), *before, taken_back);
            }
        }
    }

    /// Counts failing tests that do not run any more as failing: deleting or skipping a test fixes nothing. `removed`: words
    /// of lines that were removed from files and not added elsewhere.
    pub fn miss_failing_tests(&self, results: &mut [CheckResult], removed: &BTreeSet<String>) {
        for check in results {
            if let Some(start) = self.start.get(&check.name) {
                check.miss_failing_tests(start, removed);
            }
        }
    }

    /// Counts these checks as before the task, because a control run was not possible.
    pub fn refuse(&self, results: &mut [CheckResult], checks: &[ProjectCheck], why: &str) {
        for result in results.iter_mut().filter(|result| checks.iter().any(|check| check.name == result.name))
        {
            let finding = CheckFinding::new(None, None, why);
            let before = self.failing.get(&result.name).copied().unwrap_or(1);
            (result.ok, result.errors, result.summary) = (false, before, finding.message.clone());
            result.findings.insert(0, finding);
        }
    }

    /// Adds checks that the project did not have when the task began.
    pub fn with_new(&self, now: Vec<ProjectCheck>) -> Vec<ProjectCheck> {
        let new = now.into_iter().filter(|check| self.checks.iter().all(|known| known.name != check.name));
        self.checks.iter().cloned().chain(new).collect()
    }
}

impl KeptFile {
    pub(super) fn read(path: &Path) -> Option<Self> {
        let metadata = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
        let body = rawko_process::read_regular(path).ok()?;
        let hash = blake3::hash(&body).to_hex()[..32].to_owned();
        let text = (metadata.len() <= KEPT_BYTES_MAX).then(|| String::from_utf8(body).ok()).flatten();
        let link = std::fs::read_link(path).ok().and_then(|target| Some(target.to_str()?.to_owned()));
        Some(Self { hash, text, mode: Some(metadata.permissions().mode() & 0o7777), link })
    }

    /// Compares the contents, and whether it can run. Stores of earlier releases have no permissions.
    pub(super) fn is_same(&self, kept: &Self) -> bool {
        let can_run = |mode: Option<u32>| mode.map(|mode| mode & 0o111 != 0);
        let same_mode = kept.mode.is_none() || can_run(self.mode) == can_run(kept.mode);
        self.hash == kept.hash && self.link == kept.link && same_mode
    }

    /// Writes the file again, replacing anything of that name. Returns false if there is no copy.
    pub(super) fn put_back(&self, root: &Path, path: &str) -> std::io::Result<bool> {
        if self.link.is_none() && self.text.is_none() {
            return Ok(false);
        }
        let inside = Root::open(root)?;
        let path = inside.without_links(Path::new(path))?;
        inside.make_directories(path.parent().unwrap_or(Path::new("")))?;
        let parent = inside.parent(&path)?;
        let place = parent.path();
        if place.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            std::fs::remove_dir_all(&place)?;
        }
        parent.put(|draft| {
            if let Some(target) = &self.link {
                return symlink(target, draft);
            }
            std::fs::write(draft, self.text.as_deref().unwrap_or_default())?;
            let mode = self.mode.map(std::fs::Permissions::from_mode);
            mode.map_or(Ok(()), |mode| std::fs::set_permissions(draft, mode))
        })?;
        Ok(true)
    }
}

/// Returns the file of the project that a link leads to.
fn target_of(root: &Path, path: &str) -> Option<String> {
    let place = root.join(path);
    let real = place.is_symlink().then(|| place.canonicalize().ok()).flatten()?;
    let inside = real.strip_prefix(root.canonicalize().ok()?).ok()?.to_str()?.to_owned();
    Some(inside)
}

fn not_restored(path: &str, why: &str) -> CheckResult {
    failing(path, &format!("a check uses {path}, which was changed and cannot be put back: {why}"))
}

pub(super) fn failing(name: &str, why: &str) -> CheckResult {
    let finding = CheckFinding::new(None, None, why);
    CheckResult {
        name: name.to_owned(),
        command: String::new(),
        ok: false,
        decides: true,
        errors: 1,
        tests: None,
        summary: finding.message.clone(),
        findings: vec![finding],
        names: TestNames::default(),
    }
}

/// Reads patterns; the settings report wrong ones.
pub(super) fn globs(patterns: &[String]) -> globset::GlobSet {
    let mut set = globset::GlobSetBuilder::new();
    for pattern in patterns {
        if let Ok(glob) = globset::Glob::new(pattern) {
            set.add(glob);
        }
    }
    set.build().unwrap_or_default()
}

fn matching(root: &Path, patterns: &[String]) -> Vec<String> {
    let set = globs(patterns);
    if set.is_empty() {
        return Vec::new();
    }
    // Also files that git ignores: the patterns are explicit.
    let mut walk = ignore::WalkBuilder::new(root);
    walk.standard_filters(false).filter_entry(|entry| entry.file_name() != ".git");
    let walk = walk.build();
    let files = walk.flatten().filter(|entry| entry.file_type().is_some_and(|kind| !kind.is_dir()));
    let paths = files.filter_map(|entry| Some(entry.path().strip_prefix(root).ok()?.to_str()?.to_owned()));
    paths.filter(|path| set.is_match(path)).collect()
}
