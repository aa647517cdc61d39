//! The steps of the helper, in order: session, namespaces, view, privileges, Landlock, seccomp, program, wait.

use std::fs::File;
use std::io::{self, Read};
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, getpid, kill_process, kill_process_group, pidfd_open, setsid,
};

use super::init::Init;
use super::{files, namespaces, network, privileges, root, system_calls};
use crate::launch::{
    Confined, HelperReport, KernelLayer, LaunchRefusal, Layers, Network, Spec, StartedProcess, TERMINATE,
    frame,
};

/// The exit code of a helper that could not do its work; the launcher has the reason from the report.
const FAILED: i32 = 127;
/// What the kernel adds, of 1,000, to the share of memory by which it chooses what to end.
const OOM_SCORE: &str = "500";

pub(super) fn run() -> i32 {
    let Ok(control) = io::stdin().as_fd().try_clone_to_owned().map(UnixStream::from) else { return FAILED };
    let Ok((spec, pipes)) = received(&control) else { return FAILED };
    let mut layers = Layers::default();
    let mut prepared = match prepare(&spec, &mut layers) {
        Ok(prepared) => prepared,
        Err(refusal) => {
            report(&control, Err(refusal), layers, &[]);
            return FAILED;
        }
    };
    let child = match start(spec, pipes, &prepared, &layers) {
        Ok(child) => child,
        Err(error) => {
            let errno = error.raw_os_error().unwrap_or(libc::EINVAL);
            report(&control, Err(LaunchRefusal::Program { errno }), layers, &[]);
            return FAILED;
        }
    };
    let listener = prepared.listener.take();
    let started =
        StartedProcess { init: prepared.init.as_ref().map(Init::id), has_listener: listener.is_some() };
    let descriptors: Vec<BorrowedFd<'_>> = listener.iter().map(AsFd::as_fd).collect();
    report(&control, Ok(started), layers, &descriptors);
    drop(listener);
    let status = wait(child, &control);
    if let Some(init) = prepared.init {
        init.end();
    }
    status.map_or(FAILED, end_like)
}

fn received(control: &UnixStream) -> io::Result<(Spec, Vec<OwnedFd>)> {
    let (text, pipes) = frame::receive(control)?;
    Ok((serde_json::from_slice(&text)?, pipes))
}

