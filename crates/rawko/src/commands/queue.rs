//! `rawko queue`: lists queued tasks, runs them, changes their order, removes them.

use std::sync::Arc;

use clap::Subcommand;
use rawko_host::{Engine, SnapshotReader};
use rawko_store::{InstanceStatus, Lock, Outcome};
use rawko_view::rows::Row;
use serde_json::json;

use crate::console::{Console, TextStyle};
use crate::failure::{CommandFailure, CommandVerdict};
use crate::following::Signals;
use crate::hosting::{self, HostAccess, ProjectContext, StoreArgs};
use crate::queue::{self, QueuedTask, Scheduler, TaskQueue, at_once};
use crate::repeating::asked;
use crate::table::{Cell, ConsoleTable};
use crate::times;

use super::ps::status_style;

const EXAMPLES: &str = "\
`rawko task --queue` adds a task and returns. Queued tasks are stored; `rawko serve` runs them while
it runs, and `rawko queue run` runs them until none is left. The task with the highest priority is
next; among equal ones, the oldest. One task runs at a time, unless `queue: {at_once: N}` in the
settings or --at-once sets another number: tasks that change the same files should not run together.

A task that waits for a person, is paused or stalled gives its place to the next one. Tasks that
have started are controlled like any other: `rawko show`, `rawko pause`, `rawko cancel`.

Exit codes of `rawko queue run`: 0 all succeeded, 1 a task failed, 55 a task waits for a person.

Examples:
  rawko task \"Fix issue 12\" --queue
  rawko task \"Fix issue 13\" --queue --priority 5
  rawko queue
  rawko queue run --at-once 2
  rawko queue move fix-13 --first
  rawko queue remove fix-12";

/// List, run and change the queue of tasks
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Action>,

    #[command(flatten)]
    list: ListArgs,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List running and waiting tasks
    List(ListArgs),
    /// Run queued tasks until none is left
    Run(RunArgs),
    /// Change the priority of a waiting task
    Move(MoveArgs),
    /// Remove waiting tasks
    Remove(RemoveArgs),
}

#[derive(Debug, clap::Args)]
struct ListArgs {
    /// Print one JSON document
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Debug, clap::Args)]
struct RunArgs {
    /// Tasks that run at the same time [default: `queue.at_once`, else 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    at_once: Option<u32>,

    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Debug, clap::Args)]
struct MoveArgs {
    /// Id of the task
    id: String,

    /// New priority; higher runs earlier
    #[arg(long, value_name = "N", allow_negative_numbers = true, required_unless_present_any = ["first", "last"])]
    priority: Option<i64>,

    /// Run it before all others
    #[arg(long, conflicts_with_all = ["priority", "last"])]
    first: bool,

    /// Run it after all others
    #[arg(long, conflicts_with = "priority")]
    last: bool,

    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Debug, clap::Args)]
struct RemoveArgs {
    /// Ids of the tasks
    #[arg(required = true)]
    ids: Vec<String>,

    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) fn run(args: &Args, console: &mut Console) -> Result<CommandVerdict, CommandFailure> {
    match &args.command {
        None => list(&args.list, console),
        Some(Action::List(args)) => list(args, console),
        Some(Action::Run(args)) => drain(args, console),
        Some(Action::Move(args)) => reprioritise(args, console),
        Some(Action::Remove(args)) => remove(args, console),
    }
}

