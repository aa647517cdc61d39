//! `rawko worktrees`: lists, shows, merges and removes the copies of the project that agents work in.

use std::collections::BTreeSet;

use rawko_agents::work::{project_history, project_worktrees};
use rawko_programs::checkpoints::{ChangeAuthor, Checkpoints, EntryKind};
use rawko_programs::worktrees::{MergeError, Worktree, Worktrees};
use serde_json::json;

use crate::checkpoints::pruning::root_row;
use crate::checkpoints::unreadable;
use crate::console::{Console, TextStyle};
use crate::failure::{CommandFailure, CommandVerdict};
use crate::hosting::{self, ProjectContext, StoreArgs};

const EXAMPLES: &str = "\
An agent with `isolation: worktree` works in a copy of the project, and so does a fork of a past
step. In a git repository the copy is a git worktree with a branch of its own. The project changes
only when the copy is merged: by the service `git:merge` in a chart, or with this command. A merge
changes files only, not the index or a branch, and `rawko undo ID` takes it back.

On a conflict the project stays as it is, the exit code is 1, and the files in the copy have
conflict markers: edit them there, then merge again.

Examples:
  rawko worktrees
  rawko worktrees diff rawko/fix/coder.3
  rawko worktrees merge rawko/fix/coder.3
  rawko worktrees remove rawko/fix/coder.3";

/// List, show, merge and remove worktrees of agents
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Option<Action>,

    /// Print one JSON object
    #[arg(long, global = true)]
    json: bool,

    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// List worktrees (the default)
    List,
    /// Print the changes in a worktree
    Diff {
        /// Name of the worktree
        name: String,
    },
    /// Merge a worktree into the project and remove it
    Merge {
        /// Name of the worktree
        name: String,
        /// Keep the worktree
        #[arg(long)]
        keep: bool,
    },
    /// Remove a worktree and its changes
    Remove {
        /// Name of the worktree
        name: String,
    },
}

pub(crate) fn run(args: &Args, console: &mut Console) -> Result<CommandVerdict, CommandFailure> {
    let place = ProjectContext::here(&args.store)?;
    place.mention_settings(console);
    let failed = |error: &std::io::Error| unreadable(error);
    let worktrees = project_worktrees(&place.root, &place.settings).map_err(|error| failed(&error))?;
    let history = || project_history(&place.root, &place.settings).map_err(|error| failed(&error));
    let named = |name: &str| worktrees.named(name).map_err(|error| CommandFailure::Usage(error.to_string()));
    match &args.action {
        None | Some(Action::List) => list(args, &place, &worktrees, console),
        Some(Action::Diff { name }) => {
            let (tree, history) = (named(name)?, history()?);
            let found = hosting::block_on(async {
                worktrees.changes(&history, &tree).await.map_err(|error| failed(&error))
            })?;
            if args.json {
                console.line(&json!({"name": name, "files": found.diffs}).to_string())?;
            } else {
                found.diffs.iter().try_for_each(|file| super::diff::print(&file.diff, console))?;
            }
            Ok(CommandVerdict::Done)
        }
        Some(Action::Merge { name, keep }) => {
            place.operator()?;
            let (tree, history) = (named(name)?, history()?);
            hosting::block_on(merge(args, &worktrees, &history, &tree, *keep, console))
        }
        Some(Action::Remove { name }) => {
            place.operator()?;
            let (tree, history) = (named(name)?, history()?);
            hosting::block_on(async {
                worktrees.remove(&history, &tree).await.map_err(|error| failed(&error))
            })?;
            console.note(TextStyle::Good, "removed", name);
            Ok(CommandVerdict::Done)
        }
    }
}

/// Lists the copies, and the files that several of them change: those of a run that has ended are marked.
fn list(
    args: &Args,
    place: &ProjectContext,
    worktrees: &Worktrees,
    console: &mut Console,
) -> Result<CommandVerdict, CommandFailure> {
    let all = worktrees.all().map_err(|error| unreadable(&error))?;
    let overlaps = worktrees.overlaps(|_| true).map_err(|error| unreadable(&error))?;
    let ended = ended(place, &all);
    let is_ended = |name: &str| ended.contains(name);
    if args.json {
        let overlaps = overlaps.iter().map(|overlap| {
            let ended: Vec<&String> = overlap.worktrees.iter().filter(|name| is_ended(name)).collect();
            json!({"path": overlap.path, "worktrees": overlap.worktrees, "ended": ended})
        });
        let overlaps: Vec<_> = overlaps.collect();
        let list = json!({"worktrees": all, "overlaps": overlaps, "ended": ended});
        console.line(&list.to_string())?;
        return Ok(CommandVerdict::Done);
    }
    let mark = |name: &str| if is_ended(name) { " (run ended)" } else { "" };
    for tree in &all {
        let path = console.paint(TextStyle::Dim, &tree.path.display().to_string());
        let name = console.paint(TextStyle::Bold, &tree.name);
        console.line(&format!("{name}  {}{}  {path}", tree.instance, mark(&tree.name)))?;
    }
    for overlap in &overlaps {
        let names = overlap.worktrees.iter().map(|name| format!("{name}{}", mark(name)));
        let text = format!("{} is changed in {}", overlap.path, names.collect::<Vec<_>>().join(", "));
        console.note(TextStyle::Notice, "overlap", &text);
    }
    if all.is_empty() {
        console.note(TextStyle::Dim, "no worktrees", "no agent works in a copy of this project");
    }
    Ok(CommandVerdict::Done)
}

/// Returns the names of copies whose run has ended. Without a store, none is known to have.
fn ended(place: &ProjectContext, all: &[Worktree]) -> BTreeSet<String> {
    let Ok(Some(reader)) = place.reader() else { return BTreeSet::new() };
    let is_over = |tree: &&Worktree| {
        // A program has no instance: its copy is named after the call.
        let instance = tree.instance.split('/').next().unwrap_or(&tree.instance);
        let root = root_row(&**reader.store(), instance);
        root.is_ok_and(|root| root.is_some_and(|row| row.head.status.is_over()))
    };
    all.iter().filter(is_over).map(|tree| tree.name.clone()).collect()
}

async fn merge(
    args: &Args,
    worktrees: &Worktrees,
    history: &Checkpoints,
    tree: &Worktree,
    keep: bool,
    console: &mut Console,
) -> Result<CommandVerdict, CommandFailure> {
    let label = format!("merge {}", tree.name);
    let instance = tree.instance.clone();
    let author = ChangeAuthor { kind: EntryKind::Merge, instance, call: String::new(), label };
    let turn = worktrees.merge_turn(&tree.name).await.map_err(|error| unreadable(&error))?;
    let merged = match worktrees.merge(history, &tree.name, &author, &turn).await {
        Ok(merged) => merged,
        Err(MergeError::Conflict(files)) => {
            let (files, path) = (files.join(", "), tree.path.display());
            return Err(CommandFailure::Failed(format!(
                "{} conflicts with the project in {files}; resolve the conflict markers in {path}, then merge again",
                tree.name
            )));
        }
        Err(error) => return Err(CommandFailure::Failed(format!("cannot merge {}: {error}", tree.name))),
    };
    if !keep {
        worktrees.remove(history, tree).await.map_err(|error| unreadable(&error))?;
    }
    if args.json {
        console.line(&json!({"name": tree.name, "files": merged.files}).to_string())?;
    } else {
        merged.files.iter().try_for_each(|file| console.line(file))?;
        let count = crate::scenario::report::count(merged.files.len(), "file");
        console.note(TextStyle::Good, "merged", &format!("{count} of {}", tree.name));
    }
    Ok(CommandVerdict::Done)
}
