//! `rawko approve` and `rawko deny`: answer a pending request of an instance.

use rawko_host::Settings;
use rawko_tools::add_rules;
use serde_json::Value as Json;

use crate::console::{Console, TextStyle};
use crate::delivering::{DeliverArgs, deliver};
use crate::failure::{CommandFailure, CommandVerdict};
use crate::hosting::{ProjectContext, SocketRequest};
use crate::inputs;
use crate::known;
use crate::standing::{InstanceStanding, PendingAsk};
use crate::times;

const APPROVE_EXAMPLES: &str = "\
Sends `done.invoke.<id>` to the chart with `event.data`: `approved` (true), `by`, `comment` and
the fields of --data under `data`. `by` is the user that the operator credential proves; the name
given with --as is noted beside it as `as`. If there are several pending requests (see `rawko
show`), select one with --ask. Requests of a child can be answered with the id of its parent.
--since answers only the request that you saw (`since_ms` of `rawko show --json`), not a later one
of the same name.

Examples:
  rawko approve order-17
  rawko approve order-17 --as ada --comment 'fine with me'
  rawko approve order-17 --ask shipping_form --data street='Main Road 1'

A call of an agent that a permission rule asks about waits here, too. --always also adds a rule for
exactly this call to `permissions.allow` of your settings file:
  rawko approve task-3 --always";

const DENY_EXAMPLES: &str = "\
Sends `done.invoke.<id>` to the chart with `event.data`: `approved` (false), `by`, `comment` and the
fields of --data under `data`. A denial is a regular result, not an error.

Examples:
  rawko deny order-17 --comment 'too expensive'
  rawko deny order-17 --as bo --ask approval";

/// Approve a pending request of an instance, or fill in its form
#[derive(Debug, clap::Args)]
#[command(after_help = APPROVE_EXAMPLES)]
pub(crate) struct Approve {
    #[command(flatten)]
    answer: AnswerArgs,

    /// Always allow this call: add a rule to your settings
    #[arg(long)]
    always: bool,
}

/// Deny a pending request of an instance
#[derive(Debug, clap::Args)]
#[command(after_help = DENY_EXAMPLES)]
pub(crate) struct Deny {
    #[command(flatten)]
    answer: AnswerArgs,
}

#[derive(Debug, clap::Args)]
struct AnswerArgs {
    /// Instance id
    id: String,

    /// Invoke id of the request, if there are several
    #[arg(long, value_name = "INVOKE")]
    ask: Option<String>,

    /// Answer only the request made at this time (`since_ms`)
    #[arg(long, value_name = "MS")]
    since: Option<i64>,

    /// Another name, noted beside the proven one
    #[arg(long = "as", value_name = "NAME")]
    by: Option<String>,

    /// Comment for the chart and the audit log
    #[arg(long, value_name = "TEXT")]
    comment: Option<String>,

    /// Form fields: a JSON object or key=value (repeatable)
    #[arg(long, value_name = "JSON|KEY=VALUE")]
    data: Vec<String>,

    #[command(flatten)]
    deliver: DeliverArgs,
}

pub(crate) fn approve(args: &Approve, console: &mut Console) -> Result<CommandVerdict, CommandFailure> {
    if args.always {
        remember(&args.answer, console)?;
    }
    answer(&args.answer, true, console)
}

pub(crate) fn deny(args: &Deny, console: &mut Console) -> Result<CommandVerdict, CommandFailure> {
    answer(&args.answer, false, console)
}

fn answer(
    args: &AnswerArgs,
    approved: bool,
    console: &mut Console,
) -> Result<CommandVerdict, CommandFailure> {
    let data = inputs::object_or_files("--data", &args.data)?;
    let data = if data.is_empty() { Json::Null } else { Json::Object(data) };
    let seen = who_asks(args)?;
    let request = SocketRequest::Answer {
        id: seen.instance,
        ask: seen.invoke.or_else(|| args.ask.clone()),
        asked_ms: args.since.or(seen.since_ms),
        approved,
        by: args.by.clone(),
        comment: args.comment.clone(),
        data: data.into(),
    };
    deliver(&args.id, request, &args.deliver, console)
}