fn list(args: &ListArgs, console: &mut Console) -> Result<CommandVerdict, CommandFailure> {
    let place = ProjectContext::here(&args.store)?;
    place.mention_settings(console);
    let queue = read(place.reader()?.as_ref())?;
    if args.json {
        let task = |task: &QueuedTask| json!({"id": task.id, "task": task.task, "priority": task.priority});
        let refused = queue.refused.iter().map(|(id, problem)| json!({"id": id, "problem": problem}));
        let document = json!({
            "v": 1,
            "at_once": queue.at_once,
            "running": queue.running.iter().map(task).collect::<Vec<_>>(),
            "waiting": queue.unstarted().map(task).collect::<Vec<_>>(),
            "refused": refused.collect::<Vec<_>>(),
        });
        console.line(&format!("{document:#}"))?;
        return Ok(CommandVerdict::Done);
    }
    for (id, problem) in &queue.refused {
        console.note(TextStyle::Notice, "warning", &format!("{id} could not start: {problem}"));
    }
    if queue.is_empty() {
        console.note(
            TextStyle::Dim,
            "none",
            "the queue is empty; add a task with `rawko task \"…\" --queue`",
        );
        return Ok(CommandVerdict::Done);
    }
    let mut table = ConsoleTable::new(&["ID", "STATUS", "PRIORITY", "QUEUED", "TASK"]);
    let now_ms = times::now_ms();
    let words = [("running", &queue.running), ("next", &queue.next), ("queued", &queue.waiting)];
    for (word, task) in words.iter().flat_map(|(word, tasks)| tasks.iter().map(move |task| (*word, task))) {
        table.add(vec![
            Cell::painted(&*task.id, TextStyle::Bold),
            Cell::new(word),
            Cell::new(task.priority.to_string()),
            Cell::new(times::ago(task.queued_ms, now_ms)),
            Cell::new(task.task.lines().next().unwrap_or_default().to_owned()),
        ]);
    }
    table.print(console)?;
    Ok(CommandVerdict::Done)
}

fn read(reader: Option<&SnapshotReader>) -> Result<TaskQueue, CommandFailure> {
    let queue = reader.map(TaskQueue::read).transpose()?.flatten();
    Ok(queue.unwrap_or_default())
}

fn drain(args: &RunArgs, console: &mut Console) -> Result<CommandVerdict, CommandFailure> {
    let place = ProjectContext::here(&args.store)?;
    let at_once = at_once(&place.settings, args.at_once)?;
    if read(place.reader()?.as_ref())?.is_empty() {
        console.note(
            TextStyle::Dim,
            "none",
            "the queue is empty; add a task with `rawko task \"…\" --queue`",
        );
        return Ok(CommandVerdict::Done);
    }
    hosting::block_on(async {
        let mut signals = Signals::new()?;
        let access = HostAccess::open(&place, &[], console).await?;
        let Some(engine) = access.engine() else {
            let is_served = Lock::holder(&place.store).is_some_and(|holder| holder.drives.is_none());
            let other = access.other().unwrap_or_default();
            access.close(console).await;
            return match is_served {
                true => {
                    console.note(
                        TextStyle::Dim,
                        "served",
                        &format!("{other} runs the queue; see `rawko queue`"),
                    );
                    Ok(CommandVerdict::Done)
                }
                false => Err(CommandFailure::Transient(format!(
                    "cannot run the queue: the store is in use by {other}; try again when it has ended"
                ))),
            };
        };
        let outcome = drained(engine, at_once, &mut signals, console).await;
        access.close(console).await;
        outcome
    })
}

/// Runs the queue until it is empty or a signal arrives, and prints each task that leaves it.
async fn drained(
    engine: Arc<dyn Engine>,
    at_once: u32,
    signals: &mut Signals,
    console: &mut Console,
) -> Result<CommandVerdict, CommandFailure> {
    let (tell, mut left) = tokio::sync::mpsc::unbounded_channel();
    let mut scheduler = Scheduler::new(engine, at_once).continuing();
    let mut ended = move |row: &Row| drop(tell.send(row.clone()));
    let mut draining = std::pin::pin!(scheduler.drain(&mut ended));
    let mut verdict = CommandVerdict::Done;
    let standstill = loop {
        tokio::select! {
            Some(row) = left.recv() => verdict = tell_left(&row, verdict, console)?,
            outcome = &mut draining => break outcome?,
            signal = signals.next() => {
                console.note(TextStyle::Dim, "parked", "run `rawko queue run` or `rawko serve` to continue");
                return Ok(signal);
            }
        }
    };
    while let Ok(row) = left.try_recv() {
        verdict = tell_left(&row, verdict, console)?;
    }
    match standstill.resting.is_empty() || verdict == CommandVerdict::Failed {
        true => Ok(verdict),
        false => Ok(CommandVerdict::Waiting),
    }
}

