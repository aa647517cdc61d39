//! A session of its own for a program, on every Unix: without it a program can type into the terminal of the person. A
//! separate process, because safe code cannot run anything between fork and exec.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The second argument of the process that becomes the program.
pub(crate) const SESSION: &str = "session";

/// Leaves the session of rawko and becomes the program of the remaining arguments. Returns only if that fails.
pub(crate) fn become_session(mut arguments: impl Iterator<Item = OsString>) -> i32 {
    let Some(program) = arguments.next() else { return 127 };
    if rustix::process::setsid().is_err() {
        return 127;
    }
    let error = Command::new(program).args(arguments).exec();
    if error.kind() == std::io::ErrorKind::PermissionDenied { 126 } else { 127 }
}
