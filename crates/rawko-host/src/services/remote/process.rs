//! The side of a connected program: what it offers, what it is sent, and the handle of its connection.

use std::collections::BTreeSet;
use std::sync::Arc;

use rawko_core::Value;
use tokio::sync::mpsc;

use super::{RemoteServices, ServiceError};

/// What a program offers when it connects.
#[derive(Clone, Debug, Default)]
pub struct ProcessOffer {
    /// The name of the program, for people.
    pub name: String,
    /// The session of its previous connection, which it resumes.
    pub session: Option<String>,
    /// Calls that it runs at the same time.
    pub concurrency: usize,
    /// Names with the JSON Schemas of input and output.
    pub services: Vec<(String, Option<Value>, Option<Value>)>,
    /// Calls of the session that it has not reported as finished.
    pub calls: BTreeSet<u64>,
    /// Idempotency keys of work that it runs or whose result it remembers, from any session.
    pub keys: BTreeSet<String>,
}

/// A reason why a program is rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterRefusal {
    /// Code for programs.
    pub code: &'static str,
    /// Sentence for people.
    pub message: String,
}

/// A message for a program.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum RemoteMessage {
    /// Run a service.
    Call {
        /// Number of the call within the session; the answer carries it.
        id: u64,
        /// Service name.
        service: Arc<str>,
        /// Idempotency key.
        key: Arc<str>,
        /// Id of the calling instance.
        instance: Arc<str>,
        /// Invoke id in the chart.
        invoke: Arc<str>,
        /// Number of the attempt, from 1.
        attempt: u32,
        /// Input of the call.
        input: Value,
    },
    /// The result is no longer wanted; the program still answers, which frees its place.
    Cancel {
        /// Number of the call.
        id: u64,
    },
    /// The answer of a call arrived and need not be sent again.
    Received {
        /// Number of the call.
        id: u64,
    },
}

/// The registration of a program.
pub struct ProgramRegistration {
    /// Handle of the connection; dropping it starts the grace time.
    pub handle: ProcessHandle,
    /// Id by which the program resumes after a reconnect.
    pub session: String,
    /// The session was known: its calls continue.
    pub resumed: bool,
    /// Messages to forward to the program.
    pub messages: mpsc::UnboundedReceiver<RemoteMessage>,
}

/// One connection of a program. Dropping it means that the connection is lost.
pub struct ProcessHandle {
    pub(super) pool: RemoteServices,
    pub(super) process: u64,
    /// Number of the connection: a newer one of the same session replaces it.
    pub(super) connection: u64,
}

impl ProcessHandle {
    /// Delivers the answer of a call. One without a waiting caller is ignored.
    pub fn answer(&self, call: u64, result: Result<Value, ServiceError>) {
        self.pool.answer(self.process, call, Some(result));
    }

    /// Frees the place of a call that was cancelled.
    pub fn cancelled(&self, call: u64) {
        self.pool.answer(self.process, call, None);
    }

    /// Shows the progress of a call to live watchers.
    pub fn progress(&self, call: u64, data: Value) {
        self.pool.progress(call, data);
    }

    /// Sends no more calls; those that run continue.
    pub fn leave(&self) {
        self.pool.leave(self.process);
    }
}

impl Drop for ProcessHandle {
    fn drop(&mut self) {
        self.pool.lost(self.process, self.connection);
    }
}
