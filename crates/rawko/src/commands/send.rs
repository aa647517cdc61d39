//! `rawko send`: delivers an event to an instance, parked or running.

use serde_json::Value as Json;

use crate::console::Console;
use crate::delivering::{DeliverArgs, deliver};
use crate::failure::{Failure, Verdict};
use crate::hosting::Request;
use crate::inputs;

const EXAMPLES: &str = "\
The event is on disk before the command says so, and what follows from it at once is shown: the
transition, and the calls it starts until they have answered. If another rawko hosts the store,
the event goes through it.

With --key the same delivery twice is taken once, so that a script can try again safely.

Examples:
  rawko send order-17 APPROVED --data by=ada
  rawko send order-17 APPROVED --data '{\"by\": \"ada\"}' --key approval-8841
  rawko send order-17 CANCELLED --output-format json | jq .configuration";

/// Send an event to an instance
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The instance
    id: String,

    /// The event
    event: String,

    /// Data of the event: a JSON value, or key=value (may be given again)
    #[arg(long, value_name = "JSON|KEY=VALUE")]
    data: Vec<String>,

    /// A key of yours: the same delivery again changes nothing
    #[arg(long, value_name = "KEY")]
    key: Option<String>,

    #[command(flatten)]
    deliver: DeliverArgs,
}

pub(crate) fn run(args: &Args, console: &mut Console) -> Result<Verdict, Failure> {
    let request = Request::Send {
        id: args.id.clone(),
        event: args.event.clone(),
        data: data(&args.data)?.into(),
        key: args.key.clone(),
    };
    deliver(&args.id, request, &args.deliver, console)
}

/// Parses a single argument as any JSON value if it is valid JSON; otherwise builds an object.
fn data(texts: &[String]) -> Result<Json, Failure> {
    match texts {
        [] => Ok(Json::Null),
        [one] if let Ok(value) = serde_json::from_str(one) => Ok(value),
        several => inputs::object_or_files("--data", several).map(Json::Object),
    }
}
