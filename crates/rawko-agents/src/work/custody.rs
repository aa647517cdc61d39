//! The custody of checks: from the base of a task until the task is closed. A task that ends in another way, or never
//! ends, leaves its custody to the next one. Separate from the evidence, which is the business of a task that runs.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rawko_core::ServiceClass;
use rawko_host::{Category, ServiceError};
use rawko_programs::changes::FolderSnapshot;
use rawko_programs::checkpoints::{ChangeAuthor, EntryKind, HistoryEntry};
use rawko_programs::checks::{CheckBase, Closing, Custodies, Custody, Doubts, HiddenFailures};
use rawko_settings::StateDir;

use super::evidence::{SNAPSHOTS, blocking, state_folder};
use super::{AgentServices, control};

/// Time for the calls of an instance that has ended to stop.
pub(super) const STOPPING: Duration = Duration::from_secs(10);

/// Settles what unfinished tasks left behind. Returns the files that were put back. What cannot be settled stops the task:
/// a changed check could judge it.
pub(super) async fn settle_all(agent_services: &AgentServices) -> Result<Vec<String>, ServiceError> {
    control::recover(agent_services).await?;
    let Some(all) = custodies(agent_services) else { return Ok(Vec::new()) };
    let mut restored = Vec::new();
    for custody in all.all() {
        let is_over = custody.passed || custody.closing.is_some();
        let (mut settled, custody) = settle(agent_services, custody).await?;
        restored.append(&mut settled);
        let kept = if is_over { all.remove(&custody.owner) } else { all.keep(&custody) };
        kept.map_err(|error| not_kept(&error))?;
    }
    restored.sort();
    restored.dedup();
    Ok(restored)
}

/// Settles what unfinished tasks left of the project's checks before an instance copies the project.
pub(super) async fn settle_before_copy(
    agent_services: &AgentServices,
    owner: &str,
) -> Result<(), ServiceError> {
    if custodies(agent_services).is_some_and(|all| !all.all().is_empty()) {
        recorded(agent_services, owner, settle_all(agent_services)).await?;
    }
    Ok(())
}

/// Returns the folders with what earlier tasks left: that of the project and, in a copy of it, that of the copy. A copy
/// keeps its records in its own, because what passes there is not yet fixed in the project.
pub(super) fn record_folders(agent_services: &AgentServices) -> Vec<PathBuf> {
    let Ok(state) = StateDir::of(&agent_services.environment) else { return Vec::new() };
    let own = agent_services.worktree.as_ref().map(|_| state.project(&agent_services.root));
    [state.project(&agent_services.project)].into_iter().chain(own).collect()
}

/// Lets a base begin with what earlier tasks left of the checks.
pub(super) fn take_records(base: &mut CheckBase, folders: &[PathBuf], root: &Path) {
    let doubts = folders.iter().map(|folder| Doubts::read(folder)).fold(Doubts::default(), Doubts::and);
    doubts.apply(base, root);
    base.take_unfixed(folders.iter().rev().find_map(|folder| HiddenFailures::read(folder, root)));
}

/// Settles one of them. The history must be up to date.
async fn settle(
    agent_services: &AgentServices,
    mut custody: Custody,
) -> Result<(Vec<String>, Custody), ServiceError> {
    let entries = agent_services
        .history()
        .and_then(|history| history.entries_since(custody.since).map_err(|error| error.to_string()));
    let (root, state) = (agent_services.root.clone(), state_folder(agent_services));
    let settled = blocking(move || {
        // Without its history a changed file has no known author, so it becomes a doubt.
        let entries = entries.unwrap_or_default();
        let settled = custody.settle(&root, &entries);
        if let Ok(folder) = state {
            keep_unjudged(&custody, &entries, &root, &folder).map_err(|error| not_kept(&error))?;
            if !settled.doubts.is_empty() {
                Doubts::read(&folder).and(settled.doubts).keep(&folder).map_err(|error| not_kept(&error))?;
            }
        }
        Ok((settled.restored, custody))
    });
    settled.await?
}

