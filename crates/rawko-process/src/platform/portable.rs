//! The portable implementation: what every Unix has. It knows no other processes than the group of a call, so a program
//! that leaves its group outlives the call; see `docs/platforms.md`.

use rustix::process::{Pid, Signal, kill_process};

use super::ProcessRow;

pub(super) fn process_ids() -> Vec<i32> {
    Vec::new()
}

pub(super) fn process(_: i32) -> Option<ProcessRow> {
    None
}

pub(super) fn runs(_: i32) -> Option<Vec<(i32, u64)>> {
    None
}

pub(super) fn pipes(_: i32) -> Vec<String> {
    Vec::new()
}

pub(super) fn put_mark(_: Pid, _: u64) {}

pub(super) fn has_mark(_: i32, _: u64, _: &dyn Fn(&[u8]) -> bool) -> bool {
    false
}

pub(super) fn marks(_: i32, _: &dyn Fn(&[u8]) -> Vec<u64>) -> Vec<u64> {
    Vec::new()
}

pub(super) fn shares_process_ids(_: i32) -> bool {
    false
}

pub(super) fn signal(pid: Pid, _: &dyn Fn() -> bool, with: Signal) -> rustix::io::Result<()> {
    kill_process(pid, with)
}

#[cfg(not(target_os = "linux"))]
pub(crate) use elsewhere::{ContainedProcesses, ask_to_end};

/// Parts that only exist where programs are confined.
#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use std::os::unix::net::UnixStream;

    use rustix::process::Pid;

    use crate::egress::Proxy;

    /// Processes in a namespace: never made here.
    #[derive(Debug)]
    pub(crate) enum ContainedProcesses {}

    impl ContainedProcesses {
        pub(crate) fn new(_: Pid, _: i32, _: UnixStream, _: Option<Proxy>) -> std::io::Result<Self> {
            Err(std::io::ErrorKind::Unsupported.into())
        }

        pub(crate) fn kill(&self) {
            match *self {}
        }

        pub(crate) fn members(&self) -> Vec<crate::platform::ProcessRow> {
            match *self {}
        }

        pub(crate) fn terminate(&self) {
            match *self {}
        }

        pub(crate) fn have_ended(&self) -> bool {
            match *self {}
        }
    }

    /// There is no helper that could be asked.
    pub(crate) fn ask_to_end(_: &UnixStream) {}
}
