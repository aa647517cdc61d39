//! Changed files of a served project: the diff of an instance, its undo, and forks with the files of their step.

use std::sync::Arc;

use rawko_host::{Engine, Fork, Receipt};
use rawko_programs::changes::ChangeStatus;
use rawko_programs::checkpoints::{EntryKind, FileDiff, HistoryEntry, net_changes};
use rawko_server::{
    ChangedFile, Changes, ChangesRequest, CheckpointInfo, ErrorResponse, ProblemCode, UndoRequest, Undone,
};
use rawko_store::InstanceStatus;

use super::{ServedProject, problem};
use crate::checkpoints::reverting::{RevertProblem, RevertScope};
use crate::checkpoints::{FilesOfStep, InstanceChanges};

impl ServedProject {
    /// Reads the checkpoints of an instance on the blocking pool.
    async fn checkpoints(&self, id: &str, at: Option<u64>) -> Result<InstanceChanges, ErrorResponse> {
        let (root, settings, engine) = (self.root.clone(), self.settings.clone(), Arc::clone(&self.engine));
        let id = id.to_owned();
        blocking(move || {
            let row = engine.reader().find(&id)?;
            if let Some(step) = at {
                // A step that does not exist is not found, as in other requests.
                engine.reader().snapshot(&row, Some(step))?;
            }
            InstanceChanges::in_project(&root, &settings, engine.reader(), &row, at).map_err(problem)
        })
        .await
    }

    pub(super) async fn read_changes(&self, request: ChangesRequest) -> Result<Changes, ErrorResponse> {
        let ChangesRequest { id, at, checkpoint } = request;
        let changes = self.checkpoints(&id, at).await?;
        let entries = changes.entries().map_err(problem)?;
        let is_chosen = |entry: &HistoryEntry| {
            changes.is_own(entry)
                && checkpoint.is_none_or(|number| number == entry.number)
                && (at.is_none() || !changes.is_later(entry))
        };
        let net = net_changes(&entries, is_chosen);
        let files = changes.diffs(&net).await.map_err(problem)?;
        let own = entries.iter().filter(|entry| changes.is_own(entry) && !entry.changes.is_empty());
        Ok(Changes {
            files: files.into_iter().map(file).collect(),
            mixed: net.mixed,
            checkpoints: own.map(|entry| checkpoint_info(&changes, entry)).collect(),
            can_redo: changes.to_redo(&id, &entries).is_some(),
            id,
        })
    }

    pub(super) async fn take_back(&self, request: UndoRequest) -> Result<Undone, ErrorResponse> {
        let UndoRequest { id, to, redo, force } = request;
        let row = {
            let (engine, id) = (Arc::clone(&self.engine), id.clone());
            blocking(move || engine.reader().find(&id).map_err(ErrorResponse::from)).await?
        };
        if InstanceStatus::of(&row.head, true) == InstanceStatus::Running && !force {
            let detail = format!("`{id}` is running and may change files; pause or cancel it first");
            return Err(ErrorResponse::new(ProblemCode::Refused, detail).with("reason", "running".into()));
        }
        let changes = self.checkpoints(&id, to).await?;
        let scope = if redo { RevertScope::Redo } else { RevertScope::All };
        let net = match changes.revert(&id, scope, force).await {
            Ok(reverted) => reverted.net,
            Err(RevertProblem::Nothing(why)) => {
                return Err(ErrorResponse::new(ProblemCode::NotPossible, why));
            }
            Err(RevertProblem::Conflicts(files)) => {
                let list = files.join(", ");
                let detail = format!("files were changed since by others: {list}; nothing was undone");
                let reason =
                    ErrorResponse::new(ProblemCode::Refused, detail).with("reason", "conflicts".into());
                return Err(reason.with("files", files.into()));
            }
            Err(RevertProblem::Missing(files)) => {
                let list = files.join(", ");
                let detail = format!("the earlier contents are not stored: {list}; nothing was undone");
                return Err(ErrorResponse::new(ProblemCode::NotPossible, detail));
            }
            Err(RevertProblem::Blocked(files)) => {
                let list = files.join(", ");
                let detail = format!("other files or links are in the way of {list}; nothing was undone");
                return Err(ErrorResponse::new(ProblemCode::NotPossible, detail));
            }
            Err(RevertProblem::Unreadable(error)) => {
                return Err(problem(crate::checkpoints::unreadable(&error)));
            }
        };
        let paths = |exists: bool| {
            let changes = net.changes.iter().filter(|change| change.before.is_some() == exists);
            changes.map(|change| change.path.clone()).collect()
        };
        Ok(Undone { restored: paths(true), removed: paths(false), id })
    }

    /// Forks an instance, with the files of the step if it changed some since.
    pub(super) async fn fork_with_files(
        &self,
        engine: Arc<dyn Engine>,
        id: String,
        fork: Fork,
    ) -> Result<Receipt, ErrorResponse> {
        let files = self.files_of(&id, &fork).await?;
        if let Some(files) = &files {
            files.make().await.map_err(problem)?;
        }
        let new = files.as_ref().map(|files| files.new_id.clone());
        let forked = engine.fork(id, Fork { id: fork.id.clone().or(new), ..fork }).await;
        if let (Err(_), Some(files)) = (&forked, &files) {
            files.remove().await;
        }
        forked.map_err(ErrorResponse::from)
    }

    async fn files_of(&self, id: &str, fork: &Fork) -> Result<Option<FilesOfStep>, ErrorResponse> {
        let Some(at) = fork.at else { return Ok(None) };
        let (root, settings, engine) = (self.root.clone(), self.settings.clone(), Arc::clone(&self.engine));
        let (id, new_id) = (id.to_owned(), fork.id.clone());
        blocking(move || {
            let row = engine.reader().find(&id)?;
            if let Some(new) = &new_id
                && engine.reader().store().find(new)?.is_some()
            {
                return Err(ErrorResponse::new(
                    ProblemCode::Exists,
                    format!("instance `{new}` already exists"),
                ));
            }
            FilesOfStep::find(&root, &settings, engine.reader(), (&row, at), new_id.as_deref())
                .map_err(problem)
        })
        .await
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ErrorResponse> + Send + 'static,
) -> Result<T, ErrorResponse> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(ErrorResponse::internal(error.to_string())))
}

fn file(diff: FileDiff) -> ChangedFile {
    let status = match diff.status {
        ChangeStatus::Added => "added",
        ChangeStatus::Modified => "modified",
        ChangeStatus::Deleted => "deleted",
    };
    ChangedFile {
        path: diff.path,
        status: status.to_owned(),
        added: diff.added,
        removed: diff.removed,
        is_binary: diff.is_binary,
        diff: diff.diff,
    }
}

fn checkpoint_info(changes: &InstanceChanges, entry: &HistoryEntry) -> CheckpointInfo {
    let kind = match entry.author.kind {
        EntryKind::Base => "base",
        EntryKind::Call => "call",
        EntryKind::Outside => "outside",
        EntryKind::Undo => "undo",
        EntryKind::Redo => "redo",
        EntryKind::Merge => "merge",
    };
    CheckpointInfo {
        number: entry.number,
        step: changes.step_of(entry),
        at_ms: entry.at_ms,
        kind: kind.to_owned(),
        instance: entry.author.instance.clone(),
        tool: entry.author.label.clone(),
        paths: entry.changes.iter().map(|change| change.path.clone()).collect(),
    }
}
