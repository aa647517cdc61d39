//! `rawko ps`: lists instances.

use clap::ValueEnum;
use rawko_core::Status;
use rawko_host::Reader;
use rawko_store::{Filter, InstanceKey, InstanceRow, Page, Wait};
use serde_json::{Value as Json, json};

use crate::console::{Console, Style};
use crate::failure::{Failure, Verdict};
use crate::hosting::{Place, StoreArgs};
use crate::table::{Cell, Table};
use crate::times;
use rawko_view::rows::{row_json, states, status_word};

const EXAMPLES: &str = "\
Lists top-level instances. WAITS FOR is what the instance waits for: work (a service, an agent or a
child), a person, a timer or an event.

Examples:
  rawko ps
  rawko ps --waiting person
  rawko ps --status error --status active --chart order
  rawko ps --json | jq -r '.instances[].id'";

/// List instances, newest first
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Only instances with this status (repeatable)
    #[arg(long, value_name = "STATUS")]
    status: Vec<StatusArg>,

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
    Active,
    Done,
    Error,
    Cancelled,
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
        let status = |status: &StatusArg| match status {
            StatusArg::Active => Status::Active,
            StatusArg::Done => Status::Done,
            StatusArg::Error => Status::Error,
            StatusArg::Cancelled => Status::Cancelled,
        };
        let wait = |wait: &WaitArg| match wait {
            WaitArg::Person => Wait::Person,
            WaitArg::Work => Wait::Work,
            WaitArg::Timer => Wait::Timer,
            WaitArg::Event => Wait::Event,
        };
        Filter {
            statuses: self.status.iter().map(status).collect(),
            waits: self.waiting.iter().map(wait).collect(),
            chart: self.chart.clone(),
            part: None,
            // A search for pending requests includes those of children.
            roots_only: !self.all && !self.waiting.iter().any(|wait| matches!(wait, WaitArg::Person)),
            before: self.before.map(InstanceKey),
            limit: self.limit,
            ..Filter::default()
        }
    }

    fn is_narrowed(&self) -> bool {
        !self.status.is_empty() || !self.waiting.is_empty() || self.chart.is_some() || self.before.is_some()
    }
}

pub(crate) fn run(args: &Args, console: &mut Console) -> Result<Verdict, Failure> {
    let place = Place::here(&args.store)?;
    place.mention_settings(console);
    let reader = place.reader()?;
    let page = match &reader {
        Some(reader) => reader.store().list(&args.filter())?,
        None => Page::default(),
    };
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
    let mut table = Table::new(&["ID", "CHART", "STATUS", "WAITS FOR", "STEP", "UPDATED", "STATES"]);
    for row in &page.rows {
        let states = reader.and_then(|reader| states(reader, row)).unwrap_or_default().join(", ");
        table.add(vec![
            Cell::painted(&*row.new.id, Style::Bold),
            Cell::new(format!("{} {}", row.new.chart_id, row.new.version).trim_end().to_owned()),
            Cell::painted(status_word(row), status_style(row)),
            Cell::new(wait_word(row, now_ms)),
            Cell::new(row.step.to_string()),
            Cell::new(times::ago(row.updated_ms, now_ms)),
            Cell::painted(format!("[{states}]"), Style::Accent),
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
        _ if row.head.fault.is_some() => Style::Bad,
        Status::Active => Style::Plain,
        Status::Done => Style::Good,
        Status::Error => Style::Bad,
        Status::Cancelled => Style::Dim,
    }
}

fn wait_word(row: &InstanceRow, now_ms: i64) -> String {
    match (row.head.wait, row.head.next_due_ms) {
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
            let mut json = row_json(row);
            json["configuration"] = json!(reader.and_then(|reader| states(reader, row)));
            json
        })
        .collect();
    // A string: on Restate it has more digits than some JSON parsers keep.
    let next = page.next.map(|next| next.0.to_string());
    let document = json!({"v": 1, "instances": instances, "total": page.total, "next": next});
    console.line(&format!("{document:#}"))
}
