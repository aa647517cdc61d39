//! Agents that work in a copy of the project: `isolation: worktree`. Each gets a workshop whose root is the copy, so that
//! every service of the agent and of its helpers works there and nowhere else.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::SystemTime;

use rawko_core::Value;
use rawko_host::{Call, Category, ServiceError};
use rawko_programs::checkpoints::{Author, EntryKind};
use rawko_programs::checks::CheckReport;
use rawko_programs::checks::LanguageServers;
use rawko_programs::worktrees::{MergeError, Worktree, WorktreeError, Worktrees};
use rawko_settings::StateDir;

use super::trees::{named, worktrees_folder};
use super::{Workshop, value};
use crate::agent::AgentFile;

/// Bytes of the diff in an agent's result.
const DIFF_BYTES_MAX: usize = 64 * 1024;

/// The worktrees of a project, and the workshops of those in use.
#[derive(Default)]
pub struct Apart {
    worktrees: OnceLock<Result<Worktrees, String>>,
    known: Mutex<Known>,
    /// Files that agents changed, with the worktrees that they did it in.
    touched: Mutex<BTreeMap<String, Vec<String>>>,
}

#[derive(Default)]
struct Known {
    changed: Option<SystemTime>,
    trees: Vec<(Worktree, Option<Arc<Workshop>>)>,
}

impl Workshop {
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