/// Remembers changes that no run has judged: the next task would otherwise begin with checks that pass because of them.
fn keep_unjudged(custody: &Custody, entries: &[HistoryEntry], root: &Path, folder: &Path) -> io::Result<()> {
    let name = custody.base.snapshot.as_ref();
    let snapshot = name.and_then(|name| FolderSnapshot::open(&folder.join(SNAPSHOTS), name).ok().flatten());
    let Some(unjudged) = snapshot.and_then(|snapshot| custody.unjudged(root, &snapshot, entries)) else {
        return Ok(());
    };
    let whole = match HiddenFailures::read(folder, root) {
        Some(earlier) => unjudged.and(earlier),
        None => unjudged,
    };
    whole.keep(folder)
}

fn not_kept(error: &io::Error) -> ServiceError {
    let message = format!("the record of the project's checks cannot be written: {error}");
    ServiceError::new(Category::Failed, message)
}

/// Begins the custody of a task.
pub(super) fn open(
    agent_services: &AgentServices,
    owner: &str,
    base: &CheckBase,
) -> Result<(), ServiceError> {
    let Some(all) = custodies(agent_services) else { return Ok(()) };
    let since = agent_services.history().ok().and_then(|history| history.last_number().ok()).unwrap_or(0);
    let custody = Custody { owner: owner.to_owned(), since, base: base.clone(), ..Custody::default() };
    all.keep(&custody).map_err(|error| not_kept(&error))
}

/// Notes which checks failed before an agent worked.
pub(super) fn measured(
    agent_services: &AgentServices,
    owner: &str,
    base: &CheckBase,
) -> Result<(), ServiceError> {
    let Some(all) = custodies(agent_services) else { return Ok(()) };
    match all.find(owner) {
        Some(custody) => {
            all.keep(&Custody { base: base.clone(), ..custody }).map_err(|error| not_kept(&error))
        }
        None => Ok(()),
    }
}

/// Notes a round: the checks decided that all is well, or the task continues. A fork begins its custody here.
pub(super) fn judged(
    agent_services: &AgentServices,
    owner: &str,
    base: &CheckBase,
    passed: bool,
) -> Result<(), ServiceError> {
    let Some(all) = custodies(agent_services) else { return Ok(()) };
    match all.find(owner) {
        Some(custody) if custody.passed == passed => Ok(()),
        Some(custody) => all.keep(&Custody { passed, ..custody }).map_err(|error| not_kept(&error)),
        None if passed => Ok(()),
        None => open(agent_services, owner, base),
    }
}

/// Remembers what a task that closes itself left unjudged. `base`: the one that it worked with.
pub(super) async fn leave(
    agent_services: &AgentServices,
    owner: &str,
    base: &CheckBase,
) -> Result<(), ServiceError> {
    let (Some(all), Ok(folder)) = (custodies(agent_services), state_folder(agent_services)) else {
        return Ok(());
    };
    let Some(custody) = all.find(owner) else { return Ok(()) };
    let custody = Custody { base: base.clone(), ..custody };
    let entries = agent_services.history().ok().and_then(|all| all.entries_since(custody.since).ok());
    let root = agent_services.root.clone();
    let keep = move || keep_unjudged(&custody, &entries.unwrap_or_default(), &root, &folder);
    blocking(keep).await?.map_err(|error| not_kept(&error))
}

/// Ends the custody of a task that was closed.
pub(super) fn closed(agent_services: &AgentServices, owner: &str) {
    if let Some(all) = custodies(agent_services) {
        // One that stays is settled by the next task, which finds nothing to put back.
        let _ = all.remove(owner);
    }
}

