//! `rawko task`: runs a task given in plain words. Agents are selected, run and judged until it is done.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rawko_agents::work::{AgentServices, is_broken};
use rawko_core::Value;
use rawko_host::{Edition, made_up_id};
use rawko_model::MessagePart;
use rawko_store::Lock;
use rawko_tools::{IMAGE_BYTES_MAX, image_part};

use crate::console::{Console, TextStyle};
use crate::delivering::started;
use crate::failure::{CommandFailure, CommandVerdict};
use crate::following::{FollowArgs, Narrator, OutputFormat, RunFollower, Signals, TaskEnding};
use crate::hosting::{self, HostAccess, ProjectContext, SocketRequest, StoreArgs};
use crate::known;
use crate::loading;
use crate::queue::{self, QueuedTask};
use crate::raising::{read_dollars, read_ms};
use crate::repeating::asked;
use crate::session::{self, TerminalSession};
use crate::standing::InstanceStanding;
use crate::task_request::{ORCHESTRATOR, TaskRequest, insist_on_gate, insist_on_managed, insist_on_prices};
use crate::times;

use super::continuing::{ContinuedTask, insist_on_task};
use super::run::{is_name, texts};

const DRY_RUN: &str = "dry_run";

const EXAMPLES: &str = "\
The arbiter selects an agent, the agent works, and the arbiter evaluates the result, until the task
is complete or a limit is reached. Rules decide where possible, a model otherwise. Every step is
stored before the next one starts. Ctrl-C pauses the task; after that, a crash or a reboot, continue
with `rawko resume`.

Control a running task from another terminal:
  rawko send ID CANCEL                                   stop the task
  rawko send ID FORCE_AGENT --data '{\"agentName\": \"tester\"}'
  rawko send ID SKIP_STEP                                skip the current step of the plan
  rawko send ID RETRY                                    run the same agent again
  rawko send ID RESET                                    discard the task

Inspect it: `rawko history ID`, `rawko replay ID --decisions`, `rawko logs --audit`.

Exit codes: 0 complete, 1 failed, 3 try again later, 41 credentials, 52 invalid settings or chart,
53 limit reached (continue with `rawko resume ID --max-iterations N`), 54 loop or no progress, 55
waiting, 130 paused by Ctrl-C.

Examples:
  rawko task \"Make the tests pass\"
  rawko task \"Add a --json option to the report\" --dry-run
  rawko task \"Fix issue 12\" --agent developer --max-iterations 10 --max-budget-usd 2
  rawko task \"Review the parser\" --model anthropic/claude-sonnet-4-5 --timeout 30m
  rawko task \"Make the page look like this\" --image mock.png
  rawko task \"Explain @src/parser.rs\"
  rawko task \"Make the tests pass\" --chart my_flow.yaml
  rawko task \"Fix issue 13\" --queue --priority 5
  rawko task --continue fix-1 \"Now update the changelog\"
  rawko task \"Make the tests pass\" --output-format stream-json | jq -c 'select(.type == \"decision\")'";

