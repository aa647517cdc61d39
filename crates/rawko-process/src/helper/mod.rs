//! The helper: a process of rawko's own binary that confines itself and then starts the program. A separate process,
//! because it must be single-threaded, and because nothing of rawko may run in the confinement.
//!
//! It stays the parent of the program, outside of the PID namespace: it waits for it, ends the namespace, and ends in the
//! same way. Its standard input is a socket to rawko; when rawko is gone, the program is ended.

#[cfg(target_os = "linux")]
mod files;
#[cfg(target_os = "linux")]
mod init;
#[cfg(target_os = "linux")]
pub(crate) mod namespaces;
#[cfg(target_os = "linux")]
mod network;
#[cfg(target_os = "linux")]
mod privileges;
#[cfg(target_os = "linux")]
mod root;
#[cfg(target_os = "linux")]
mod run;
#[cfg(target_os = "linux")]
mod system_calls;

use crate::platform::{SESSION, become_session};

/// The first argument that makes a process of this binary a helper.
pub(crate) const WORD: &str = "__launch";
/// The second argument of the process that restores files of authority.
pub(crate) const GUARD: &str = "guard";
#[cfg(target_os = "linux")]
const INIT: &str = "init";

/// Becomes the helper if the launcher started this process as one, and then never returns. To be called first in `main`,
/// before any thread exists.
pub fn run_if_asked() {
    crate::launch::this_binary_helps();
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|first| first == WORD) {
        let what = arguments.next();
        if what.as_ref().is_some_and(|what| what == GUARD) {
            std::process::exit(i32::from(crate::launch::guard::run().is_err()));
        }
        if what.as_ref().is_some_and(|what| what == SESSION) {
            std::process::exit(become_session(arguments));
        }
        std::process::exit(become_helper(what.as_deref()));
    }
}

#[cfg(target_os = "linux")]
fn become_helper(what: Option<&std::ffi::OsStr>) -> i32 {
    if what.is_some_and(|what| what == INIT) {
        return i32::from(init::run().is_err());
    }
    run::run()
}

#[cfg(not(target_os = "linux"))]
fn become_helper(_: Option<&std::ffi::OsStr>) -> i32 {
    127
}
