//! `rawko send`: delivers an event to an instance, parked or running.

use serde_json::Value as Json;

use crate::console::Console;
use crate::delivering::{DeliverArgs, deliver};
use crate::failure::{CommandFailure, CommandVerdict};
use crate::hosting::SocketRequest;
use crate::inputs;

const EXAMPLES: &str = "\
Stores the event, then prints the transition and waits for the calls it starts. If another rawko
process hosts the store, the event is sent through that process; if that process ends before it
answers, the event goes to the next one, once.

With --key a repeated delivery is ignored, so scripts can retry safely.

Examples:
  rawko send order-17 APPROVED --data by=ada
  rawko send order-17 APPROVED --data '{\"by\": \"ada\"}' --key approval-8841
  rawko send order-17 CANCELLED --output-format json | jq .configuration";

/// Send an event to an instance
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Instance id
    id: String,

    /// Event name
    event: String,

    /// Event data: a JSON value or key=value (repeatable)
    #[arg(long, value_name = "JSON|KEY=VALUE")]
    data: Vec<String>,

    /// Idempotency key: ignore the event if this key was used before
    #[arg(long, value_name = "KEY")]
    key: Option<String>,

    #[command(flatten)]
    deliver: DeliverArgs,
}

pub(crate) fn run(args: &Args, console: &mut Console) -> Result<CommandVerdict, CommandFailure> {
    let request = SocketRequest::Send {
        id: args.id.clone(),
        event: args.event.clone(),
        data: data(&args.data)?.into(),
        key: args.key.clone(),
    };
    deliver(&args.id, request, &args.deliver, console)
}

/// Parses a single argument as any JSON value if it is valid JSON; otherwise builds an object.
fn data(texts: &[String]) -> Result<Json, CommandFailure> {
    match texts {
        [] => Ok(Json::Null),
        [one] if let Ok(value) = serde_json::from_str(one) => Ok(value),
        several => inputs::object_or_files("--data", several).map(Json::Object),
    }
}