fn report(
    control: &UnixStream,
    started: Result<StartedProcess, LaunchRefusal>,
    layers: Layers,
    descriptors: &[BorrowedFd<'_>],
) {
    // Without a reader rawko is gone, which `wait` notices.
    if let Ok(text) = serde_json::to_vec(&HelperReport { started, layers }) {
        let _ = frame::send(control, &text, descriptors);
    }
}

#[derive(Default)]
struct PreparedInit {
    init: Option<Init>,
    listener: Option<TcpListener>,
}

fn prepare(spec: &Spec, layers: &mut Layers) -> Result<PreparedInit, LaunchRefusal> {
    // Before the namespaces: inside, root has another number.
    let is_root = rustix::process::getuid().is_root();
    let session = setsid().map(|_| String::new()).map_err(|error| error.to_string());
    layers.add(KernelLayer::Session, session);
    let Some(confined) = &spec.confined else {
        privileges::limit(&spec.limits, spec.mark);
        return Ok(PreparedInit::default());
    };
    // If memory runs out, the kernel ends a program of an agent before anything else. Inside, `/proc` is read-only.
    let _ = std::fs::write("/proc/self/oom_score_adj", OOM_SCORE);
    let prepared = confine(confined, is_root, layers)?;
    privileges::limit(&spec.limits, spec.mark);
    let missing: Vec<String> = layers.missing().map(|(layer, why)| format!("{layer}: {why}")).collect();
    if confined.is_required && !missing.is_empty() {
        return Err(LaunchRefusal::Confinement { message: missing.join("; ") });
    }
    let holds = |layers: &Layers, any: [KernelLayer; 2]| any.into_iter().any(|layer| layers.has(layer));
    let is_bounded = holds(layers, [KernelLayer::MountNamespace, KernelLayer::Landlock])
        && holds(layers, [KernelLayer::NetworkNamespace, KernelLayer::Seccomp]);
    if confined.needs_boundary && !is_bounded {
        return Err(LaunchRefusal::Confinement { message: missing.join("; ") });
    }
    Ok(prepared)
}

fn confine(confined: &Confined, is_root: bool, layers: &mut Layers) -> Result<PreparedInit, LaunchRefusal> {
    namespaces::enter(layers);
    let mut prepared = PreparedInit::default();
    if layers.has(KernelLayer::PidNamespace) {
        match Init::start() {
            Ok(init) => prepared.init = Some(init),
            // Too many processes, or no memory: agents could bring that about.
            Err(error) if [Some(libc::EAGAIN), Some(libc::ENOMEM)].contains(&error.raw_os_error()) => {
                let message = format!("the namespace has no first process: {error}");
                return Err(LaunchRefusal::Place { message });
            }
            Err(error) => layers.lose(KernelLayer::PidNamespace, format!("its first process: {error}")),
        }
    }
    if layers.has(KernelLayer::NetworkNamespace) && confined.network != Network::None {
        // Without it programs cannot talk to themselves, which is no reason not to start them.
        let _ = network::loopback();
        if confined.network == Network::Proxy {
            prepared.listener = network::listener().ok();
        }
    }
    let mounted = match (&mut prepared.init, &confined.without_view) {
        (Some(init), None) => {
            root::replace(&confined.view, init)?;
            Ok(String::new())
        }
        (_, Some(why)) => Err(why.clone()),
        (None, None) => Err("there is no PID namespace".to_owned()),
    };
    layers.add(KernelLayer::MountNamespace, mounted);
    if let Some(Err(error)) = prepared.init.as_mut().map(Init::settle) {
        layers.lose(KernelLayer::PidNamespace, format!("its first process: {error}"));
    }
    layers.add(KernelLayer::Privileges, privileges::drop_all().map(|()| String::new()));
    let has_view = layers.has(KernelLayer::MountNamespace);
    let landlock = files::restrict(confined, has_view, layers.has(KernelLayer::NetworkNamespace));
    layers.add(KernelLayer::Landlock, landlock);
    // Without a network of its own a program gets no socket.
    let has_network = layers.has(KernelLayer::NetworkNamespace);
    let network = if has_network { confined.network } else { Network::None };
    layers.add(KernelLayer::Seccomp, system_calls::restrict(network, is_root).map(|()| String::new()));
    Ok(prepared)
}

fn start(spec: Spec, pipes: Vec<OwnedFd>, prepared: &PreparedInit, layers: &Layers) -> io::Result<Child> {
    let mut command = Command::new(&spec.program);
    command.args(&spec.args).current_dir(&spec.cwd).env_clear().envs(spec.env).process_group(0);
    // Also in a namespace, where nothing is found by it: another rawko reads that it is within a call.
    command.envs([spec.call]);
    if spec.confined.is_some() && !layers.has(KernelLayer::MountNamespace) {
        command.envs(spec.env_without_view);
    }
    if let Some(port) =
        prepared.listener.as_ref().and_then(|listener| Some(listener.local_addr().ok()?.port()))
    {
        let proxy = format!("http://127.0.0.1:{port}");
        let names = ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY"];
        command.envs(names.map(|name| (name, proxy.as_str())));
    }
    let mut pipes = pipes.into_iter().map(Stdio::from);
    let mut next = || pipes.next().unwrap_or_else(Stdio::null);
    command.stdin(next()).stdout(next()).stderr(next()).spawn()
}

/// Waits for the program. Ends it when rawko is gone, and forwards the order to terminate.
fn wait(mut child: Child, control: &UnixStream) -> Option<ExitStatus> {
    let pid = Pid::from_raw(child.id().cast_signed())?;
    let ended = pidfd_open(pid, PidfdFlags::empty());
    let Ok(ended) = ended else { return child.wait().ok() };
    let mut control = File::from(OwnedFd::from(control.try_clone().ok()?));
    loop {
        let mut ready = [PollFd::new(&ended, PollFlags::IN), PollFd::new(&control, PollFlags::IN)];
        if poll(&mut ready, None).is_err() {
            continue;
        }
        if !ready[0].revents().is_empty() {
            return child.wait().ok();
        }
        let mut order = [0];
        match control.read(&mut order) {
            Ok(1..) if order[0] == TERMINATE => {
                let _ = kill_process_group(pid, Signal::TERM);
            }
            Ok(1..) => {}
            Ok(0) | Err(_) => {
                let _ = kill_process_group(pid, Signal::KILL);
                let _ = child.kill();
                return child.wait().ok();
            }
        }
    }
}

/// Ends this process in the way in which the program ended.
fn end_like(status: ExitStatus) -> i32 {
    match (status.code(), status.signal()) {
        (Some(code), _) => code,
        (None, Some(signal)) => {
            // The first only resets the handler that Rust has for some.
            for _ in 0..2 {
                if let Some(signal) = Signal::from_named_raw(signal) {
                    let _ = kill_process(getpid(), signal);
                }
            }
            128 + signal
        }
        (None, None) => FAILED,
    }
}
