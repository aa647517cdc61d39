//! The `rawko` binary. Everything is in the library, so that commands and embedding programs load a project the same
//! way.

use std::process::ExitCode;

fn main() -> ExitCode {
    rawko::command_line()
}
