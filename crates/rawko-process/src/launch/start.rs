//! Starts the helper, sends it the spec with the program's ends of the pipes, and reads its report.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

use super::environment;
use super::helper_file::helper;
use super::names::Survey;
use super::needed;
use super::plain;
use super::profile::{Profile, Sandbox};
use super::spec::{Confined, HelperReport, LaunchRefusal, Network, Spec};
use super::view::PathView;
use super::{
    AuthorityWatch, KernelLayer, Launch, LaunchError, Launched, ProgramStdin, ProgramStdout, frame, warning,
};
use crate::egress::{Proxy, ReachedHosts};
use crate::helper::WORD;
use crate::mark::CallId;
use crate::pins;
use crate::platform;
use crate::processes::Processes;

/// Set once a program was started with mounts of its own.
static HAS_MOUNTS: AtomicBool = AtomicBool::new(false);

/// A helper that has not reported by then is broken. A machine under load takes a second at times.
const REPORT_TIME_MAX: Duration = Duration::from_secs(30);

/// Another program may remove a file between the plan of the mounts and the mount: the next plan does not have it.
const PLANS_AGAIN_MAX: usize = 3;

pub(super) fn start(mut launch: Launch) -> Result<Launched, LaunchError> {
    // The helper is elsewhere, and the links on the way may not be in the view.
    launch.cwd = launch.cwd.canonicalize().or_else(|_| std::path::absolute(&launch.cwd))?;
    launch.confinement.root = std::path::absolute(&launch.confinement.root)?;
    if matches!(launch.profile, Profile::Program(_) | Profile::Trusted) {
        let program = launch.program.to_string_lossy().into_owned();
        let words = std::iter::once(program.as_str()).chain(launch.args.iter().map(String::as_str));
        if let Some(path) = pins::changed(words, &launch.cwd) {
            let why =
                format!("`{}` changed since it was trusted; restart rawko to review it", path.display());
            return Err(LaunchError::Confinement(why));
        }
    }
    let is_required = launch.confinement.sandbox == Sandbox::Require;
    let needs_boundary = launch.confinement.needs_boundary.clone();
    let no_boundary = |why: &str| {
        let reason = needs_boundary.as_deref().unwrap_or_default();
        LaunchError::Confinement(format!("refused: {reason}, and nothing would stop it here: {why}"))
    };
    if needs_boundary.is_some() && launch.profile == Profile::Trusted {
        return Err(no_boundary("the sandbox is switched off"));
    }
    let Some(helper) = helper() else {
        let why = if platform::is_portable() {
            platform::UNCONFINED
        } else {
            "the helper program of the sandbox was not found beside this one"
        };
        if launch.profile != Profile::Trusted {
            if is_required {
                let message = format!("settings require a sandbox (`tools.bash.sandbox: require`): {why}");
                return Err(LaunchError::Confinement(message));
            }
            if needs_boundary.is_some() {
                return Err(no_boundary(why));
            }
            warning::say(why);
        }
        return plain::start(launch, why);
    };
    let mut survey = survey(&launch);
    let mut spec = spec(&launch, survey.as_ref())?;
    let first = attempt(&helper, &spec, &launch, survey.as_ref());
    let retry = match (&first, &mut spec.confined) {
        (Err(Failed::View(why)), Some(confined)) if !is_required => {
            confined.without_view = Some(why.clone());
            true
        }
        _ => false,
    };
    let mut launched = if retry { attempt(&helper, &spec, &launch, survey.as_ref()) } else { first };
    for _ in 0..PLANS_AGAIN_MAX {
        if !matches!(launched, Err(Failed::Place(_))) {
            break;
        }
        survey = self::survey(&launch);
        let spec = self::spec(&launch, survey.as_ref())?;
        launched = attempt(&helper, &spec, &launch, survey.as_ref());
    }
    launched.map_err(|failed| match failed {
        Failed::Program(error) => LaunchError::Program(error),
        Failed::Place(why) => LaunchError::Confinement(format!(
            "refused: the sandbox cannot be built, and programs are not started with less: {why}"
        )),
        Failed::View(why) | Failed::Confinement(why) if needs_boundary.is_some() && !is_required => {
            no_boundary(&why)
        }
        Failed::View(why) | Failed::Confinement(why) => LaunchError::Confinement(format!(
            "settings require a sandbox (`tools.bash.sandbox: require`), and it is not complete: {why}"
        )),
    })
}