/// Run a task with the project's agents
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Task in plain language
    #[arg(required_unless_present = "continue_task", default_value = "", hide_default_value = true)]
    task: String,

    /// Add the text to a paused or finished task [default: the latest]
    #[arg(long = "continue", value_name = "ID", num_args = 0..=1, default_missing_value = "")]
    #[arg(conflicts_with_all = ["dry_run", "chart"])]
    continue_task: Option<String>,

    /// Print the plan without changing anything
    #[arg(long, conflicts_with_all = ["chart", "agent", "max_iterations"])]
    dry_run: bool,

    /// Agent that runs first, overriding the arbiter
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,

    /// Stop after N agent runs
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_iterations: Option<u32>,

    /// Stop once this much is spent (USD)
    #[arg(long, value_name = "USD", value_parser = read_dollars)]
    max_budget_usd: Option<f64>,

    /// Stop after this time (`30m`, `2h`)
    #[arg(long, value_name = "DURATION", value_parser = read_ms)]
    timeout: Option<i64>,

    /// Provider for agents without a model of their own
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,

    /// Model for agents without one: `provider/model`, or just the model
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,

    /// Chart to run instead of the built-in one: a file or a chart id
    #[arg(long, value_name = "CHART")]
    chart: Option<PathBuf>,

    /// Attach an image (repeatable)
    #[arg(long, value_name = "FILE")]
    image: Vec<PathBuf>,

    /// Calls that need an approval: wait for a person, or deny
    #[arg(long, value_name = "MODE", value_parser = ["wait", "deny"])]
    permission_mode: Option<String>,

    /// Instance id (generated if omitted)
    #[arg(long, value_name = "ID")]
    id: Option<String>,

    /// Add the task to the queue and return; see `rawko queue`
    #[arg(long, conflicts_with_all = ["continue_task", "dry_run", "no_input"])]
    queue: bool,

    /// Priority in the queue; higher runs earlier [default: 0]
    #[arg(long, value_name = "N", requires = "queue", allow_negative_numbers = true)]
    priority: Option<i64>,

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
    place.insist_on_settings(console)?;
    place.insist_on_charts()?;
    let chart = chart(args, &place, console)?;
    let manner = args.follow.manner();
    let continued = match &args.continue_task {
        None => None,
        Some(name) => {
            let continued = ContinuedTask::find(&known::reader(&place)?, Some(name), Some(&args.task))?;
            insist_on_task(&continued.row)?;
            if !continued.is_over() {
                return continued.resume(&place, manner, args.no_input, console);
            }
            Some(follow_up(&continued, &place)?)
        }
    };
    hosting::block_on(async {
        let input = {
            let agent_services = agent_services(&place, console)?;
            insist_on_gate(&place.settings.gate(), &chart)?;
            insist_on_managed(&place.settings, args.max_iterations, args.timeout)?;
            let task = continued.as_ref().map(|(task, _)| task.clone());
            let task_request =
                TaskRequest { task: task.unwrap_or_else(|| args.task.clone()), ..task_request(args)? };
            if args.max_budget_usd.is_some() {
                insist_on_prices(&agent_services, &task_request)?;
            }
            let input = task_request.input(&agent_services, &chart)?;
            continued.as_ref().map_or_else(|| input.clone(), |(_, kept)| merged(kept, &input))
        };
        let mut signals = Signals::new()?;
        let charts = [chart];
        let mut access = HostAccess::open(&place, &charts, console).await?;
        let (seq, heard) = (access.reader().store().last_seq()?, access.progress());
        let money = args.max_budget_usd.map(|most| ("cost_usd", Value::float(most)));
        let is_session = !args.queue && session::is_wanted(manner, args.no_input);
        // A person at the terminal can be asked.
        let mode = args.permission_mode.as_deref().or(is_session.then_some("wait"));
        let mode = mode.map(|mode| ("permission_mode", Value::str(mode)));
        let limits: Vec<_> = money.into_iter().chain(mode).collect();
        let budget = (!limits.is_empty()).then(|| Value::map(limits));
        if args.queue {
            let budget = budget.unwrap_or_default();
            let outcome = enqueued(args, &charts, input, budget, &mut access, &place, console).await;
            access.close(console).await;
            return outcome;
        }
        let parts = (input, args.id.clone(), budget.unwrap_or_default());
        let started = match started(&mut access, &place, &charts, parts, console).await {
            Ok(started) => started,
            Err(failure) => {
                access.close(console).await;
                return Err(failure);
            }
        };
        if manner.format == OutputFormat::Text {
            let id = console.paint(TextStyle::Bold, &started.instance);
            let task = continued
                .as_ref()
                .map_or(args.task.trim(), |(task, _)| task.lines().next().unwrap_or_default());
            console.line(&format!("{id}  {task}"))?;
        }
        if is_session {
            let about = (&*started.instance, charts[0].chart.id(), Value::Null);
            let session = TerminalSession::new(about, seq, &access, &place);
            let (ended, reader, other) = session.run(access, heard, &mut signals, console).await?;
            return TaskEnding { place: &place, reader: &reader, id: &started.instance, ended, other }
                .tell(manner.format, console);
        }
        let narrator = Narrator::new(charts[0].chart.id(), console);
        let follow = RunFollower::after(seq, &access, &started.instance, &place, manner).owned();
        let follow = follow.hearing(heard, &access).narrated(narrator);
        let (ended, reader, other) = follow.until_rest(access, &mut signals, console).await?;
        TaskEnding { place: &place, reader: &reader, id: &started.instance, ended, other }
            .tell(manner.format, console)
    })
}

