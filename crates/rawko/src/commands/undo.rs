//! `rawko undo`: restores the files that an instance changed.

use rawko_programs::changes::ChangeStatus;
use rawko_programs::checkpoints::{FileDiff, PathChange, shown_name};
use rawko_store::InstanceStatus;
use serde_json::json;

use super::diff;
use crate::checkpoints::InstanceChanges;
use crate::checkpoints::reverting::{RevertScope, RevertedChanges};
use crate::console::{Console, TextStyle};
use crate::failure::{CommandFailure, CommandVerdict};
use crate::hosting::{self, ProjectContext, StoreArgs};
use crate::known;

const EXAMPLES: &str = "\
Restores every file that the instance and its agents changed to its state before the first change,
byte for byte: contents, permissions, links, deleted and created files. With --to, only changes
after that step are undone. Files that others changed since are not overwritten: the command
refuses and lists them, unless --force is given. The instance itself is not changed; `rawko fork
ID --at STEP` continues from a past step.

An undo is a checkpoint, too: `rawko undo ID --redo` takes the last one back. An undo that was
killed is completed by the next command that uses the project's checkpoints. Exit code 1: refused,
and nothing was changed.

Examples:
  rawko undo fix-1
  rawko undo fix-1 --to 12
  rawko undo fix-1 --dry-run
  rawko undo fix-1 --redo";

/// Restore the files that an instance changed
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Instance id
    id: String,

    /// Undo only changes after this step
    #[arg(long, value_name = "STEP")]
    to: Option<u64>,

    /// Take back the last undo
    #[arg(long, conflicts_with = "to")]
    redo: bool,

    /// Overwrite files that others changed since
    #[arg(long)]
    force: bool,

    /// Print what would be undone
    #[arg(long)]
    dry_run: bool,

    /// Print one JSON object
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) fn run(args: &Args, console: &mut Console) -> Result<CommandVerdict, CommandFailure> {
    let place = ProjectContext::here(&args.store)?;
    place.mention_settings(console);
    // Only the person undoes, not an agent.
    place.operator()?;
    let reader = known::reader(&place)?;
    let row = known::instance(&reader, &args.id)?;
    if InstanceStatus::of(&row.head, true) == InstanceStatus::Running && !args.force && !args.dry_run {
        let id = &args.id;
        return Err(CommandFailure::Failed(format!(
            "`{id}` is running and may change files; pause it (`rawko pause {id}`) or cancel it first, or pass --force"
        )));
    }
    let changes = InstanceChanges::of(&place, &reader, &row, args.to)?;
    let scope = if args.redo { RevertScope::Redo } else { RevertScope::All };
    let reverted = hosting::block_on(async {
        match args.dry_run {
            true => changes.preview(&args.id, scope).await,
            false => changes.revert(&args.id, scope, args.force).await.map_err(CommandFailure::from),
        }
    })?;
    shown(args, &reverted, console)
}

fn shown(
    args: &Args,
    reverted: &RevertedChanges,
    console: &mut Console,
) -> Result<CommandVerdict, CommandFailure> {
    let RevertedChanges { net, entry, files, skipped } = reverted;
    if args.json {
        // A file that was added is removed again.
        let paths = |exists: bool| -> Vec<&String> {
            let changes = net.changes.iter().filter(|change| change.before.is_some() == exists);
            changes.map(|change| &change.path).collect()
        };
        let ignored: Vec<&String> =
            net.ignored.iter().map(|change| &change.path).filter(|path| !skipped.contains(path)).collect();
        let checkpoint = entry
            .as_ref()
            .map(|entry| json!({"number": entry.number, "ref": entry.reference, "commit": entry.commit}));
        let document = json!({"id": args.id, "to": args.to, "dry_run": args.dry_run, "restored": paths(true),
                              "removed": paths(false), "ignored": ignored, "skipped": skipped, "checkpoint": checkpoint});
        console.line(&document.to_string())?;
        return Ok(CommandVerdict::Done);
    }
    if net.changes.is_empty() && net.ignored.is_empty() {
        console.note(
            TextStyle::Dim,
            "nothing to undo",
            &format!("the files are as before `{}` changed them", args.id),
        );
        return Ok(CommandVerdict::Done);
    }
    for file in files {
        // The diff is that of the undo, so a redo is the reverse.
        let line = diff::stat(&if args.redo { reversed(file) } else { file.clone() }, console);
        console.line(&line)?;
    }
    let ignored: Vec<&PathChange> =
        net.ignored.iter().filter(|change| !skipped.contains(&change.path)).collect();
    for change in &ignored {
        let path = shown_name(&change.path);
        console.line(&format!("{path} {}", console.paint(TextStyle::Dim, "(ignored by git)")))?;
    }
    if !skipped.is_empty() {
        let names: Vec<String> = skipped.iter().map(|path| shown_name(path)).collect();
        let text =
            format!("{} (ignored by git, and not stored or changed by others since)", names.join(", "));
        console.note(TextStyle::Notice, "not restored", &text);
    }
    let count = crate::scenario::report::count(files.len() + ignored.len(), "file");
    match (args.dry_run, args.redo) {
        (true, _) => console.note(TextStyle::Dim, "dry run", &format!("would restore {count}")),
        (false, true) => {
            console.note(TextStyle::Good, "restored", &format!("{count}; the undo is taken back"))
        }
        (false, false) => {
            let text = format!("{count}; take it back with `rawko undo {} --redo`", args.id);
            console.note(TextStyle::Good, "restored", &text);
        }
    }
    Ok(CommandVerdict::Done)
}

fn reversed(file: &FileDiff) -> FileDiff {
    let status = match file.status {
        ChangeStatus::Added => ChangeStatus::Deleted,
        ChangeStatus::Modified => ChangeStatus::Modified,
        ChangeStatus::Deleted => ChangeStatus::Added,
    };
    FileDiff { status, added: file.removed, removed: file.added, ..file.clone() }
}
