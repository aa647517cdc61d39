//! The interactive session of a task, with the real binary on a pseudo-terminal. Only the models are scripted.

mod answering;
mod steering;
mod terminals;

use tempfile::TempDir;

use crate::pty::Pty;
use crate::tasks::project::{SETTINGS, agent, project};

pub(crate) const SIZE: (u16, u16) = (80, 30);

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
