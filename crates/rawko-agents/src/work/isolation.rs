//! Agents that work in a copy of the project: `isolation: worktree`. Each gets a agent_services whose root is the copy, so that
//! every service of the agent and of its helpers works there and nowhere else.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::SystemTime;

use rawko_core::Value;
use rawko_host::{Category, ServiceCall, ServiceError};
use rawko_programs::checkpoints::{ChangeAuthor, Checkpoints, EntryKind, HistoryEntry, PathChange, PathKind};
use rawko_programs::checks::CheckReport;
use rawko_programs::checks::LanguageServers;
use rawko_programs::worktrees::{MergeError, Merged, Overlap, Worktree, WorktreeError, Worktrees};
use rawko_settings::StateDir;

use super::AgentServices;
use super::open::Isolation;
use super::trees::worktrees_folder;
use super::types::{
    CheckpointRecord, CloseOutput, CodedFailure, MergeFailure, MergeInput, MergeOutput, WorktreeRecord, value,
};
use crate::agent::AgentFile;

/// Bytes of the diff in an agent's result.
const DIFF_BYTES_MAX: usize = 64 * 1024;

/// The worktrees of a project, and the workshops of those in use.
#[derive(Default)]
pub struct ProjectWorktrees {
    worktrees: OnceLock<Result<Worktrees, String>>,
    known: Mutex<OpenWorktrees>,
}

#[derive(Default)]
struct OpenWorktrees {
    changed: Option<SystemTime>,
    trees: Vec<(Worktree, Option<Arc<AgentServices>>)>,
}

impl AgentServices {
    fn worktrees(&self) -> Result<&Worktrees, String> {
        let made = self.apart.worktrees.get_or_init(|| {
            let state = StateDir::of(&self.environment).map_err(|error| error.to_string())?;
            let place = worktrees_folder(&self.environment).ok_or("HOME is not set")?;
            Ok(Worktrees::new(&state.project(&self.root), &place, self.worktree_bytes_max))
        });
        made.as_ref().map_err(Clone::clone)
    }

    /// Has the list of worktrees read again: times of directories are too coarse for changes of this process.
    fn reread(&self) {
        self.apart.known.lock().unwrap_or_else(PoisonError::into_inner).changed = None;
    }

