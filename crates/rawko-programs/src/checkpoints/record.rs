//! `Checkpoints`: takes entries. One at a time per tree, in this process and among processes.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use rawko_process::Confinement;
use rawko_settings::Environment;
use tokio::sync::{Mutex, MutexGuard};

use super::git::{Git, ImportRequest, Imported, ref_part};
use super::ignored::scan_ignored;
use super::log::{Log, TreeState};
use super::names::{exists, real_path};
use super::open_below::Root;
use super::scan::{FileStamp, ScanScope, StatCache, read, scan};
use super::vault::Vault;
use super::{ChangeAuthor, EntryKind, HistoryEntry, Manifest, PathChange, PathKind, PathState};

/// The tree, and the place of its history.
#[derive(Clone, Debug)]
pub struct CheckpointSettings {
    /// The project, or a copy of it.
    pub root: PathBuf,
    /// The folder of the history, in the user's state directory.
    pub folder: PathBuf,
    /// Paths that are never stored: secrets, rawko's own state.
    pub excluded: Vec<PathBuf>,
    /// True if contents are commits where the project is a git repository.
    pub git: bool,
    /// The environment of git.
    pub environment: Environment,
    /// The bounds of git.
    pub confinement: Confinement,
}

/// The history of one tree.
#[derive(Debug)]
pub struct Checkpoints {
    pub(super) root: PathBuf,
    pub(super) log: Log,
    pub(super) vault: Vault,
    pub(super) git: Option<Git>,
    scope: ScanScope,
    /// Calls of this process that have not ended.
    open: std::sync::Mutex<BTreeSet<String>>,
    /// Notified when a call of this process ends.
    pub(super) ended: tokio::sync::Notify,
    /// Secrets, as the rules name them now.
    hidden: std::sync::Mutex<Vec<PathBuf>>,
    memory: Mutex<TreeMemory>,
}

/// The tree as this process knows it. Another process may have added entries.
#[derive(Debug, Default)]
pub(super) struct TreeMemory {
    cache: StatCache,
    pub(super) tree: Option<TreeState>,
    tracked: Option<(FileStamp, Vec<PathBuf>)>,
    /// The tree is too large, for this reason; it is not scanned again.
    refused: Option<String>,
    /// Ignored files, as the last scan found them.
    pub(super) ignored: Option<Manifest>,
    /// The beginning of the last scan.
    scanned: Option<SystemTime>,
}

/// The right to change the history.
pub(super) struct HistoryLock<'c> {
    pub(super) memory: MutexGuard<'c, TreeMemory>,
    _lock: std::fs::File,
}

impl Checkpoints {
    /// Creates the history of a project. Nothing is read yet.
    pub fn new(settings: CheckpointSettings) -> Self {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let root = real(&settings.root);
        let mut confinement = settings.confinement;
        confinement.root.clone_from(&root);
        let git = Git { root: root.clone(), environment: settings.environment, confinement };
        let excluded = settings.excluded.iter().flat_map(|path| [path.clone(), real(path)]).collect();
        Self {
            log: Log::new(settings.folder.clone()),
            vault: Vault::new(settings.folder.join("objects")),
            scope: ScanScope { excluded, has_parents: settings.git, ..ScanScope::default() },
            git: Some(git).filter(|_| settings.git),
            open: std::sync::Mutex::default(),
            ended: tokio::sync::Notify::new(),
            hidden: std::sync::Mutex::default(),
            memory: Mutex::default(),
            root,
        }
    }

    /// Returns the project if `.gitignore` files above it apply.
    pub(crate) fn below_rules(&self) -> Option<&Path> {
        self.scope.has_parents.then_some(&*self.root)
    }

    /// Returns the root of the project.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Sets further paths that are not stored.
    pub fn hide(&self, paths: Vec<PathBuf>) {
        *self.hidden.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = paths;
    }

    /// Returns all entries, the oldest first.
    pub fn entries(&self) -> io::Result<Vec<HistoryEntry>> {
        self.log.entries()
    }

