//! Processes of calls whose host was killed: nothing ended them with their call. The next host ends them before it repeats
//! or reports these calls.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::Signal;

use crate::mark::{CallId, MarkHost};
use crate::platform::{self, ProcessRow};
use crate::processes::signal;

/// Maximum time to keep killing. Only processes that the kernel cannot end now take longer.
const KILL_TIME_MAX: Duration = Duration::from_secs(2);
const KILLED_LOOK: Duration = Duration::from_millis(5);

/// Kills the processes of calls whose host has ended without them, of this user and this machine (of this container, in
/// one). Returns how many. Blocks for some milliseconds. Processes of hosts that run are left alone, and so is everything
/// whose host cannot be known: without a process table, or started by a release before 0.2.
pub fn end_leftovers() -> usize {
    let deadline = Instant::now() + KILL_TIME_MAX;
    let mut ended = BTreeSet::new();
    let mut out_of_reach = BTreeSet::new();
    loop {
        let mut found = leftovers();
        found.retain(|row| !out_of_reach.contains(&row.pid));
        if found.is_empty() || Instant::now() > deadline {
            return ended.len();
        }
        for row in &found {
            match signal(row, Signal::KILL) {
                Err(Errno::PERM) => out_of_reach.insert(row.pid),
                Ok(()) | Err(_) => ended.insert((row.pid, row.started)),
            };
        }
        std::thread::sleep(KILLED_LOOK);
    }
}

fn leftovers() -> Vec<ProcessRow> {
    let own = std::process::id().cast_signed();
    let mut others = platform::process_ids();
    others.retain(|pid| *pid != own);
    let is_leftover = |pid: &i32| {
        let hosts: Vec<MarkHost> =
            platform::marks(*pid, &CallId::numbers_in).into_iter().filter_map(MarkHost::of).collect();
        // A number means another process in another namespace.
        hosts.iter().any(|host| !host.is_alive()) && platform::shares_process_ids(*pid)
    };
    others
        .into_iter()
        .filter(is_leftover)
        .filter_map(platform::process)
        .filter(|row| !row.is_zombie)
        .collect()
}