    /// Returns the agent_services of an instance that works in a copy, or whose ancestor does.
    pub(super) fn apart_for(&self, instance: &str) -> Option<Arc<AgentServices>> {
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
        let worktrees = if is_asked { self.worktrees().map_err(failed)? } else { return Ok(None) };
        // Its caller may already work in one.
        if let Some(tree) = worktrees.of_instance(owner).map_err(failed)? {
            return Ok(Some(tree));
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

/// `work:close`: commits the work of an isolated agent. Without changes, its worktree is removed.
pub(super) async fn close(agent_services: &AgentServices, owner: &str) -> Result<CloseOutput, ServiceError> {
    let (worktrees, history) =
        (agent_services.worktrees().map_err(failed)?, agent_services.history().map_err(failed)?);
    let Some(tree) = worktrees.of_instance(owner).map_err(failed)? else {
        // Removed by an earlier attempt of this call: it had no changes.
        let removed = worktrees.removed_of(owner).map_err(failed)?;
        if let Some(tree) = &removed {
            worktrees.remove(history, tree).await.map_err(failed)?;
        }
        return Ok(CloseOutput { worktree: removed.as_ref().map(unchanged) });
    };
    let changes = worktrees.changes(history, &tree).await.map_err(failed)?;
    let message = format!("rawko: changes of {}\n\nInstance: {}\n", tree.name, owner);
    let tree = worktrees.commit(history, &tree, &changes, &message).await.map_err(failed)?;
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
    if changes.changes.is_empty() {
        worktrees.remove(history, &tree).await.map_err(failed)?;
    }
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

/// `git:merge`: merges the worktree of an agent into the project.
pub(super) async fn merge(
    agent_services: &AgentServices,
    call: &ServiceCall,
    input: MergeInput,
) -> Result<MergeOutput, ServiceError> {
    let (worktrees, history) =
        (agent_services.worktrees().map_err(failed)?, agent_services.history().map_err(failed)?);
    let name = input.branch.or_else(|| input.worktree.and_then(|worktree| worktree.branch));
    let Some(name) = name.as_deref() else {
        let message = "`git:merge` needs `branch`: the branch of an agent's worktree";
        return Err(ServiceError::new(Category::Failed, message));
    };
    let author = ChangeAuthor {
        kind: EntryKind::Merge,
        instance: call.instance.to_string(),
        call: call.idempotency.to_string(),
        label: format!("{} {name}", call.name),
    };
    // Until the checks have judged the merge: the next one begins with a project that passes them.
    let turn = worktrees.merge_turn(&call.idempotency).await.map_err(failed)?;
    let tree = match worktrees.named(name) {
        Ok(tree) => tree,
        Err(WorktreeError::Unknown(_)) => {
            // By an earlier attempt of this call, or it is gone.
            let earlier = earlier_merge(history, &author).map_err(failed)?;
            if earlier.is_none() && input.missing.as_deref() == Some("error") {
                return Err(refused(&WorktreeError::Unknown(name.to_owned())));
            }
            let (files, checkpoint) = earlier.map(|done| (done.files, done.entry)).unwrap_or_default();
            return Ok(merged(name, files, checkpoint.as_ref().map(CheckpointRecord::of), None));
        }
        Err(error) => return Err(refused(&error)),
    };
    let done = match worktrees.merge(history, name, &author, &turn).await {
        Ok(done) if done.entry.is_some() => done,
        // An earlier attempt of this call may have merged it, and was killed before its checks had judged it.
        Ok(done) => earlier_merge(history, &author).map_err(failed)?.unwrap_or(done),
        Err(MergeError::Conflict(files)) => {
            let message = format!("{name} conflicts with the project in {}", files.join(", "));
            let details = MergeFailure {
                code: "conflict".to_owned(),
                branch: name.to_owned(),
                path: Some(tree.path.display().to_string()),
                files,
                report: None,
            };
            return Err(definite(ServiceError::new(Category::Failed, message).with_details(value(&details))));
        }
        Err(MergeError::Worktree(error)) => return Err(refused(&error)),
        Err(MergeError::Apply(error)) => return Err(failed(error)),
    };
    let report = match input.checks {
        true => Some(super::checking::run(agent_services).await),
        false => None,
    };
    if let Some(report) = report.as_ref().filter(|report| !report.clean) {
        if let Some(entry) = &done.entry {
            let net =
                rawko_programs::checkpoints::net_changes(&history.entries().map_err(failed)?, |other| {
                    other.number == entry.number
                });
            let undo = ChangeAuthor { kind: EntryKind::Undo, ..author };
            history.revert(&net, &undo, false).await.map_err(failed)?;
        }
        let details = MergeFailure {
            code: "checks_failed".to_owned(),
            branch: name.to_owned(),
            path: None,
            files: done.files,
            report: Some(report.clone()),
        };
        let message = format!("{name} was not merged: the checks fail with it");
        return Err(definite(ServiceError::new(Category::Failed, message).with_details(value(&details))));
    }
    if !input.keep {
        worktrees.remove(history, &tree).await.map_err(failed)?;
    }
    Ok(merged(name, done.files, done.entry.as_ref().map(CheckpointRecord::of), report))
}

/// Returns the merge that an earlier attempt of a call made, unless it was taken back.
fn earlier_merge(history: &Checkpoints, author: &ChangeAuthor) -> std::io::Result<Option<Merged>> {
    let own = |entry: &HistoryEntry| entry.author.call == author.call && !author.call.is_empty();
    let last =
        history.entries()?.into_iter().rfind(own).filter(|entry| entry.author.kind == EntryKind::Merge);
    Ok(last.map(|entry| {
        let is_file = |change: &&PathChange| {
            let marks = [&change.before, &change.after].into_iter().flatten();
            marks.into_iter().any(|mark| mark.kind != PathKind::Directory)
        };
        let files = entry.changes.iter().filter(is_file).map(|change| change.path.clone()).collect();
        Merged { files, entry: Some(entry) }
    }))
}

fn merged(
    name: &str,
    files: Vec<String>,
    checkpoint: Option<CheckpointRecord>,
    report: Option<CheckReport>,
) -> MergeOutput {
    MergeOutput { branch: name.to_owned(), merged: true, files, checkpoint, report }
}

/// A conflict stays one however often it is tried.
fn definite(mut error: ServiceError) -> ServiceError {
    error.retryable = Some(false);
    error
}

fn failed(error: impl std::fmt::Display) -> ServiceError {
    ServiceError::new(Category::Failed, format!("the worktree cannot be used: {error}"))
}

fn refused(error: &WorktreeError) -> ServiceError {
    match error {
        WorktreeError::DiskBudget { .. } => {
            let details = CodedFailure { code: "disk_budget" };
            ServiceError::new(Category::Limit, error.to_string()).with_details(value(&details))
        }
        WorktreeError::Unknown(_) => ServiceError::new(Category::Unknown, error.to_string()),
        WorktreeError::Io(_) => failed(error),
    }
}
