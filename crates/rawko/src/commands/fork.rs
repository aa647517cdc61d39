//! `rawko fork`: creates a new instance that continues from a past step of another.

use rawko_core::Value;

use crate::checkpoints::FilesOfStep;
use crate::console::{Console, TextStyle};
use crate::failure::{CommandFailure, CommandVerdict};
use crate::following::{FollowArgs, Manner, OutputFormat, RunFollower, Signals};
use crate::hosting::{self, HostAccess, ProjectContext, SocketRequest, StoreArgs};
use crate::known;
use crate::repeating::asked;

const EXAMPLES: &str = "\
The new instance starts with the state and chart of the other one after that step. Calls that were
running are started again with new idempotency keys; timers keep their remaining time and budgets
their remainder. The original instance is unchanged. `rawko history` lists the steps.

If the instance changed files after that step, the new one works in a worktree with the files as
they were at the step; the project itself is not changed. `rawko worktrees` lists and merges
worktrees.

--set changes a context key. Its value is an expression of the chart language, so strings need
quotes.

Examples:
  rawko fork order-17 --at 3
  rawko fork order-17 --at 3 --set amount=90 --set \"approver='ada'\" --id order-17b --run
  rawko fork order-17 --set retries=context.retries+1";

/// Start a new instance from a past step of another
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Id of the instance to fork
    id: String,

    /// Step to continue from [default: the last one]
    #[arg(long, value_name = "STEP")]
    at: Option<u64>,

    /// Set a context key to the value of an expression (repeatable)
    #[arg(long, value_name = "KEY=EXPRESSION")]
    set: Vec<String>,

    /// Id of the new instance (generated if omitted)
    #[arg(long = "id", value_name = "NEW")]
    new_id: Option<String>,

    /// Follow the new instance as `rawko run` does
    #[arg(long)]
    run: bool,

    #[command(flatten)]
    follow: FollowArgs,

    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) fn run(args: &Args, console: &mut Console) -> Result<CommandVerdict, CommandFailure> {
    let place = ProjectContext::here(&args.store)?;
    let reader = known::reader(&place)?;
    let row = known::instance(&reader, &args.id)?;
    let set = edits(&args.set)?;
    let files = match args.at.filter(|_| place.remote.is_none()) {
        Some(at) => {
            let new_id = args.new_id.as_deref();
            FilesOfStep::find(&place.root, &place.settings, &reader, (&row, at), new_id)?
        }
        None => None,
    };
    let new_id = args.new_id.clone().or_else(|| files.as_ref().map(|files| files.new_id.clone()));
    let request = SocketRequest::Fork { id: args.id.clone(), at: args.at, set, new_id, budget: Value::Null };
    let manner = args.follow.manner();
    let manner = if args.run { manner } else { Manner::brief(manner.format, manner.verbose) };
    hosting::block_on(async {
        let mut signals = Signals::new()?;
        let seq = reader.store().last_seq()?;
        let mut access = HostAccess::open(&place, &[], console).await?;
        let made = match &files {
            Some(files) => Some(files.make().await?),
            None => None,
        };
        if let Some(path) = &made {
            console.note(
                TextStyle::Dim,
                "worktree",
                &format!("the files of that step are in {}", path.display()),
            );
        }
        let forked = match asked(&mut access, &place, request, console).await {
            Ok(forked) => forked,
            Err(failure) => {
                if let Some(files) = &files {
                    files.remove().await;
                }
                access.close(console).await;
                return Err(failure);
            }
        };
        if manner.format == OutputFormat::Text {
            let id = console.paint(TextStyle::Bold, &forked.instance);
            console.line(&id)?;
        }
        let follow = RunFollower::after(seq, &access, &forked.instance, &place, manner);
        let verdict = follow.until_end(access, &mut signals, console).await?;
        // Without --run the fork itself is the goal, and a waiting fork is a success.
        Ok(if !args.run && verdict == CommandVerdict::Waiting { CommandVerdict::Done } else { verdict })
    })
}

fn edits(texts: &[String]) -> Result<Vec<(String, String)>, CommandFailure> {
    let edit = |text: &String| match text.split_once('=') {
        Some((key, expression)) if !key.is_empty() => Ok((key.to_owned(), expression.to_owned())),
        Some(_) | None => {
            Err(CommandFailure::Usage(format!("invalid --set `{text}`: expected KEY=EXPRESSION")))
        }
    };
    texts.iter().map(edit).collect()
}
