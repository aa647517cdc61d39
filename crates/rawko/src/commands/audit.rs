//! `rawko audit verify`: proves that nothing was changed, moved or deleted in the journals and in the audit.

use std::sync::Arc;

use rawko_host::SnapshotReader;
use rawko_store::{ChainKind, ChainProblem, ChainReport, SqliteOptions, SqliteStore};
use serde_json::json;

use crate::console::{Console, TextStyle};
use crate::doctor::contradictions;
use crate::failure::{CommandFailure, CommandVerdict};
use crate::hosting::{ProjectContext, StoreArgs};
use crate::scenario::report::count;

const EXAMPLES: &str = "\
Every record of a journal and every line of the audit is chained by hash to the one before, and the
row of each instance holds the ends of both chains; open effects, deliveries and parents have hashes
of their own. `verify` checks all of them and the charts, also while a host runs, and names the
instance and the step of each break. Exit code 0: nothing was changed, moved or deleted; 1:
something was.

The chains have no key: they show edits of rows, not a store that was rewritten as a whole. Keep
backups elsewhere for that.

Examples:
  rawko audit verify
  rawko audit verify --json | jq '.problems[]'";

/// Verify the journals and the audit against their hash chains
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Check that no row was changed, moved or deleted
    Verify {
        /// Print one JSON object
        #[arg(long)]
        json: bool,

        #[command(flatten)]
        store: StoreArgs,
    },
}

pub(crate) fn run(args: &Args, console: &mut Console) -> Result<CommandVerdict, CommandFailure> {
    let Action::Verify { json, store } = &args.action;
    let place = ProjectContext::here(store)?;
    place.insist_on_file("audit verify")?;
    place.insist_on_store()?;
    let options = SqliteOptions { read_only: true, ..SqliteOptions::default() };
    let store = Arc::new(SqliteStore::open(&place.store, options)?);
    let mut report = store.verify_chains()?;
    if report.problems.is_empty() {
        report.problems = contradictions(&SnapshotReader::new(store))?;
    }
    if *json {
        console.line(&as_json(&report).to_string())?;
    } else {
        print(&place, &report, console)?;
    }
    Ok(if report.problems.is_empty() { CommandVerdict::Done } else { CommandVerdict::Failed })
}

/// Returns the instances whose rows contradict their journal.
fn contradictions(reader: &SnapshotReader) -> Result<Vec<ChainProblem>, CommandFailure> {
    let problem = |message| ChainProblem { chain: ChainKind::Journal, instance: None, step: None, message };
    Ok(contradictions::find(reader)?.into_iter().map(problem).collect())
}

fn as_json(report: &ChainReport) -> serde_json::Value {
    let problem = |problem: &ChainProblem| {
        json!({"chain": problem.chain.as_str(), "instance": problem.instance, "step": problem.step,
               "message": problem.message})
    };
    json!({
        "ok": report.problems.is_empty(),
        "instances": report.instances,
        "records": report.records,
        "audit_lines": report.audit_lines,
        "problems": report.problems.iter().map(problem).collect::<Vec<_>>(),
    })
}

fn print(place: &ProjectContext, report: &ChainReport, console: &mut Console) -> Result<(), CommandFailure> {
    let counted = [
        count(report.instances, "instance"),
        count(report.records, "record"),
        count(report.audit_lines, "audit line"),
    ];
    let word = match report.problems.len() {
        0 => console.paint(TextStyle::Good, "intact"),
        _ => console.paint(TextStyle::Bad, "damaged"),
    };
    console.line(&format!("{}: {word}: {}", place.shown(), counted.join(", ")))?;
    for problem in &report.problems {
        console.line(&format!("  {}: {problem}", problem.chain.as_str()))?;
    }
    Ok(())
}
