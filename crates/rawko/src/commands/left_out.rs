//! Commands that a build leaves out. They stay on the command line, so that `rawko serve` reports the missing feature
//! instead of "unrecognized subcommand".

use std::ffi::OsString;

use crate::failure::CommandFailure;

/// Not in this build
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true, hide = true)]
pub(crate) struct Args {
    /// Accepts what the real command accepts
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    _rest: Vec<OsString>,
}

pub(crate) fn failure(command: &str, feature: &str) -> CommandFailure {
    CommandFailure::Usage(format!(
        "this build of rawko has no `rawko {command}`: the feature `{feature}` is off; build it with \
         `cargo build -p rawko --features {feature}` (`full` has every command)"
    ))
}

/// Declares the module of a command that this build leaves out.
macro_rules! left_out {
    ($module:ident, $feature:literal) => {
        pub(crate) mod $module {
            pub(crate) use crate::commands::left_out::Args;
            use crate::console::Console;
            use crate::failure::{CommandFailure, CommandVerdict};

            pub(crate) fn run(_: &Args, _: &mut Console) -> Result<CommandVerdict, CommandFailure> {
                Err(crate::commands::left_out::failure(stringify!($module), $feature))
            }
        }
    };
}

pub(crate) use left_out;
