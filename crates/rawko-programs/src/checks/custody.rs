//! `Custody`: the base of a task until the task is closed. A task that is killed, cancelled or paused leaves it behind, so
//! that a check which its agents changed does not judge the next task. Kept in the user's state directory, out of agents'
//! reach. Separate from `Doubts`, which are the result.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use std::{fs, io};

use serde::{Deserialize, Serialize};

use super::base::{CheckBase, KeptFile};
use super::control::Control;
use super::definition::ProjectCheck;
use super::doubts::Doubts;
use super::hidden_failures::HiddenFailures;
use super::settings_of;
use crate::changes::FolderSnapshot;
use crate::checkpoints::{EntryKind, HistoryEntry};

/// A task that has not been heard of for this long is forgotten, like its snapshot.
const KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The base of one task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Custody {
    /// The instance that recorded the base. Calls of its descendants count as its own.
    pub owner: String,
    /// The last checkpoint before the task.
    pub since: u64,
    /// The checks at the start of the task.
    pub base: CheckBase,
    /// Hash of the project's files at the start of a channel's rounds.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub tree: String,
    /// The deciding run passed with all files as they were: nothing is left to put back.
    pub passed: bool,
    /// Set when the owner ended without being closed, as by `rawko cancel`.
    pub closing: Option<Closing>,
}

/// The end of a task that could not close itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Closing {
    /// Files that a check depends on, put back as they were.
    pub restored: Vec<String>,
    /// Files that differ from the beginning of the task.
    pub changed: Vec<String>,
}

/// The result of settling.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CustodyResult {
    /// Files that were put back.
    pub restored: Vec<String>,
    /// Changes that cannot be put back, or whose author is unknown.
    pub doubts: Doubts,
}

/// The author of a change since the base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ChangeOrigin {
    /// Only the task.
    Own,
    /// A person or another run: they have decided.
    Other,
    /// Both, or the file has no history: git ignores it.
    Unknown,
}

impl Custody {
    /// Puts back what the task changed of its checks, and accepts what a person changed. `entries`: the checkpoints after
    /// `since`.
    pub fn settle(&mut self, root: &Path, entries: &[HistoryEntry]) -> CustodyResult {
        let mut settled = CustodyResult::default();
        for (path, kept) in self.base.files.clone() {
            let now = KeptFile::read(&root.join(&path));
            if now.as_ref().is_some_and(|now| now.is_same(&kept)) {
                continue;
            }
            match self.origin(entries, |changed| changed == path, Some(&kept.hash)) {
                ChangeOrigin::Other => self.accept(&path, now),
                ChangeOrigin::Own if kept.put_back(root, &path).is_ok_and(|is_back| is_back) => {
                    settled.restored.push(path);
                }
                ChangeOrigin::Unknown if self.passed => {}
                ChangeOrigin::Own | ChangeOrigin::Unknown => {
                    settled.doubts.note_file(path, Some(kept.hash), now.map(|now| now.hash));
                }
            }
        }
        for path in self.base.new_files(root) {
            let now = KeptFile::read(&root.join(&path));
            match self.origin(entries, |changed| changed == path, None) {
                ChangeOrigin::Other => self.accept(&path, now),
                ChangeOrigin::Unknown if self.passed => {}
                ChangeOrigin::Own | ChangeOrigin::Unknown => {
                    settled.doubts.note_file(path, None, now.map(|now| now.hash));
                }
            }
        }
        let now = settings_of::all(root, &self.base.checks);
        for (name, before) in self.base.settings.clone() {
            let after = now.get(&name).cloned();
            if after.as_ref() == Some(&before) {
                continue;
            }
            let file = defined_in(&name);
            let is_file = |changed: &str| changed == file || changed.ends_with(&format!("/{file}"));
            match (self.origin(entries, is_file, Some("")), after) {
                (ChangeOrigin::Other, Some(after)) => drop(self.base.settings.insert(name, after)),
                (ChangeOrigin::Other, None) => drop(self.base.settings.remove(&name)),
                (ChangeOrigin::Unknown, _) if self.passed => {}
                (ChangeOrigin::Own | ChangeOrigin::Unknown, after) => {
                    settled.doubts.note_setting(name, before, after)
                }
            }
        }
        settled
    }

