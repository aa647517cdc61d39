//! `rawko history`: prints the journal of an instance, step by step.

use crate::console::{Console, Style};
use crate::failure::{Failure, Verdict};
use crate::hosting::{Place, StoreArgs};
use crate::journal::text::{self, Detail};
use crate::journal::{Player, lines};
use crate::known;
use crate::times;

const EXAMPLES: &str = "\
Each step with its time (UTC), the event, the active states afterwards, what changed in the context
and what was asked of the host. -v takes every step once more and says which transitions were looked
at, and why the others were not taken.

`rawko show ID --at STEP` shows all of a step, `rawko fork ID --at STEP` goes on from it.

Examples:
  rawko history order-17
  rawko history order-17 -v
  rawko history order-17 --json | jq -c 'select(.type == \"invoked\")'";

/// Tell what happened to an instance, step by step
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The instance
    id: String,

    /// Print one JSON object a line
    #[arg(long)]
    json: bool,

    /// How many records to tell; 0 tells all
    #[arg(long, value_name = "N", default_value_t = 200)]
    limit: usize,

    /// Only records after this one of the store's journal
    #[arg(long, value_name = "SEQ", default_value_t = 0)]
    after: u64,

    /// Say which transitions were taken, and why the others were not; show long values whole
    #[arg(long, short)]
    verbose: bool,

    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) fn run(args: &Args, console: &mut Console) -> Result<Verdict, Failure> {
    let place = Place::here(&args.store)?;
    place.mention_settings(console);
    let reader = known::reader(&place)?;
    let row = known::instance(&reader, &args.id)?;
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
            let step = console.paint(Style::Dim, &step);
            text::print(&entry, &step, "      ", Detail { whole: args.verbose, warned: false }, console)?;
        }
    }
    if let Some(last) = records.last().filter(|_| more) {
        console.note(Style::Dim, "more", &format!("go on with --after {}", last.seq));
    }
    Ok(Verdict::Done)
}
