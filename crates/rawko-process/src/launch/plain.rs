//! Starts a program without confinement: on systems other than Linux, and in a program that embeds rawko without a helper.
//! A session of its own, a short environment, a process group and a mark are all that hold it.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::process::Command;

use super::environment;
use super::helper_file::own_program;
use super::{
    AuthorityWatch, KernelLayer, Launch, LaunchError, Launched, Layers, Profile, ProgramStdin, ProgramStdout,
};
use crate::egress::ReachedHosts;
use crate::helper::WORD;
use crate::mark::CallId;
use crate::platform::SESSION;
use crate::processes::Processes;

/// `why`: the reason that nothing confines it.
pub(super) fn start(launch: Launch, why: &str) -> Result<Launched, LaunchError> {
    let mark = CallId::new();
    let root = &launch.confinement.root;
    let authority = match launch.profile {
        Profile::Trusted => AuthorityWatch::of_project(root),
        Profile::ReadOnly | Profile::Workspace | Profile::Program(_) => AuthorityWatch::with_copies(root),
    };
    let home = launch.confinement.home.clone().unwrap_or_else(|| "/".into());
    let temporary = launch.confinement.scratch.clone().unwrap_or_else(std::env::temp_dir);
    let inherited = launch.inherited.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let program = if launch.program.components().count() > 1 {
        launch.cwd.join(&launch.program)
    } else {
        launch.program.clone()
    };
    let variables = environment::inherited(inherited, &home, &temporary);
    let path = variables.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path.as_str());
    let program = found(program, path)?;
    let own = own_program();
    let mut command = Command::new(own.as_ref().unwrap_or(&program));
    match &own {
        // It leaves the session of rawko, which makes it the leader of a group, and becomes the program.
        Some(_) => command.args([WORD, SESSION]).arg(&program),
        None => command.process_group(0),
    };
    command
        .args(&launch.args)
        .current_dir(&launch.cwd)
        .env_clear()
        .envs(variables)
        .envs(launch.set)
        .envs([mark.variable()])
        .kill_on_drop(true);
    command.stdin(match launch.input {
        ProgramStdin::Null => Stdio::null(),
        ProgramStdin::Pipe => Stdio::piped(),
    });
    let mut merged = None;
    match launch.output {
        ProgramStdout::Separate => {
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
        }
        ProgramStdout::Merged => {
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
    let layers = (launch.profile != Profile::Trusted).then(|| layers(own.is_some(), why));
    Ok(Launched { child, processes, layers, authority, connections: ReachedHosts::default() })
}

/// Finds a program as the system would, so that one that is missing is reported here.
fn found(program: PathBuf, path: Option<&str>) -> io::Result<PathBuf> {
    if program.components().count() > 1 {
        return if program.is_file() { Ok(program) } else { Err(io::ErrorKind::NotFound.into()) };
    }
    let directories = path.unwrap_or("/usr/bin:/bin").split(':').map(Path::new);
    let files = directories.map(|directory| directory.join(&program));
    files.into_iter().find(|file| file.is_file()).ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// The layers of the confinement: at most a session.
fn layers(has_session: bool, why: &str) -> Layers {
    let mut layers = Layers::default();
    let session = if has_session { Ok(String::new()) } else { Err(why.to_owned()) };
    layers.add(KernelLayer::Session, session);
    for layer in [
        KernelLayer::PidNamespace,
        KernelLayer::MountNamespace,
        KernelLayer::NetworkNamespace,
        KernelLayer::Privileges,
        KernelLayer::Landlock,
        KernelLayer::Seccomp,
    ] {
        layers.add(layer, Err("not on this system".to_owned()));
    }
    layers
}