    /// Takes a file as it is now.
    fn accept(&mut self, path: &str, now: Option<KeptFile>) {
        self.base.absent.remove(path);
        match now {
            Some(now) => drop(self.base.files.insert(path.to_owned(), now)),
            None => drop(self.base.files.remove(path)),
        }
    }

    /// Returns what the task left that could turn its failing checks green. `None` if there is nothing, or if the deciding
    /// run passed.
    pub fn unjudged(
        &self,
        root: &Path,
        snapshot: &FolderSnapshot,
        entries: &[HistoryEntry],
    ) -> Option<HiddenFailures> {
        let CheckBase { checks, failing, unfixed, .. } = &self.base;
        let name = unfixed.as_ref().map(|unfixed| &unfixed.snapshot).or(self.base.snapshot.as_ref())?;
        if self.passed || failing.is_empty() {
            return None;
        }
        let failed: Vec<ProjectCheck> =
            checks.iter().filter(|check| failing.contains_key(&check.name)).cloned().collect();
        let control = Control::of(root, snapshot, &snapshot.changes(root), &failed);
        let is_decided = |path: &String| {
            matches!(self.origin(entries, |changed| changed == path, Some("")), ChangeOrigin::Other)
        };
        let mut paths: Vec<String> = control.paths().into_iter().filter(|path| !is_decided(path)).collect();
        paths.extend(unfixed.iter().flat_map(|unfixed| unfixed.names().map(str::to_owned)));
        (!paths.is_empty()).then(|| HiddenFailures::new(root, name, failing.clone(), &paths))
    }

    /// Returns the authors of a file since it was last as the base has it. `before`: its hash there, `None` if it did not
    /// exist; an empty one is that of no file.
    fn origin(
        &self,
        entries: &[HistoryEntry],
        is_it: impl Fn(&str) -> bool,
        before: Option<&str>,
    ) -> ChangeOrigin {
        let (mut own, mut other) = (false, false);
        for entry in entries.iter().filter(|entry| entry.number > self.since) {
            let Some(change) = entry.changes.iter().find(|change| is_it(&change.path)) else { continue };
            let is_back = match (before, &change.after) {
                (Some(before), Some(after)) => !before.is_empty() && after.hash.starts_with(before),
                (None, None) => true,
                (Some(_), None) | (None, Some(_)) => false,
            };
            if is_back {
                (own, other) = (false, false);
                continue;
            }
            match entry.author.kind {
                EntryKind::Call | EntryKind::Merge if self.is_own(&entry.author.instance) => own = true,
                EntryKind::Call
                | EntryKind::Merge
                | EntryKind::Base
                | EntryKind::Outside
                | EntryKind::Undo
                | EntryKind::Redo => other = true,
            }
        }
        match (own, other) {
            (true, false) => ChangeOrigin::Own,
            (false, true) => ChangeOrigin::Other,
            (true, true) | (false, false) => ChangeOrigin::Unknown,
        }
    }

    /// Returns true for the owner and its descendants, whose ids begin with its id.
    pub fn is_own(&self, instance: &str) -> bool {
        instance.strip_prefix(&*self.owner).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }
}

/// Returns the file of a definition from its name, which ends with it: "the script `test` of `package.json`".
fn defined_in(name: &str) -> &str {
    name.rsplit('`').nth(1).unwrap_or(name)
}

/// All custodies of a project.
#[derive(Clone, Debug)]
pub struct Custodies {
    folder: PathBuf,
}

impl Custodies {
    /// `state`: the folder of the project in the user's state directory.
    pub fn new(state: &Path) -> Self {
        Self { folder: state.join("bases") }
    }

    fn file(&self, owner: &str) -> PathBuf {
        self.folder.join(format!("{}.json", rawko_settings::short_hash(owner.as_bytes())))
    }

