//! `rawko migrate`: continues stored instances on another version of their chart. A dry run unless `--apply` is given.

mod proof;
mod replay;
mod report;
mod target;

use std::path::PathBuf;
use std::sync::Arc;

use rawko_core::Chart;
use rawko_host::{MigrationReport, MigrationVerdict, Migrator, SnapshotReader, way_back};
use rawko_store::{Filter, InstanceRow, RecordKind};

use crate::console::Console;
use crate::failure::{CommandFailure, CommandVerdict};
use crate::files;
use crate::hosting::{
    self, HostAccess, HostAnswer, LoadedChart, NoAnswer, ProjectContext, SocketRequest, StoreArgs,
};
use crate::known;
use crate::times;
use report::MigrationOutcome;
use target::Selection;

const EXAMPLES: &str = "\
Instances keep the chart they were started with. This command moves them to another version: each
active state, open call, timer, question, recorded history and context key needs a counterpart in
the new chart. They are found by state path and id, by `migrations:` of the new chart and by --map:

  states: {review.open: reviewing}        # renamed; a child below a moved parent keeps its key
  context: {score: \"old.points * 10\"}     # expressions over the old context
  invokes: {old_call: new_call, dropped_call: null}
  timers: {review.open: {24h: 48h}}       # null ends a call, a timer or a region
  events: {OLD: NEW}                      # events that are delayed, deferred or held

Nothing is changed without --apply. An instance is migrated in one transaction, without being
driven: timers keep their time, calls that the new chart adds wait for `rawko resume` or `rawko
serve`. Repeating the command after an interruption continues it. --back undoes a migration as long
as the instance has taken no step since.

Exit codes: 0 possible or done, 1 refused with the reasons of each instance, 2 usage error,
52 invalid chart or map.

Examples:
  rawko migrate order-17 --to order@2.0.0
  rawko migrate --all --from order@^1 --to order@2.0.0 --map order.map.yaml --apply
  rawko migrate order-17 --to order-v2.yaml --replay
  rawko migrate order-17 --back --apply
  rawko migrate --all --from order --to order@2 --json | jq '.instances[] | select(.reasons != [])'";

/// Move instances to another version of their chart
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Instance ids
    #[arg(value_name = "ID", required_unless_present = "all", conflicts_with = "all")]
    ids: Vec<String>,

    /// Migrate every instance of --from that has not ended
    #[arg(long, requires = "from")]
    all: bool,

    /// Chart of the instances: an id, `id@range` or a file
    #[arg(long, value_name = "CHART", requires = "all")]
    from: Option<String>,

    /// Chart to continue on: `id@version` or a file
    #[arg(long, value_name = "CHART@VERSION", required_unless_present = "back")]
    to: Option<String>,

    /// Mapping for the gaps: an entry of `migrations:` without `from`
    #[arg(long, value_name = "FILE")]
    map: Option<PathBuf>,

    /// Migrate; without it, only report what would happen
    #[arg(long)]
    apply: bool,

    /// Undo the last migration of instances that took no step since
    #[arg(long, conflicts_with_all = ["to", "map", "replay"])]
    back: bool,

    /// Show where the journals would have gone another way on the new chart
    #[arg(long)]
    replay: bool,

    /// Print one JSON object
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    store: StoreArgs,
}

/// Instances that one request migrates.
const PER_REQUEST: usize = 2_000;

pub(crate) fn run(args: &Args, console: &mut Console) -> Result<CommandVerdict, CommandFailure> {
    let place = ProjectContext::here(&args.store)?;
    let migrator = match &args.to {
        Some(to) => Some(migrator(to, args, &place)?),
        None => None,
    };
    let reader = known::reader(&place)?;
    let rows = rows(args, &place, &reader, migrator.as_ref())?;
    let Some(migrator) = migrator else {
        let previews = rows.iter().map(|row| preview_back(&reader, row)).collect::<Result<_, _>>()?;
        return finish(args, &place, MigrationOutcome::new(&rows, previews, None), console);
    };
    let sources = sources(&reader, &rows, &migrator)?;
    let unknown = migrator.unknown_names(&sources);
    if !sources.is_empty() && !unknown.is_empty() {
        let names = unknown.join(", ");
        let file = args.map.as_deref().map(files::shown).unwrap_or_default();
        return Err(CommandFailure::Invalid(format!("`{file}` maps names that no old chart has: {names}")));
    }
    let previews = migrator.preview(&reader, &rows, &place.world(), times::now_ms())?;
    let mut outcome = MigrationOutcome::new(&rows, previews, Some(Arc::clone(migrator.chart())));
    for source in &sources {
        outcome.proofs.push(proof::prove(source, &reader, &migrator, &place.world())?);
    }
    if args.replay {
        for row in &rows {
            outcome.replays.push(replay::replay(&reader, row, &migrator, &place.world())?);
        }
    }
    finish(args, &place, outcome, console)
}

fn migrator(to: &str, args: &Args, place: &ProjectContext) -> Result<Migrator, CommandFailure> {
    let edition = target::edition(to, place)?;
    let map =
        args.map.as_ref().map(|path| Ok::<_, CommandFailure>((files::shown(path), files::read_text(path)?)));
    let map = map.transpose()?;
    let map = map.as_ref().map(|(name, text)| (name.as_str(), text.as_str()));
    Migrator::new(edition, map).map_err(|error| match error {
        rawko_host::HostError::InvalidChart(rendered) => {
            CommandFailure::Findings { rendered, message: "the migration is invalid".to_owned() }
        }
        error => error.into(),
    })
}

