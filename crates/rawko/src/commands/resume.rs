//! `rawko resume`: goes on with an instance that was parked or has failed.

use rawko_core::Status;

use crate::console::{Console, Style};
use crate::delivering::asked;
use crate::failure::{Failure, Verdict};
use crate::following::{Ended, Ending, Follow, FollowArgs, OutputFormat, Signals};
use crate::hosting::{self, Access, Place, Request, Rest, StoreArgs};
use crate::known;
use crate::standing::Standing;
use crate::times;

const EXAMPLES: &str = "\
An instance goes on from its last step, whatever ended the process that ran it. Timers that came
due meanwhile fire at once, each at its own time. A call that was cut off is made again if the
settings say that this is safe (`on_restart: retry`); if not, the chart hears of an error with the
category `interrupted`. Everything else in the store that is due goes on as well.

An instance in status error tries once more what failed.

Examples:
  rawko resume order-17
  rawko resume order-17 --patience 24h
  rawko resume order-17 --output-format json | jq .output";

/// Go on with an instance that was parked, or try again what failed
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The instance
    id: String,

    #[command(flatten)]
    follow: FollowArgs,

    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) fn run(args: &Args, console: &mut Console) -> Result<Verdict, Failure> {
    let place = Place::here(&args.store)?;
    let reader = known::reader(&place)?;
    known::instance(&reader, &args.id)?;
    let manner = args.follow.manner();
    let standing = Standing::of(&reader, &args.id, &place.world(), times::now_ms())?;
    let status = standing.snapshot.status();
    if manner.format == OutputFormat::Text {
        say_where(&standing, console)?;
    }
    if status.is_over() {
        return Ending { standing: &standing, ended: Ended::Rest(Rest::Over(status)), other: None }
            .tell(manner.format, console);
    }
    let failed = status == Status::Error || standing.row.head.fault.is_some();
    hosting::block_on(async {
        let mut signals = Signals::new()?;
        // Before the host goes on with whatever is due.
        let seq = reader.store().last_seq()?;
        let mut access = Access::open(&place, &[], console).await?;
        if failed && let Err(failure) = asked(&mut access, Request::Retry { id: args.id.clone() }).await {
            access.close(console).await;
            return Err(failure);
        }
        let follow = Follow::after(seq, &access, &args.id, &place, manner);
        follow.until_end(access, &mut signals, console).await
    })
}

/// Where it stood when we came.
fn say_where(standing: &Standing, console: &mut Console) -> Result<(), Failure> {
    let head = console.paint(Style::Bold, &format!("{:<28}", standing.id()));
    let states = console.paint(Style::Accent, &format!("[{}]", standing.configuration().join(", ")));
    console.line(&format!("{head} {states}"))?;
    if standing.snapshot.status().is_over() {
        let line = format!("    status   {}", standing.snapshot.status().as_str());
        console.line(&line)?;
        if !standing.snapshot.output().is_null() {
            console.line(&format!("    output   {}", standing.snapshot.output().to_json()))?;
        }
    }
    Ok(())
}
