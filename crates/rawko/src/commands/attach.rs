//! `rawko attach`: joins a running task from another terminal.

use rawko_core::Value;
use rawko_host::SnapshotReader;
use rawko_store::{InstanceRow, WaitReason};

use crate::console::{Console, TextStyle};
use crate::failure::{CommandFailure, CommandVerdict};
use crate::following::{
    FollowArgs, FollowEnd, Manner, Narrator, OutputFormat, RunFollower, Signals, TaskEnding, is_own,
};
use crate::hosting::{self, HostAccess, ProjectContext, Rest, StoreArgs};
use crate::known;
use crate::session::{self, TerminalSession};
use crate::standing::InstanceStanding;
use crate::times;

const EXAMPLES: &str = "\
Shows a task that another process runs (`rawko task` in another terminal, or `rawko serve`), from
its beginning, and follows it. On a terminal you can answer its requests, send messages to its
agents and use the commands of a session; every terminal sees the same. Ctrl-C leaves; the task
continues.

Examples:
  rawko attach fix-1
  rawko attach fix-1 --output-format stream-json | jq -c .type";

/// Join a running task from another terminal
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Instance id
    id: String,

    /// Print plain text and read no keys, also on a terminal
    #[arg(long)]
    no_input: bool,

    #[command(flatten)]
    follow: FollowArgs,

    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) fn run(args: &Args, console: &mut Console) -> Result<CommandVerdict, CommandFailure> {
    let place = ProjectContext::here(&args.store)?;
    let reader = known::reader(&place)?;
    let row = known::instance(&reader, &args.id)?;
    let manner = args.follow.manner();
    if !row.head.status.is_over() && !place.driven().includes(&row.new) && row.head.wait != WaitReason::Paused
    {
        let message = format!("no process runs {0}; continue it with `rawko resume {0}`", args.id);
        return Err(CommandFailure::Failed(message));
    }
    if row.head.status.is_over() {
        return open(&place, &row, manner, console);
    }
    join(&place, &row, manner, args.no_input, console)
}

/// Joins an instance, or prints how it ended.
pub(crate) fn open(
    place: &ProjectContext,
    row: &InstanceRow,
    manner: Manner,
    console: &mut Console,
) -> Result<CommandVerdict, CommandFailure> {
    if !row.head.status.is_over() {
        return join(place, row, manner, false, console);
    }
    let (reader, ended) = (known::reader(place)?, FollowEnd::Rest(Rest::Over(row.head.status)));
    TaskEnding { place, reader: &reader, id: &row.new.id, ended, other: None }.tell(manner.format, console)
}

/// Follows an instance from its beginning without owning it.
pub(crate) fn join(
    place: &ProjectContext,
    row: &InstanceRow,
    manner: Manner,
    no_input: bool,
    console: &mut Console,
) -> Result<CommandVerdict, CommandFailure> {
    hosting::block_on(async {
        let mut signals = Signals::new()?;
        let access = HostAccess::open(place, &[], console).await?;
        let reader = access.reader();
        let seq = beginning(&reader, row)?;
        let id = &*row.new.id;
        if manner.format == OutputFormat::Text {
            let standing = InstanceStanding::of(&reader, id, &place.world(), times::now_ms())?;
            let title = rawko_view::rows::title(&standing.chart, &standing.snapshot).unwrap_or_default();
            let id = console.paint(TextStyle::Bold, id);
            console.line(format!("{id}  {title}").trim_end())?;
        }
        let heard = access.progress();
        let (ended, reader, other) = if session::is_wanted(manner, no_input) {
            let about = (id, &*row.new.chart_id, Value::Null);
            let session = TerminalSession::new(about, seq, &access, place).joined();
            session.run(access, heard, &mut signals, console).await?
        } else {
            let mut follow = RunFollower::after(seq, &access, id, place, manner).hearing(heard, &access);
            if is_own(&row.new.chart_id) {
                follow = follow.narrated(Narrator::new(&row.new.chart_id, console));
            }
            follow.until_rest(access, &mut signals, console).await?
        };
        TaskEnding { place, reader: &reader, id, ended, other }.tell(manner.format, console)
    })
}

/// Returns the position in the journal before the first record of an instance.
pub(crate) fn beginning(reader: &SnapshotReader, row: &InstanceRow) -> Result<u64, CommandFailure> {
    let first = reader.store().records(row.key, 0, 1)?;
    Ok(first.first().map_or(0, |record| record.seq.saturating_sub(1)))
}
