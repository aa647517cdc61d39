//! `rawko restore`: replaces the store with a backup.

use std::path::PathBuf;

use rawko_store::SqliteStore;

use crate::console::{Console, Style};
use crate::failure::{Failure, Verdict};
use crate::hosting::{Place, StoreArgs};
use crate::{files, sizes, times};

const EXAMPLES: &str = "\
The backup is copied and checked first; one that is damaged changes nothing. The store that was
there is kept beside the new one. No host may use the store meanwhile (exit code 3).

What ran after the backup was taken is unknown to the restored instances: calls that were under way
then are made again where that is allowed, and timers that are due fire.

Examples:
  rawko restore /backups/orders.db
  rawko restore /backups/orders.db --store /tmp/look.db && rawko ps --store /tmp/look.db";

/// Replace the store by a backup; the replaced one is kept
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Backup to restore
    file: PathBuf,

    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) fn run(args: &Args, console: &mut Console) -> Result<Verdict, Failure> {
    let place = Place::here(&args.store)?;
    place.insist_on_file("restore")?;
    if !args.file.exists() {
        return Err(Failure::Usage(format!("there is no file `{}`", files::shown(&args.file))));
    }
    place.make_state_directory()?;
    let _lock = place.hold_alone("restore")?;
    // `2026-01-05 09:30:00Z` as part of a file name.
    let stamp: String = times::moment(times::now_ms()).chars().filter(char::is_ascii_alphanumeric).collect();
    let restored = SqliteStore::restore(&args.file, &place.store, &stamp)?;
    let report = restored.report;
    let (instances, records, size) = (report.instances, report.records, sizes::shown(report.bytes));
    console.line(&format!("{}: {instances} instances, {records} records, {size}, checked", place.shown()))?;
    if let Some(replaced) = restored.replaced {
        console.note(Style::Dim, "kept", &format!("the store before is {}", files::shown(&replaced)));
    }
    Ok(Verdict::Done)
}
