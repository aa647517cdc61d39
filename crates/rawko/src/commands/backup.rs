//! `rawko backup`: copies the store, even while a host runs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rawko_host::SnapshotReader;
use rawko_store::{SqliteOptions, SqliteStore, Store, StoreError};

use crate::console::{Console, TextStyle};
use crate::doctor::contradictions;
use crate::failure::{CommandFailure, CommandVerdict};
use crate::hosting::{ProjectContext, StoreArgs};
use crate::scenario::report::count;
use crate::{files, sizes};

const EXAMPLES: &str = "\
Writes a consistent copy while hosts continue to run. The copy is verified before it is renamed to
FILE. If the store is damaged, so is the copy: the problems are printed and the exit code is 1.

Examples:
  rawko backup /backups/orders.db
  rawko backup /backups/$(date +%F).db && rclone copy /backups remote:orders";

/// Copy the store to a file, even while a host runs
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// File to write
    file: PathBuf,

    /// Overwrite the file if it exists
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) fn run(args: &Args, console: &mut Console) -> Result<CommandVerdict, CommandFailure> {
    let place = ProjectContext::here(&args.store)?;
    place.insist_on_file("backup")?;
    place.insist_on_store()?;
    let name = files::shown(&args.file);
    if args.file.exists() && !args.force {
        return Err(CommandFailure::Usage(format!("`{name}` exists; pass --force to overwrite it")));
    }
    if is_same_file(&args.file, &place.store) {
        return Err(CommandFailure::Usage(format!("`{name}` is the store itself; name another file")));
    }
    let options = SqliteOptions { read_only: true, ..SqliteOptions::default() };
    let report = SqliteStore::open(&place.store, options)?.backup(&args.file, &problems_of)?;
    let (instances, records) = (count(report.instances, "instance"), count(report.records, "record"));
    let size = sizes::shown(report.bytes);
    let verdict = if report.problems.is_empty() { "verified" } else { "damaged" };
    console.line(&format!("{name}: {instances}, {records}, {size}, {verdict}"))?;
    for problem in &report.problems {
        console.note(TextStyle::Bad, "problem", problem);
    }
    Ok(if report.problems.is_empty() { CommandVerdict::Done } else { CommandVerdict::Failed })
}

/// Returns the problems of a copy that the store's own checks cannot find, as `doctor` does.
pub(super) fn problems_of(store: &Arc<dyn Store>) -> Result<Vec<String>, StoreError> {
    contradictions::find(&SnapshotReader::new(Arc::clone(store)))
}

/// Returns true if both paths lead to one file, or one is the log or index of the other.
fn is_same_file(one: &Path, store: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    let beside = ["-wal", "-shm", "-end", ".lock"].map(|suffix| {
        let mut name = store.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    });
    let own = std::iter::once(store).chain(beside.iter().map(PathBuf::as_path));
    real(one).is_some_and(|one| own.filter_map(real).any(|other| other == one))
}
