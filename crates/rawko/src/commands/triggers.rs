//! `rawko triggers`: lists schedules and webhooks, with their next and last runs and their latest deliveries.

use rawko_triggers::Triggers;
use rawko_view::triggers::{StoredTrigger, TriggerDocument, TriggerEntry};
use serde_json::json;

use crate::console::{Console, TextStyle};
use crate::failure::{CommandFailure, CommandVerdict};
use crate::hosting::{ProjectContext, StoreArgs};
use crate::table::{Cell, ConsoleTable};
use crate::times;

const EXAMPLES: &str = "\
Triggers are defined under `triggers:` in the settings. `rawko serve` drives them while it runs. The
state of each is the instance `trigger:NAME`: `rawko pause trigger:NAME` pauses the trigger,
`rawko resume` continues it, `rawko history` has every run.

Examples:
  rawko triggers
  rawko triggers nightly              # its latest runs or deliveries
  rawko triggers --json";

/// List schedules and webhooks, with their runs
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Trigger whose latest runs or deliveries are shown
    name: Option<String>,

    /// Print one JSON document
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) fn run(args: &Args, console: &mut Console) -> Result<CommandVerdict, CommandFailure> {
    let place = ProjectContext::here(&args.store)?;
    place.mention_settings(console);
    let (reader, now_ms) = (place.reader()?, times::now_ms());
    let mut all = Vec::new();
    for trigger in Triggers::read(&place.settings).all {
        if args.name.as_ref().is_some_and(|name| *name != trigger.name) {
            continue;
        }
        let stored = match &reader {
            Some(reader) => StoredTrigger::read(reader, &trigger.name)?,
            None => None,
        };
        all.push(TriggerDocument::of(&trigger, stored.as_ref(), now_ms));
    }
    match (&args.name, &all[..]) {
        (Some(name), []) => {
            let help = "list all with `rawko triggers`";
            Err(CommandFailure::Usage(format!("trigger `{name}` is not in the settings; {help}")))
        }
        _ if args.json => {
            let document = json!({"v": 1, "triggers": all});
            console.line(&format!("{document:#}"))?;
            Ok(CommandVerdict::Done)
        }
        (None, []) => {
            console.note(
                TextStyle::Dim,
                "none",
                "no triggers; define them under `triggers:` in the settings",
            );
            Ok(CommandVerdict::Done)
        }
        (Some(_), [trigger, ..]) => one(trigger, now_ms, console),
        (None, _) => list(&all, now_ms, console),
    }
}

fn list(
    all: &[TriggerDocument],
    now_ms: i64,
    console: &mut Console,
) -> Result<CommandVerdict, CommandFailure> {
    let mut table = ConsoleTable::new(&["NAME", "TRIGGER", "STATUS", "NEXT", "LAST", "RUNS", "MISSED"]);
    for trigger in all {
        let last = trigger.last.as_ref().map(|last| times::ago(last.at_ms, now_ms));
        table.add(vec![
            Cell::painted(&*trigger.name, TextStyle::Bold),
            Cell::new(trigger.definition.clone()),
            Cell::painted(&*trigger.status, status_style(&trigger.status)),
            Cell::new(trigger.next.clone().unwrap_or_else(|| "-".to_owned())),
            Cell::new(last.unwrap_or_else(|| "-".to_owned())),
            Cell::new(trigger.fired.to_string()),
            Cell::new(trigger.missed.to_string()),
        ]);
    }
    table.print(console)?;
    Ok(CommandVerdict::Done)
}

fn status_style(status: &str) -> TextStyle {
    match status {
        "armed" => TextStyle::Good,
        "paused" => TextStyle::Notice,
        _ => TextStyle::Dim,
    }
}

fn one(
    trigger: &TriggerDocument,
    now_ms: i64,
    console: &mut Console,
) -> Result<CommandVerdict, CommandFailure> {
    let name = console.paint(TextStyle::Bold, &trigger.name);
    console.line(&format!("{name}  {}  {}", trigger.definition, trigger.status))?;
    if let Some(path) = &trigger.path {
        console.line(&format!("path    {path}"))?;
    }
    if let Some(next) = &trigger.next {
        console.line(&format!("next    {next}"))?;
    }
    console.line(&format!("runs    {}, missed {}", trigger.fired, trigger.missed))?;
    if trigger.recent.is_empty() {
        return Ok(CommandVerdict::Done);
    }
    let mut table = ConsoleTable::new(&["WHEN", "ID", "EVENT", "OUTCOME", "INSTANCE", "DETAIL"]);
    for entry in trigger.recent.iter().rev() {
        table.add(vec![
            Cell::new(times::ago(entry.at_ms, now_ms)),
            Cell::new(entry.key.clone()),
            Cell::new(entry.event.clone()),
            Cell::painted(&*entry.outcome, outcome_style(&entry.outcome)),
            Cell::new(entry.instance.clone().unwrap_or_else(|| "-".to_owned())),
            Cell::new(detail(entry)),
        ]);
    }
    table.print(console)?;
    Ok(CommandVerdict::Done)
}

fn outcome_style(outcome: &str) -> TextStyle {
    match outcome {
        "failed" => TextStyle::Bad,
        "missed" => TextStyle::Notice,
        "ignored" => TextStyle::Dim,
        _ => TextStyle::Plain,
    }
}

fn detail(entry: &TriggerEntry) -> String {
    let missed = (entry.missed > 0).then(|| format!("{} missed", entry.missed));
    entry.detail.clone().into_iter().chain(missed).collect::<Vec<_>>().join("; ")
}
