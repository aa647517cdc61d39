//! The processes of a call that has a PID namespace of its own: the kernel ends them all with its first process, so none
//! has to be searched for.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::egress::Proxy;
use crate::launch::TERMINATE;
use crate::platform::{self, ProcessRow};

/// Only processes that the kernel cannot end now (waiting for a dead disk) take longer.
const KILL_TIME_MAX: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(crate) struct ContainedProcesses {
    /// The helper; `None`: it has ended.
    helper: Option<OwnedFd>,
    /// The first process of the namespace; `None`: it has ended, and all others with it.
    init: Option<OwnedFd>,
    /// The process ids of the helper, which is the parent of the program, and of the first process.
    ancestors: [i32; 2],
    /// Closed, it ends the helper.
    control: UnixStream,
    /// Its way to the network, for as long as it runs.
    _proxy: Option<Proxy>,
}

impl ContainedProcesses {
    pub(crate) fn new(helper: Pid, init: i32, control: UnixStream, proxy: Option<Proxy>) -> io::Result<Self> {
        let open = |pid: Pid| pidfd_open(pid, PidfdFlags::empty()).ok();
        let ancestors = [helper.as_raw_nonzero().get(), init];
        let helper = open(helper);
        Ok(Self { helper, init: Pid::from_raw(init).and_then(open), ancestors, control, _proxy: proxy })
    }

    /// All of them: the kernel gives a process whose parent has ended to the first one.
    pub(crate) fn members(&self) -> Vec<ProcessRow> {
        if self.init.as_ref().is_none_or(|init| wait(init, Duration::ZERO)) {
            return Vec::new();
        }
        let all = platform::process_ids().into_iter().filter_map(platform::process);
        let (mut found, mut rest): (Vec<ProcessRow>, Vec<ProcessRow>) =
            all.partition(|row| self.ancestors.contains(&row.pid));
        let mut known = BTreeSet::from(self.ancestors);
        loop {
            let (more, others): (Vec<_>, Vec<_>) =
                rest.into_iter().partition(|row| known.contains(&row.parent));
            if more.is_empty() {
                return found;
            }
            known.extend(more.iter().map(|row| row.pid));
            found.extend(more);
            rest = others;
        }
    }

    /// Kills the helper, with which the first process of the namespace ends, and waits for that.
    pub(crate) fn kill(&self) {
        if let Some(helper) = &self.helper {
            let _ = pidfd_send_signal(helper, Signal::KILL);
        }
        if let Some(init) = &self.init {
            wait(init, KILL_TIME_MAX);
        }
    }

    pub(crate) fn terminate(&self) {
        ask_to_end(&self.control);
    }

    pub(crate) fn have_ended(&self) -> bool {
        self.helper.as_ref().is_none_or(|helper| wait(helper, Duration::ZERO))
    }
}

/// Asks the helper to terminate the program.
pub(crate) fn ask_to_end(mut control: &UnixStream) {
    // A helper that has ended does not listen.
    let _: io::Result<()> = control.write_all(&[TERMINATE]);
}

/// Waits for the end of a process. Returns false if it takes longer.
fn wait(process: &OwnedFd, time: Duration) -> bool {
    let time = Timespec { tv_sec: time.as_secs().cast_signed(), tv_nsec: time.subsec_nanos().into() };
    let ended = retry_on_intr(|| poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&time)));
    ended.is_ok_and(|ready| ready > 0)
}
