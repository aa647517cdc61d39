//! The interface that serves a coding agent: permission decisions and the project's files. Uses our own types, so that
//! the gate need not know the protocol.

use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;

use rawko_core::Value;

use crate::process::TurnHost;

/// A pending permission decision.
pub type Deciding<'a> = Pin<Box<dyn Future<Output = Verdict> + Send + 'a>>;
/// A pending file read: the text or an error message.
pub type Reading<'a> = Pin<Box<dyn Future<Output = Result<String, String>> + Send + 'a>>;
pub type Writing<'a> = Pin<Box<dyn Future<Output = Result<(), String>> + Send + 'a>>;

/// Serves a coding agent during its turn. Paths come unchecked from the agent: the host confines them.
pub trait AcpHost: TurnHost {
    /// Decides if the agent may perform an operation.
    fn permit(&self, asked: AgentOperation) -> Deciding<'_>;

    /// `line` is the first line, counted from 1; `limit` is the number of lines.
    fn read_file(&self, path: PathBuf, line: Option<u32>, limit: Option<u32>) -> Reading<'_>;

    fn write_file(&self, path: PathBuf, content: String) -> Writing<'_>;
}

/// An operation that an agent requests.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentOperation {
    /// Id of the tool call.
    pub id: String,
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskedKind {
    Read,
    Edit,
    Delete,
    Move,
    Search,
    Execute,
    Think,
    Fetch,
    SwitchMode,
    Other,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Allow,
    Deny,
}
