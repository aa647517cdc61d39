//! `rawko cancel`: ends an instance and runs its exit actions.

use rawko_core::Value;
use rawko_programs::checks::Custodies;
use rawko_settings::{Environment, StateDir};

use crate::console::{Console, TextStyle};
use crate::delivering::{DeliverArgs, deliver};
use crate::failure::{CommandFailure, CommandVerdict};
use crate::hosting::{self, HostAccess, ProjectContext, SocketRequest};
use crate::queue;

const EXAMPLES: &str = "\
Runs exit actions from the innermost state outward, and stops timers, calls and children. The
journal is kept: see `rawko history`, or continue from any step with `rawko fork`. Files that the
project's checks depend on and that agents changed are put back; other changes stay.

Examples:
  rawko cancel order-17
  rawko cancel order-17 --reason 'ordered twice'";

/// Cancel an instance: run exit actions, stop timers and calls
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Instance id
    id: String,

    /// Reason, recorded in the journal
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,

    #[command(flatten)]
    deliver: DeliverArgs,
}

pub(crate) fn run(args: &Args, console: &mut Console) -> Result<CommandVerdict, CommandFailure> {
    if let Some(verdict) = unqueued(args, console)? {
        return Ok(verdict);
    }
    let reason = args.reason.as_deref().map_or(Value::Null, Value::str);
    let request = SocketRequest::Cancel { id: args.id.clone(), reason };
    let verdict = deliver(&args.id, request, &args.deliver, console)?;
    report_closing(args, console)?;
    Ok(verdict)
}

/// Names the files that a cancelled task leaves changed, and those that were put back for the checks.
fn report_closing(args: &Args, console: &mut Console) -> Result<(), CommandFailure> {
    let place = ProjectContext::here(args.deliver.store())?;
    let Ok(state) = StateDir::of(&Environment::of_process()) else { return Ok(()) };
    let custody = Custodies::new(&state.project(&place.root)).find(&args.id);
    let Some(closing) = custody.and_then(|custody| custody.closing) else { return Ok(()) };
    if !closing.restored.is_empty() {
        let text = format!("{} (a check depends on it)", closing.restored.join(", "));
        console.note(TextStyle::Notice, "put back", &text);
    }
    if !closing.changed.is_empty() {
        let count = closing.changed.len();
        let files = if count == 1 { "file differs" } else { "files differ" };
        let text = format!("{count} {files} from the start of the task; see `rawko diff {}`", args.id);
        console.note(TextStyle::Notice, "note", &text);
    }
    Ok(())
}

/// Removes a task that is queued and has not started.
fn unqueued(args: &Args, console: &mut Console) -> Result<Option<CommandVerdict>, CommandFailure> {
    let place = ProjectContext::here(args.deliver.store())?;
    let queued = place.reader()?.map(|reader| queue::find(&reader, &args.id)).transpose()?.flatten();
    if queued.is_none() {
        return Ok(None);
    }
    hosting::block_on(async {
        let mut access = HostAccess::open(&place, &[], console).await?;
        let outcome =
            super::queue::removed(std::slice::from_ref(&args.id), &mut access, &place, console).await;
        access.close(console).await;
        outcome.map(|()| Some(CommandVerdict::Done))
    })
}
