//! The failures of commands, as messages for the user, and their exit codes. Commands return these; only this file
//! knows the codes.

use std::io;
#[cfg(feature = "cli")]
use std::process::ExitCode;

use rawko_host::HostError;
#[cfg(feature = "cli")]
use rawko_restate::client::ClientError;
use rawko_store::StoreError;
use rawko_view::ViewError;

#[cfg(feature = "cli")]
use crate::console::Console;

/// The outcome of a command that ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Done,
    /// The check did not pass: a scenario failed, a simulation ended badly. Already reported.
    Failed,
    /// A chart is invalid. Already reported.
    Invalid,
    /// A provider rejected the API key, or it is missing. Already reported.
    Credentials,
    /// An external failure that may be gone later. Already reported.
    Transient,
    /// A property could not be decided within the limits. Already reported.
    Undecided,
    /// A budget or a limit was reached.
    Limit,
    /// A loop was detected and stopped.
    Loop,
    /// The instance waits for an event or an answer.
    Waiting,
    /// Ctrl-C; the running work is parked.
    Interrupted,
    /// SIGTERM; the running work is parked.
    Terminated,
}

impl Verdict {
    /// Returns the exit code of the command.
    pub(crate) fn code(self) -> u8 {
        match self {
            Verdict::Done => 0,
            Verdict::Failed => FAILED,
            Verdict::Invalid => INVALID,
            Verdict::Credentials => CREDENTIALS,
            Verdict::Transient | Verdict::Undecided => TRANSIENT,
            Verdict::Limit => LIMIT,
            Verdict::Loop => LOOP,
            Verdict::Waiting => WAITING,
            Verdict::Interrupted => INTERRUPTED,
            Verdict::Terminated => TERMINATED,
        }
    }
}

/// The reason that a command stopped.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Wrong arguments, a file that cannot be read, a malformed stimulus.
    Usage(String),
    /// A chart, scenario file or settings that cannot be used.
    Invalid(String),
    /// Like `Invalid`, with the rendered findings.
    Findings { rendered: String, message: String },
    /// The API key of a model is missing.
    Credentials(String),
    /// The work itself failed.
    Failed(String),
    /// An external failure that may be gone later: the disk is full, another process holds the store.
    Transient(String),
    /// Ctrl-C at a prompt; elsewhere the signal ends the process by itself.
    Interrupted,
    /// Standard output cannot be written.
    Output(io::Error),
}

impl Failure {
    /// Returns the same failure, for a chart that is loaded once and named again.
    pub(crate) fn again(&self) -> Failure {
        match self {
            Failure::Usage(message) => Failure::Usage(message.clone()),
            Failure::Invalid(message) => Failure::Invalid(message.clone()),
            Failure::Findings { rendered, message } => {
                Failure::Findings { rendered: rendered.clone(), message: message.clone() }
            }
            Failure::Credentials(message) => Failure::Credentials(message.clone()),
            Failure::Failed(message) => Failure::Failed(message.clone()),
            Failure::Transient(message) => Failure::Transient(message.clone()),
            Failure::Interrupted => Failure::Interrupted,
            Failure::Output(error) => Failure::Output(error.kind().into()),
        }
    }
}

const FAILED: u8 = 1;
const USAGE: u8 = 2;
const TRANSIENT: u8 = 3;
const CREDENTIALS: u8 = 41;
const INVALID: u8 = 52;
const LIMIT: u8 = 53;
const LOOP: u8 = 54;
const WAITING: u8 = 55;
const INTERRUPTED: u8 = 130;
const TERMINATED: u8 = 143;

/// Prints the failure and returns the exit code.
#[cfg(feature = "cli")]
pub(crate) fn exit_code(outcome: Result<Verdict, Failure>, console: &mut Console) -> ExitCode {
    let (message, code) = match outcome {
        Ok(verdict) => (None, verdict.code()),
        Err(Failure::Usage(message)) => (Some(message), USAGE),
        Err(Failure::Invalid(message)) => (Some(message), INVALID),
        Err(Failure::Findings { rendered, message }) => {
            console.aside(&rendered);
            (Some(message), INVALID)
        }
        Err(Failure::Credentials(message)) => (Some(message), CREDENTIALS),
        Err(Failure::Failed(message)) => (Some(message), FAILED),
        Err(Failure::Transient(message)) => (Some(message), TRANSIENT),
        Err(Failure::Interrupted) => (None, INTERRUPTED),
        // The reader closed the pipe (`rawko … | head`), which is normal.
        Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => (None, 0),
        Err(Failure::Output(error)) => (Some(format!("cannot write the output: {error}")), FAILED),
    };
    if let Some(message) = message {
        console.error(&message);
    }
    ExitCode::from(code)
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        if error.is_transient() {
            Failure::Transient(error.to_string())
        } else {
            Failure::Failed(error.to_string())
        }
    }
}

impl From<HostError> for Failure {
    fn from(error: HostError) -> Self {
        let message = error.to_string();
        match error {
            HostError::NoInstance(_)
            | HostError::Exists(_)
            | HostError::SeveralAsked { .. }
            | HostError::NotAsked { .. }
            | HostError::NoStep { .. }
            | HostError::BadEdit { .. } => Failure::Usage(message),
            HostError::NoChart(_)
            | HostError::NoVersion { .. }
            | HostError::BadRange(_)
            | HostError::InvalidChart(_) => Failure::Invalid(message),
            HostError::Store(error) => error.into(),
            HostError::Busy { .. } | HostError::Closing => Failure::Transient(message),
            // The remaining errors concern the status of the instance, or are internal errors.
            _ => Failure::Failed(message),
        }
    }
}

#[cfg(feature = "cli")]
impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        let message = error.to_string();
        match error {
            ClientError::BadAddress(_) => Failure::Usage(message),
            error if error.is_transient() => Failure::Transient(message),
            _ => Failure::Failed(message),
        }
    }
}

impl From<ViewError> for Failure {
    fn from(error: ViewError) -> Self {
        match error {
            ViewError::Host(error) => error.into(),
            other => Failure::Failed(other.to_string()),
        }
    }
}
