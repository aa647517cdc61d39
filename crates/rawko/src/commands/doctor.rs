//! `rawko doctor`: checks everything that an instance needs.

use rawko_store::SqliteStore;
use serde_json::json;

use crate::console::{Console, TextStyle};
use crate::doctor::{self, CheckState, DoctorResult};
use crate::failure::{CommandFailure, CommandVerdict};
use crate::hosting::{ProjectContext, StoreArgs};

const EXAMPLES: &str = "\
Checks the store (hashes of all records and snapshots, owner, size, growth, free disk space),
stalled instances, those with faults in the last 24h, settings, services and endpoints (allowed,
program found), agents, and charts as `rawko check` does. Then it asks each configured model with
one small request, and each MCP server for its tools; --offline leaves this out. Each line is ok,
warn or problem, followed by a fix. The exit code is 1 if there is a problem.

A store that was not closed and lost its write-ahead log has lost its last commits; one with a
damaged log has lost those behind the damage. It is not opened. Restore a backup, or continue
without these commits with --accept-loss.

Examples:
  rawko doctor
  rawko doctor --offline
  rawko doctor --accept-loss
  rawko doctor --json | jq -r '.checks[] | select(.state != \"ok\") | .text'";

/// Check the store, settings, services, agents, charts and models
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Print one JSON document
    #[arg(long)]
    json: bool,

    /// Ask no model and no MCP server
    #[arg(long)]
    offline: bool,

    /// Continue without the commits of a lost or damaged log
    #[arg(long)]
    accept_loss: bool,

    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) fn run(args: &Args, console: &mut Console) -> Result<CommandVerdict, CommandFailure> {
    let place = ProjectContext::here(&args.store)?;
    if args.accept_loss {
        accept_loss(&place)?;
    }
    let checks = doctor::look(&place, args.offline);
    let problems = checks.iter().filter(|check| check.state == CheckState::Problem).count();
    if args.json {
        let all: Vec<_> = checks
            .iter()
            .map(|check| {
                json!({"about": check.about, "state": check.state.as_str(), "text": check.text, "help": check.help})
            })
            .collect();
        console.line(&format!("{:#}", json!({"v": 1, "checks": all, "problems": problems})))?;
    } else {
        checks.iter().try_for_each(|check| print(check, console))?;
    }
    Ok(if problems == 0 { CommandVerdict::Done } else { CommandVerdict::Failed })
}

fn accept_loss(place: &ProjectContext) -> Result<(), CommandFailure> {
    place.insist_on_file("doctor --accept-loss")?;
    place.insist_on_store()?;
    let _lock = place.hold_alone("doctor --accept-loss")?;
    Ok(SqliteStore::accept_loss(&place.store)?)
}

fn print(check: &DoctorResult, console: &mut Console) -> Result<(), CommandFailure> {
    let style = match check.state {
        CheckState::Ok => TextStyle::Good,
        CheckState::Warn => TextStyle::Notice,
        CheckState::Problem => TextStyle::Bad,
    };
    let state = console.paint(style, &format!("{:<7}", check.state.as_str()));
    let about = console.paint(TextStyle::Dim, &format!("{:<8}", check.about));
    console.line(&format!("{state}  {about}  {}", check.text))?;
    match &check.help {
        Some(help) => console.line(&format!("{:<17}  {help}", "")),
        None => Ok(()),
    }
}
