//! Who answers a coding agent: the gate for what it wants to do, and the project's files. In our own words, so that the
//! gate need not know the protocol.

use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;

use rawko_core::Value;

use crate::process::TurnHost;

/// The answer to a question, some time later.
pub type Deciding<'a> = Pin<Box<dyn Future<Output = Verdict> + Send + 'a>>;
/// A file's text, or why there is none.
pub type Reading<'a> = Pin<Box<dyn Future<Output = Result<String, String>> + Send + 'a>>;
pub type Writing<'a> = Pin<Box<dyn Future<Output = Result<(), String>> + Send + 'a>>;

/// Serves a coding agent during its turn. Paths come from the agent as they are: confining them is done here.
pub trait AcpHost: TurnHost {
    /// Whether the agent may do what it asks for.
    fn permit(&self, asked: Asked) -> Deciding<'_>;

    /// `line` is the first one wanted, from 1; `limit` how many.
    fn read_file(&self, path: PathBuf, line: Option<u32>, limit: Option<u32>) -> Reading<'_>;

    fn write_file(&self, path: PathBuf, content: String) -> Writing<'_>;
}

/// What an agent wants to do.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// Of the tool call it is about.
    pub id: String,
    pub kind: AskedKind,
    /// The agent's own name of the tool, if it says so.
    pub tool: Option<String>,
    /// For people: ``run `cargo test` ``.
    pub title: String,
    /// What the tool is to be run with, as the agent has it.
    pub input: Value,
    /// The files it is about.
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
