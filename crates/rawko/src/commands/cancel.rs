//! `rawko cancel`: ends an instance and runs its exit actions.

use rawko_core::Value;

use crate::console::Console;
use crate::delivering::{DeliverArgs, deliver};
use crate::failure::{Failure, Verdict};
use crate::hosting::Request;

const EXAMPLES: &str = "\
Exit actions run from the innermost state outward, timers stop, and so does everything it invoked,
children included. What it did stays in the store: `rawko history` tells it, `rawko fork` goes on
from any of its steps.

Examples:
  rawko cancel order-17
  rawko cancel order-17 --reason 'ordered twice'";

/// End an instance: its exit actions run, timers and calls stop
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The instance
    id: String,

    /// Why, for the journal
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,

    #[command(flatten)]
    deliver: DeliverArgs,
}

pub(crate) fn run(args: &Args, console: &mut Console) -> Result<Verdict, Failure> {
    let reason = args.reason.as_deref().map_or(Value::Null, Value::str);
    let request = Request::Cancel { id: args.id.clone(), reason };
    deliver(&args.id, request, &args.deliver, console)
}
