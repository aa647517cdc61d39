//! The failures of commands, as messages for the user, and their exit codes. Commands return these; only this file
//! knows the codes.

use std::io;
#[cfg(feature = "cli")]
use std::process::ExitCode;

use rawko_host::HostError;
#[cfg(feature = "cli")]
use rawko_restate::client::RestateError;
use rawko_store::StoreError;
use rawko_view::ViewError;

#[cfg(feature = "cli")]
use crate::console::Console;

/// The outcome of a command that ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommandVerdict {
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

impl CommandVerdict {
    /// Returns the exit code of the command.
    pub(crate) fn code(self) -> u8 {
        match self {
            CommandVerdict::Done => 0,
            CommandVerdict::Failed => FAILED,
            CommandVerdict::Invalid => INVALID,
            CommandVerdict::Credentials => CREDENTIALS,
            CommandVerdict::Transient | CommandVerdict::Undecided => TRANSIENT,
            CommandVerdict::Limit => LIMIT,
            CommandVerdict::Loop => LOOP,
            CommandVerdict::Waiting => WAITING,
            CommandVerdict::Interrupted => INTERRUPTED,
            CommandVerdict::Terminated => TERMINATED,
        }
    }
}

/// The reason that a command stopped.
#[derive(Debug)]
pub(crate) enum CommandFailure {
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

impl CommandFailure {
    /// Returns the same failure, for a chart that is loaded once and named again.
    pub(crate) fn again(&self) -> CommandFailure {
        match self {
            CommandFailure::Usage(message) => CommandFailure::Usage(message.clone()),
            CommandFailure::Invalid(message) => CommandFailure::Invalid(message.clone()),
            CommandFailure::Findings { rendered, message } => {
                CommandFailure::Findings { rendered: rendered.clone(), message: message.clone() }
            }
            CommandFailure::Credentials(message) => CommandFailure::Credentials(message.clone()),
            CommandFailure::Failed(message) => CommandFailure::Failed(message.clone()),
            CommandFailure::Transient(message) => CommandFailure::Transient(message.clone()),
            CommandFailure::Interrupted => CommandFailure::Interrupted,
            CommandFailure::Output(error) => CommandFailure::Output(error.kind().into()),
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
pub(crate) fn exit_code(outcome: Result<CommandVerdict, CommandFailure>, console: &mut Console) -> ExitCode {
    let (message, code) = match outcome {
        Ok(verdict) => (None, verdict.code()),
        Err(CommandFailure::Usage(message)) => (Some(message), USAGE),
        Err(CommandFailure::Invalid(message)) => (Some(message), INVALID),
        Err(CommandFailure::Findings { rendered, message }) => {
            console.aside(&rendered);
            (Some(message), INVALID)
        }
        Err(CommandFailure::Credentials(message)) => (Some(message), CREDENTIALS),
        Err(CommandFailure::Failed(message)) => (Some(message), FAILED),
        Err(CommandFailure::Transient(message)) => (Some(message), TRANSIENT),
        Err(CommandFailure::Interrupted) => (None, INTERRUPTED),
        // The reader closed the pipe (`rawko … | head`), which is normal.
        Err(CommandFailure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => (None, 0),
        Err(CommandFailure::Output(error)) => (Some(format!("cannot write the output: {error}")), FAILED),
    };
    if let Some(message) = message {
        console.error(&message);
    }
    ExitCode::from(code)
}

impl From<StoreError> for CommandFailure {
    fn from(error: StoreError) -> Self {
        if error.is_transient() {
            CommandFailure::Transient(error.to_string())
        } else {
            CommandFailure::Failed(error.to_string())
        }
    }
}

impl From<HostError> for CommandFailure {
    fn from(error: HostError) -> Self {
        let message = error.to_string();
        match error {
            HostError::NoInstance(_)
            | HostError::Exists(_)
            | HostError::SeveralAsked { .. }
            | HostError::NotAsked { .. }
            | HostError::NoStep { .. }
            | HostError::BadEdit { .. } => CommandFailure::Usage(message),
            HostError::NoChart(_)
            | HostError::NoVersion { .. }
            | HostError::BadRange(_)
            | HostError::InvalidChart(_) => CommandFailure::Invalid(message),
            HostError::Store(error) => error.into(),
            HostError::Busy { .. } | HostError::Closing => CommandFailure::Transient(message),
            // The remaining errors concern the status of the instance, or are internal errors.
            _ => CommandFailure::Failed(message),
        }
    }
}

#[cfg(feature = "cli")]
impl From<RestateError> for CommandFailure {
    fn from(error: RestateError) -> Self {
        let message = error.to_string();
        match error {
            RestateError::BadAddress(_) => CommandFailure::Usage(message),
            error if error.is_transient() => CommandFailure::Transient(message),
            _ => CommandFailure::Failed(message),
        }
    }
}

impl From<ViewError> for CommandFailure {
    fn from(error: ViewError) -> Self {
        match error {
            ViewError::Host(error) => error.into(),
            other => CommandFailure::Failed(other.to_string()),
        }
    }
}
