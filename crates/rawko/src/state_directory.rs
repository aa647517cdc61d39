//! Folders of the user's state directory, as records of trust need them. `rawko_settings::StateDir` decides where it is:
//! outside every project, because agents can write below a project.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rawko_settings::{Environment, StateDir};

use crate::failure::CommandFailure;

/// Only the owner may enter.
const MODE: u32 = 0o700;
/// Write permission for the group and for others.
const SHARED: u32 = 0o022;

/// Returns the path of the user's state directory, without creating it.
pub(crate) fn path() -> Result<PathBuf, CommandFailure> {
    let state = StateDir::of(&Environment::of_process());
    state.map(|state| state.path().to_owned()).map_err(|error| CommandFailure::Usage(error.to_string()))
}

/// Creates a directory below the state directory, with mode 0700, and returns it.
pub(crate) fn create(below: &str) -> Result<PathBuf, CommandFailure> {
    let folder = path()?.join(below);
    let cannot = |error: io::Error| {
        CommandFailure::Usage(format!("cannot create the state directory `{}`: {error}", folder.display()))
    };
    fs::DirBuilder::new().recursive(true).mode(MODE).create(&folder).map_err(cannot)?;
    insist_on_own(&folder)?;
    Ok(folder)
}

/// Fails if another user could have written below a directory.
pub(crate) fn insist_on_own(folder: &Path) -> Result<(), CommandFailure> {
    let Ok(about) = fs::metadata(folder) else { return Ok(()) };
    let me = rustix::process::geteuid();
    let is_own = about.uid() == me.as_raw() || me.is_root();
    if is_own && about.mode() & SHARED == 0 {
        return Ok(());
    }
    let why = if is_own { "others may write to it" } else { "it belongs to another user" };
    let help = "fix its owner and run `chmod go-w`, or set RAWKO_STATE_DIR";
    Err(CommandFailure::Usage(format!(
        "cannot use the state directory `{}`: {why}; {help}",
        folder.display()
    )))
}
