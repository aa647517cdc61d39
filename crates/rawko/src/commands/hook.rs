//! `rawko hook`: answers the hooks of Claude Code from the state of a chart.

use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::console::Console;
use crate::failure::{CommandFailure, CommandVerdict};
use crate::hooks::{self, HookOptions};
use crate::hosting::StoreArgs;

const EXAMPLES: &str = "\
Claude Code runs it for PreToolUse, PostToolUse, Stop and SessionStart: it reads the JSON of the
hook from standard input and prints the answer. `rawko init --claude` sets it up.

Each session has a run of the chart, `claude-SESSION`. A call is refused if `tools` of an active
state does not allow it; Claude may not stop in a state with the tag `keep_working`. Events of the
chart are named after the hook and the tool: `PreToolUse.ExitPlanMode`, `PostToolUse.Edit`,
`Stop`. The context key `notice` is a text for Claude.

If the chart, the settings or the store cannot be read, calls are refused. Invalid input exits
with code 2, which blocks the call as well.

Examples:
  rawko hook --chart plan_first < hook.json
  rawko show claude-1f0c5bb2                   state of a session
  rawko approve claude-1f0c5bb2                approve its plan";

/// Answer a hook of Claude Code from the state of a chart
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Chart of new sessions
    #[arg(long, value_name = "CHART", default_value = "plan_first")]
    chart: String,

    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) fn run(args: &Args, console: &mut Console) -> Result<CommandVerdict, CommandFailure> {
    let mut text = String::new();
    let read = std::io::stdin().lock().read_to_string(&mut text);
    read.map_err(|error| CommandFailure::Usage(format!("cannot read standard input: {error}")))?;
    let options = HookOptions { chart: &args.chart, store: &args.store };
    // Another exit code than 2 would let the call through.
    let answer = catch_unwind(AssertUnwindSafe(|| hooks::answer(&text, &options, console)));
    let answer = answer.unwrap_or_else(|_| Err("rawko failed; please report this".to_owned()));
    console.line(&answer.map_err(CommandFailure::Usage)?)?;
    Ok(CommandVerdict::Done)
}
