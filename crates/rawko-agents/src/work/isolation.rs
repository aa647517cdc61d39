//! Agents that work in a copy of the project: `isolation: worktree`. Each gets a agent_services whose root is the copy, so that
//! every service of the agent and of its helpers works there and nowhere else.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::SystemTime;

use rawko_core::Value;
use rawko_host::{Category, ServiceCall, ServiceError};
use rawko_programs::checks::LanguageServers;
use rawko_programs::worktrees::{Overlap, Settlement, Worktree, WorktreeError, Worktrees};
use rawko_settings::StateDir;
use tokio::sync::{RwLock, RwLockReadGuard};

use super::AgentServices;
use super::conversations::ConversationCache;
use super::custody::{self, STOPPING};
use super::open::Isolation;
use super::trees::worktrees_folder;
use super::types::{CloseOutput, CodedFailure, WorktreeInput, WorktreeRecord, value};
use crate::agent::AgentFile;

/// Bytes of the diff in an agent's result.
const DIFF_BYTES_MAX: usize = 64 * 1024;

/// The worktrees of a project, and the workshops of those in use.
#[derive(Default)]
pub struct ProjectWorktrees {
    worktrees: OnceLock<Result<Worktrees, String>>,
    known: Mutex<OpenWorktrees>,
    /// In the services of a copy: held by each call that may change its files.
    working: RwLock<()>,
}

#[derive(Default)]
struct OpenWorktrees {
    changed: Option<SystemTime>,
    trees: Vec<(Worktree, Option<Arc<AgentServices>>)>,
}

impl AgentServices {
    pub(super) fn worktrees(&self) -> Result<&Worktrees, String> {
        let made = self.apart.worktrees.get_or_init(|| {
            let state = StateDir::of(&self.environment).map_err(|error| error.to_string())?;
            let place = worktrees_folder(&self.environment).ok_or("HOME is not set")?;
            Ok(Worktrees::new(&state.project(&self.root), &place, self.worktree_bytes_max))
        });
        made.as_ref().map_err(Clone::clone)
    }

