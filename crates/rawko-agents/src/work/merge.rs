//! `git:merge`: the work in a copy comes back into the project, and the checks judge it there. Separate from isolation,
//! which is about the time before.

use rawko_host::{Category, ServiceCall, ServiceError};
use rawko_programs::checkpoints::{ChangeAuthor, Checkpoints, EntryKind, HistoryEntry, PathChange, PathKind};
use rawko_programs::checks::CheckReport;
use rawko_programs::worktrees::{MergeError, Merged, WorktreeError};

use super::AgentServices;
use super::isolation::{failed, refused};
use super::types::{CheckpointRecord, MergeFailure, MergeInput, MergeOutput, value};

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