/// Returns the instances of the command.
fn rows(
    args: &Args,
    place: &ProjectContext,
    reader: &SnapshotReader,
    migrator: Option<&Migrator>,
) -> Result<Vec<InstanceRow>, CommandFailure> {
    let Some(from) = &args.from else {
        let mut rows: Vec<InstanceRow> = Vec::new();
        for id in &args.ids {
            let row = known::instance(reader, id)?;
            if !rows.iter().any(|known| known.key == row.key) {
                rows.push(row);
            }
        }
        return Ok(rows);
    };
    let selection = Selection::read(from, place)?;
    let filter = Filter { chart: Some(selection.id.clone()), ..Filter::default() };
    let mut rows = reader.store().list(&filter)?.rows;
    rows.retain(|row| !row.head.status.is_over());
    let target = migrator.map(|migrator| migrator.chart().hash());
    let mut selected = Vec::with_capacity(rows.len());
    for row in rows.into_iter().rev() {
        let is_there = Some(row.new.chart) == target;
        let is_chosen = match is_there || args.back {
            // An instance of an earlier run of this command, which was interrupted.
            true => was_migrated(reader, &row)?,
            false => selection.includes(&row.new.version),
        };
        if is_chosen {
            selected.push(row);
        }
    }
    Ok(selected)
}

/// Returns true if the last snapshot of an instance was written by a migration.
fn was_migrated(reader: &SnapshotReader, row: &InstanceRow) -> Result<bool, CommandFailure> {
    let Some(base) = reader.store().base(row.key, None)? else { return Ok(false) };
    let step = base.snapshot.step;
    let records = reader.store().steps(row.key, step..=step, usize::MAX)?;
    Ok(records.iter().any(|record| record.kind == RecordKind::Migrated))
}

/// Returns the charts of the instances that are not on the target yet, each once.
fn sources(
    reader: &SnapshotReader,
    rows: &[InstanceRow],
    migrator: &Migrator,
) -> Result<Vec<Arc<Chart>>, CommandFailure> {
    let mut sources: Vec<Arc<Chart>> = Vec::new();
    for row in rows {
        let is_known = |hash| sources.iter().any(|chart| chart.hash() == hash);
        if row.new.chart != migrator.chart().hash() && !is_known(row.new.chart) {
            sources.push(reader.chart(row)?);
        }
    }
    Ok(sources)
}

fn preview_back(reader: &SnapshotReader, row: &InstanceRow) -> Result<MigrationReport, CommandFailure> {
    let way = way_back(reader, row, rawko_core::Value::Null, false)?;
    let id = row.new.id.to_string();
    let (verdict, restored, reasons) = match way {
        Ok(_) => {
            let before = reader.snapshot(row, Some(row.step.saturating_sub(1)))?;
            (MigrationVerdict::Possible, before, Vec::new())
        }
        Err(reason) => (MigrationVerdict::Refused, reader.snapshot(row, None)?, vec![reason]),
    };
    let paths = restored.chart.leaf_paths(restored.snapshot.configuration());
    let configuration = paths.map(str::to_owned).collect();
    Ok(MigrationReport { id, verdict, configuration, reasons, notes: Vec::new() })
}

/// Migrates if asked to, and prints the outcome.
fn finish(
    args: &Args,
    place: &ProjectContext,
    mut outcome: MigrationOutcome,
    console: &mut Console,
) -> Result<CommandVerdict, CommandFailure> {
    if args.apply && outcome.has(MigrationVerdict::Possible) {
        let texts = match &args.to {
            Some(to) => {
                let edition = target::edition(to, place)?;
                let to = LoadedChart::from(&edition);
                let map = args.map.as_ref().map(|path| {
                    Ok::<_, CommandFailure>(LoadedChart::new(&files::shown(path), &files::read_text(path)?))
                });
                (Some(to), map.transpose()?)
            }
            None => (None, None),
        };
        hosting::block_on(async {
            let mut access = HostAccess::open(place, &[], console).await?;
            let done = apply(&mut access, texts, &mut outcome).await;
            access.close(console).await;
            done
        })?;
    }
    outcome.print(args, console)?;
    Ok(match outcome.has(MigrationVerdict::Refused) {
        true => CommandVerdict::Failed,
        false => CommandVerdict::Done,
    })
}

async fn apply(
    access: &mut HostAccess,
    (to, map): (Option<LoadedChart>, Option<LoadedChart>),
    outcome: &mut MigrationOutcome,
) -> Result<(), CommandFailure> {
    let ids: Vec<String> = outcome.with(MigrationVerdict::Possible);
    for ids in ids.chunks(PER_REQUEST) {
        let request = SocketRequest::Migrate { ids: ids.to_vec(), to: to.clone(), map: map.clone() };
        match access.ask(request).await {
            Ok(HostAnswer::Migrated(reports)) => outcome.replace(reports),
            Ok(_) => return Err(CommandFailure::Failed("unexpected response from the host".to_owned())),
            Err(NoAnswer::Refused(failure)) => return Err(failure),
            Err(NoAnswer::Gone) => {
                return Err(CommandFailure::Transient(
                    "the process that hosts the store exited; repeat the command to migrate the rest"
                        .to_owned(),
                ));
            }
        }
    }
    Ok(())
}
