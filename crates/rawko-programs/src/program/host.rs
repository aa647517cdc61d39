//! The interface that serves a program during its turn: tools, permission decisions and the project's files. Uses our own
//! types, so that the gate need not know a protocol.

use std::future::{Future, pending, ready};
use std::path::PathBuf;
use std::pin::Pin;

use rawko_core::Value;
use rawko_model::provider::StreamEvent;
use rawko_model::{ToolUse, Usage};
use rawko_tools::ToolFuture;

/// Resolves when the turn is cancelled.
pub type CancelFuture<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;
/// A pending permission decision.
pub type DecisionFuture<'a> = Pin<Box<dyn Future<Output = OperationVerdict> + Send + 'a>>;
/// A pending file read: the text or an error message.
pub type ReadFuture<'a> = Pin<Box<dyn Future<Output = Result<String, String>> + Send + 'a>>;
/// A pending file write.
pub type WriteFuture<'a> = Pin<Box<dyn Future<Output = Result<(), String>> + Send + 'a>>;

const NO_FILES: &str = "files are available through tools only";

/// Serves a program during its turn. Its requests come unchecked: the host confines them.
pub trait ProgramHost: Send + Sync {
    /// Runs one of our tools, through the gate like any other call.
    fn tool(&self, tool_use: ToolUse) -> ToolFuture<'_>;

    /// Receives stream events of the program.
    fn heard(&self, event: StreamEvent);

    /// Receives the turn's usage so far, on every update.
    fn spent(&self, _so_far: Usage) {}

    /// When it resolves, the program is asked to stop, and terminated if it does not. Dropping the turn terminates it at
    /// once.
    fn cancelled(&self) -> CancelFuture<'_> {
        Box::pin(pending())
    }

    /// Decides if a program with tools of its own may use one.
    fn permit(&self, _asked: AgentOperation) -> DecisionFuture<'_> {
        Box::pin(ready(OperationVerdict::Deny))
    }

    /// Reads a file. `line` is the first line, counted from 1; `limit` is the number of lines.
    fn read_file(&self, _path: PathBuf, _line: Option<u32>, _limit: Option<u32>) -> ReadFuture<'_> {
        Box::pin(ready(Err(NO_FILES.to_owned())))
    }

    /// Writes a file.
    fn write_file(&self, _path: PathBuf, _content: String) -> WriteFuture<'_> {
        Box::pin(ready(Err(NO_FILES.to_owned())))
    }

    /// Receives the hosts that the program was refused because a person has to approve them, each with the rule that asks.
    fn wanted(&self, _hosts: Vec<(String, String)>) {}

    /// Receives a call that the program ran by itself, when it reports its end.
    fn returned(&self, _result: EndedCall) {}
}

/// A call that has ended, as the program reports it.
#[derive(Clone, Debug, PartialEq)]
pub struct EndedCall {
    /// Id of the call.
    pub id: String,
    /// The program's own name of the tool.
    pub name: String,
    /// The tool's input.
    pub input: Value,
    /// Text of the result; changed files by name.
    pub content: String,
    /// The lines that the call changed in files, as unified diffs; empty for none.
    pub diff: String,
    /// True if the call failed.
    pub is_error: bool,
}

/// An operation that an agent requests.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentOperation {
    /// Id of the tool call.
    pub id: String,
    /// What it would do.
    pub kind: AskedKind,
    /// The agent's own name of the tool, if it sends one.
    pub tool: Option<String>,
    /// For people: ``run `cargo test` ``.
    pub title: String,
    /// The tool's input, as the agent sends it.
    pub input: Value,
    /// The affected files.
    pub paths: Vec<PathBuf>,
}

/// The kind of an operation, as the program classifies it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskedKind {
    /// Reads files.
    Read,
    /// Changes files.
    Edit,
    /// Deletes files.
    Delete,
    /// Moves files.
    Move,
    /// Searches files.
    Search,
    /// Runs a command.
    Execute,
    /// Changes nothing.
    Think,
    /// Reads from the network.
    Fetch,
    /// Changes the mode of the program.
    SwitchMode,
    /// Anything else.
    Other,
}

/// A decision on an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OperationVerdict {
    /// The program may do it.
    Allow,
    /// The program must not do it.
    Deny,
}