/// Adds the rules for the pending call to the user's settings file.
fn remember(args: &AnswerArgs, console: &mut Console) -> Result<(), CommandFailure> {
    let place = ProjectContext::here(args.deliver.store())?;
    let reader = known::reader(&place)?;
    let id = who_asks(args)?.instance;
    let standing = InstanceStanding::of(&reader, &id, &place.world(), times::now_ms())?;
    let is_meant = |ask: &&PendingAsk| {
        *ask.instance == *id && args.ask.as_ref().is_none_or(|wanted| *wanted == ask.invoke)
    };
    let ask = standing.asks.iter().find(is_meant);
    let ask = ask.ok_or_else(|| CommandFailure::Failed(format!("instance `{id}` has no pending request")))?;
    let added = allow_always(&place, ask)?;
    console.note(TextStyle::Notice, "added", &added);
    Ok(())
}

/// Adds the rules that allow the call of a request to the user's settings file. Returns the message for the person.
pub(crate) fn allow_always(place: &ProjectContext, ask: &PendingAsk) -> Result<String, CommandFailure> {
    let rules = ask.input.get("always").as_list().unwrap_or_default().iter();
    let rules: Vec<String> = rules.filter_map(|rule| rule.as_str().map(str::to_owned)).collect();
    if rules.is_empty() {
        let why = ask.input.get("rule").as_str().map(|rule| format!(": {rule}")).unwrap_or_default();
        let message = format!("no rule can always allow this request{why}; approve it without --always");
        return Err(CommandFailure::Usage(message));
    }
    add_allow_rules(&place.settings, &rules)
}

/// Adds rules to `permissions.allow` of the user's settings file. Returns the message for the person.
pub(crate) fn add_allow_rules(settings: &Settings, rules: &[String]) -> Result<String, CommandFailure> {
    let (path, shown) = settings
        .user_file()
        .ok_or_else(|| CommandFailure::Usage("cannot find your settings file: HOME is not set".to_owned()))?;
    add_rules(&path, rules).map_err(|error| CommandFailure::Usage(error.to_string()))?;
    let rules = rules.iter().map(|rule| format!("`{rule}`")).collect::<Vec<_>>().join(", ");
    Ok(format!("{rules} to `permissions.allow` of {shown}"))
}

/// The request that an answer is for, as it was read. A later one of the same name is not answered.
struct SeenRequest {
    instance: String,
    invoke: Option<String>,
    since_ms: Option<i64>,
}

impl SeenRequest {
    /// None, or several: the host reports it.
    fn unclear(instance: &str) -> SeenRequest {
        SeenRequest { instance: instance.to_owned(), invoke: None, since_ms: None }
    }

    fn of(ask: &PendingAsk) -> SeenRequest {
        let invoke = Some(ask.invoke.clone());
        SeenRequest { instance: ask.instance.to_string(), invoke, since_ms: Some(ask.since_ms) }
    }
}

/// Returns the pending request: of the named instance, or of its child if only a child has one. To a user both are the
/// same work.
fn who_asks(args: &AnswerArgs) -> Result<SeenRequest, CommandFailure> {
    let place = ProjectContext::here(args.deliver.store())?;
    let reader = known::reader(&place)?;
    known::instance(&reader, &args.id)?;
    let standing = InstanceStanding::of(&reader, &args.id, &place.world(), times::now_ms())?;
    let fits = |ask: &&PendingAsk| {
        args.ask.as_ref().is_none_or(|wanted| *wanted == ask.invoke)
            && args.since.is_none_or(|since_ms| since_ms == ask.since_ms)
    };
    let all: Vec<&PendingAsk> = standing.asks.iter().filter(fits).collect();
    let mut own = all.iter().filter(|ask| *ask.instance == *args.id);
    match (own.next(), own.next()) {
        (Some(only), None) => return Ok(SeenRequest::of(only)),
        (Some(_), Some(_)) => return Ok(SeenRequest::unclear(&args.id)),
        (None, _) => {}
    }
    match all.as_slice() {
        [] => Ok(SeenRequest::unclear(&args.id)),
        [one] => Ok(SeenRequest::of(one)),
        several => {
            let names: Vec<_> = several.iter().map(|ask| format!("`{}`", ask.instance)).collect();
            Err(CommandFailure::Usage(format!(
                "several children of `{}` have pending requests: {}; pass the id of one of them",
                args.id,
                names.join(", ")
            )))
        }
    }
}