    /// Records changes made before a call, and notes the call as their author until it ends.
    pub async fn begin(&self, author: &ChangeAuthor) -> io::Result<()> {
        let mut held = self.hold().await?;
        self.refresh_held(&mut held.memory).await?;
        self.open().insert(author.call.clone());
        self.log.open_call(author)
    }

    /// Notes that a call does not run any more although it has not ended: what it changed is recorded later, as its own.
    pub fn abandon(&self, author: &ChangeAuthor) {
        self.open().remove(&author.call);
        self.ended.notify_waiters();
    }

    fn open(&self) -> std::sync::MutexGuard<'_, BTreeSet<String>> {
        self.open.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    pub(super) fn is_open(&self, author: &ChangeAuthor) -> bool {
        self.open().contains(&author.call)
    }

    /// Records the changes of a call. `None` if there are none.
    pub async fn end(&self, author: &ChangeAuthor) -> io::Result<Option<HistoryEntry>> {
        let mut held = self.hold().await?;
        let entry = self.advance(&mut held.memory, author).await;
        self.abandon(author);
        self.log.close_call(author);
        entry
    }

    /// Records the present tree, and returns all of it.
    pub async fn now(&self) -> io::Result<(u64, Manifest)> {
        let mut held = self.hold().await?;
        self.catch_up(&mut held.memory).await?;
        let tree = held.memory.tree.as_ref();
        Ok(tree.map(|tree| (tree.number, tree.files.clone())).unwrap_or_default())
    }

    /// Returns the tree after an entry.
    pub async fn files_at(&self, number: u64) -> io::Result<Manifest> {
        let held = self.hold().await?;
        let mut files = held.memory.tree.as_ref().map(|tree| tree.files.clone()).unwrap_or_default();
        for entry in self.entries()?.into_iter().rev().take_while(|entry| entry.number > number) {
            for PathChange { path, before, .. } in entry.changes {
                match before {
                    Some(mark) => drop(files.insert(path, mark)),
                    None => drop(files.remove(&path)),
                }
            }
        }
        Ok(files)
    }

    /// Returns the git repository of the project; `None` without one.
    pub(crate) fn repository(&self) -> Option<&Git> {
        self.git.as_ref().filter(|_| Git::is_repository(&self.root))
    }

    /// Returns the commit with the tree after an entry.
    pub(crate) fn commit_of(&self, number: u64) -> io::Result<Option<String>> {
        Ok(self.log.entry(number)?.commit)
    }

