//! Holds a store without hosting it, for commands that change the file as a whole.

use rawko_store::{Holder, Lock, StoreError};

use super::access::command_line;
use super::place::Place;
use crate::failure::Failure;
use crate::times;

impl Place {
    /// Fails if instances live on Restate, for commands that need a store file.
    pub(crate) fn insist_on_file(&self, command: &str) -> Result<(), Failure> {
        match &self.remote {
            None => Ok(()),
            Some(remote) => Err(Failure::Usage(format!(
                "`rawko {command}` needs a store file, but instances live on {}; pass --host embedded",
                remote.words()
            ))),
        }
    }

    /// Fails if the project has no store yet.
    pub(crate) fn insist_on_store(&self) -> Result<(), Failure> {
        match self.store.exists() {
            true => Ok(()),
            false => Err(Failure::Usage(format!("store {} not found", self.shown()))),
        }
    }

    /// Locks the store, and fails if another process holds it.
    pub(crate) fn hold_alone(&self, command: &str) -> Result<Lock, Failure> {
        self.operator()?;
        self.insist_on_trusted_place()?;
        let holder = Holder {
            pid: std::process::id(),
            command: command_line(),
            started_ms: times::now_ms(),
            socket: None,
        };
        Lock::take(&self.store, &holder).map_err(|error| match error {
            StoreError::Held { holder, .. } => Failure::Transient(format!(
                "cannot run `rawko {command}`: {} is in use by {holder}; stop that process first",
                self.shown()
            )),
            other => other.into(),
        })
    }
}
