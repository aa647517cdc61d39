//! `rawko ps`: lists instances.

use clap::ValueEnum;
use rawko_core::Status;
use rawko_store::{
    DrivenInstances, Filter, InstanceKey, InstancePage, InstanceRow, InstanceStatus, Outcome, WaitReason,
};
use serde_json::json;

use crate::console::{Console, TextStyle};
use crate::failure::{CommandFailure, CommandVerdict};
use crate::following::grouped;
use crate::hosting::{ProjectContext, StoreArgs};
use crate::queue::TaskQueue;
use crate::table::{Cell, ConsoleTable};
use crate::times;
use rawko_view::lists;
use rawko_view::rows::Row;

/// The column that is cut on a narrow terminal.
const TITLE: usize = 1;
const WAITS_FOR: &str = "WAITS FOR";

const EXAMPLES: &str = "\
Lists top-level instances. STATUS is what an instance is doing (running, waiting, paused, stalled),
or how it ended: succeeded, failed, limit, loop, stuck or cancelled. WAITS FOR is what it waits for:
work (a service, an agent or a child), a person, a timer or an event; the queue, for a task that has
not started (`rawko queue`); or a host, if its command ended and no server runs: `rawko resume ID`
or `rawko serve` continues it. A paused instance moves only on `rawko resume ID`; a stalled one is
retried by it.

Examples:
  rawko ps
  rawko ps --waiting person
  rawko ps --outcome failed --outcome stuck
  rawko ps --status running --status waiting --chart order
  rawko ps --json | jq -r '.instances[].id'";

