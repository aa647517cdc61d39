//! `rawko resume`: continues an instance that was paused or interrupted, or has failed.

use rawko_core::Status;
use rawko_store::WaitReason;

use super::attach::beginning;
use crate::console::{Console, TextStyle};
use crate::failure::{CommandFailure, CommandVerdict};
use crate::following::{
    FollowArgs, FollowEnd, Manner, Narrator, OutputFormat, RunEnding, RunFollower, Signals, TaskEnding,
    is_own,
};
use crate::hosting::{self, HostAccess, ProjectContext, Rest, SocketRequest, StoreArgs};
use crate::known;
use crate::raising::{LimitOverride, read_dollars, read_ms};
use crate::repeating::asked;
use crate::session::{self, TerminalSession};
use crate::standing::InstanceStanding;
use crate::task_request::insist_on_managed;
use crate::times;

const EXAMPLES: &str = "\
Continues a paused instance, or one whose command or host ended, from the last stored step. An
interrupted call is repeated if the settings allow it (`on_restart: retry`); otherwise the chart
receives an error with the category `interrupted`. Timers that came due without a host fire at once,
in order; those of a paused instance have as much time left as before the pause. Other instances
stay as they are. Ctrl-C pauses the instance again.

If the instance is in status error, the failed step is retried. With --item, one failed item of an
`each` is retried while the others continue or after all of it has failed; finished items are not
repeated.

A task that reached a limit continues under a new id with a higher limit; completed work is reused
and the old instance is unchanged. --max-iterations and --max-budget-usd are totals and include what
was spent before; --timeout is additional time.

Examples:
  rawko resume order-17
  rawko resume order-17 --patience 24h
  rawko resume review-2 --item 'reviews[3]'
  rawko resume order-17 --output-format json | jq .output
  rawko resume fix-1 --max-iterations 20
  rawko resume fix-1 --max-budget-usd 5";

/// Continue a paused or interrupted instance, or retry a failed one
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Instance id
    id: String,

    /// Raise the limit of a task to N agent runs in total
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_iterations: Option<u32>,

    /// Raise the budget of a task to this total (USD)
    #[arg(long, value_name = "USD", value_parser = read_dollars)]
    max_budget_usd: Option<f64>,

    /// Give a task that timed out this much more time
    #[arg(long, value_name = "DURATION", value_parser = read_ms)]
    timeout: Option<i64>,

    /// Retry only this failed item of an `each`: `reviews[3]`
    #[arg(long, value_name = "ITEM", conflicts_with_all = ["max_iterations", "max_budget_usd", "timeout"])]
    item: Option<String>,

    /// Print plain text and read no keys, also on a terminal
    #[arg(long)]
    no_input: bool,

    #[command(flatten)]
    follow: FollowArgs,

    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) fn run(args: &Args, console: &mut Console) -> Result<CommandVerdict, CommandFailure> {
    let place = ProjectContext::here(&args.store)?;
    let reader = known::reader(&place)?;
    known::instance(&reader, &args.id)?;
    let manner = args.follow.manner();
    let standing = InstanceStanding::of(&reader, &args.id, &place.world(), times::now_ms())?;
    let status = standing.snapshot.status();
    let raised = LimitOverride {
        iterations: args.max_iterations,
        budget_usd: args.max_budget_usd,
        more_ms: args.timeout,
    };
    if raised.is_any() {
        insist_on_managed(&place.settings, args.max_iterations, args.timeout)?;
        return raise(&standing, raised, &place, manner, console);
    }
    if let (Some(item), true) = (&args.item, status.is_over()) {
        let why = format!(
            "`{}` has ended; `{item}` cannot be retried. `rawko fork` continues from a past step",
            args.id
        );
        return Err(CommandFailure::Usage(why));
    }
    let is_task = is_own(standing.chart.id());
    if status.is_over() && is_task {
        let ended = FollowEnd::Rest(Rest::Over(status));
        let ending = TaskEnding { place: &place, reader: &reader, id: &args.id, ended, other: None };
        return ending.tell(manner.format, console);
    }
    if manner.format == OutputFormat::Text {
        say_where(&standing, console)?;
    }
    if status.is_over() {
        return RunEnding { standing: &standing, ended: FollowEnd::Rest(Rest::Over(status)), other: None }
            .tell(manner.format, console);
    }
    let failed = status == Status::Error || standing.row.head.fault.is_some();
    let is_paused = standing.row.head.wait == WaitReason::Paused;
    hosting::block_on(async {
        let mut signals = Signals::new()?;
        // Read before the host starts and handles due timers.
        let seq = reader.store().last_seq()?;
        let mut access = HostAccess::open(&place, &[], console).await?;
        let heard = access.progress();
        if is_paused
            && let Err(failure) =
                asked(&mut access, &place, SocketRequest::Resume { id: args.id.clone() }, console).await
        {
            access.close(console).await;
            return Err(failure);
        }
        let again = match &args.item {
            Some(item) => Some(SocketRequest::RetryItem { id: args.id.clone(), item: item.clone() }),
            None => failed.then(|| SocketRequest::Retry { id: args.id.clone() }),
        };
        if let Some(again) = again
            && let Err(failure) = asked(&mut access, &place, again, console).await
        {
            access.close(console).await;
            return Err(failure);
        }
        if is_task && session::is_wanted(manner, args.no_input) {
            let plan = standing.snapshot.context_map(&standing.chart).get("plan").clone();
            let session = TerminalSession::new((&args.id, standing.chart.id(), plan), seq, &access, &place)
                .continued(&reader, beginning(&reader, &standing.row)?)?;
            let (ended, reader, other) = session.run(access, heard, &mut signals, console).await?;
            return TaskEnding { place: &place, reader: &reader, id: &args.id, ended, other }
                .tell(manner.format, console);
        }
        let mut follow = RunFollower::after(seq, &access, &args.id, &place, manner).owned();
        if !is_task {
            return follow.until_end(access, &mut signals, console).await;
        }
        let context = standing.snapshot.context_map(&standing.chart);
        follow = follow.narrated(Narrator::resuming(standing.chart.id(), &context, console));
        let (ended, reader, other) = follow.until_rest(access, &mut signals, console).await?;
        TaskEnding { place: &place, reader: &reader, id: &args.id, ended, other }.tell(manner.format, console)
    })
}

