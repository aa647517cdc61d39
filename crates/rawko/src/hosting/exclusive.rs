//! Holds a store without hosting it, for commands that change the file as a whole; and who holds it.

use rawko_store::{DrivenInstances, Lock, LockHolder, StoreError};

use super::access::command_line;
use super::project_context::ProjectContext;
use crate::failure::CommandFailure;
use crate::times;

impl ProjectContext {
    /// Returns the instances that some process moves: those of a running command, all that are not paused with a server.
    pub(crate) fn driven(&self) -> DrivenInstances {
        if self.remote.is_some() {
            return DrivenInstances::All;
        }
        match Lock::holder(&self.store) {
            Some(LockHolder { drives: None, .. }) => DrivenInstances::All,
            Some(LockHolder { drives: Some(roots), .. }) => DrivenInstances::Only(roots),
            None => DrivenInstances::Only(Vec::new()),
        }
    }

    /// Fails if instances live on Restate, for commands that need a store file.
    pub(crate) fn insist_on_file(&self, command: &str) -> Result<(), CommandFailure> {
        match &self.remote {
            None => Ok(()),
            Some(remote) => Err(CommandFailure::Usage(format!(
                "`rawko {command}` needs a store file, but instances live on {}; pass --host embedded",
                remote.words()
            ))),
        }
    }

    /// Returns true if the project has settings of its own.
    pub(crate) fn is_set_up(&self) -> bool {
        self.root.join(".rawko/config.yaml").exists()
    }

    /// Fails if the project has no store yet.
    pub(crate) fn insist_on_store(&self) -> Result<(), CommandFailure> {
        match self.store.exists() {
            true => Ok(()),
            false => Err(CommandFailure::Usage(format!("store {} not found", self.shown()))),
        }
    }

    /// Locks the store, and fails if another process holds it.
    pub(crate) fn hold_alone(&self, command: &str) -> Result<Lock, CommandFailure> {
        self.operator()?;
        self.insist_on_trusted_place()?;
        let holder = LockHolder {
            pid: std::process::id(),
            command: command_line(),
            started_ms: times::now_ms(),
            socket: None,
            drives: Some(Vec::new()),
        };
        Lock::take(&self.store, &holder).map_err(|error| match error {
            StoreError::Held { holder, .. } => CommandFailure::Transient(format!(
                "cannot run `rawko {command}`: {} is in use by {holder}; stop that process first",
                self.shown()
            )),
            other => other.into(),
        })
    }
}
