//! `rawko show`: prints one instance, now or after any of its steps.

mod task;

use rawko_agents::work::project_worktrees;
use rawko_core::Status;
use rawko_programs::worktrees::{Overlap, Worktree};
use rawko_store::{DrivenInstances, EffectKind, InstanceStatus};

use super::ps;
use crate::console::{Console, TextStyle};
use crate::failure::{CommandFailure, CommandVerdict};
use crate::following::{all_request_lines, answer_option, is_own, tell_result, which};
use crate::hosting::{ProjectContext, StoreArgs};
use crate::journal::{agent, words};
use crate::known;
use crate::standing::{InstanceStanding, RunningWork};
use crate::task_request::is_workflow;
use crate::times;
use rawko_view::document::Document;
use rawko_view::faults::{self, FaultLine};
use rawko_view::rows::Row;

/// Started items of an `each` that are listed.
const ITEMS_SHOWN: usize = 20;
/// Maximum number of faults shown; `history` lists all.
const FAULTS_SHOWN: usize = 3;
/// Lines of an agent's task and of its last text.
const TEXT_LINES_SHOWN: usize = 12;

const EXAMPLES: &str = "\
Prints active states, recent faults (failed expressions), context, pending requests, running calls
with attempt and idempotency key, timers, accepted events and children. A task is shown in its own
words: what it does or waits for, or its outcome; checks, changed files, cost by agent and model; an
agent by its task and its last text. -v prints everything.

Examples:
  rawko show order-17
  rawko show order-17 --at 3
  rawko show order-17 --json | jq .context";

/// Show the state of an instance, now or after a past step
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Instance id
    id: String,

    /// State after this step (`rawko history` lists the steps)
    #[arg(long, value_name = "STEP")]
    at: Option<u64>,

    /// Print one JSON document
    #[arg(long)]
    json: bool,

    /// Print all of a task or an agent: states, context and children
    #[arg(long, short)]
    verbose: bool,

    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) fn run(args: &Args, console: &mut Console) -> Result<CommandVerdict, CommandFailure> {
    let place = ProjectContext::here(&args.store)?;
    place.mention_settings(console);
    let reader = known::reader(&place)?;
    known::instance(&reader, &args.id)?;
    let now_ms = times::now_ms();
    let standing = InstanceStanding::at(&reader, &args.id, args.at, &place.world(), now_ms)?;
    let driven = place.driven();
    if args.json {
        let mut document = Document::of(&reader, &standing)?;
        if args.at.is_none() && !driven.includes(&standing.row.new) {
            document.row = document.row.undriven();
        }
        let document = serde_json::to_value(document).unwrap_or_default();
        console.line(&format!("{document:#}"))?;
        return Ok(CommandVerdict::Done);
    }
    let is_agent = standing.row.new.agent().is_some();
    let is_brief = (is_own(standing.chart.id()) || is_agent) && !args.verbose && args.at.is_none();
    if is_brief && !is_agent && standing.snapshot.status() == Status::Done {
        let title = rawko_view::rows::title(&standing.chart, &standing.snapshot).unwrap_or_default();
        let id = console.paint(TextStyle::Bold, standing.id());
        console.line(format!("{id}  {title}").trim_end())?;
        tell_result(&reader, &standing, console)?;
        return Ok(CommandVerdict::Done);
    }
    let is_task =
        is_brief && is_own(standing.chart.id()) && !is_agent && !standing.snapshot.status().is_over();
    let faults = faults::recent(&reader, &standing.row, args.at)?;
    let overlaps = if args.at.is_none() { overlaps(&place, standing.id()) } else { Vec::new() };
    let cancellation = faults::cancellation(&reader, &standing.row)?;
    let mut page = JournalPage {
        standing: &standing,
        driven,
        faults,
        cancellation,
        overlaps,
        now_ms,
        is_brief,
        console,
    };
    if is_task {
        page.task(&place, &reader)?
    } else {
        page.print()?
    }
    Ok(CommandVerdict::Done)
}

/// Returns a line for each file that agents below an instance changed in several worktrees. They are on this machine.
fn overlaps(place: &ProjectContext, id: &str) -> Vec<String> {
    let is_below = |tree: &Worktree| {
        tree.instance.strip_prefix(id).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '/']))
    };
    let found = project_worktrees(&place.root, &place.settings).and_then(|all| all.overlaps(is_below));
    let words = |it: &Overlap| format!("{} is changed in {}", it.path, it.worktrees.join(", "));
    found.unwrap_or_default().iter().map(words).collect()
}

struct JournalPage<'a> {
    standing: &'a InstanceStanding,
    /// The instances that a process moves.
    driven: DrivenInstances,
    faults: Vec<FaultLine>,
    /// The reason of a person who cancelled it.
    cancellation: Option<String>,
    overlaps: Vec<String>,
    now_ms: i64,
    /// Without the context, which is long for a task.
    is_brief: bool,
    console: &'a mut Console,
}