    /// Marks a call that may change files of this copy, until the result is dropped.
    pub(super) async fn working(&self) -> RwLockReadGuard<'_, ()> {
        self.apart.working.read().await
    }

    /// Has the list of worktrees read again: times of directories are too coarse for changes of this process.
    fn reread(&self) {
        self.apart.known.lock().unwrap_or_else(PoisonError::into_inner).changed = None;
    }

    /// Returns the worktrees of the project, read again if there are others now.
    fn known_trees(&self) -> Option<MutexGuard<'_, OpenWorktrees>> {
        let worktrees = self.worktrees().ok()?;
        let mut known = self.apart.known.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = worktrees.changed();
        if known.changed.is_none() || known.changed != changed {
            let mut trees: Vec<_> = worktrees.all().ok()?.into_iter().map(|tree| (tree, None)).collect();
            for (tree, agent_services) in &mut trees {
                let old = known.trees.iter().find(|(old, _)| old.name == tree.name);
                *agent_services = old.and_then(|(_, agent_services)| agent_services.clone());
            }
            // Another change may follow within the same tick of the clock.
            let is_settled = |at: &SystemTime| at.elapsed().is_ok_and(|age| age.as_millis() > 50);
            *known = OpenWorktrees { changed: changed.filter(is_settled), trees };
        }
        Some(known)
    }

    /// Returns the agent_services of an instance that works in a copy, or whose ancestor does.
    pub(super) fn apart_for(&self, instance: &str) -> Option<Arc<AgentServices>> {
        let mut known = self.known_trees()?;
        let is_within = |tree: &Worktree| {
            instance
                .strip_prefix(&*tree.instance)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let found = known.trees.iter_mut().filter(|(tree, _)| is_within(tree));
        let (tree, agent_services) = found.max_by_key(|(tree, _)| tree.instance.len())?;
        Some(Arc::clone(agent_services.get_or_insert_with(|| Arc::new(self.in_copy(tree)))))
    }

    /// Returns the same agent_services for a copy of the project.
    fn in_copy(&self, tree: &Worktree) -> AgentServices {
        let mut confinement = self.confinement.clone();
        confinement.root.clone_from(&tree.path);
        AgentServices {
            root: tree.path.clone(),
            project: self.project.clone(),
            toolbox: self.toolbox.apart(&tree.path),
            confinement,
            agents: self.agents.clone(),
            phases: self.phases.clone(),
            providers: self.providers.clone(),
            layers: self.layers.clone(),
            permissions: self.permissions.clone(),
            loops: self.loops.clone(),
            checks: self.checks.clone(),
            protected: self.protected.clone(),
            start_time: self.start_time,
            arbiter: self.arbiter.clone(),
            prompts: self.prompts.clone(),
            task: self.task.clone(),
            memories: self.memories.clone(),
            words: self.words.clone(),
            environment: self.environment.clone(),
            // Those of the project have its files open.
            language_servers: LanguageServers::default(),
            servers: Arc::clone(&self.servers),
            hooks: self.hooks.clone(),
            own_chart: self.own_chart.clone(),
            history: OnceLock::new(),
            apart: ProjectWorktrees::default(),
            worktree: Some(tree.name.clone()),
            worktree_bytes_max: self.worktree_bytes_max,
            conversations: ConversationCache::default(),
        }
    }

    /// Makes the worktree of an agent that is to be isolated. `None` if it is not. `owner` is the instance of the agent;
    /// a program has none, so it is the key of its call.
    pub(super) async fn isolate(
        &self,
        agent: &AgentFile,
        owner: &str,
        name: &str,
        asked: Isolation<'_>,
    ) -> Result<Option<Worktree>, ServiceError> {
        if let Some(name) = asked.worktree.as_str() {
            let tree = self.worktrees().map_err(failed)?.named(name).map_err(|error| refused(&error))?;
            let tree = self.worktrees().map_err(failed)?.hand_over(&tree, owner).map_err(failed)?;
            self.reread();
            return Ok(Some(tree));
        }
        let is_asked = match asked.isolation {
            Value::Null => agent.isolation,
            Value::Str(text) => &**text == "worktree",
            _ => false,
        };
        if is_asked { self.open_tree(owner, name).await } else { Ok(None) }
    }

    /// Makes the worktree of an instance; `None` in the worktree of an ancestor, which is settled with the ancestor.
    async fn open_tree(&self, owner: &str, name: &str) -> Result<Option<Worktree>, ServiceError> {
        let worktrees = self.worktrees().map_err(failed)?;
        if let Some(tree) = worktrees.of_instance(owner).map_err(failed)? {
            return Ok(Some(tree).filter(|tree| tree.instance == owner));
        }
        let history = self.history().map_err(failed)?;
        let opened = worktrees.open(history, owner, name).await;
        self.reread();
        opened.map(Some).map_err(|error| refused(&error))
    }

    /// Notes changed files. Returns a sentence for each that was changed in other worktrees, too.
    pub(super) fn overlap(&self, tree: &str, paths: &[&str]) -> Vec<String> {
        // A report that fails does not stop the work: the merge finds the conflict.
        let Ok(Ok(overlaps)) = self.worktrees().map(|worktrees| worktrees.touch(tree, paths)) else {
            return Vec::new();
        };
        let words = |overlap: &Overlap| {
            let others = overlap.worktrees.iter().filter(|other| *other != tree);
            let others: Vec<&str> = others.map(String::as_str).collect();
            format!("{} (also changed in {})", overlap.path, others.join(", "))
        };
        overlaps.iter().map(words).collect()
    }
}

/// Returns `rawko/<instance>/<item>`: the caller's instance, and the agent with its step and index.
pub(super) fn name_of(instance: &str, agent: &str) -> String {
    let safe = rawko_programs::checkpoints::ref_part;
    match instance.rsplit_once(&format!(".{agent}.")) {
        Some((caller, item)) => format!("rawko/{}/{}", safe(caller), safe(&format!("{agent}.{item}"))),
        None => format!("rawko/{}", safe(instance)),
    }
}

/// The same for a program, which runs in a call of its caller.
pub(super) fn name_of_call(call: &ServiceCall, agent: &str) -> String {
    let safe = rawko_programs::checkpoints::ref_part;
    let item = call.idempotency.strip_prefix(&*call.instance).unwrap_or(&call.idempotency);
    format!("rawko/{}/{}", safe(&call.instance), safe(&format!("{agent}{}", item.replace('/', "."))))
}

/// `git:worktree`: makes a worktree for the instance that calls. All its services and children work in it from then on. In
/// the worktree of an ancestor, the instance works there, and there is none of its own.
pub(super) async fn begin(
    agent_services: &AgentServices,
    call: &ServiceCall,
    input: WorktreeInput,
) -> Result<CloseOutput, ServiceError> {
    let safe = rawko_programs::checkpoints::ref_part;
    let item = input.name.as_deref().filter(|name| !name.is_empty()).unwrap_or("work");
    let name = format!("rawko/{}/{}", safe(&call.instance), safe(item));
    // The copy has checks of its own, which must not begin with what an unfinished task left of them.
    custody::settle_before_copy(agent_services, &call.instance).await?;
    let tree = agent_services.open_tree(&call.instance, &name).await?;
    Ok(CloseOutput { worktree: tree.as_ref().map(about) })
}

