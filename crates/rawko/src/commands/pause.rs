//! `rawko pause`: stops instances until they are resumed.

use crate::console::{Console, TextStyle};
use crate::failure::{CommandFailure, CommandVerdict};
use crate::hosting::{self, HostAccess, ProjectContext, SocketRequest, StoreArgs};
use crate::known;
use crate::repeating::asked;

const EXAMPLES: &str = "\
Pauses each instance with its descendants. A paused instance moves only on `rawko resume`, also
after a restart of the host. Running calls that are safe to repeat are stopped, and repeated with
the same idempotency key on resume; the others finish, and their results wait. Timers stand still:
on resume they have as much time left as before. Events that are sent meanwhile are stored and
applied on resume; answers to requests are refused. `rawko cancel` ends a paused instance.

Ctrl-C pauses the instance of `rawko task`, `rawko run` and `rawko resume`.

Examples:
  rawko pause fix-1
  rawko pause order-17 order-18
  rawko resume fix-1";

/// Pause instances until they are resumed
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Instance ids
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,

    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) fn run(args: &Args, console: &mut Console) -> Result<CommandVerdict, CommandFailure> {
    let place = ProjectContext::here(&args.store)?;
    let reader = known::reader(&place)?;
    for id in &args.ids {
        known::instance(&reader, id)?;
    }
    hosting::block_on(async {
        let mut access = HostAccess::open(&place, &[], console).await?;
        let outcome = pause(&args.ids, &mut access, &place, console).await;
        access.close(console).await;
        outcome
    })
}

async fn pause(
    ids: &[String],
    access: &mut HostAccess,
    place: &ProjectContext,
    console: &mut Console,
) -> Result<CommandVerdict, CommandFailure> {
    let mut verdict = CommandVerdict::Done;
    for id in ids {
        match asked(access, place, SocketRequest::Pause { id: id.clone() }, console).await {
            Ok(receipt) => {
                let word = if receipt.handled { "paused" } else { "already paused" };
                let name = console.paint(TextStyle::Bold, id);
                console.line(&format!("{name}  {word}; continue with `rawko resume {id}`"))?;
            }
            // The others are paused anyway.
            Err(CommandFailure::Failed(message)) => {
                console.note(TextStyle::Bad, "error", &message);
                verdict = CommandVerdict::Failed;
            }
            Err(failure) => return Err(failure),
        }
    }
    Ok(verdict)
}
