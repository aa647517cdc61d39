//! `Processes`: everything that one call started. Found, asked to end, killed; dropped, it is killed at once.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::Child;

use crate::egress::Proxy;
use crate::mark::CallId;
use crate::platform::{self, ContainedProcesses, ProcessRow, ask_to_end};

/// Maximum time to keep killing. Only processes that the kernel cannot end now (waiting for a dead disk) take longer.
const KILL_TIME_MAX: Duration = Duration::from_secs(5);
/// Maximum number of searches that are repeated because a process ended unseen: on a busy machine others always do.
const UNSEEN_SEARCHES_MAX: u32 = 30;
/// Between two searches for processes that were killed, and for processes that were asked to end.
const KILLED_LOOK: Duration = Duration::from_millis(5);
const ASKED_LOOK: Duration = Duration::from_millis(20);

/// The processes of one call, from the start of the first to the end of the last.
#[derive(Debug)]
pub struct Processes {
    call: Arc<CallMark>,
    is_over: AtomicBool,
}

#[derive(Debug)]
enum CallMark {
    Contained(ContainedProcesses),
    Marked(CallProcesses),
}

#[derive(Debug)]
struct CallProcesses {
    /// The first process, which leads a group of its own.
    root: Pid,
    /// Nothing of the call is older than this.
    started: u64,
    mark: CallId,
    /// The pipes between the call and its first process.
    pipes: Vec<String>,
    /// The socket to the helper, if the first process is one.
    control: Option<UnixStream>,
}

impl Processes {
    /// Takes charge of a call whose first process was just started: in a group of its own, with the mark in its
    /// environment, and not yet waited for.
    pub fn of_child(child: &Child, mark: CallId) -> io::Result<Self> {
        let stdin = child.stdin.as_ref().map(AsFd::as_fd);
        let stdout = child.stdout.as_ref().map(AsFd::as_fd);
        let stderr = child.stderr.as_ref().map(AsFd::as_fd);
        let id = child.id().ok_or(io::ErrorKind::NotFound)?;
        Self::of(id, mark, [stdin, stdout, stderr].into_iter().flatten())
    }