/// Continues from the step before the end, in a new instance with a higher limit.
fn raise(
    standing: &InstanceStanding,
    raised: LimitOverride,
    place: &ProjectContext,
    manner: Manner,
    console: &mut Console,
) -> Result<CommandVerdict, CommandFailure> {
    let id = standing.id();
    raised.insist(standing)?;
    let at = Some(standing.snapshot.step_number().saturating_sub(1));
    hosting::block_on(async {
        let mut signals = Signals::new()?;
        let mut access = HostAccess::open(place, &[], console).await?;
        let seq = access.reader().store().last_seq()?;
        let (set, budget) = (raised.edits(), raised.budget());
        let request = SocketRequest::Fork { id: id.to_owned(), at, set, new_id: None, budget };
        let forked = match asked(&mut access, place, request, console).await {
            Ok(forked) => forked.instance,
            Err(failure) => {
                access.close(console).await;
                return Err(failure);
            }
        };
        if manner.format == OutputFormat::Text {
            let new = console.paint(TextStyle::Bold, &forked);
            console.line(&format!("{new}  continues {id}, {}", raised.words()))?;
        }
        let context = standing.snapshot.context_map(&standing.chart);
        let narrator = Narrator::resuming(standing.chart.id(), &context, console);
        let follow = RunFollower::after(seq, &access, &forked, place, manner).narrated(narrator).owned();
        let (ended, reader, other) = follow.until_rest(access, &mut signals, console).await?;
        TaskEnding { place, reader: &reader, id: &forked, ended, other }.tell(manner.format, console)
    })
}

/// Prints the status of the instance before it continues.
fn say_where(standing: &InstanceStanding, console: &mut Console) -> Result<(), CommandFailure> {
    if is_own(standing.chart.id()) && !standing.snapshot.status().is_over() {
        let title = rawko_view::rows::title(&standing.chart, &standing.snapshot).unwrap_or_default();
        let id = console.paint(TextStyle::Bold, standing.id());
        return console.line(format!("{id}  {title}").trim_end());
    }
    let head = console.paint(TextStyle::Bold, &format!("{:<28}", standing.id()));
    let states = console.paint(TextStyle::Accent, &format!("[{}]", standing.configuration().join(", ")));
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
