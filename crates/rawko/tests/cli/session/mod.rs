//! The interactive session of a task, with the real binary on a pseudo-terminal. Only the models are scripted.

mod answering;
mod hosts;
mod inputs;
mod programs;
mod screens;
mod steering;
mod streaming;
mod terminals;
mod typing;
mod undoing;

use std::path::Path;

use tempfile::TempDir;

use crate::pty::Pty;
use crate::support::command;
use crate::tasks::project::{SETTINGS, agent, project};

pub(crate) const SIZE: (u16, u16) = (80, 30);

impl Pty {
    /// Starts `rawko ARGS` on a terminal of this size.
    pub(crate) fn start(dir: &Path, args: &[&str], size: (u16, u16)) -> Pty {
        Pty::of(command(dir, args), size)
    }
}

/// A project with one agent, which runs first and ends the task.
pub(crate) fn one_worker(settings: &str, script: &str) -> TempDir {
    let agents = [agent("worker", "transitions: {onSuccess: complete}\n")];
    project(&format!("{SETTINGS}{settings}"), &agents, script)
}

/// Starts a task with the agent on a terminal.
pub(crate) fn task(dir: &TempDir, more: &[&str]) -> Pty {
    let args = [&["task", "Do it", "--id", "t", "--agent", "worker"], more].concat();
    Pty::start(dir.path(), &args, SIZE)
}