    /// The same for a process that was started otherwise. `pipes`: this side of the pipes that it was given.
    pub fn of<'p>(
        root: u32,
        mark: CallId,
        pipes: impl IntoIterator<Item = BorrowedFd<'p>>,
    ) -> io::Result<Self> {
        Ok(Self::new(CallMark::Marked(CallProcesses::new(root, mark, pipes)?)))
    }

    fn new(call: CallMark) -> Self {
        Self { call: Arc::new(call), is_over: AtomicBool::new(false) }
    }

    /// Takes charge of a program that a helper started in a PID namespace.
    pub(crate) fn contained(
        helper: &Child,
        init: i32,
        control: UnixStream,
        proxy: Option<Proxy>,
    ) -> io::Result<Self> {
        let helper =
            helper.id().and_then(|id| Pid::from_raw(id.cast_signed())).ok_or(io::ErrorKind::NotFound)?;
        Ok(Self::new(CallMark::Contained(ContainedProcesses::new(helper, init, control, proxy)?)))
    }

    /// Takes charge of a program that a helper started without one.
    pub(crate) fn of_helper(helper: &Child, mark: CallId, control: UnixStream) -> io::Result<Self> {
        let id = helper.id().ok_or(io::ErrorKind::NotFound)?;
        let stdin = helper.stdin.as_ref().map(AsFd::as_fd);
        let stdout = helper.stdout.as_ref().map(AsFd::as_fd);
        let stderr = helper.stderr.as_ref().map(AsFd::as_fd);
        let call = CallProcesses::new(id, mark, [stdin, stdout, stderr].into_iter().flatten())?;
        Ok(Self::new(CallMark::Marked(CallProcesses { control: Some(control), ..call })))
    }

    /// Kills everything and waits until it is gone. Blocks for some milliseconds; tasks use [`Processes::kill_all`].
    pub fn kill(&self) {
        if !self.is_over.load(Ordering::Acquire) {
            self.call.kill();
            self.is_over.store(true, Ordering::Release);
        }
    }

    /// Kills everything and waits until it is gone.
    pub async fn kill_all(&self) {
        let is_over = self.is_over.load(Ordering::Acquire);
        if !is_over && self.blocking(CallMark::kill).await.is_some() {
            self.is_over.store(true, Ordering::Release);
        }
    }

    /// Terminates all processes, and kills the remaining ones after the grace period.
    pub async fn end(&self, grace: Duration) {
        let _ = tokio::time::timeout(grace, async {
            self.blocking(CallMark::terminate).await;
            while self.blocking(|call| !call.have_ended()).await == Some(true) {
                tokio::time::sleep(ASKED_LOOK).await;
            }
        })
        .await;
        self.kill_all().await;
    }

    /// Returns the handle by which [`ThreadRuns`] of the call are taken.
    pub(crate) fn run_clock(&self) -> RunClock {
        RunClock(Arc::clone(&self.call))
    }

    /// Searching `/proc` takes long enough to hold up other tasks. `None`: the runtime is going away.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&CallMark) -> T + Send + 'static,
    ) -> Option<T> {
        let call = Arc::clone(&self.call);
        tokio::task::spawn_blocking(move || work(&call)).await.ok()
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Shows whether a program ran meanwhile.
#[derive(Debug)]
pub(crate) struct RunClock(Arc<CallMark>);

/// How often each thread of a call's processes ran so far, by process id and start.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ThreadRuns(BTreeMap<(i32, u64), Vec<(i32, u64)>>);

impl RunClock {
    /// `None` if one of them runs or ends at this moment, or if the system does not show it.
    pub(crate) fn now(&self) -> Option<ThreadRuns> {
        if !platform::has_process_table() {
            return None;
        }
        let members = match self.0.as_ref() {
            CallMark::Contained(processes) => processes.members(),
            CallMark::Marked(processes) => processes.members().found,
        };
        let runs = members.iter().map(|row| Some(((row.pid, row.started), platform::runs(row.pid)?)));
        runs.collect::<Option<_>>().map(ThreadRuns)
    }
}

impl RunClock {
    /// Stops the program until [`RunClock::go_on`], where no kernel confines it. Returns true if it has stopped.
    pub(crate) fn stop(&self) -> bool {
        match self.0.as_ref() {
            CallMark::Marked(processes) if platform::is_portable() => {
                processes.signal_group(Signal::STOP);
                true
            }
            CallMark::Marked(_) | CallMark::Contained(_) => false,
        }
    }

    pub(crate) fn go_on(&self) {
        if let CallMark::Marked(processes) = self.0.as_ref() {
            processes.signal_group(Signal::CONT);
        }
    }
}

impl CallMark {
    fn kill(&self) {
        match self {
            CallMark::Contained(processes) => processes.kill(),
            CallMark::Marked(processes) => processes.kill(),
        }
    }

    fn terminate(&self) {
        match self {
            CallMark::Contained(processes) => processes.terminate(),
            CallMark::Marked(processes) => processes.terminate(),
        }
    }

    fn have_ended(&self) -> bool {
        match self {
            CallMark::Contained(processes) => processes.have_ended(),
            CallMark::Marked(processes) => processes.members().found.is_empty(),
        }
    }
}

impl CallProcesses {
    fn new<'p>(root: u32, mark: CallId, pipes: impl IntoIterator<Item = BorrowedFd<'p>>) -> io::Result<Self> {
        let root = i32::try_from(root).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::NotFound)?;
        mark.put_on(root);
        let started = platform::process(root.as_raw_nonzero().get()).map_or(0, |entry| entry.started);
        let pipes = pipes.into_iter().filter_map(platform::pipe_name).collect();
        Ok(Self { root, started, mark, pipes, control: None })
    }

    fn terminate(&self) {
        if let Some(control) = &self.control {
            // The helper stays until its program has ended.
            ask_to_end(control);
            let helper = self.root.as_raw_nonzero().get();
            self.terminate_members(|member| member.pid != helper);
            return;
        }
        self.signal_group(Signal::TERM);
        let in_group = self.root.as_raw_nonzero().get();
        self.terminate_members(|member| member.group != in_group);
    }

    /// The oldest first: a parent whose child ends before its own signal arrives takes that for the end of the work.
    fn terminate_members(&self, is_chosen: impl Fn(&ProcessRow) -> bool) {
        let mut members = self.members().found;
        members.sort_by_key(|member| (member.started, member.pid));
        for member in members.iter().filter(|member| is_chosen(member)) {
            let _ = signal(member, Signal::TERM);
        }
    }

    /// A process that is killed while it forks leaves a child that the search before did not see. So where something was
    /// found, two searches must find nothing; and a search in which a process ended unseen does not count, because its
    /// child may be the next of a chain that forks and exits all the time.
    fn kill(&self) {
        let deadline = Instant::now() + KILL_TIME_MAX;
        let mut out_of_reach = BTreeSet::new();
        let mut known_ended = BTreeSet::new();
        let mut searches_left = 1;
        let mut repeats_left = UNSEEN_SEARCHES_MAX;
        while searches_left > 0 {
            self.signal_group(Signal::KILL);
            let FoundProcesses { mut found, groups, ended } = self.members();
            found.retain(|member| !out_of_reach.contains(&member.pid));
            let ended_before = known_ended.len();
            known_ended.extend(ended);
            if found.is_empty() {
                if known_ended.len() > ended_before && repeats_left > 0 {
                    repeats_left -= 1;
                } else {
                    searches_left -= 1;
                }
                continue;
            }
            searches_left = 2;
            // The kernel signals a group at one moment: no fork slips through, however fast its processes come and go.
            for group in groups {
                let _ = kill_process_group(group, Signal::KILL);
            }
            for member in &found {
                if signal(member, Signal::KILL) == Err(Errno::PERM) {
                    out_of_reach.insert(member.pid);
                }
            }
            if Instant::now() > deadline {
                return;
            }
            std::thread::sleep(KILLED_LOOK);
        }
    }

    /// Signals the group at one moment, as long as its number is its own: the first process holds it until it is waited
    /// for. Without a process table (`/proc` is not mounted) the group is all that can be reached.
    fn signal_group(&self, with: Signal) {
        let is_own = match platform::process(self.root.as_raw_nonzero().get()) {
            Some(entry) => self.is_root(&entry),
            None => !platform::has_process_table(),
        };
        if is_own {
            let _ = kill_process_group(self.root, with);
        }
    }

    fn is_root(&self, entry: &ProcessRow) -> bool {
        entry.pid == self.root.as_raw_nonzero().get() && entry.started == self.started
    }

    /// All processes of the call that have not ended: those with the mark, their descendants, and what shares a group or a
    /// session with them.
    fn members(&self) -> FoundProcesses {
        let root = self.root.as_raw_nonzero().get();
        let (mut found, mut rest, mut ended) = (Vec::new(), Vec::new(), Vec::new());
        for pid in platform::process_ids() {
            // Looked at one by one: a process may be gone a moment after it was listed, or read.
            match platform::process(pid) {
                None => ended.push(pid),
                Some(entry) if entry.started < self.started => rest.push(entry),
                Some(entry) if entry.is_zombie => ended.push(pid),
                Some(entry) if self.is_marked(&entry) => found.push(entry),
                Some(entry) if platform::process(pid).is_none_or(|now| now.is_zombie) => {
                    ended.push(entry.pid)
                }
                Some(entry) => rest.push(entry),
            }
        }
        let mut ids: BTreeSet<i32> = found.iter().map(|entry| entry.pid).collect();
        // A stranger may have got the number of a first process that was waited for.
        if platform::process(root).is_none_or(|entry| self.is_root(&entry)) {
            ids.insert(root);
        }
        loop {
            let belongs = |entry: &ProcessRow| {
                let kin = [entry.parent, entry.group, entry.session];
                entry.started >= self.started && kin.iter().any(|id| ids.contains(id))
            };
            let (more, others): (Vec<ProcessRow>, Vec<ProcessRow>) = rest.into_iter().partition(belongs);
            if more.is_empty() {
                let groups = own_groups(&found, &others);
                return FoundProcesses { found, groups, ended };
            }
            ids.extend(more.iter().map(|entry| entry.pid));
            found.extend(more);
            rest = others;
        }
    }

    fn is_marked(&self, entry: &ProcessRow) -> bool {
        let is_candidate = entry.started >= self.started && entry.pid != std::process::id().cast_signed();
        is_candidate
            && (self.is_root(entry)
                || self.mark.is_on(entry.pid)
                || platform::pipes(entry.pid).iter().any(|pipe| self.pipes.contains(pipe)))
    }
}

/// Result of a search.
struct FoundProcesses {
    found: Vec<ProcessRow>,
    /// The groups that they are in, and nothing else is.
    groups: Vec<Pid>,
    /// Processes that ended before they could be looked at: theirs or others'.
    ended: Vec<i32>,
}

/// The groups of these processes, without those that others are in: a process may join a group that is not its own.
fn own_groups(found: &[ProcessRow], others: &[ProcessRow]) -> Vec<Pid> {
    let is_there =
        |entry: &&ProcessRow| platform::process(entry.pid).is_some_and(|now| now.started == entry.started);
    let is_shared =
        |group: i32| others.iter().filter(|other| other.group == group).any(|other| is_there(&other));
    let groups: BTreeSet<i32> = found.iter().map(|member| member.group).collect();
    groups.into_iter().filter(|group| !is_shared(*group)).filter_map(Pid::from_raw).collect()
}

/// Signals one process, and no other that got its number meanwhile.
pub(crate) fn signal(entry: &ProcessRow, with: Signal) -> Result<(), Errno> {
    let Some(pid) = entry.pid() else { return Ok(()) };
    let is_same = || platform::process(entry.pid).is_some_and(|now| now.started == entry.started);
    platform::signal(pid, &is_same, with)
}
