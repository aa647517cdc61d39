//! `rawko ps`: lists instances.

use clap::ValueEnum;
use rawko_core::Status;
use rawko_host::Reader;
use rawko_store::{Filter, InstanceKey, InstanceRow, Outcome, Page, Wait};
use serde_json::{Value as Json, json};

use crate::console::{Console, Style};
use crate::failure::{Failure, Verdict};
use crate::hosting::{Place, StoreArgs};
use crate::table::{Cell, Table};
use crate::times;
use rawko_view::rows::{Life, Row, outcome, status_word};

const EXAMPLES: &str = "\
Lists top-level instances. STATUS is what an instance is doing (running, waiting, stalled), or how
it ended: succeeded, failed, limit, loop, stuck or cancelled. WAITS FOR is what it waits for: work (a
service, an agent or a child), a person, a timer or an event.

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
    /// For a person, an event or a timer
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
    /// The statuses of the engine that can be it.
    fn statuses(self) -> Vec<Status> {
        match self {
            StatusArg::Running | StatusArg::Waiting | StatusArg::Active => vec![Status::Active],
            StatusArg::Stalled | StatusArg::Paused => vec![Status::Error, Status::Active],
            StatusArg::Ended => vec![Status::Done, Status::Cancelled],
            StatusArg::Done => vec![Status::Done],
            StatusArg::Error => vec![Status::Error],
            StatusArg::Cancelled => vec![Status::Cancelled],
        }
    }

    fn includes(self, row: &InstanceRow) -> bool {
        match self {
            StatusArg::Running => Life::of(row) == Life::Running,
            StatusArg::Waiting => Life::of(row) == Life::Waiting,
            StatusArg::Paused => Life::of(row) == Life::Paused,
            StatusArg::Stalled => Life::of(row) == Life::Stalled,
            StatusArg::Ended => Life::of(row) == Life::Ended,
            StatusArg::Active | StatusArg::Done | StatusArg::Error | StatusArg::Cancelled => {
                self.statuses().contains(&row.head.status)
            }
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
    fn filter(&self) -> Filter {
        let wait = |wait: &WaitArg| match wait {
            WaitArg::Person => Wait::Person,
            WaitArg::Work => Wait::Work,
            WaitArg::Timer => Wait::Timer,
            WaitArg::Event => Wait::Event,
        };
        Filter {
            statuses: self.status.iter().flat_map(|status| status.statuses()).collect(),
            outcomes: self.outcome.iter().map(|outcome| outcome.outcome()).collect(),
            waits: self.waiting.iter().map(wait).collect(),
            chart: self.chart.clone(),
            part: None,
            // A search for pending requests includes those of children.
            roots_only: !self.all && !self.waiting.iter().any(|wait| matches!(wait, WaitArg::Person)),
            before: self.before.map(InstanceKey),
            limit: self.limit,
        }
    }

    fn is_narrowed(&self) -> bool {
        !self.status.is_empty()
            || !self.outcome.is_empty()
            || !self.waiting.is_empty()
            || self.chart.is_some()
            || self.before.is_some()
    }
}

pub(crate) fn run(args: &Args, console: &mut Console) -> Result<Verdict, Failure> {
    let place = Place::here(&args.store)?;
    place.mention_settings(console);
    let reader = place.reader()?;
    let mut page = match &reader {
        Some(reader) => reader.store().list(&args.filter())?,
        None => Page::default(),
    };
    // The store knows the engine's statuses, of which some are two of these.
    page.rows.retain(|row| args.status.is_empty() || args.status.iter().any(|status| status.includes(row)));
    if args.json {
        print_json(&page, reader.as_ref(), console)?;
    } else {
        print_table(args, &page, reader.as_ref(), console)?;
    }
    Ok(Verdict::Done)
}

fn print_table(
    args: &Args,
    page: &Page,
    reader: Option<&Reader>,
    console: &mut Console,
) -> Result<(), Failure> {
    let now_ms = times::now_ms();
    let read = |row| reader.map_or_else(|| Row::of(row), |reader| Row::read(reader, row));
    let rows: Vec<(&InstanceRow, Row)> = page.rows.iter().map(|row| (row, read(row))).collect();
    let mut heading = vec!["ID", "CHART", "STATUS", "WAITS FOR", "STEP", "UPDATED", "STATES"];
    // Charts of one's own may have no title.
    if rows.iter().any(|(_, read)| read.title.is_some()) {
        heading.push("TITLE");
    }
    let mut table = Table::new(&heading);
    for (row, read) in rows {
        let states = read.configuration.unwrap_or_default().join(", ");
        table.add(vec![
            Cell::painted(&*row.new.id, Style::Bold),
            Cell::new(format!("{} {}", row.new.chart_id, row.new.version).trim_end().to_owned()),
            Cell::painted(status_word(row), status_style(row)),
            Cell::new(wait_word(row, now_ms)),
            Cell::new(row.step.to_string()),
            Cell::new(times::ago(row.updated_ms, now_ms)),
            Cell::painted(format!("[{states}]"), Style::Accent),
            Cell::new(read.title.unwrap_or_default()),
        ]);
    }
    if !table.is_empty() {
        table.print(console)?;
    } else if args.is_narrowed() {
        console.note(Style::Dim, "none", "no matching instances");
    } else {
        console.note(Style::Dim, "none", "no instances yet; start one with `rawko run CHART`");
    }
    if let Some(next) = page.next {
        let shown = format!("{} of {}; continue with --before {}", page.rows.len(), page.total, next.0);
        console.note(Style::Dim, "more", &shown);
    }
    Ok(())
}

pub(crate) fn status_style(row: &InstanceRow) -> Style {
    match row.head.status {
        _ if Life::of(row) == Life::Paused => Style::Notice,
        _ if row.head.fault.is_some() => Style::Bad,
        Status::Active => Style::Plain,
        Status::Done => match outcome(row) {
            Some(Outcome::Succeeded) | None => Style::Good,
            Some(Outcome::Failed) => Style::Bad,
            Some(Outcome::Limit | Outcome::Loop | Outcome::Stuck) => Style::Notice,
            Some(Outcome::Cancelled) => Style::Dim,
        },
        Status::Error => Style::Bad,
        Status::Cancelled => Style::Dim,
    }
}

fn wait_word(row: &InstanceRow, now_ms: i64) -> String {
    match (row.head.wait, row.head.next_due_ms) {
        (Wait::Paused, _) => "resume".to_owned(),
        _ if row.head.status == Status::Error => "retry".to_owned(),
        (Wait::Nothing, _) => "-".to_owned(),
        (Wait::Timer, Some(due_ms)) => format!("timer {}", times::until(due_ms, now_ms)),
        (wait, _) => wait.as_str().to_owned(),
    }
}

fn print_json(page: &Page, reader: Option<&Reader>, console: &mut Console) -> Result<(), Failure> {
    let instances: Vec<Json> = page
        .rows
        .iter()
        .map(|row| {
            let read = reader.map_or_else(|| Row::of(row), |reader| Row::read(reader, row));
            let mut json = serde_json::to_value(read).unwrap_or_default();
            json["status"] = json!(Life::of(row).as_str());
            json["waiting_for"] = match row.head.wait {
                Wait::Nothing => Json::Null,
                wait => json!(wait.as_str()),
            };
            json["updated"] = json!(times::moment(row.updated_ms).replacen(' ', "T", 1));
            json
        })
        .collect();
    // A string: on Restate it has more digits than some JSON parsers keep.
    let next = page.next.map(|next| next.0.to_string());
    let document = json!({"v": 1, "instances": instances, "total": page.total, "next": next});
    console.line(&format!("{document:#}"))
}