    /// Returns true if there is a custody of this owner.
    pub fn is_there(&self, owner: &str) -> bool {
        self.file(owner).exists()
    }

    /// Returns the custody of an owner.
    pub fn find(&self, owner: &str) -> Option<Custody> {
        let custody: Custody = serde_json::from_slice(&fs::read(self.file(owner)).ok()?).ok()?;
        (custody.owner == owner).then_some(custody)
    }

    /// Returns all of them, the oldest first. Old ones are removed.
    pub fn all(&self) -> Vec<Custody> {
        let mut all: BTreeMap<(u64, String), Custody> = BTreeMap::new();
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let modified = entry.metadata().and_then(|about| about.modified());
            let age = modified.ok().and_then(|time| SystemTime::now().duration_since(time).ok());
            if age.is_some_and(|age| age > KEPT) {
                let _ = fs::remove_file(entry.path());
                continue;
            }
            let read = fs::read(entry.path()).ok();
            let custody = read.and_then(|text| serde_json::from_slice::<Custody>(&text).ok());
            all.extend(custody.map(|custody| ((custody.since, custody.owner.clone()), custody)));
        }
        all.into_values().collect()
    }

    /// Writes it whole: a kill leaves the one before or this one.
    pub fn keep(&self, custody: &Custody) -> io::Result<()> {
        rawko_settings::make_private(&self.folder)?;
        let place = self.file(&custody.owner);
        let draft = place.with_extension("new");
        fs::write(&draft, serde_json::to_vec(custody)?)?;
        fs::rename(draft, place)
    }

    /// Ends the custody of an owner.
    pub fn remove(&self, owner: &str) -> io::Result<()> {
        match fs::remove_file(self.file(owner)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Takes everything as it is now, on behalf of a person.
    pub fn accept(&self, root: &Path) -> io::Result<()> {
        for mut custody in self.all() {
            let paths: Vec<String> = custody.base.files.keys().cloned().collect();
            for path in paths.into_iter().chain(custody.base.new_files(root)) {
                custody.accept(&path, KeptFile::read(&root.join(&path)));
            }
            custody.base.settings = settings_of::all(root, &custody.base.checks);
            self.keep(&custody)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoints::{ChangeAuthor, PathChange, PathKind, PathState};
    use crate::checks::detect;

    fn mark(hash: &str) -> PathState {
        PathState { kind: PathKind::File, mode: 0, size: 0, hash: hash.into() }
    }

    fn entry(number: u64, kind: EntryKind, instance: &str, path: &str) -> HistoryEntry {
        let author =
            ChangeAuthor { kind, instance: instance.into(), call: String::new(), label: String::new() };
        let changes =
            vec![PathChange { path: path.into(), before: None, after: Some(mark("of another content")) }];
        HistoryEntry {
            number,
            at_ms: 0,
            author,
            commit: None,
            reference: None,
            changes,
            ignored: Vec::new(),
            others: Vec::new(),
        }
    }

    fn begin(root: &Path) -> Custody {
        let package = r#"{"scripts": {"test": "sh run.sh"}}"#;
        fs::write(root.join("package.json"), package).unwrap();
        fs::write(root.join("run.sh"), "exit 1\n").unwrap();
        let base = CheckBase::of(root, detect(root), &["golden/**".to_owned()]);
        Custody { owner: "t".into(), since: 3, base, ..Custody::default() }
    }

    /// A changed check: who changed it, whether it is put back, and whether a doubt remains.
    #[test]
    fn the_author_of_a_change_decides() {
        use EntryKind::{Call, Merge, Outside, Undo};
        type Authors<'a> = &'a [(EntryKind, &'a str)];
        let table: [(&str, Authors<'_>, bool, bool); 8] = [
            ("an agent", &[(Call, "t.agent.2")], true, false),
            ("the task itself", &[(Call, "t")], true, false),
            ("a merged worktree", &[(Merge, "t.x.1")], true, false),
            ("a person", &[(Outside, "")], false, false),
            ("an undo", &[(Undo, "")], false, false),
            ("another task", &[(Call, "tt.agent.2")], false, false),
            ("an agent after a person", &[(Outside, ""), (Call, "t.agent.2")], false, true),
            ("without history", &[], false, true),
        ];
        for (name, authors, is_restored, is_doubt) in table {
            let project = tempfile::tempdir().unwrap();
            let root = project.path();
            let mut custody = begin(root);
            fs::write(root.join("run.sh"), "exit 0\n").unwrap();
            let entries: Vec<HistoryEntry> = (4..)
                .zip(authors)
                .map(|(number, (kind, instance))| entry(number, *kind, instance, "run.sh"))
                .collect();
            let settled = custody.clone().settle(root, &entries);
            assert_eq!(settled.restored == ["run.sh"], is_restored, "{name}: {settled:?}");
            assert_eq!(settled.doubts.names().count() == 1, is_doubt, "{name}: {settled:?}");
            let text = fs::read_to_string(root.join("run.sh")).unwrap();
            assert_eq!(text == "exit 1\n", is_restored, "{name}");
            custody.passed = true;
            fs::write(root.join("run.sh"), "exit 0\n").unwrap();
            let passed = custody.settle(root, &entries);
            assert_eq!(passed.doubts.names().count(), 0, "{name}: {passed:?}");
        }
    }

    /// A person edits a check that was put back meanwhile.
    #[test]
    fn authors_count_since_the_file_was_last_as_before() {
        let project = tempfile::tempdir().unwrap();
        let root = project.path();
        let mut custody = begin(root);
        let hash = custody.base.files["run.sh"].hash.clone() + "more of it";
        let mut back = entry(5, EntryKind::Call, "u", "run.sh");
        back.changes[0].after = Some(mark(&hash));
        let entries = [
            entry(4, EntryKind::Call, "t.agent.2", "run.sh"),
            back,
            entry(6, EntryKind::Outside, "", "run.sh"),
        ];
        fs::write(root.join("run.sh"), "exit 2\n").unwrap();
        assert_eq!(custody.settle(root, &entries), CustodyResult::default());
        assert_eq!(fs::read_to_string(root.join("run.sh")).unwrap(), "exit 2\n");
    }

    #[test]
    fn new_files_and_definitions_become_doubts() {
        let project = tempfile::tempdir().unwrap();
        let root = project.path();
        let mut custody = begin(root);
        fs::write(root.join("package.json"), r#"{"scripts": {"test": "true"}}"#).unwrap();
        fs::create_dir(root.join("golden")).unwrap();
        fs::write(root.join("golden/new"), "x").unwrap();
        let by =
            |kind| [entry(4, kind, "t.agent.1", "package.json"), entry(5, kind, "t.agent.1", "golden/new")];
        let settled = custody.settle(root, &by(EntryKind::Call));
        let names: Vec<&str> = settled.doubts.names().collect();
        assert!(names.contains(&"golden/new"), "{names:?}");
        assert!(names.iter().any(|name| name.contains("package.json")), "{names:?}");
        let accepted = custody.settle(root, &by(EntryKind::Outside));
        assert_eq!(accepted, CustodyResult::default());
        assert_eq!(custody.settle(root, &[]), CustodyResult::default(), "accepted once, accepted for good");
    }

    #[test]
    fn custodies_are_kept_until_they_are_removed() {
        let (project, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let root = project.path();
        let all = Custodies::new(state.path());
        let custody = begin(root);
        all.keep(&custody).unwrap();
        assert_eq!((all.find("t"), all.find("u"), all.is_there("t")), (Some(custody.clone()), None, true));
        fs::write(root.join("run.sh"), "exit 0\n").unwrap();
        all.accept(root).unwrap();
        let mut accepted = all.all().remove(0);
        assert_eq!(accepted.settle(root, &[]), CustodyResult::default());
        all.remove("t").unwrap();
        all.remove("t").unwrap();
        assert_eq!(all.all(), Vec::new());
    }
}
