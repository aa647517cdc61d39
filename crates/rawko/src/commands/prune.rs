//! `rawko prune`: removes instances that ended, by age, outcome and size.

use std::sync::Arc;

use clap::ValueEnum;
use rawko_host::{SnapshotReader, parse_size};
use rawko_store::{Outcome, Prunable, Pruned, Retention, SqliteOptions, SqliteStore};
use serde_json::json;

use crate::checkpoints::pruning::{FilePruner, PrunedFiles};
use crate::checkpoints::unreadable;
use crate::console::{Console, TextStyle};
use crate::durations;
use crate::failure::{CommandFailure, CommandVerdict};
use crate::hosting::{self, ProjectContext, StoreArgs};
use crate::retention::RetentionSettings;
use crate::scenario::report::count;
use crate::table::{Cell, ConsoleTable};
use crate::{sizes, times};

const EXAMPLES: &str = "\
Removes ended top-level instances with their children, journals, snapshots, audit log and unshared
large values. Without options, the `retention` section of the settings applies:

  retention: {age: 30d, outcomes: [succeeded, cancelled], size: 2GiB, files: 30d}

An instance is removed if its last record is older than the age and its outcome is in the list. If
the store is larger than the size, the oldest instances with these outcomes are removed regardless
of their age. Options replace the settings.

Checkpoints and worktrees of removed instances go, too, and those of tasks that ended longer ago
than `files` (30d by default; also by itself, once a day). A worktree with changes that were not
merged stays as a git branch, or as it is without git. In a git repository `git gc` frees the
space.

Nothing is removed without --yes. Fails while a host uses the store (exit code 3). The file shrinks;
the first time it is rewritten completely.

Examples:
  rawko prune --older-than 30d
  rawko prune --older-than 7d --outcome succeeded --outcome cancelled --yes
  rawko prune --max-size 1GB --yes";

/// Remove ended instances by age, outcome or size (dry run without --yes)
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Remove instances whose last record is older (`30d`, `12h`)
    #[arg(long, value_name = "DURATION", value_parser = durations::read_ms)]
    older_than: Option<u64>,

    /// Remove only instances with this outcome (repeatable)
    #[arg(long, value_name = "OUTCOME")]
    outcome: Vec<OutcomeArg>,

    /// Remove the oldest until the store is below this (`1GB`)
    #[arg(long, value_name = "SIZE", value_parser = read_size)]
    max_size: Option<u64>,

    /// Remove the instances instead of listing them
    #[arg(long)]
    yes: bool,

    /// Print one JSON document
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum OutcomeArg {
    Succeeded,
    Failed,
    Limit,
    Loop,
    Stuck,
    Cancelled,
}

impl Args {
    /// Returns the options, with the settings as their defaults.
    fn retention(&self, settings: RetentionSettings, now_ms: i64) -> Result<Retention, CommandFailure> {
        let outcome = |outcome: &OutcomeArg| match outcome {
            OutcomeArg::Succeeded => Outcome::Succeeded,
            OutcomeArg::Failed => Outcome::Failed,
            OutcomeArg::Limit => Outcome::Limit,
            OutcomeArg::Loop => Outcome::Loop,
            OutcomeArg::Stuck => Outcome::Stuck,
            OutcomeArg::Cancelled => Outcome::Cancelled,
        };
        let settings = match self.older_than.is_none() && self.max_size.is_none() && self.outcome.is_empty() {
            true => settings,
            false => RetentionSettings::default(),
        };
        let age_ms = self.older_than.or(settings.age_ms);
        let mut outcomes: Vec<Outcome> = self.outcome.iter().map(outcome).collect();
        if outcomes.is_empty() {
            outcomes = settings.outcomes;
        }
        let size_max_bytes = self.max_size.or(settings.size_max_bytes);
        if age_ms.is_none() && size_max_bytes.is_none() && outcomes.is_empty() {
            return Err(CommandFailure::Usage(
                "nothing to prune; pass --older-than, --outcome or --max-size, or set `retention`".to_owned(),
            ));
        }
        let before = |age: u64| now_ms.saturating_sub(i64::try_from(age).unwrap_or(i64::MAX));
        Ok(Retention { ended_before_ms: age_ms.map(before), outcomes, size_max_bytes })
    }
}

pub(crate) fn run(args: &Args, console: &mut Console) -> Result<CommandVerdict, CommandFailure> {
    let place = ProjectContext::here(&args.store)?;
    place.insist_on_file("prune")?;
    let settings = RetentionSettings::read(&place.settings)?;
    let files_ms = settings.files_ms();
    let retention = args.retention(settings, times::now_ms())?;
    place.insist_on_store()?;
    match args.yes {
        true => remove(&place, &retention, files_ms, args, console),
        false => look(&place, &retention, files_ms, args, console),
    }
}

fn look(
    place: &ProjectContext,
    retention: &Retention,
    files_ms: u64,
    args: &Args,
    console: &mut Console,
) -> Result<CommandVerdict, CommandFailure> {
    let store =
        SqliteStore::open(&place.store, SqliteOptions { read_only: true, ..SqliteOptions::default() })?;
    let found = store.prunable(retention)?;
    let reader = SnapshotReader::new(Arc::new(store));
    let gone: Vec<String> = found.iter().map(|it| it.id.clone()).collect();
    let files = FilePruner::new(&place.root, &place.settings, &reader, files_ms)?.without(gone).look();
    let files = files.map_err(|error| unreadable(&error))?;
    if args.json {
        print_json(&found, None, files, console)?;
        return Ok(CommandVerdict::Done);
    }
    print_table(&found, console)?;
    let bytes: u64 = found.iter().map(|it| it.bytes).sum();
    if found.is_empty() {
        console.note(TextStyle::Dim, "none", "no matching instances");
    }
    if !files.is_empty() {
        let text = format!("would remove {}; pass --yes to remove", file_words(files));
        console.note(TextStyle::Notice, "dry run", &text);
    }
    if !found.is_empty() {
        let (instances, size) = (words(&found), sizes::shown(bytes));
        let text = format!("would remove {instances}, about {size}; pass --yes to remove");
        console.note(TextStyle::Notice, "dry run", &text);
    }
    Ok(CommandVerdict::Done)
}

