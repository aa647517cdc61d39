//! `rawko diff`: prints the files that an instance changed.

use rawko_programs::checkpoints::{FileDiff, HistoryEntry, NetChanges, net_changes, shown_name};
use serde_json::json;

use crate::checkpoints::{InstanceChanges, unreadable};
use crate::console::{Console, TextStyle};
use crate::failure::{CommandFailure, CommandVerdict};
use crate::hosting::{self, ProjectContext, StoreArgs};
use crate::known;

const EXAMPLES: &str = "\
Prints the net changes of an instance and its agents as a unified diff that `git apply` reads. Every
call of an agent that changes files leaves a checkpoint; changes by other programs and by people
between those calls are not part of the diff. Undo them with `rawko undo ID`.

Examples:
  rawko diff fix-1
  rawko diff fix-1 --at 12               changes until step 12 (`rawko history fix-1`)
  rawko diff fix-1 --stat
  rawko diff fix-1 --json | jq '.files[].path'";

/// Print the files that an instance changed
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Instance id
    id: String,

    /// Only changes until this step
    #[arg(long, value_name = "STEP")]
    at: Option<u64>,

    /// Print one line per file instead of the diff
    #[arg(long, conflicts_with = "json")]
    stat: bool,

    /// Print one JSON object
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) fn run(args: &Args, console: &mut Console) -> Result<CommandVerdict, CommandFailure> {
    let place = ProjectContext::here(&args.store)?;
    place.mention_settings(console);
    let reader = known::reader(&place)?;
    let row = known::instance(&reader, &args.id)?;
    let changes = InstanceChanges::of(&place, &reader, &row, args.at)?;
    let entries = changes.entries()?;
    let is_chosen =
        |entry: &HistoryEntry| changes.is_own(entry) && (args.at.is_none() || !changes.is_later(entry));
    let net = net_changes(&entries, is_chosen);
    let files = hosting::block_on(async { changes.diffs(&net).await })?;
    if changes.is_pruned().map_err(|error| unreadable(&error))? {
        let why = "its checkpoints were removed (`retention.files` in the settings)";
        console.note(TextStyle::Notice, "incomplete", why);
    }
    if args.json {
        let is_shown = |entry: &&HistoryEntry| is_chosen(entry) && !entry.changes.is_empty();
        let chosen: Vec<_> = entries.iter().filter(is_shown).collect();
        console.line(&as_json(args, &changes, &chosen, &files, &net).to_string())?;
    } else if files.is_empty() {
        console.note(TextStyle::Dim, "no changes", &format!("`{}` changed no files", args.id));
    } else if args.stat {
        files.iter().try_for_each(|file| console.line(&stat(file, console)))?;
    } else {
        files.iter().try_for_each(|file| print(&file.diff, console))?;
    }
    Ok(CommandVerdict::Done)
}

fn as_json(
    args: &Args,
    changes: &InstanceChanges,
    entries: &[&HistoryEntry],
    files: &[FileDiff],
    net: &NetChanges,
) -> serde_json::Value {
    let checkpoint = |entry: &&HistoryEntry| {
        let paths: Vec<&String> = entry.changes.iter().map(|change| &change.path).collect();
        json!({"number": entry.number, "step": changes.step_of(entry), "at_ms": entry.at_ms,
               "kind": entry.author.kind, "instance": entry.author.instance, "tool": entry.author.label,
               "ref": entry.reference, "commit": entry.commit, "paths": paths})
    };
    json!({
        "id": args.id,
        "at": args.at,
        "files": files,
        "mixed": net.mixed,
        "checkpoints": entries.iter().map(checkpoint).collect::<Vec<_>>(),
    })
}

/// Formats `M  src/main.rs  +3 -1`.
pub(crate) fn stat(file: &FileDiff, console: &Console) -> String {
    let mark = match file.status {
        rawko_programs::changes::ChangeStatus::Added => "A",
        rawko_programs::changes::ChangeStatus::Modified => "M",
        rawko_programs::changes::ChangeStatus::Deleted => "D",
    };
    let counts =
        if file.is_binary { "binary".to_owned() } else { format!("+{} -{}", file.added, file.removed) };
    format!("{mark}  {}  {}", shown_name(&file.path), console.paint(TextStyle::Dim, &counts))
}

/// Prints a diff: coloured on a terminal, exact elsewhere.
pub(super) fn print(diff: &str, console: &mut Console) -> Result<(), CommandFailure> {
    if !console.is_coloured() {
        return console.document(diff);
    }
    for line in diff.lines() {
        let style = match line.as_bytes().first() {
            _ if line.starts_with("diff ") || line.starts_with("--- ") || line.starts_with("+++ ") => {
                TextStyle::Bold
            }
            Some(b'+') => TextStyle::Good,
            Some(b'-') => TextStyle::Bad,
            Some(b'@') => TextStyle::Accent,
            _ => TextStyle::Plain,
        };
        let line = console.paint(style, line);
        console.line(&line)?;
    }
    Ok(())
}
