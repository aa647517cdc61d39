//! Everything that only Linux has, behind one module, with a portable implementation of each part. Other systems use the
//! portable one; on Linux the variable `RAWKO_PLATFORM=portable` selects it, so that tests run it here.
//!
//! | Part | Linux | Portable |
//! |---|---|---|
//! | confinement | namespaces, Landlock, seccomp | none: a session without a terminal, a short environment |
//! | processes of a call | PID namespace, or marks in `/proc` | the process group |
//! | signals | through a pidfd | by process id |
//! | opening below a directory | `openat2` | one component at a time, without following links |

#[cfg(target_os = "linux")]
mod contained;
mod files;
#[cfg(target_os = "linux")]
mod linux;
mod portable;
mod session;
#[cfg(target_os = "linux")]
mod table;

use std::sync::OnceLock;

#[cfg(target_os = "linux")]
pub(crate) use contained::{ContainedProcesses, ask_to_end};
pub use files::{BeneathLinks, open_beneath, path_handle_flags};
#[cfg(not(target_os = "linux"))]
pub(crate) use portable::{ContainedProcesses, ask_to_end};
pub(crate) use session::{SESSION, become_session};

use std::os::fd::BorrowedFd;

use rustix::process::{Pid, Signal};

/// Selects the portable implementation on Linux.
const VARIABLE: &str = "RAWKO_PLATFORM";
const PORTABLE: &str = "portable";

/// The reason that programs are not confined, for messages.
pub(crate) const UNCONFINED: &str =
    "programs are not confined on this system: files, network and processes are open to them";

/// Returns true if this process uses the portable implementation.
pub fn is_portable() -> bool {
    static CHOSEN: OnceLock<bool> = OnceLock::new();
    cfg!(not(target_os = "linux"))
        || *CHOSEN.get_or_init(|| std::env::var_os(VARIABLE).is_some_and(|chosen| chosen == PORTABLE))
}

/// One row of the process table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProcessRow {
    pub(crate) pid: i32,
    pub(crate) parent: i32,
    pub(crate) group: i32,
    pub(crate) session: i32,
    /// Clock ticks since the machine started. With the process id it names one process for ever.
    pub(crate) started: u64,
    /// It has ended and waits for its parent to notice.
    pub(crate) is_zombie: bool,
}

impl ProcessRow {
    pub(crate) fn pid(&self) -> Option<Pid> {
        Pid::from_raw(self.pid)
    }
}

/// Calls the implementation in use.
macro_rules! chosen {
    ($function:ident($($argument:expr),*)) => {{
        #[cfg(target_os = "linux")]
        let result = if is_portable() { portable::$function($($argument),*) } else { linux::$function($($argument),*) };
        #[cfg(not(target_os = "linux"))]
        let result = portable::$function($($argument),*);
        result
    }};
}

/// Returns the ids of all processes of this machine, the newest first; none if the system does not show them.
pub(crate) fn process_ids() -> Vec<i32> {
    chosen!(process_ids())
}

/// Returns one process.
pub(crate) fn process(pid: i32) -> Option<ProcessRow> {
    chosen!(process(pid))
}

/// Returns true if the process table is available.
pub(crate) fn has_process_table() -> bool {
    process(std::process::id().cast_signed()).is_some()
}

/// Returns how often each thread of a process ran; `None` if one of them runs now, or if the system does not show it.
pub(crate) fn runs(pid: i32) -> Option<Vec<(i32, u64)>> {
    chosen!(runs(pid))
}

/// Returns the name of a pipe in the process table: both of its ends have one.
pub(crate) fn pipe_name(pipe: BorrowedFd<'_>) -> Option<String> {
    Some(format!("pipe:[{}]", rustix::fs::fstat(pipe).ok()?.st_ino))
}

/// Returns the pipes without a name that a process has as stdin, stdout and stderr.
pub(crate) fn pipes(pid: i32) -> Vec<String> {
    chosen!(pipes(pid))
}

/// Marks a process by a limit that has no other effect.
pub(crate) fn put_mark(pid: Pid, number: u64) {
    chosen!(put_mark(pid, number));
}

/// Returns true if a process has the mark as its limit, or in its environment.
pub(crate) fn has_mark(pid: i32, number: u64, is_in: &dyn Fn(&[u8]) -> bool) -> bool {
    chosen!(has_mark(pid, number, is_in))
}

/// Returns the numbers that a process has as its limit and, by `numbers_in`, in its environment.
pub(crate) fn marks(pid: i32, numbers_in: &dyn Fn(&[u8]) -> Vec<u64>) -> Vec<u64> {
    chosen!(marks(pid, numbers_in))
}

/// Returns true if process ids mean the same to that process as to this one.
pub(crate) fn shares_process_ids(pid: i32) -> bool {
    chosen!(shares_process_ids(pid))
}

/// Signals one process, and no other that got its number meanwhile, as far as the system can tell them apart.
pub(crate) fn signal(pid: Pid, is_same: &dyn Fn() -> bool, with: Signal) -> rustix::io::Result<()> {
    chosen!(signal(pid, is_same, with))
}