enum Failed {
    Program(io::Error),
    View(String),
    Place(String),
    Confinement(String),
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Self {
        Failed::Program(error)
    }
}

/// Searches the project once, for the mounts and for the state before the call. A program that cannot write to the project
/// needs neither.
fn survey(launch: &Launch) -> Option<Survey> {
    let Launch { profile, confinement, .. } = launch;
    let is_in_project =
        |path: &PathBuf| path.starts_with(&confinement.root) || confinement.root.starts_with(path);
    let writes = profile.writes_project() || confinement.extra_write.iter().any(is_in_project);
    writes.then(|| Survey::of_real(&confinement.root))
}

fn attempt(helper: &Path, spec: &Spec, launch: &Launch, survey: Option<&Survey>) -> Result<Launched, Failed> {
    // Copies until it is known that mounts protect the files.
    let needs_copies =
        |confined: &Confined| confined.without_view.is_some() || !HAS_MOUNTS.load(Ordering::Relaxed);
    let root = &launch.confinement.root;
    let mut authority = match (&spec.confined, survey) {
        (Some(confined), Some(survey)) if needs_copies(confined) => {
            AuthorityWatch::surveyed_with_copies(root, survey)
        }
        (Some(confined), None) if needs_copies(confined) => AuthorityWatch::with_copies(root),
        (Some(_) | None, Some(survey)) => AuthorityWatch::surveyed(root, survey),
        (Some(_), None) => AuthorityWatch::of_nothing(root),
        (None, None) => AuthorityWatch::of_project(root),
    };
    let (control, theirs) = UnixStream::pair()?;
    let mark = CallId::of(spec.mark);
    let mut child = Command::new(helper)
        .arg(WORD)
        .current_dir("/")
        .env_clear()
        .envs([mark.variable()])
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()?;
    let pipes = Pipes::new(launch)?;
    let text = serde_json::to_vec(spec).map_err(io::Error::other)?;
    frame::send(&control, &text, &pipes.of_program.each_ref().map(AsFd::as_fd))?;
    control.set_read_timeout(Some(REPORT_TIME_MAX))?;
    let (text, descriptors) = frame::receive(&control)
        .map_err(|error| io::Error::other(format!("the sandbox helper failed: {error}")))?;
    let report: HelperReport = serde_json::from_slice(&text).map_err(io::Error::other)?;
    let started = report.started.map_err(|refusal| match refusal {
        LaunchRefusal::Program { errno } => Failed::Program(io::Error::from_raw_os_error(errno)),
        LaunchRefusal::View { message } => Failed::View(message),
        LaunchRefusal::Place { message } => Failed::Place(message),
        LaunchRefusal::Confinement { message } => Failed::Confinement(message),
    })?;
    warning::missing(&report.layers);
    if spec.confined.is_some() {
        let has_mounts = report.layers.has(KernelLayer::MountNamespace);
        HAS_MOUNTS.store(has_mounts, Ordering::Relaxed);
        match survey {
            Some(_) if has_mounts => authority.drop_copies(),
            None if has_mounts => authority = AuthorityWatch::of_nothing(root),
            Some(_) | None => {}
        }
    }
    pipes.give(&mut child)?;
    let connections = ReachedHosts::default();
    let processes = match started.init {
        Some(init) => {
            let listener = descriptors.into_iter().next().filter(|_| started.has_listener);
            let egress = launch.confinement.egress.clone();
            let proxy = listener.zip(egress);
            let proxy = proxy.map(|(listener, egress)| Proxy::start(listener, egress, connections.clone()));
            Processes::contained(&child, init, control, proxy.transpose()?)?
        }
        None => Processes::of_helper(&child, mark, control)?,
    };
    let layers = spec.confined.is_some().then_some(report.layers);
    Ok(Launched { child, processes, layers, authority, connections })
}

/// The pipes of a program: the ends that it gets, and ours.
struct Pipes {
    of_program: [OwnedFd; 3],
    input: Option<OwnedFd>,
    output: OwnedFd,
    errors: Option<OwnedFd>,
}