/// Adds the task to the queue instead of starting it.
async fn enqueued(
    args: &Args,
    charts: &[Edition],
    input: Value,
    budget: Value,
    access: &mut HostAccess,
    place: &ProjectContext,
    console: &mut Console,
) -> Result<CommandVerdict, CommandFailure> {
    let queue = place.named(queue::CHART)?;
    let at_once = queue::at_once(&place.settings, None)?;
    let start = SocketRequest::Start {
        charts: texts(&[queue]),
        input: Value::map([("at_once", Value::Int(at_once.into()))]),
        id: Some(queue::QUEUE.to_owned()),
        budget: Value::Null,
    };
    if access.reader().store().find(queue::QUEUE)?.is_none() {
        // Another command may create it at the same time.
        let started = asked(access, place, start, console).await;
        if access.reader().store().find(queue::QUEUE)?.is_none() {
            started?;
        }
    }
    let id = args.id.clone().unwrap_or_else(|| made_up_id(charts[0].chart.id()));
    if access.reader().store().find(&id)?.is_some() || queue::find(&access.reader(), &id)?.is_some() {
        return Err(CommandFailure::Usage(format!("instance `{id}` already exists; choose another --id")));
    }
    let task = QueuedTask {
        id,
        task: args.task.trim().to_owned(),
        priority: args.priority.unwrap_or_default(),
        charts: texts(charts),
        input,
        budget,
        queued_ms: times::now_ms(),
    };
    asked(access, place, task.add(), console).await?;
    match args.follow.manner().format {
        OutputFormat::Text => {
            let id = console.paint(TextStyle::Bold, &task.id);
            console.line(&format!("{id}  queued  {}", task.task))?;
            if Lock::holder(&place.store).is_none_or(|holder| holder.drives.is_some()) {
                console.note(
                    TextStyle::Dim,
                    "next",
                    "run queued tasks with `rawko queue run` or `rawko serve`",
                );
            }
        }
        OutputFormat::Json | OutputFormat::StreamJson => {
            let document = serde_json::json!({"type": "queued", "id": task.id, "priority": task.priority});
            console.line(&document.to_string())?;
        }
    }
    Ok(CommandVerdict::Done)
}

/// Returns the task that follows up on a finished one, and the parts of its context that are kept.
fn follow_up(continued: &ContinuedTask, place: &ProjectContext) -> Result<(String, Value), CommandFailure> {
    let id = &continued.row.new.id;
    let text = continued.text.as_deref().ok_or_else(|| {
        CommandFailure::Usage(format!(
            "{id} has ended; say what to do next: rawko task --continue {id} \"…\""
        ))
    })?;
    let reader = known::reader(place)?;
    let standing = InstanceStanding::of(&reader, id, &place.world(), times::now_ms())?;
    Ok((continued.task(&standing, text), continued.kept(&standing)))
}

/// Returns an input with the kept parts that it does not set itself.
pub(crate) fn merged(kept: &Value, input: &Value) -> Value {
    let mut all = kept.as_map().cloned().unwrap_or_default();
    for (key, value) in input.as_map().into_iter().flatten() {
        all.insert(key.clone(), value.clone());
    }
    Value::Map(all.into())
}

fn chart(args: &Args, place: &ProjectContext, console: &mut Console) -> Result<Edition, CommandFailure> {
    let own = if args.dry_run { DRY_RUN } else { ORCHESTRATOR };
    match args.chart.as_deref() {
        None => place.named(own),
        Some(path) if is_name(path) => place.named(&path.to_string_lossy()),
        Some(path) => {
            let loaded = loading::runnable(Path::new(path))?;
            loading::warn(&loaded, console);
            Ok(loaded.edition())
        }
    }
}

/// Reads agents and settings and fails on problems, which would otherwise surface later and cost money.
fn agent_services(
    place: &ProjectContext,
    console: &mut Console,
) -> Result<Arc<AgentServices>, CommandFailure> {
    let (agent_services, problems) = place.agent_services();
    for (source, findings) in problems {
        console.report_aside(findings, source);
    }
    if is_broken(problems) {
        let message = "the agents or settings of this project are invalid; fix the problems above";
        return Err(CommandFailure::Invalid(message.to_owned()));
    }
    Ok(agent_services)
}

fn task_request(args: &Args) -> Result<TaskRequest, CommandFailure> {
    Ok(TaskRequest {
        task: args.task.clone(),
        dry_run: args.dry_run,
        agent: args.agent.clone(),
        max_iterations: args.max_iterations,
        timeout_ms: args.timeout,
        provider: args.provider.clone().filter(|_| args.model.is_none()),
        model: model(args),
        attachments: args.image.iter().map(|path| image(path)).collect::<Result<_, _>>()?,
        ask_people: !args.queue && io::stdin().is_terminal() && io::stderr().is_terminal(),
    })
}

fn image(path: &Path) -> Result<MessagePart, CommandFailure> {
    let shown = path.display();
    let wrong = |why: String| CommandFailure::Usage(format!("cannot attach `{shown}`: {why}"));
    // Only regular files are opened: reading a pipe would block.
    let about = std::fs::metadata(path).map_err(|error| wrong(error.to_string()))?;
    if !about.is_file() {
        return Err(wrong("it is not a regular file".to_owned()));
    }
    if about.len() > IMAGE_BYTES_MAX {
        return Err(wrong(format!("it has {} bytes; at most {IMAGE_BYTES_MAX} are accepted", about.len())));
    }
    image_part(&std::fs::read(path).map_err(|error| wrong(error.to_string()))?).map_err(wrong)
}

fn model(args: &Args) -> Option<String> {
    match (&args.provider, &args.model) {
        (Some(provider), Some(model)) => Some(format!("{provider}/{model}")),
        (Some(provider), None) => Some(provider.clone()),
        (None, Some(model)) => Some(model.clone()),
        (None, None) => None,
    }
}