/// Settles the worktrees of an instance that has ended without doing so: it failed, or was stopped.
pub(super) async fn ended(agent_services: &AgentServices, instance: &str) {
    let is_due = |tree: &Worktree| {
        // A program works in a call of the instance.
        let below = tree.instance.strip_prefix(instance);
        tree.settlement == Settlement::Due
            && below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let due: Vec<Worktree> = match agent_services.known_trees() {
        Some(known) => {
            known.trees.iter().map(|(tree, _)| tree).filter(|tree| is_due(tree)).cloned().collect()
        }
        None => return,
    };
    if due.is_empty() {
        return;
    }
    let (Ok(worktrees), Ok(history)) = (agent_services.worktrees(), agent_services.history()) else { return };
    for tree in due {
        let copy = agent_services.apart_for(&tree.instance);
        // The step that ends an instance is committed before its calls are stopped.
        let _quiet = match &copy {
            Some(copy) => match tokio::time::timeout(STOPPING, copy.apart.working.write()).await {
                Ok(quiet) => Some(quiet),
                // Its files may still change: it stays as it is.
                Err(_) => continue,
            },
            None => None,
        };
        // One that stays as it is goes with its instance.
        let _ = worktrees.settle(history, &tree, &message_of(&tree)).await;
    }
    agent_services.reread();
}

/// Returns the worktree of this instance, and not of an ancestor.
fn own_tree(worktrees: &Worktrees, owner: &str) -> std::io::Result<Option<Worktree>> {
    Ok(worktrees.of_instance(owner)?.filter(|tree| tree.instance == owner))
}

fn message_of(tree: &Worktree) -> String {
    format!("rawko: changes of {}\n\nInstance: {}\n", tree.name, tree.instance)
}

/// `work:close` and `git:commit`: commits the work of an isolated agent or workflow. Without changes, its worktree is removed.
pub(super) async fn close(agent_services: &AgentServices, owner: &str) -> Result<CloseOutput, ServiceError> {
    let (worktrees, history) =
        (agent_services.worktrees().map_err(failed)?, agent_services.history().map_err(failed)?);
    let Some(tree) = own_tree(worktrees, owner).map_err(failed)? else {
        // Removed by an earlier attempt of this call: it had no changes.
        let removed = worktrees.removed_of(owner).map_err(failed)?;
        if let Some(tree) = &removed {
            worktrees.remove(history, tree).await.map_err(failed)?;
        }
        return Ok(CloseOutput { worktree: removed.as_ref().map(unchanged) });
    };
    let message = message_of(&tree);
    let (tree, changes) = worktrees.settle(history, &tree, &message).await.map_err(failed)?;
    let files: Vec<String> = changes.diffs.iter().map(|file| file.path.clone()).collect();
    let paths: Vec<&str> = files.iter().map(String::as_str).collect();
    let overlap = agent_services.overlap(&tree.name, &paths);
    let whole: String = changes.diffs.iter().map(|file| file.diff.as_str()).collect();
    let diff: String = match whole.len() > DIFF_BYTES_MAX {
        true => whole
            .lines()
            .scan(0, |size, line| {
                *size += line.len() + 1;
                (*size <= DIFF_BYTES_MAX).then(|| format!("{line}\n"))
            })
            .chain(["[the rest of the diff is left out]\n".to_owned()])
            .collect(),
        false => whole,
    };
    let worktree =
        WorktreeRecord { files: Some(files), diff: Some(diff), overlap: Some(overlap), ..about(&tree) };
    Ok(CloseOutput { worktree: Some(worktree) })
}

fn unchanged(tree: &Worktree) -> WorktreeRecord {
    WorktreeRecord {
        files: Some(Vec::new()),
        diff: Some(String::new()),
        overlap: Some(Vec::new()),
        ..about(tree)
    }
}

/// Describes a worktree for a chart.
pub(super) fn about(tree: &Worktree) -> WorktreeRecord {
    WorktreeRecord {
        branch: tree.name.clone(),
        path: tree.path.display().to_string(),
        git: tree.is_git,
        base: tree.base_commit.clone(),
        commit: tree.commit.clone(),
        files: None,
        diff: None,
        overlap: None,
    }
}

pub(super) fn failed(error: impl std::fmt::Display) -> ServiceError {
    ServiceError::new(Category::Failed, format!("the worktree cannot be used: {error}"))
}

pub(super) fn refused(error: &WorktreeError) -> ServiceError {
    match error {
        WorktreeError::DiskBudget { .. } => {
            let details = CodedFailure { code: "disk_budget" };
            ServiceError::new(Category::Limit, error.to_string()).with_details(value(&details))
        }
        WorktreeError::Unknown(_) => ServiceError::new(Category::Unknown, error.to_string()),
        WorktreeError::Io(_) => failed(error),
    }
}
