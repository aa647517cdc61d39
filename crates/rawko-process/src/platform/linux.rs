//! The parts of Linux: the process table of `/proc`, limits of other processes, and pidfds.

use std::path::Path;

use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Resource, Rlimit, Signal, getrlimit, kill_process, pidfd_open, pidfd_send_signal,
    prlimit,
};

use super::{ProcessRow, table};

const LIMIT_LINE: &str = "Max file locks";

pub(super) fn process_ids() -> Vec<i32> {
    table::ids()
}

pub(super) fn process(pid: i32) -> Option<ProcessRow> {
    table::read(pid)
}

pub(super) fn runs(pid: i32) -> Option<Vec<(i32, u64)>> {
    table::runs(pid)
}

pub(super) fn pipes(pid: i32) -> Vec<String> {
    table::pipes(pid)
}

/// Only the soft limit, so that a rawko within it can set its own. Where the kernel refuses (a set-user-id program, a
/// lower hard limit) the variable is left.
pub(super) fn put_mark(pid: Pid, number: u64) {
    let maximum = getrlimit(Resource::Locks).maximum;
    let _ = prlimit(Some(pid), Resource::Locks, Rlimit { current: Some(number), maximum });
}

pub(super) fn has_mark(pid: i32, number: u64, is_in: &dyn Fn(&[u8]) -> bool) -> bool {
    let process = Path::new("/proc").join(pid.to_string());
    let limits = std::fs::read_to_string(process.join("limits")).unwrap_or_default();
    soft_limit(&limits) == Some(number)
        || std::fs::read(process.join("environ")).is_ok_and(|variables| is_in(&variables))
}

pub(super) fn marks(pid: i32, numbers_in: &dyn Fn(&[u8]) -> Vec<u64>) -> Vec<u64> {
    let process = Path::new("/proc").join(pid.to_string());
    let limits = std::fs::read_to_string(process.join("limits")).unwrap_or_default();
    let variables = std::fs::read(process.join("environ")).unwrap_or_default();
    soft_limit(&limits).into_iter().chain(numbers_in(&variables)).collect()
}

pub(super) fn shares_process_ids(pid: i32) -> bool {
    let namespace = |process: &str| std::fs::read_link(Path::new("/proc").join(process).join("ns/pid")).ok();
    namespace("self").is_some_and(|own| namespace(&pid.to_string()) == Some(own))
}

pub(super) fn signal(pid: Pid, is_same: &dyn Fn() -> bool, with: Signal) -> rustix::io::Result<()> {
    match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(process) if is_same() => pidfd_send_signal(process, with),
        // A kernel older than 5.3.
        Err(Errno::NOSYS) if is_same() => kill_process(pid, with),
        // It has ended already.
        Ok(_) | Err(_) => Ok(()),
    }
}

/// The soft limit of file locks in the text of `/proc/<pid>/limits`.
fn soft_limit(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix(LIMIT_LINE))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_read_from_the_text_of_the_kernel() {
        let text = "Limit                     Soft Limit           Hard Limit           Units     \n\
                    Max cpu time              unlimited            unlimited            seconds   \n\
                    Max file locks            2305843009213693959  unlimited            locks     \n";
        assert_eq!(soft_limit(text), Some((1 << 61) + 7));
        assert_eq!(
            soft_limit("Max file locks            unlimited            unlimited            locks"),
            None
        );
        assert_eq!(soft_limit(""), None);
    }
}
