//! `rawko restore`: replaces the store with a backup.

use std::path::PathBuf;

use rawko_store::SqliteStore;

use super::backup::problems_of;
use crate::console::{Console, TextStyle};
use crate::failure::{CommandFailure, CommandVerdict};
use crate::hosting::{ProjectContext, StoreArgs};
use crate::scenario::report::count;
use crate::{files, sizes, times};

const EXAMPLES: &str = "\
Copies and verifies the backup, then replaces the store. A damaged backup changes nothing. The
replaced store is kept next to the new one. Fails while a host uses the store (exit code 3).

Restored instances continue from the time of the backup: calls that were running then are repeated
where allowed, and timers that are due fire.

Examples:
  rawko restore /backups/orders.db
  rawko restore /backups/orders.db --store /tmp/look.db && rawko ps --store /tmp/look.db";

/// Replace the store with a backup; the old store is kept
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Backup file
    file: PathBuf,

    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) fn run(args: &Args, console: &mut Console) -> Result<CommandVerdict, CommandFailure> {
    let place = ProjectContext::here(&args.store)?;
    place.insist_on_file("restore")?;
    if !args.file.exists() {
        return Err(CommandFailure::Usage(format!("file `{}` not found", files::shown(&args.file))));
    }
    place.make_state_directory()?;
    let _lock = place.hold_alone("restore")?;
    // `2026-01-05 09:30:00Z` as part of a file name.
    let stamp: String = times::moment(times::now_ms()).chars().filter(char::is_ascii_alphanumeric).collect();
    let restored = SqliteStore::restore(&args.file, &place.store, &stamp, &problems_of)?;
    let report = restored.report;
    let (instances, records) = (count(report.instances, "instance"), count(report.records, "record"));
    let size = sizes::shown(report.bytes);
    console.line(&format!("{}: {instances}, {records}, {size}, verified", place.shown()))?;
    if let Some(replaced) = restored.replaced {
        console.note(TextStyle::Dim, "kept", &format!("previous store: {}", files::shown(&replaced)));
    }
    Ok(CommandVerdict::Done)
}