fn remove(
    place: &ProjectContext,
    retention: &Retention,
    files_ms: u64,
    args: &Args,
    console: &mut Console,
) -> Result<CommandVerdict, CommandFailure> {
    let _lock = place.hold_alone("prune --yes")?;
    let before = file_bytes(place);
    let store = SqliteStore::open(&place.store, SqliteOptions::default())?;
    let (mut gone, mut sum) = (Vec::new(), Pruned::default());
    // The space of shared values is known only after they are deleted, so a limit on the size may need another pass.
    loop {
        let found = store.prunable(retention)?;
        if found.is_empty() {
            break;
        }
        let keys: Vec<_> = found.iter().map(|it| it.key).collect();
        let pruned = store.prune(&keys)?;
        sum.instances += pruned.instances;
        sum.records += pruned.records;
        sum.blobs += pruned.blobs;
        gone.extend(found);
    }
    if !gone.is_empty() {
        store.shrink()?;
    }
    let ids: Vec<String> = gone.iter().map(|it| it.id.clone()).collect();
    let reader = SnapshotReader::new(Arc::new(store));
    let pruner = FilePruner::new(&place.root, &place.settings, &reader, files_ms)?.without(ids);
    let files = hosting::block_on(async { pruner.prune().await.map_err(|error| unreadable(&error)) })?;
    // Closing the store checkpoints the log into the file.
    drop(pruner);
    drop(reader);
    let after = file_bytes(place);
    if args.json {
        print_json(&gone, Some((sum, before, after)), files, console)?;
        return Ok(CommandVerdict::Done);
    }
    let (was, is) = (sizes::shown(before), sizes::shown(after));
    let (instances, records) = (count(sum.instances, "instance"), count(sum.records, "record"));
    let values = count(sum.blobs, "large value");
    console.line(&format!("removed {instances}, {records}, {values}; {was} → {is}"))?;
    if !files.is_empty() {
        console.line(&format!("removed {}", file_words(files)))?;
    }
    Ok(CommandVerdict::Done)
}

/// Counts checkpoints and worktrees: `12 checkpoints, 2 worktrees (1 kept as a branch)`.
fn file_words(files: PrunedFiles) -> String {
    let mut words = Vec::new();
    if files.checkpoints > 0 {
        words.push(count(files.checkpoints, "checkpoint"));
    }
    if files.worktrees > 0 {
        let kept = files.branches;
        let kept = if kept > 0 { format!(" ({kept} kept as a branch)") } else { String::new() };
        words.push(format!("{}{kept}", count(files.worktrees, "worktree")));
    }
    if files.leftovers > 0 {
        words.push(format!("{} incomplete copies", files.leftovers));
    }
    words.join(", ")
}

fn file_bytes(place: &ProjectContext) -> u64 {
    std::fs::metadata(&place.store).map_or(0, |metadata| metadata.len())
}

fn words(found: &[Prunable]) -> String {
    let instances: u64 = found.iter().map(|it| it.instances).sum();
    match found.len() {
        1 if instances == 1 => "1 instance".to_owned(),
        _ => format!("{instances} instances"),
    }
}

fn print_table(found: &[Prunable], console: &mut Console) -> Result<(), CommandFailure> {
    if found.is_empty() {
        return Ok(());
    }
    let now_ms = times::now_ms();
    let mut table = ConsoleTable::new(&["ID", "OUTCOME", "ENDED", "INSTANCES", "RECORDS", "SIZE"]);
    for it in found {
        table.add(vec![
            Cell::painted(it.id.as_str(), TextStyle::Bold),
            Cell::new(it.outcome.as_str()),
            // As wide as "just now", so that a second more or less does not move the table.
            Cell::new(format!("{:<8}", times::ago(it.ended_ms, now_ms))),
            Cell::new(it.instances.to_string()),
            Cell::new(it.records.to_string()),
            Cell::new(sizes::shown(it.bytes)),
        ]);
    }
    table.print(console)
}

/// Prints the removed instances, and the size of the file before and after.
fn print_json(
    found: &[Prunable],
    removed: Option<(Pruned, u64, u64)>,
    files: PrunedFiles,
    console: &mut Console,
) -> Result<(), CommandFailure> {
    let instances: Vec<_> = found
        .iter()
        .map(|it| {
            json!({
                "id": it.id, "outcome": it.outcome, "ended_ms": it.ended_ms,
                "instances": it.instances, "records": it.records, "bytes": it.bytes,
            })
        })
        .collect();
    let mut document = json!({"v": 1, "removed": removed.is_some(), "instances": instances, "files": files});
    if let Some((sum, before, after)) = removed {
        document["sum"] = json!({"instances": sum.instances, "records": sum.records, "blobs": sum.blobs});
        document["bytes"] = json!({"before": before, "after": after});
    }
    console.line(&format!("{document:#}"))
}

fn read_size(text: &str) -> Result<u64, String> {
    let size = parse_size(text).filter(|bytes| *bytes > 0);
    size.ok_or_else(|| "use a size such as `500MB` or `2GiB`, or a number of bytes".to_owned())
}