/// One closing at a time: a late answer ends an instance again, and two closings would overwrite each other's record.
static CLOSING: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// Closes a task that ended without closing itself: cancelled, or by a chart that has no such state.
pub(super) async fn ended(agent_services: Arc<AgentServices>, owner: Arc<str>) {
    let _alone = CLOSING.lock().await;
    let Some(all) = custodies(&agent_services) else { return };
    let Some(custody) = all.find(&owner) else { return };
    if let Ok(history) = agent_services.history() {
        // A call that does not stop in time is settled by the next task.
        let _ = tokio::time::timeout(STOPPING, history.quiet(|instance| custody.is_own(instance))).await;
    }
    if !custody.passed {
        recorded(&agent_services, &owner, close(&agent_services, &all, custody)).await;
        return;
    }
    // The deciding run passed; an agent may have changed a check after it.
    if recorded(&agent_services, &owner, settle(&agent_services, custody)).await.is_ok() {
        closed(&agent_services, &owner);
    }
}

/// Records what settling changes as the work of the owner: not a person's.
async fn recorded<T>(agent_services: &AgentServices, owner: &str, settling: impl Future<Output = T>) -> T {
    let (instance, call) = (owner.to_owned(), format!("{owner}/settled"));
    let author =
        ChangeAuthor { kind: EntryKind::Call, instance, call, label: ServiceClass::Checks.named("close") };
    let history = agent_services.history().ok();
    let is_recorded = match history {
        Some(history) => history.begin(&author).await.is_ok(),
        None => false,
    };
    let settled = settling.await;
    if let Some(history) = history.filter(|_| is_recorded) {
        let _ = history.end(&author).await;
    }
    settled
}

/// The end of an instance has no result. On a failure the custody stays, and the next task settles it.
async fn close(agent_services: &AgentServices, all: &Custodies, custody: Custody) {
    let Ok((restored, mut custody)) = settle(agent_services, custody).await else { return };
    let (root, state, name) =
        (agent_services.root.clone(), state_folder(agent_services), custody.base.snapshot.clone());
    let changed = blocking(move || {
        let snapshot = FolderSnapshot::open(&state.ok()?.join(SNAPSHOTS), &name?).ok().flatten()?;
        Some(snapshot.changes(&root).into_iter().map(|change| change.path).collect::<Vec<_>>())
    });
    let changed = changed.await.ok().flatten().unwrap_or_default();
    // A step after the end, such as a late answer, ends it again.
    let earlier = custody.closing.take().unwrap_or_default().restored;
    let restored = earlier.into_iter().chain(restored).collect();
    custody.closing = Some(Closing { restored, changed });
    let _ = all.keep(&custody);
}

/// Returns the base of a channel, from before its agents worked. What a person changed since then is accepted, and what
/// the agents changed is put back.
pub(super) async fn of_channel(agent_services: &AgentServices, owner: &str, checks: CheckBase) -> CheckBase {
    let Some(all) = custodies(agent_services) else { return checks };
    if let Ok(history) = agent_services.history() {
        let _ = history.refresh().await;
    }
    // A channel decides nothing by its checks: it keeps its base, and the next round settles.
    let Some(custody) = all.find(owner) else {
        let _ = open(agent_services, owner, &checks);
        return checks;
    };
    let base = custody.base.clone();
    let Ok((_, custody)) = recorded(agent_services, owner, settle(agent_services, custody)).await else {
        return base;
    };
    let _ = all.keep(&custody);
    custody.base
}

/// Returns the base of a channel, and the hash of the files at its start.
pub(super) fn start_of_channel(agent_services: &AgentServices, owner: &str) -> Option<(CheckBase, String)> {
    let custody = custodies(agent_services)?.find(owner)?;
    Some((custody.base, custody.tree))
}

/// Begins the custody of a channel anew.
pub(super) fn start_channel(agent_services: &AgentServices, owner: &str, base: CheckBase, tree: String) {
    // Without a record the base from before stays.
    let opened = open(agent_services, owner, &base);
    if let (Ok(()), Some(all)) = (opened, custodies(agent_services))
        && let Some(custody) = all.find(owner)
    {
        let _ = all.keep(&Custody { tree, ..custody });
    }
}

/// `None` in a worktree, which is merged or removed as a whole, and without a state directory.
fn custodies(agent_services: &AgentServices) -> Option<Custodies> {
    let folder = state_folder(agent_services).ok().filter(|_| agent_services.worktree.is_none())?;
    Some(Custodies::new(&folder))
}