    /// Takes the locks, and completes what a killed process began.
    pub(super) async fn hold(&self) -> io::Result<HistoryLock<'_>> {
        let mut memory = self.memory.lock().await;
        let log = self.log.clone();
        let lock = tokio::task::spawn_blocking(move || log.lock()).await??;
        if memory.tree.as_ref().map_or(0, |tree| tree.number) != self.log.last_number()? {
            memory.tree = self.log.tree()?;
        }
        self.settle(&mut memory).await?;
        Ok(HistoryLock { memory, _lock: lock })
    }

    /// Records changes that no call has ended with: those of a call that was killed, or from outside.
    pub(super) async fn catch_up(&self, memory: &mut TreeMemory) -> io::Result<()> {
        let calls = self.log.open_calls();
        let killed = calls.iter().find(|call| !self.is_open(call));
        // What changed while a call is running may be its work.
        let author = killed.or(calls.first()).cloned().unwrap_or_else(ChangeAuthor::outside);
        self.advance(memory, &author).await?;
        killed.iter().for_each(|author| self.log.close_call(author));
        Ok(())
    }

    /// Adds an entry if the tree differs from the last one. Returns the entry of this author.
    pub(super) async fn advance(
        &self,
        memory: &mut TreeMemory,
        author: &ChangeAuthor,
    ) -> io::Result<Option<HistoryEntry>> {
        let mut scope = self.scope.clone();
        scope.tracked = self.tracked(memory).await;
        // Files of the history stay part of it if git ignores them from now on.
        let held = memory.tree.iter().flat_map(|tree| tree.files.keys());
        scope.tracked.extend(held.map(|name| real_path(name)));
        scope.excluded.extend(self.hidden.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone());
        if let Some(why) = &memory.refused {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, why.clone()));
        }
        let mut cache = std::mem::take(&mut memory.cache);
        let (at, begun) = (self.root.clone(), SystemTime::now());
        let (root, files, ignored, cache) = tokio::task::spawn_blocking(move || {
            let root = Root::open(&at)?;
            let files = scan(&at, &root, &scope, &mut cache);
            let ignored = files.as_ref().ok();
            let ignored = ignored.and_then(|files| scan_ignored(&at, &root, &scope, &mut cache, files));
            Ok::<_, io::Error>((Arc::new(root), files, ignored, cache))
        })
        .await??;
        memory.cache = cache;
        let too_large = files.as_ref().err().filter(|error| error.kind() == io::ErrorKind::FileTooLarge);
        memory.refused = too_large.map(ToString::to_string);
        let files = files?;
        let ignored = self.take_ignored(memory, ignored, &root).await?;
        let earlier = memory.scanned.replace(begun);
        let known = memory.tree.as_ref().map(|tree| &tree.files);
        let mut changes = differences(known.unwrap_or(&Manifest::new()), &files);
        // Kept from agents from now on, but not removed.
        let is_hidden = |it: &PathChange| it.after.is_none() && exists(&self.root, &it.path);
        changes.retain(|change| !is_hidden(change));
        let is_base = known.is_none();
        if is_base {
            let author = ChangeAuthor { kind: EntryKind::Base, ..author.clone() };
            return self.add(memory, changes, Vec::new(), author, &root).await.map(Some);
        }
        let revealed = self.take_revealed(memory, &mut changes, author, earlier);
        if !revealed.is_empty() {
            self.add(memory, revealed, Vec::new(), ChangeAuthor::reveal(), &root).await?;
        }
        // Changes of a person to ignored files are not recorded: an undo never takes them back.
        let ignored = if author.kind == EntryKind::Outside { Vec::new() } else { ignored };
        if changes.is_empty() && ignored.is_empty() {
            return self.remember_ignored(memory).map(|()| None);
        }
        let is_told = !changes.is_empty();
        let entry = self.add(memory, changes, ignored, author.clone(), &root).await?;
        Ok(Some(entry).filter(|_| is_told))
    }

    /// Adds an entry with these changes.
    async fn add(
        &self,
        memory: &mut TreeMemory,
        mut changes: Vec<PathChange>,
        ignored: Vec<PathChange>,
        author: ChangeAuthor,
        root: &Arc<Root>,
    ) -> io::Result<HistoryEntry> {
        let number = memory.tree.as_ref().map_or(0, |tree| tree.number) + 1;
        let before = memory.tree.as_ref().map(|tree| (tree.commit.clone(), tree.root.clone()));
        let is_base = author.kind == EntryKind::Base;
        let (imported, reference) = match changes.is_empty() && !is_base {
            true => (None, None),
            false => self.store(&mut changes, &author, number, before.unwrap_or_default(), root).await?,
        };
        let mut tree = memory.tree.clone().unwrap_or_default();
        tree.ignored.clone_from(&memory.ignored);
        for PathChange { path, after, .. } in &changes {
            match after {
                Some(mark) => drop(tree.files.insert(path.clone(), mark.clone())),
                None => drop(tree.files.remove(path)),
            }
        }
        // Without changes the latest commit is still that of the tree.
        let latest = tree.commit.clone().filter(|_| changes.is_empty() && !is_base);
        changes.retain(|change| !is_base && change.before != change.after);
        let at_ms = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        let at_ms = u64::try_from(at_ms).unwrap_or(u64::MAX);
        let commit = imported.as_ref().map(|imported| imported.commit.clone()).or(latest);
        let others = self.others(&author);
        let entry = HistoryEntry { number, at_ms, author, commit, reference, changes, ignored, others };
        // A base without its tree would be a history without files.
        if is_base {
            self.log.set_tree(&TreeState { number: 0, ..tree.clone() })?;
        }
        tree.number = number;
        if let Some(imported) = imported {
            (tree.commit, tree.root) = (Some(imported.commit), imported.tree);
        }
        self.log.add(&entry)?;
        self.log.set_tree(&tree)?;
        memory.tree = Some(tree);
        Ok(entry)
    }

    /// Stores new contents: as a commit, or else in the vault. Corrects the marks of files that changed meanwhile.
    async fn store(
        &self,
        changes: &mut [PathChange],
        author: &ChangeAuthor,
        number: u64,
        (parent, tree): (Option<String>, Option<String>),
        root: &Arc<Root>,
    ) -> io::Result<(Option<Imported>, Option<String>)> {
        let is_content = |mark: &Option<PathState>| {
            mark.as_ref().is_some_and(|mark| matches!(mark.kind, PathKind::File | PathKind::Link))
        };
        let written: Vec<String> =
            changes.iter().filter(|it| is_content(&it.after)).map(|it| it.path.clone()).collect();
        if let Some(git) = self.git.as_ref().filter(|_| Git::is_repository(&self.root)) {
            let gone = changes.iter().filter(|it| is_content(&it.before) && !is_content(&it.after));
            let owner = if author.instance.is_empty() { "outside" } else { &author.instance };
            let reference = format!("refs/rawko/{}/{number}", ref_part(owner));
            let request = ImportRequest {
                reference: &reference,
                parent: parent.as_deref().filter(|_| tree.is_none()),
                root: tree.as_deref(),
                message: message(author, number),
                removed: gone.map(|it| it.path.clone()).collect(),
                written: written.clone(),
                ..ImportRequest::default()
            };
            // A repository that cannot be written to does not stop the work: the vault holds the contents.
            if let Ok(mut imported) = git.import(&request, &self.root).await {
                correct(changes, std::mem::take(&mut imported.marks));
                return Ok((Some(imported), Some(reference)));
            }
        }
        let (at, root, vault) = (self.root.clone(), Arc::clone(root), self.vault.clone());
        let marks = tokio::task::spawn_blocking(move || {
            let mut marks = Vec::new();
            for name in written {
                let found = read(&at, &root, &real_path(&name));
                if let Some((mark, body)) = &found {
                    vault.put(&mark.hash, body)?;
                }
                marks.push((name, found.map(|(mark, _)| mark)));
            }
            Ok::<_, io::Error>(marks)
        });
        correct(changes, marks.await??);
        Ok((None, None))
    }

    /// Returns the files in git's index, read again when it changed.
    async fn tracked(&self, memory: &mut TreeMemory) -> Vec<PathBuf> {
        let Some(git) = &self.git else { return Vec::new() };
        let Ok(about) = std::fs::metadata(self.root.join(".git/index")) else { return Vec::new() };
        let stamp = FileStamp::of(&about);
        if let Some((_, tracked)) = memory.tracked.as_ref().filter(|(known, _)| *known == stamp) {
            return tracked.clone();
        }
        let tracked = git.tracked().await.unwrap_or_default();
        memory.tracked = Some((stamp, tracked.clone()));
        tracked
    }
}

fn message(author: &ChangeAuthor, number: u64) -> String {
    let title = match author.kind {
        EntryKind::Base => "rawko: the files before the first call",
        EntryKind::Call => "rawko: after a call",
        EntryKind::Outside => "rawko: changes from outside",
        EntryKind::Undo => "rawko: undo",
        EntryKind::Redo => "rawko: redo",
        EntryKind::Merge => "rawko: merge",
    };
    let ChangeAuthor { instance, call, label, .. } = author;
    format!("{title}\n\nCheckpoint: {number}\nInstance: {instance}\nCall: {call}\nTool: {label}\n")
}

fn correct(changes: &mut [PathChange], marks: Vec<(String, Option<PathState>)>) {
    for (name, mark) in marks {
        if let Ok(at) = changes.binary_search_by(|change| change.path.cmp(&name)) {
            changes[at].after = mark;
        }
    }
}

/// Returns the paths that differ, by name.
pub fn differences(before: &Manifest, after: &Manifest) -> Vec<PathChange> {
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let change = |name: &String| PathChange {
        path: name.clone(),
        before: before.get(name).cloned(),
        after: after.get(name).cloned(),
    };
    names.into_iter().map(change).filter(|change| change.before != change.after).collect()
}
