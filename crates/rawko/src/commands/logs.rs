//! `rawko logs`: prints log entries, emitted events and failures of instances.

use std::time::Duration;

use rawko_core::Effect;
use rawko_host::SnapshotReader;
use rawko_store::AuditLine;

use crate::console::{Console, TextStyle};
use crate::failure::{CommandFailure, CommandVerdict};
use crate::hosting::{ProjectContext, StoreArgs};
use crate::journal::tail::JournalTail;
use crate::journal::text::stall_words;
use crate::journal::{EntryBody, InstanceTree, JournalEntry, lines, words};
use crate::known;
use crate::times;

/// Polling interval of `--follow`.
const LOOK: Duration = Duration::from_millis(100);

const EXAMPLES: &str = "\
Prints one line per `log` action, emitted event, failed call, fault (an expression that failed) and
rejected step, including those of children. Times are UTC.

-f follows the log until the instance ends or Ctrl-C.

--audit prints the calls instead: allowed or denied, by which rule, and with what result. Each entry
is stored before the call is made.

Examples:
  rawko logs
  rawko logs order-17 -f
  rawko logs order-17 --audit
  rawko logs order-17 --json | jq -r 'select(.type == \"log\").message'";

/// Print log lines, emitted events and failures
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Instance id [default: all instances]
    id: Option<String>,

    /// Print new lines as they arrive
    #[arg(long, short)]
    follow: bool,

    /// Print calls, the rule that allowed or denied each, and its result
    #[arg(long, conflicts_with = "follow")]
    audit: bool,

    /// Print one JSON object per line
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) fn run(args: &Args, console: &mut Console) -> Result<CommandVerdict, CommandFailure> {
    let place = ProjectContext::here(&args.store)?;
    place.mention_settings(console);
    let reader = known::reader(&place)?;
    let tree = match &args.id {
        Some(id) => {
            known::instance(&reader, id)?;
            InstanceTree::below(id)
        }
        None => InstanceTree::all(),
    };
    if args.audit {
        let lines = reader.store().audit(None, usize::MAX)?;
        let belongs = |line: &&AuditLine| args.id.as_deref().is_none_or(|id| is_below(&line.instance, id));
        lines.iter().filter(belongs).try_for_each(|line| print_audit(line, args.json, console))?;
        return Ok(CommandVerdict::Done);
    }
    let mut tail = JournalTail::after(0, &reader, tree, None);
    loop {
        // Checked before reading, so that the last entries of an instance are read.
        let over = is_over(&reader, args.id.as_deref())?;
        tail.read(|entry, _| print(entry, args.json, console))?;
        console.flush()?;
        if !args.follow || over {
            return Ok(CommandVerdict::Done);
        }
        std::thread::sleep(LOOK);
    }
}

fn is_over(reader: &SnapshotReader, id: Option<&str>) -> Result<bool, CommandFailure> {
    let Some(id) = id else { return Ok(false) };
    Ok(reader.find(id)?.head.status.is_over())
}

fn print(entry: &JournalEntry, json: bool, console: &mut Console) -> Result<(), CommandFailure> {
    if json {
        return lines::log_lines(entry).iter().try_for_each(|line| console.line(&line.to_string()));
    }
    for (title, text) in said(entry) {
        let time = console.paint(TextStyle::Dim, &times::moment(entry.at_ms));
        let is_bad = ["failed", "refused", "fault", "stalled"].contains(&title);
        let style = if is_bad { TextStyle::Bad } else { TextStyle::Dim };
        let title = console.paint(style, &format!("{title:<8}"));
        console.line(&format!("{time}  {}  {title} {text}", entry.instance))?;
    }
    Ok(())
}

/// Returns true for a descendant: ids of children begin with their parent's.
fn is_below(instance: &str, id: &str) -> bool {
    instance.strip_prefix(id).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn print_audit(line: &AuditLine, json: bool, console: &mut Console) -> Result<(), CommandFailure> {
    let AuditLine { at_ms, instance, effect, service, decision, reason, provenance } = line;
    if json {
        let provenance: serde_json::Value = serde_json::from_str(provenance).unwrap_or_default();
        let line = serde_json::json!({
            "v": lines::VERSION, "type": "audit", "id": instance, "at_ms": at_ms, "effect": effect,
            "service": service, "decision": decision, "reason": reason, "provenance": provenance,
        });
        return console.line(&line.to_string());
    }
    let time = console.paint(TextStyle::Dim, &times::moment(*at_ms));
    let style = if matches!(&**decision, "refused" | "failed") { TextStyle::Bad } else { TextStyle::Dim };
    let decision = console.paint(style, &format!("{decision:<8}"));
    let text = format!("{time}  {effect}  {decision} {service} {reason}");
    console.line(text.trim_end())
}

/// Returns the log lines of an entry, in order.
fn said(entry: &JournalEntry) -> Vec<(&'static str, String)> {
    let mut said = Vec::new();
    if let EntryBody::CallFailed { invoke, error } = &entry.what {
        said.push(("failed", format!("{invoke}: {}", words::error(error))));
    }
    if let Some(refusal) = &entry.refusal {
        said.push(("refused", format!("{}: {refusal}", words::headline(&entry.what, false))));
    }
    for told in &entry.effects {
        match &told.effect {
            Effect::Log { message } => said.push(("log", message.to_string())),
            Effect::Emit { event, data } if data.is_null() => said.push(("emitted", event.to_string())),
            Effect::Emit { event, data } => {
                said.push(("emitted", format!("{event} {}", words::value(data, false))));
            }
            Effect::Fault(fault) => said.push(("fault", fault.to_string())),
            Effect::Stall { id, .. } => said.push(("stalled", stall_words(id))),
            Effect::SetTimer { .. }
            | Effect::CancelTimer { .. }
            | Effect::Invoke(_)
            | Effect::StopInvoke { .. }
            | Effect::Send(_)
            | Effect::Call { .. }
            | Effect::Complete { .. }
            | Effect::Cancelled { .. } => {}
        }
    }
    said
}
