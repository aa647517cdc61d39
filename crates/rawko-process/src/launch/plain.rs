//! Starts a program without a helper: on systems other than Linux, and in a program that embeds rawko without one. A
//! process group and a mark are all that hold it.

use std::process::Stdio;

use tokio::process::Command;

use super::environment;
use super::{AuthorityWatch, Input, Launch, LaunchError, Launched, Output};
use crate::egress::Connections;
use crate::mark::Mark;
use crate::processes::Processes;

pub(super) fn start(launch: Launch) -> Result<Launched, LaunchError> {
    let mark = Mark::new();
    let authority = AuthorityWatch::of_project(&launch.confinement.root);
    let home = launch.confinement.home.clone().unwrap_or_else(|| "/".into());
    let temporary = launch.confinement.scratch.clone().unwrap_or_else(std::env::temp_dir);
    let inherited = launch.inherited.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let program = if launch.program.components().count() > 1 {
        launch.cwd.join(&launch.program)
    } else {
        launch.program.clone()
    };
    let mut command = Command::new(program);
    command
        .args(&launch.args)
        .current_dir(&launch.cwd)
        .env_clear()
        .envs(environment::inherited(inherited, &home, &temporary))
        .envs(launch.set)
        .envs([mark.variable()])
        .process_group(0)
        .kill_on_drop(true);
    command.stdin(match launch.input {
        Input::Null => Stdio::null(),
        Input::Pipe => Stdio::piped(),
    });
    let mut merged = None;
    match launch.output {
        Output::Separate => {
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
        }
        Output::Merged => {
            let (reader, writer) = std::io::pipe()?;
            command.stdout(writer.try_clone()?).stderr(writer);
            merged = Some(std::os::fd::OwnedFd::from(reader));
        }
    }
    let mut child = command.spawn()?;
    // Its copies of the pipe would keep it open.
    drop(command);
    if let Some(merged) = merged {
        child.stdout = Some(tokio::process::ChildStdout::from_std(merged.into())?);
    }
    let processes = Processes::of_child(&child, mark)?;
    Ok(Launched { child, processes, layers: None, authority, connections: Connections::default() })
}
