//! `EditorSession`: a conversation of an editor. Its first task has the session's id, the following ones a number after it, so
//! that the store alone shows what belongs to it.

use std::cell::Cell;
use std::path::PathBuf;

use agent_client_protocol::Client;
use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{ContentBlock, SessionNotification, SessionUpdate, StopReason};
use rawko_host::SnapshotReader;
use rawko_store::InstanceRow;
use tokio::sync::Notify;

use super::follow::TaskFollower;
use super::start;
use super::updates::Updates;
use crate::cli::ColorWhen;
use crate::commands::attach::beginning;
use crate::console::Console;
use crate::failure::CommandFailure;
use crate::hosting::{ProjectContext, StoreArgs};
use crate::journal::InstanceTree;
use crate::journal::tail::JournalTail;

pub(super) struct EditorSession {
    pub(super) id: String,
    pub(super) cwd: PathBuf,
    pub(super) store: StoreArgs,
    is_running: Cell<bool>,
    is_cancelled: Cell<bool>,
    cancelled: Notify,
}

impl EditorSession {
    /// Opens a session. Fails early for a directory that no task could run in.
    pub(super) fn open(id: &str, cwd: PathBuf, store: &StoreArgs) -> Result<EditorSession, CommandFailure> {
        if !cwd.is_absolute() || !cwd.is_dir() {
            return Err(CommandFailure::Usage(format!(
                "`{}` is not an absolute path of a directory",
                cwd.display()
            )));
        }
        let session = EditorSession {
            id: id.to_owned(),
            cwd,
            store: store.clone(),
            is_running: Cell::new(false),
            is_cancelled: Cell::new(false),
            cancelled: Notify::new(),
        };
        let place = session.place()?;
        place.operator()?;
        if !place.is_trusted()? {
            let why = format!(
                "the files of `{}` that carry authority are not trusted; review them with `rawko trust` in a terminal",
                place.root.display()
            );
            return Err(CommandFailure::Invalid(why));
        }
        Ok(session)
    }

    /// Reads the project anew, so that changed settings and trust count.
    pub(super) fn place(&self) -> Result<ProjectContext, CommandFailure> {
        ProjectContext::in_directory(&self.cwd, &self.store)
    }

    /// Marks a prompt as running. Returns false if one is.
    pub(super) fn begin(&self) -> bool {
        self.is_cancelled.set(false);
        !self.is_running.replace(true)
    }

    pub(super) fn end(&self) {
        self.is_running.set(false);
    }

    /// Stops the running prompt: its task pauses.
    pub(super) fn cancel(&self) {
        self.is_cancelled.set(true);
        self.cancelled.notify_waiters();
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.is_cancelled.get()
    }

    /// Waits until the prompt is cancelled.
    pub(super) async fn cancelled(&self) {
        let notified = self.cancelled.notified();
        if !self.is_cancelled() {
            notified.await;
        }
    }

    /// Returns the id of the task with this number, from 1.
    pub(super) fn task_id(&self, number: usize) -> String {
        if number == 1 { self.id.clone() } else { format!("{}-{number}", self.id) }
    }

    /// Returns the tasks of the session, oldest first.
    pub(super) fn tasks(&self, reader: &SnapshotReader) -> Result<Vec<InstanceRow>, CommandFailure> {
        let mut rows = Vec::new();
        while let Some(row) = reader.store().find(&self.task_id(rows.len() + 1))? {
            rows.push(row);
        }
        Ok(rows)
    }

    pub(super) fn send(&self, update: SessionUpdate, connection: &ConnectionTo<Client>) {
        // A client that is gone closes standard input, which ends the session.
        let _ = connection.send_notification(SessionNotification::new(self.id.clone(), update));
    }

    /// Sends the whole conversation so far.
    pub(super) fn load(&self, connection: &ConnectionTo<Client>) -> Result<(), CommandFailure> {
        let place = self.place()?;
        let unknown = || CommandFailure::Usage(format!("there is no session `{}` in this project", self.id));
        let reader = place.reader()?.ok_or_else(unknown)?;
        let tasks = self.tasks(&reader)?;
        if tasks.is_empty() {
            return Err(unknown());
        }
        for row in tasks {
            let mut updates = Updates::replaying(&place.root);
            let first = beginning(&reader, &row)?;
            JournalTail::after(first, &reader, InstanceTree::below(&row.new.id), None).read(|entry, _| {
                updates.entry(entry).into_iter().for_each(|update| self.send(update, connection));
                Ok::<(), CommandFailure>(())
            })?;
        }
        Ok(())
    }

    /// Runs a prompt: starts a task, or continues the last one.
    pub(super) async fn prompt(
        &self,
        prompt: &[ContentBlock],
        connection: &ConnectionTo<Client>,
    ) -> Result<StopReason, CommandFailure> {
        let mut console = Console::new(ColorWhen::Never);
        let place = self.place()?;
        place.insist_on_settings(&mut console)?;
        place.insist_on_charts()?;
        let started = start::start(self, &place, prompt, &mut console).await?;
        TaskFollower { session: self, place: &place, connection, console }.until_end(started).await
    }
}