fn tell_left(
    row: &Row,
    verdict: CommandVerdict,
    console: &mut Console,
) -> Result<CommandVerdict, CommandFailure> {
    let id = console.paint(TextStyle::Bold, &row.id);
    let word = console.paint(status_style(row), row.status_word());
    let title = row.title.clone().unwrap_or_default();
    console.line(&format!("{id}  {word}  {title}"))?;
    if row.status != InstanceStatus::Ended {
        let hint = row.hint.clone().unwrap_or_else(|| format!("rawko show {}", row.id));
        console.note(TextStyle::Notice, "waiting", &format!("{} needs a person: {hint}", row.id));
        return Ok(verdict);
    }
    match row.outcome {
        Some(Outcome::Succeeded) | None => Ok(verdict),
        Some(Outcome::Failed | Outcome::Limit | Outcome::Loop | Outcome::Stuck | Outcome::Cancelled) => {
            Ok(CommandVerdict::Failed)
        }
    }
}

fn reprioritise(args: &MoveArgs, console: &mut Console) -> Result<CommandVerdict, CommandFailure> {
    let place = ProjectContext::here(&args.store)?;
    let queue = read(place.reader()?.as_ref())?;
    insist_on_waiting(&queue, &args.id)?;
    if queue.next.iter().any(|task| task.id == args.id) {
        return Err(CommandFailure::Usage(format!(
            "task `{}` is next; it starts when the queue runs",
            args.id
        )));
    }
    let others = || queue.waiting.iter().filter(|task| task.id != args.id).map(|task| task.priority);
    let priority = match (args.priority, args.first) {
        (Some(priority), _) => priority,
        (None, true) => others().max().unwrap_or(-1).saturating_add(1),
        (None, false) => others().min().unwrap_or(1).saturating_sub(1),
    };
    hosting::block_on(async {
        let mut access = HostAccess::open(&place, &[], console).await?;
        let outcome = asked(&mut access, &place, queue::reprioritise(&args.id, priority), console).await;
        access.close(console).await;
        insist_on_change(&args.id, outcome?.handled)?;
        console.line(&format!("{}  priority {priority}", console.paint(TextStyle::Bold, &args.id)))?;
        Ok(CommandVerdict::Done)
    })
}

fn remove(args: &RemoveArgs, console: &mut Console) -> Result<CommandVerdict, CommandFailure> {
    let place = ProjectContext::here(&args.store)?;
    let queue = read(place.reader()?.as_ref())?;
    args.ids.iter().try_for_each(|id| insist_on_waiting(&queue, id))?;
    hosting::block_on(async {
        let mut access = HostAccess::open(&place, &[], console).await?;
        let outcome = removed(&args.ids, &mut access, &place, console).await;
        access.close(console).await;
        outcome.map(|()| CommandVerdict::Done)
    })
}

pub(crate) async fn removed(
    ids: &[String],
    access: &mut HostAccess,
    place: &ProjectContext,
    console: &mut Console,
) -> Result<(), CommandFailure> {
    for id in ids {
        let receipt = asked(access, place, queue::remove(id), console).await?;
        // A host may have started it at the same moment.
        let is_started = access.reader().store().find(id)?.is_some();
        insist_on_change(id, receipt.handled && !is_started)?;
        console.line(&format!("{}  removed from the queue", console.paint(TextStyle::Bold, id)))?;
    }
    Ok(())
}

fn insist_on_waiting(queue: &TaskQueue, id: &str) -> Result<(), CommandFailure> {
    if queue.unstarted().any(|task| task.id == id) {
        return Ok(());
    }
    if queue.running.iter().any(|task| task.id == id) {
        return Err(CommandFailure::Usage(format!(
            "task `{id}` is running; stop it with `rawko cancel {id}`"
        )));
    }
    Err(CommandFailure::Usage(format!("task `{id}` is not in the queue; list it with `rawko queue`")))
}

/// The task may have started since the queue was read.
fn insist_on_change(id: &str, handled: bool) -> Result<(), CommandFailure> {
    match handled {
        true => Ok(()),
        false => Err(CommandFailure::Failed(format!("task `{id}` has just started; see `rawko show {id}`"))),
    }
}