impl JournalPage<'_> {
    fn print(&mut self) -> Result<(), CommandFailure> {
        self.head()?;
        match self.is_brief {
            true => self.agent()?,
            false => self.context()?,
        }
        self.asks()?;
        self.items()?;
        self.section("overlaps", &self.overlaps.clone())?;
        self.running()?;
        self.timers()?;
        self.events()?;
        self.children()
    }

    fn is_past(&self) -> bool {
        self.standing.snapshot.step_number() < self.standing.row.step
    }

    /// Returns the reference time: for a past step, its own time.
    fn reckoned_ms(&self) -> i64 {
        if self.is_past() { self.standing.at_ms } else { self.now_ms }
    }

    fn line(&mut self, title: &str, text: &str) -> Result<(), CommandFailure> {
        let title = self.console.paint(TextStyle::Dim, &format!("{title:<10}"));
        self.console.line(&format!("{title} {text}"))
    }

    fn section(&mut self, title: &str, lines: &[String]) -> Result<(), CommandFailure> {
        for (row, text) in lines.iter().enumerate() {
            self.line(if row == 0 { title } else { "" }, text)?;
        }
        Ok(())
    }

    fn head(&mut self) -> Result<(), CommandFailure> {
        let (standing, now_ms) = (self.standing, self.now_ms);
        let (row, new) = (&standing.row, &standing.row.new);
        let id = self.console.paint(TextStyle::Bold, &new.id);
        self.console.line(&format!("{id}  {} {}", new.chart_id, new.version))?;
        let read = Row::of(row);
        let read = if self.driven.includes(new) { read } else { read.undriven() };
        let word = if self.is_past() { standing.snapshot.status().as_str() } else { read.status_word() };
        let status = self.console.paint(ps::status_style(&read), word);
        self.line("status", &status)?;
        let is_left =
            matches!(read.waiting_for.as_deref(), Some("host")) || read.status == InstanceStatus::Paused;
        // A request is answered first; the answer starts a host.
        let is_task = is_own(&new.chart_id) || is_workflow(&new.chart_id);
        let is_asked = is_task && !standing.asks.is_empty() && read.status != InstanceStatus::Paused;
        let is_left = is_left && !is_asked;
        if let Some(hint) = read.hint.filter(|_| is_left && !self.is_past()) {
            let why = if word == "paused" { "moves only on" } else { "no host runs it; continue with" };
            self.line("", &format!("{why} `{hint}`"))?;
        }
        let states = format!("[{}]", standing.configuration().join(", "));
        let states = self.console.paint(TextStyle::Accent, &states);
        self.line("states", &states)?;
        let step = standing.snapshot.step_number();
        let of = if self.is_past() { format!(" of {}", row.step) } else { String::new() };
        self.line("step", &format!("{step}{of}, {}", times::ago(standing.at_ms, now_ms)))?;
        self.line("started", &times::ago(new.created_ms, now_ms))?;
        if let Some(parent) = &new.parent {
            self.line("parent", &format!("{} (invoke {})", parent.id, parent.invoke))?;
        }
        if let Some(origin) = &new.origin {
            self.line("forked", &format!("from {} at step {}", origin.id, origin.step))?;
        }
        self.troubles()?;
        let output = standing.snapshot.output();
        if output.is_null() || self.is_brief {
            return Ok(());
        }
        self.line("output", &output.to_json().to_string())
    }

    /// Prints the work of an agent in its own words.
    fn agent(&mut self) -> Result<(), CommandFailure> {
        if self.standing.row.new.agent().is_none() {
            return Ok(());
        }
        let context = self.standing.snapshot.context_map(&self.standing.chart);
        for (title, key) in [("task", "prompt"), ("says", "text")] {
            let text = context.get(key).as_str().unwrap_or_default().trim();
            let lines: Vec<String> = text.lines().take(TEXT_LINES_SHOWN).map(str::to_owned).collect();
            self.section(title, &lines)?;
        }
        let output = self.standing.snapshot.output();
        if output.is_null() { Ok(()) } else { self.line("result", &agent::ending(output)) }
    }

    fn troubles(&mut self) -> Result<(), CommandFailure> {
        let standing = self.standing;
        if let Some(reason) = self.cancellation.clone().filter(|_| !self.is_past()) {
            self.line("reason", &reason)?;
        }
        for failure in standing.snapshot.failures() {
            let name = standing.chart.failure_name(failure);
            self.line("failed", &format!("{name}: {}", words::error(&failure.error)))?;
        }
        if !standing.snapshot.failures().is_empty() {
            self.line("", &format!("retry with `rawko resume {}`", standing.id()))?;
        }
        self.faults()?;
        match &standing.row.head.fault {
            Some(fault) if !self.is_past() => {
                self.line("fault", fault)?;
                self.line("", &format!("continue with `rawko resume {}`", standing.id()))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Prints the latest faults, and their number among the last steps.
    fn faults(&mut self) -> Result<(), CommandFailure> {
        let Some(last) = self.faults.last() else { return Ok(()) };
        let (count, steps) = (self.faults.len(), faults::STEPS_SEARCHED);
        let noun = if count == 1 { "fault" } else { "faults" };
        let when = times::ago(last.at_ms, self.now_ms);
        let among = match self.standing.snapshot.step_number() {
            step if step < steps => String::new(),
            _ => format!(" in the last {steps} steps"),
        };
        self.line("faults", &format!("{count} {noun}{among}, latest {when}"))?;
        let latest = self.faults.iter().rev().take(FAULTS_SHOWN);
        let latest: Vec<_> = latest.map(|fault| format!("step {}: {}", fault.step, fault.text)).collect();
        latest.iter().try_for_each(|line| self.line("", line))
    }

    fn context(&mut self) -> Result<(), CommandFailure> {
        let context = self.standing.snapshot.context_map(&self.standing.chart);
        let lines: Vec<_> = context
            .as_map()
            .into_iter()
            .flatten()
            .map(|(key, value)| format!("{key}: {}", words::value(value, true)))
            .collect();
        self.section("context", &lines)
    }

    fn asks(&mut self) -> Result<(), CommandFailure> {
        let standing = self.standing;
        let mut lines = Vec::new();
        for ask in &standing.asks {
            let expiry = ask.expires_ms.map(|at| format!(", expires {}", times::until(at, self.now_ms)));
            let mut words = all_request_lines(ask);
            words[0] += &expiry.unwrap_or_default();
            lines.extend(words);
            let (which, option) = (which(&standing.asks, ask), answer_option(ask));
            lines.push(format!(
                "  `rawko approve {0}{which}{option}` or `rawko deny {0}{which}`",
                ask.instance
            ));
        }
        self.section("requests", &lines)
    }

    fn items(&mut self) -> Result<(), CommandFailure> {
        let mut lines = Vec::new();
        for each in rawko_view::items::of(self.standing) {
            let counts = [
                (each.done, "done"),
                (each.running, "running"),
                (each.error, "failed"),
                (each.stopped, "stopped"),
                (each.waiting, "waiting"),
            ];
            let counts = counts.iter().filter(|(count, _)| *count > 0);
            let counts: Vec<_> = counts.map(|(count, word)| format!("{count} {word}")).collect();
            lines.push(format!("{}: {} items, {}", each.invoke, each.total, counts.join(", ")));
            let started = each.items.iter().filter(|item| item.status != "waiting");
            lines.extend(started.take(ITEMS_SHOWN).map(|item| {
                let child = item.child.as_ref().map_or_else(String::new, |child| format!(", {child}"));
                format!("  {:<8} {}{child}", item.status, item.id)
            }));
        }
        self.section("items", &lines)
    }

    fn running(&mut self) -> Result<(), CommandFailure> {
        let now_ms = self.now_ms;
        let is_unknown =
            |it: &&RunningWork| it.open.as_ref().is_some_and(|open| open.kind == EffectKind::Unknown);
        let (unknown, running): (Vec<_>, Vec<_>) = self.standing.running.iter().partition(is_unknown);
        let lines: Vec<_> = running.iter().map(|running| running_words(running, now_ms)).collect();
        self.section("running", &lines)?;
        let lines: Vec<_> = unknown.iter().map(|running| running_words(running, now_ms)).collect();
        self.section("unknown", &lines)
    }

    fn timers(&mut self) -> Result<(), CommandFailure> {
        let since_ms = self.reckoned_ms();
        let timers = self.standing.timers.iter();
        let lines: Vec<_> = timers
            .map(|timer| format!("{}, {}", timer.purpose, times::until(timer.due_ms, since_ms)))
            .collect();
        self.section("timers", &lines)
    }

    fn events(&mut self) -> Result<(), CommandFailure> {
        let mut lines = Vec::new();
        for offer in &self.standing.offers {
            lines.extend(offer.transitions.iter().map(|words| format!("{} {words}", offer.event)));
        }
        self.section("accepts", &lines)
    }

    fn children(&mut self) -> Result<(), CommandFailure> {
        let now_ms = self.now_ms;
        let children = self.standing.children.iter();
        let lines: Vec<_> = children
            .map(|row| {
                let word = Row::of(row).status_word();
                format!("{} {}, step {}, {}", row.new.id, word, row.step, times::ago(row.updated_ms, now_ms))
            })
            .collect();
        self.section("children", &lines)
    }
}

/// Formats a running call: `payment charge_card, attempt 2, for 3s, key order-17/4/0`.
fn running_words(running: &RunningWork, now_ms: i64) -> String {
    let mut words = match running.invoke == *running.name {
        true => running.invoke.clone(),
        false => format!("{} {}", running.invoke, running.name),
    };
    if let Some(attempt) = running.attempt.filter(|attempt| *attempt > 1) {
        words += &format!(", attempt {attempt}");
    }
    let Some(open) = &running.open else { return words };
    words += &match open.kind {
        EffectKind::Unknown => ", result of the last attempt".to_owned(),
        EffectKind::Held => ", arrived while paused".to_owned(),
        EffectKind::Service
        | EffectKind::Agent
        | EffectKind::Child
        | EffectKind::Person
        | EffectKind::Call
        | EffectKind::Send => format!(", started {}", times::ago(open.opened_ms, now_ms)),
    };
    format!("{words}, key {}", open.idempotency)
}