/// List instances, newest first
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Only instances with this status (repeatable)
    #[arg(long, value_name = "STATUS")]
    status: Vec<StatusArg>,

    /// Only instances that ended like this (repeatable)
    #[arg(long, value_name = "OUTCOME")]
    outcome: Vec<OutcomeArg>,

    /// Only instances that wait for this (repeatable)
    #[arg(long, value_name = "WHAT")]
    waiting: Vec<WaitArg>,

    /// Only instances of this chart
    #[arg(long, value_name = "ID")]
    chart: Option<String>,

    /// Include children (implied by `--waiting person`)
    #[arg(long)]
    all: bool,

    /// Maximum number of instances; 0 for all
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,

    /// Continue after the last page
    #[arg(long, value_name = "CURSOR")]
    before: Option<i64>,

    /// Print one JSON document
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum StatusArg {
    /// A service, an agent or a child works
    Running,
    /// For a person, an event, a timer or a host
    Waiting,
    /// Moves only on `rawko resume`
    Paused,
    /// Nothing moves it any more: a step or a call failed
    Stalled,
    Ended,
    /// Not ended
    #[value(hide = true)]
    Active,
    #[value(hide = true)]
    Done,
    #[value(hide = true)]
    Error,
    #[value(hide = true)]
    Cancelled,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum OutcomeArg {
    Succeeded,
    Failed,
    Limit,
    Loop,
    Stuck,
    Cancelled,
}

impl OutcomeArg {
    fn outcome(self) -> Outcome {
        match self {
            OutcomeArg::Succeeded => Outcome::Succeeded,
            OutcomeArg::Failed => Outcome::Failed,
            OutcomeArg::Limit => Outcome::Limit,
            OutcomeArg::Loop => Outcome::Loop,
            OutcomeArg::Stuck => Outcome::Stuck,
            OutcomeArg::Cancelled => Outcome::Cancelled,
        }
    }
}

impl StatusArg {
    /// The statuses that people see.
    fn shown(self) -> Vec<InstanceStatus> {
        match self {
            StatusArg::Running => vec![InstanceStatus::Running],
            StatusArg::Waiting => vec![InstanceStatus::Waiting],
            StatusArg::Paused => vec![InstanceStatus::Paused],
            StatusArg::Stalled => vec![InstanceStatus::Stalled],
            // A word of earlier releases: everything that went wrong.
            StatusArg::Error => vec![InstanceStatus::Stalled, InstanceStatus::Ended],
            StatusArg::Ended | StatusArg::Done | StatusArg::Cancelled => vec![InstanceStatus::Ended],
            StatusArg::Active => {
                vec![InstanceStatus::Running, InstanceStatus::Waiting, InstanceStatus::Paused]
            }
        }
    }

    /// The status of the engine, for words of earlier releases that are a part of `ended`.
    fn over(self) -> Option<Status> {
        match self {
            StatusArg::Done => Some(Status::Done),
            StatusArg::Cancelled => Some(Status::Cancelled),
            _ => None,
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum WaitArg {
    Person,
    Work,
    Timer,
    Event,
}

impl Args {
    fn filter(&self, driven: DrivenInstances) -> Filter {
        let wait = |wait: &WaitArg| match wait {
            WaitArg::Person => WaitReason::Person,
            WaitArg::Work => WaitReason::Work,
            WaitArg::Timer => WaitReason::Timer,
            WaitArg::Event => WaitReason::Event,
        };
        let over: Vec<Status> = self.status.iter().filter_map(|status| status.over()).collect();
        Filter {
            statuses: if over.len() == self.status.len() { over } else { Vec::new() },
            shown: self.status.iter().flat_map(|status| status.shown()).collect(),
            driven,
            outcomes: self.outcome.iter().map(|outcome| outcome.outcome()).collect(),
            waits: self.waiting.iter().map(wait).collect(),
            chart: self.chart.clone(),
            except: Vec::new(),
            part: None,
            // A search for pending requests includes those of children.
            roots_only: !self.all && !self.waiting.iter().any(|wait| matches!(wait, WaitArg::Person)),
            before: self.before.map(InstanceKey),
            limit: self.limit,
        }
    }

    /// Returns true if tasks that are queued and have not started are listed.
    fn shows_queued(&self) -> bool {
        let statuses = [StatusArg::Waiting, StatusArg::Active];
        let is_asked = |status: &StatusArg| {
            statuses.iter().any(|one| std::mem::discriminant(one) == std::mem::discriminant(status))
        };
        (self.status.is_empty() || self.status.iter().any(is_asked))
            && self.outcome.is_empty()
            && self.waiting.is_empty()
            && self.chart.is_none()
            && self.before.is_none()
    }

    fn is_narrowed(&self) -> bool {
        !self.status.is_empty()
            || !self.outcome.is_empty()
            || !self.waiting.is_empty()
            || self.chart.is_some()
            || self.before.is_some()
    }
}

pub(crate) fn run(args: &Args, console: &mut Console) -> Result<CommandVerdict, CommandFailure> {
    let place = ProjectContext::here(&args.store)?;
    place.mention_settings(console);
    let reader = place.reader()?;
    let driven = place.driven();
    let page = match &reader {
        Some(reader) => lists::page(reader, &args.filter(driven.clone()))?,
        None => InstancePage::default(),
    };
    let read = match &reader {
        Some(reader) => Row::with_states(reader, &page.rows)?,
        None => Vec::new(),
    };
    let driven_rows = page.rows.iter().zip(read);
    let as_driven = |(stored, row): (&InstanceRow, Row)| match driven.includes(&stored.new) {
        true => row,
        false => row.undriven(),
    };
    let mut rows: Vec<Row> = driven_rows.map(as_driven).collect();
    if args.status.iter().all(|status| matches!(status, StatusArg::Error)) && !args.status.is_empty() {
        let ended_well = [Some(Outcome::Succeeded), Some(Outcome::Cancelled)];
        rows.retain(|row| row.status != InstanceStatus::Ended || !ended_well.contains(&row.outcome));
    }
    if let Some(reader) = reader.as_ref().filter(|_| args.shows_queued()) {
        rows.splice(0..0, TaskQueue::read(reader)?.unwrap_or_default().rows());
    }
    if args.json {
        print_json(&page, &rows, console)?;
    } else {
        print_table(args, &page, rows, console)?;
    }
    Ok(CommandVerdict::Done)
}

fn print_table(
    args: &Args,
    page: &InstancePage,
    rows: Vec<Row>,
    console: &mut Console,
) -> Result<(), CommandFailure> {
    let now_ms = times::now_ms();
    if let Some((columns, _)) = console.size() {
        if !rows.is_empty() {
            fitted_table(&rows, WAITS_FOR, now_ms).fitted_to(columns, TITLE).print(console)?;
        }
        return print_end(args, page, rows.is_empty(), console);
    }
    let mut heading = vec!["ID", "CHART", "STATUS", "WAITS FOR", "STEP", "UPDATED", "STATES"];
    // Charts of one's own may have no title.
    if rows.iter().any(|row| row.title.is_some()) {
        heading.push("TITLE");
    }
    let mut table = ConsoleTable::new(&heading);
    for row in rows {
        let (status, waits) = (Cell::painted(row.status_word(), status_style(&row)), wait_word(&row, now_ms));
        let states = row.configuration.unwrap_or_default().join(", ");
        table.add(vec![
            Cell::painted(&*row.id, TextStyle::Bold),
            Cell::new(format!("{} {}", row.chart, row.version).trim_end().to_owned()),
            status,
            Cell::new(waits),
            Cell::new(row.step.to_string()),
            Cell::new(format!("{:<8}", times::ago(row.updated_ms, now_ms))),
            Cell::painted(format!("[{states}]"), TextStyle::Accent),
            Cell::new(row.title.unwrap_or_default()),
        ]);
    }
    if !table.is_empty() {
        table.print(console)?;
    }
    print_end(args, page, table.is_empty(), console)
}

/// Builds the table for a terminal: what a person looks for, with the title in the room that is left.
pub(crate) fn fitted_table(rows: &[Row], waits_for: &'static str, now_ms: i64) -> ConsoleTable {
    let mut table = ConsoleTable::new(&["ID", "TITLE", "STATUS", waits_for, "AGE", "COST"]);
    for row in rows {
        let states = || format!("[{}]", row.configuration.clone().unwrap_or_default().join(", "));
        let title = row.title.clone().unwrap_or_else(|| format!("{} {}", row.chart, states()));
        let cost = match row.spent.cost_usd > 0.0 {
            true => format!("${:.2}", row.spent.cost_usd),
            false if row.spent.tokens > 0 => format!("{} tok", grouped(row.spent.tokens)),
            false => "-".to_owned(),
        };
        table.add(vec![
            Cell::painted(&*row.id, TextStyle::Bold),
            Cell::new(title),
            Cell::painted(row.status_word(), status_style(row)),
            Cell::new(wait_word(row, now_ms)),
            Cell::new(times::ago(row.created_ms, now_ms).trim_end_matches(" ago")),
            Cell::new(cost),
        ]);
    }
    table
}

fn print_end(
    args: &Args,
    page: &InstancePage,
    is_empty: bool,
    console: &mut Console,
) -> Result<(), CommandFailure> {
    match (is_empty, args.is_narrowed()) {
        (true, true) => console.note(TextStyle::Dim, "none", "no matching instances"),
        (true, false) => {
            console.note(
                TextStyle::Dim,
                "none",
                "no instances yet; start one with `rawko task` or `rawko run`",
            );
        }
        (false, _) => {}
    }
    if let Some(next) = page.next {
        let shown = format!("{} of {}; continue with --before {}", page.rows.len(), page.total, next.0);
        console.note(TextStyle::Dim, "more", &shown);
    }
    Ok(())
}

pub(crate) fn status_style(row: &Row) -> TextStyle {
    match (row.status, row.outcome) {
        (InstanceStatus::Running | InstanceStatus::Waiting, _) => TextStyle::Plain,
        (InstanceStatus::Paused, _) => TextStyle::Notice,
        (InstanceStatus::Stalled, _) => TextStyle::Bad,
        (InstanceStatus::Ended, Some(Outcome::Succeeded) | None) => TextStyle::Good,
        (InstanceStatus::Ended, Some(Outcome::Failed)) => TextStyle::Bad,
        (InstanceStatus::Ended, Some(Outcome::Limit | Outcome::Loop | Outcome::Stuck)) => TextStyle::Notice,
        (InstanceStatus::Ended, Some(Outcome::Cancelled)) => TextStyle::Dim,
    }
}

/// Returns what a row waits for: `timer in 3m`, or what continues it.
fn wait_word(row: &Row, now_ms: i64) -> String {
    match (row.status, row.waiting_for.as_deref(), row.next_due_ms) {
        (InstanceStatus::Paused, _, _) => "resume".to_owned(),
        (InstanceStatus::Stalled, _, _) => "retry".to_owned(),
        (_, Some("timer"), Some(due_ms)) => format!("timer {}", times::until(due_ms, now_ms)),
        (_, waiting_for, _) => waiting_for.unwrap_or("-").to_owned(),
    }
}

fn print_json(page: &InstancePage, rows: &[Row], console: &mut Console) -> Result<(), CommandFailure> {
    // A string: on Restate it has more digits than some JSON parsers keep.
    let next = page.next.map(|next| next.0.to_string());
    let document = json!({"v": 1, "instances": rows, "total": page.total, "next": next});
    console.line(&format!("{document:#}"))
}