impl Pipes {
    fn new(launch: &Launch) -> io::Result<Self> {
        let (stdin, input) = match launch.input {
            ProgramStdin::Null => (OwnedFd::from(std::fs::File::open("/dev/null")?), None),
            ProgramStdin::Pipe => {
                let (reader, writer) = io::pipe()?;
                (reader.into(), Some(writer.into()))
            }
        };
        let (output, stdout) = io::pipe()?;
        let (errors, stderr) = match launch.output {
            ProgramStdout::Merged => (None, stdout.try_clone()?),
            ProgramStdout::Separate => {
                let (reader, writer) = io::pipe()?;
                (Some(reader.into()), writer)
            }
        };
        Ok(Self { of_program: [stdin, stdout.into(), stderr.into()], input, output: output.into(), errors })
    }

    /// Puts our ends where a child has them.
    fn give(self, child: &mut Child) -> io::Result<()> {
        let input = self.input.map(|end| ChildStdin::from_std(end.into())).transpose()?;
        child.stdin = input;
        child.stdout = Some(ChildStdout::from_std(self.output.into())?);
        child.stderr = self.errors.map(|end| ChildStderr::from_std(end.into())).transpose()?;
        Ok(())
    }
}

fn spec(launch: &Launch, survey: Option<&Survey>) -> Result<Spec, LaunchError> {
    let confinement = &launch.confinement;
    let inherited = || launch.inherited.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let mark = CallId::new();
    let (variable, value) = mark.variable();
    let mut spec = Spec {
        program: program(launch),
        args: launch.args.iter().map(|arg| needed::direct_argument(arg)).collect(),
        cwd: launch.cwd.clone(),
        env: Vec::new(),
        confined: None,
        limits: launch.limits,
        mark: mark.lock_limit(),
        call: (variable.to_owned(), value.to_owned()),
        env_without_view: Vec::new(),
    };
    if launch.profile == Profile::Trusted {
        let home = confinement.home.clone().unwrap_or_else(|| PathBuf::from("/"));
        let temporary = confinement.scratch.clone().unwrap_or_else(std::env::temp_dir);
        spec.env = environment::inherited(inherited(), &home, &temporary);
        spec.env.extend(launch.set.iter().cloned());
        return Ok(spec);
    }
    let view = PathView::new(
        confinement,
        launch.profile,
        &launch.inherited,
        &needed::of_launch(launch, &spec.program),
        survey,
    )
    .map_err(LaunchError::Confinement)?;
    spec.env = environment::inherited(inherited(), &view.home, &view.temporary);
    if !launch.profile.writes_project() {
        spec.env.retain(|(name, _)| name != "CARGO_TARGET_DIR" && name != "GOCACHE");
        spec.env.extend(environment::read_only(&view.temporary));
    }
    match confinement.egress.as_ref().filter(|_| launch.profile != Profile::ReadOnly) {
        Some(egress) => spec.env.extend(environment::direct(egress)),
        None => spec.env.extend(environment::offline()),
    }
    spec.env.extend(launch.set.iter().cloned());
    let scratch = confinement.scratch.clone().unwrap_or_else(std::env::temp_dir);
    spec.env_without_view = environment::places(&scratch, &scratch).into();
    if !launch.profile.writes_project() {
        // What the program sets stays.
        let is_set = |name: &String| launch.set.iter().any(|(set, _)| set == name);
        let places = environment::read_only(&scratch).into_iter().filter(|(name, _)| !is_set(name));
        spec.env_without_view.extend(places);
    }
    let writable = view.writable.into_iter().chain(confinement.scratch.clone()).collect();
    spec.confined = Some(Confined {
        view: view.places,
        writable,
        private: view.private,
        readable: view.readable,
        network: match launch.profile {
            Profile::ReadOnly => Network::None,
            Profile::Workspace | Profile::Program(_) if confinement.egress.is_some() => Network::Proxy,
            Profile::Workspace | Profile::Program(_) | Profile::Trusted => Network::Loopback,
        },
        without_view: None,
        is_required: confinement.sandbox == Sandbox::Require,
        needs_boundary: confinement.needs_boundary.is_some(),
    });
    Ok(spec)
}

/// A path with a directory is relative to the working directory.
fn program(launch: &Launch) -> PathBuf {
    if launch.program.components().count() > 1 {
        needed::direct(&launch.cwd.join(&launch.program))
    } else {
        launch.program.clone()
    }
}
