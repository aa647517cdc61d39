//! `rawko approve` and `rawko deny`: a person's answer to what an instance asks.

use serde_json::Value as Json;

use crate::console::Console;
use crate::delivering::{DeliverArgs, deliver};
use crate::failure::{Failure, Verdict};
use crate::hosting::Request;
use crate::inputs;

const APPROVE_EXAMPLES: &str = "\
The chart hears `done.invoke.<id>` with `event.data`: `approved` (true), `by`, `comment` and the
fields of --data under `data`. Where an instance asks for several things, --ask says which;
`rawko show` lists them.

Examples:
  rawko approve order-17
  rawko approve order-17 --as ada --comment 'fine with me'
  rawko approve order-17 --ask shipping_form --data street='Main Road 1'";

const DENY_EXAMPLES: &str = "\
The chart hears `done.invoke.<id>` with `event.data`: `approved` (false), `by`, `comment` and the
fields of --data under `data`. Whoever says no has answered: it is no error.

Examples:
  rawko deny order-17 --comment 'too expensive'
  rawko deny order-17 --as bo --ask approval";

/// Say yes to what an instance asks a person, or fill in its form
#[derive(Debug, clap::Args)]
#[command(after_help = APPROVE_EXAMPLES)]
pub(crate) struct Approve {
    #[command(flatten)]
    answer: Answer,
}

/// Say no to what an instance asks a person
#[derive(Debug, clap::Args)]
#[command(after_help = DENY_EXAMPLES)]
pub(crate) struct Deny {
    #[command(flatten)]
    answer: Answer,
}

#[derive(Debug, clap::Args)]
struct Answer {
    /// The instance that asks
    id: String,

    /// The invoke's id, where the instance asks for several things
    #[arg(long, value_name = "INVOKE")]
    ask: Option<String>,

    /// Who answers; by default the user's name
    #[arg(long = "as", value_name = "NAME")]
    by: Option<String>,

    /// A word to the chart and the audit
    #[arg(long, value_name = "TEXT")]
    comment: Option<String>,

    /// Fields of a form: a JSON object, or key=value (may be given again)
    #[arg(long, value_name = "JSON|KEY=VALUE")]
    data: Vec<String>,

    #[command(flatten)]
    deliver: DeliverArgs,
}

pub(crate) fn approve(args: &Approve, console: &mut Console) -> Result<Verdict, Failure> {
    answer(&args.answer, true, console)
}

pub(crate) fn deny(args: &Deny, console: &mut Console) -> Result<Verdict, Failure> {
    answer(&args.answer, false, console)
}

fn answer(args: &Answer, approved: bool, console: &mut Console) -> Result<Verdict, Failure> {
    let data = inputs::object_or_files("--data", &args.data)?;
    let data = if data.is_empty() { Json::Null } else { Json::Object(data) };
    let request = Request::Answer {
        id: args.id.clone(),
        ask: args.ask.clone(),
        approved,
        by: args.by.clone().or_else(user),
        comment: args.comment.clone(),
        data: data.into(),
    };
    deliver(&args.id, request, &args.deliver, console)
}

fn user() -> Option<String> {
    ["USER", "LOGNAME"].iter().find_map(|name| std::env::var(name).ok()).filter(|name| !name.is_empty())
}
