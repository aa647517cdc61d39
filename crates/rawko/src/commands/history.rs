//! `rawko history`: prints the journal of an instance, step by step.

use rawko_host::SnapshotReader;
use rawko_store::InstanceRow;

use super::attach::beginning;
use crate::console::{Console, TextStyle};
use crate::failure::{CommandFailure, CommandVerdict};
use crate::following::{Narrator, is_own};
use crate::hosting::{ProjectContext, StoreArgs};
use crate::journal::tail::JournalTail;
use crate::journal::text::{self, TextDetail};
use crate::journal::{InstanceTree, Player, lines};
use crate::known;
use crate::task_request::is_workflow;
use crate::times;

const EXAMPLES: &str = "\
Prints each step with its time (UTC), the event, the active states and effects. -v adds changes of
the context, recomputes every step and explains which transitions were taken and which were not. A
task, a ready workflow or an agent is printed in words: decisions, messages, tool calls, answers and
the plan; -v prints its states and context.

See a step in full with `rawko show ID --at STEP`; continue from it with `rawko fork ID --at STEP`.

Examples:
  rawko history order-17
  rawko history order-17 -v
  rawko history order-17 --json | jq -c 'select(.type == \"invoked\")'";

/// Print the journal of an instance, step by step
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Instance id
    id: String,

    /// Print one JSON object per line
    #[arg(long)]
    json: bool,

    /// Maximum number of records; 0 for all
    #[arg(long, value_name = "N", default_value_t = 200)]
    limit: usize,

    /// Only records after this sequence number
    #[arg(long, value_name = "SEQ", default_value_t = 0)]
    after: u64,

    /// Explain every transition and print long values in full
    #[arg(long, short)]
    verbose: bool,

    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) fn run(args: &Args, console: &mut Console) -> Result<CommandVerdict, CommandFailure> {
    let place = ProjectContext::here(&args.store)?;
    place.mention_settings(console);
    let reader = known::reader(&place)?;
    let row = known::instance(&reader, &args.id)?;
    let is_told = is_own(&row.new.chart_id) || is_workflow(&row.new.chart_id) || row.new.agent().is_some();
    if is_told && !args.verbose && !args.json {
        return tell_task(args, &row, &reader, console);
    }
    // One more than the limit, to detect that there are more.
    let most = if args.limit == 0 { usize::MAX } else { args.limit + 1 };
    let mut records = reader.store().records(row.key, args.after, most)?;
    let more = args.limit > 0 && records.len() > args.limit;
    records.truncate(if more { args.limit } else { records.len() });
    let mut player = Player::new(reader, args.verbose.then(|| place.world()));
    for record in &records {
        let entry = player.entry(record)?;
        if args.json {
            lines::of(&entry).iter().try_for_each(|line| console.line(&line.to_string()))?;
        } else {
            let step = format!("{:>4}  {}  ", entry.step, times::moment(entry.at_ms));
            let step = console.paint(TextStyle::Dim, &step);
            let detail = TextDetail { whole: args.verbose, warned: false, context: args.verbose };
            text::print(&entry, &step, "      ", detail, console)?;
        }
    }
    if let Some(last) = records.last().filter(|_| more) {
        console.note(TextStyle::Dim, "more", &format!("continue with --after {}", last.seq));
    }
    Ok(CommandVerdict::Done)
}

/// Prints a task with its agents in its own words.
fn tell_task(
    args: &Args,
    row: &InstanceRow,
    reader: &SnapshotReader,
    console: &mut Console,
) -> Result<CommandVerdict, CommandFailure> {
    let seq = beginning(reader, row)?.max(args.after);
    let mut tail = JournalTail::after(seq, reader, InstanceTree::below(&args.id), None);
    let mut narrator = Narrator::reading(&row.new.chart_id);
    let (mut count, mut last) = (0, seq);
    tail.read(|entry, name| {
        count += 1;
        if args.limit > 0 && count > args.limit {
            return Ok::<(), CommandFailure>(());
        }
        last = entry.seq;
        narrator.tell(entry, name, console)
    })?;
    if args.limit > 0 && count > args.limit {
        console.note(TextStyle::Dim, "more", &format!("continue with --after {last}"));
    }
    Ok(CommandVerdict::Done)
}