    /// Returns the workshop of an instance that works in a copy, or whose ancestor does.
    pub(super) fn apart_for(&self, instance: &str) -> Option<Arc<Workshop>> {
        let worktrees = self.worktrees().ok()?;
        let mut known = self.apart.known.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = worktrees.changed();
        if known.changed.is_none() || known.changed != changed {
            let mut trees: Vec<_> = worktrees.all().ok()?.into_iter().map(|tree| (tree, None)).collect();
            for (tree, workshop) in &mut trees {
                let old = known.trees.iter().find(|(old, _)| old.name == tree.name);
                *workshop = old.and_then(|(_, workshop)| workshop.clone());
            }
            // Another change may follow within the same tick of the clock.
            let is_settled = |at: &SystemTime| at.elapsed().is_ok_and(|age| age.as_millis() > 50);
            *known = Known { changed: changed.filter(is_settled), trees };
        }
        let is_within = |tree: &Worktree| {
            instance
                .strip_prefix(&*tree.instance)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let found = known.trees.iter_mut().filter(|(tree, _)| is_within(tree));
        let (tree, workshop) = found.max_by_key(|(tree, _)| tree.instance.len())?;
        Some(Arc::clone(workshop.get_or_insert_with(|| Arc::new(self.in_copy(tree)))))
    }

    /// Returns the same workshop for a copy of the project.
    fn in_copy(&self, tree: &Worktree) -> Workshop {
        let mut confinement = self.confinement.clone();
        confinement.root.clone_from(&tree.path);
        Workshop {
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
            own_chart: self.own_chart.clone(),
            history: OnceLock::new(),
            apart: Apart::default(),
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
        input: &Value,
    ) -> Result<Option<Worktree>, ServiceError> {
        if let Some(name) = input.get("worktree").as_str() {
            let tree = self.worktrees().map_err(failed)?.named(name).map_err(|error| refused(&error))?;
            let tree = self.worktrees().map_err(failed)?.hand_over(&tree, owner).map_err(failed)?;
            self.reread();
            return Ok(Some(tree));
        }
        let is_asked = match input.get("isolation") {
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

    /// Notes a changed file. Returns the other worktrees that it was changed in, too.
    pub(super) fn overlap(&self, tree: &str, path: &str) -> Vec<String> {
        let mut touched = self.apart.touched.lock().unwrap_or_else(PoisonError::into_inner);
        let trees = touched.entry(path.to_owned()).or_default();
        if !trees.iter().any(|known| known == tree) {
            trees.push(tree.to_owned());
        }
        trees.iter().filter(|known| *known != tree).cloned().collect()
    }

    fn forget(&self, tree: &str) {
        let mut touched = self.apart.touched.lock().unwrap_or_else(PoisonError::into_inner);
        touched.values_mut().for_each(|trees| trees.retain(|known| known != tree));
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
pub(super) fn name_of_call(call: &Call, agent: &str) -> String {
    let safe = rawko_programs::checkpoints::ref_part;
    let item = call.idempotency.strip_prefix(&*call.instance).unwrap_or(&call.idempotency);
    format!("rawko/{}/{}", safe(&call.instance), safe(&format!("{agent}{}", item.replace('/', "."))))
}

/// `work:close`: commits the work of an isolated agent. Without changes, its worktree is removed.
pub(super) async fn close(workshop: &Workshop, owner: &str) -> Result<Value, ServiceError> {
    let (worktrees, history) = (workshop.worktrees().map_err(failed)?, workshop.history().map_err(failed)?);
    let Some(tree) = worktrees.of_instance(owner).map_err(failed)? else {
        return Ok(Value::map([("worktree", Value::Null)]));
    };
    let changes = worktrees.changes(history, &tree).await.map_err(failed)?;
    let message = format!("rawko: changes of {}\n\nInstance: {}\n", tree.name, owner);
    let tree = worktrees.commit(history, &tree, &changes, &message).await.map_err(failed)?;
    let files: Vec<&String> = changes.diffs.iter().map(|file| &file.path).collect();
    let mut overlap: Vec<String> = Vec::new();
    for path in &files {
        let others = workshop.overlap(&tree.name, path);
        overlap.extend(others.iter().map(|other| format!("{path} (also changed in {other})")));
    }
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
    let mut about = about(&tree).as_map().cloned().unwrap_or_default();
    about.insert("files".into(), value(&files));
    about.insert("diff".into(), Value::from(diff));
    about.insert("overlap".into(), value(&overlap));
    if changes.changes.is_empty() {
        worktrees.remove(history, &tree).await.map_err(failed)?;
        workshop.forget(&tree.name);
    }
    Ok(Value::map([("worktree", Value::Map(about.into()))]))
}

/// Describes a worktree for a chart.
pub(super) fn about(tree: &Worktree) -> Value {
    let text = |text: &Option<String>| text.as_deref().map_or(Value::Null, Value::str);
    Value::map([
        ("branch", Value::str(&tree.name)),
        ("path", Value::from(tree.path.display().to_string())),
        ("git", Value::Bool(tree.is_git)),
        ("base", text(&tree.base_commit)),
        ("commit", text(&tree.commit)),
    ])
}

/// `git:merge`: merges the worktree of an agent into the project.
pub(super) async fn merge(workshop: &Workshop, call: &Call) -> Result<Value, ServiceError> {
    let (worktrees, history) = (workshop.worktrees().map_err(failed)?, workshop.history().map_err(failed)?);
    let input = &call.input;
    let name = input.get("branch").as_str().or_else(|| input.get("worktree").get("branch").as_str());
    let Some(name) = name else {
        let message = "`git:merge` needs `branch`: the branch of an agent's worktree";
        return Err(ServiceError::new(Category::Failed, message));
    };
    let author = Author {
        kind: EntryKind::Merge,
        instance: call.instance.to_string(),
        call: call.idempotency.to_string(),
        label: format!("git:merge {name}"),
    };
    let tree = match worktrees.named(name) {
        Ok(tree) => tree,
        // It was merged before, or there was nothing to merge.
        Err(WorktreeError::Unknown(_)) if input.get("missing").as_str() != Some("error") => {
            return Ok(merged(name, &[], Value::Null, None));
        }
        Err(error) => return Err(refused(&error)),
    };
    let done = match worktrees.merge(history, name, &author).await {
        Ok(done) => done,
        Err(MergeError::Conflict(files)) => {
            let message = format!("{name} conflicts with the project in {}", files.join(", "));
            let details = Value::map([
                ("code", Value::str("conflict")),
                ("branch", Value::str(name)),
                ("path", Value::from(tree.path.display().to_string())),
                ("files", value(&files)),
            ]);
            return Err(definite(ServiceError::new(Category::Failed, message).with_details(details)));
        }
        Err(MergeError::Worktree(error)) => return Err(refused(&error)),
        Err(MergeError::Apply(error)) => return Err(failed(error)),
    };
    let report = match input.get("checks").as_bool() {
        Some(true) => Some(super::checking::run(workshop).await),
        Some(false) | None => None,
    };
    if let Some(report) = report.as_ref().filter(|report| !report.clean) {
        if let Some(entry) = &done.entry {
            let net =
                rawko_programs::checkpoints::net_changes(&history.entries().map_err(failed)?, |other| {
                    other.number == entry.number
                });
            let undo = Author { kind: EntryKind::Undo, ..author };
            history.revert(&net, &undo, false).await.map_err(failed)?;
        }
        let details = Value::map([
            ("code", Value::str("checks_failed")),
            ("branch", Value::str(name)),
            ("files", value(&done.files)),
            ("report", value(report)),
        ]);
        let message = format!("{name} was not merged: the checks fail with it");
        return Err(definite(ServiceError::new(Category::Failed, message).with_details(details)));
    }
    if input.get("keep").as_bool() != Some(true) {
        worktrees.remove(history, &tree).await.map_err(failed)?;
        workshop.forget(name);
    }
    let checkpoint = done.entry.as_ref().map_or(Value::Null, named);
    Ok(merged(name, &done.files, checkpoint, report.as_ref()))
}

fn merged(name: &str, files: &[String], checkpoint: Value, report: Option<&CheckReport>) -> Value {
    Value::map([
        ("branch", Value::str(name)),
        ("merged", Value::Bool(true)),
        ("files", value(&files)),
        ("checkpoint", checkpoint),
        ("report", report.map_or(Value::Null, value)),
    ])
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
            let details = Value::map([("code", Value::str("disk_budget"))]);
            ServiceError::new(Category::Limit, error.to_string()).with_details(details)
        }
        WorktreeError::Unknown(_) => ServiceError::new(Category::Unknown, error.to_string()),
        WorktreeError::Io(_) => failed(error),
    }
}
