//! `rawko charts`: lists the charts of a project, and those of its instances.

use std::collections::HashMap;

use rawko_host::Edition;
use rawko_store::{ChartHash, ChartRow, Filter};
use serde_json::json;

use crate::console::{Console, TextStyle};
use crate::failure::{CommandFailure, CommandVerdict};
use crate::hosting::{ProjectContext, StoreArgs};
use crate::table::{Cell, ConsoleTable};

const EXAMPLES: &str = "\
A chart is published if a `machine_registry` of the project lists it or it is in `.rawko/charts`;
other charts invoke it as `statechart:ID@VERSION`. An instance keeps the version of the chart it
started with, so an edited chart may be listed twice, with different hashes.

Examples:
  rawko charts
  rawko charts --json | jq -r '.charts[] | select(.offered) | .id'";

/// List the charts of the project and of its instances
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Print one JSON document
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    store: StoreArgs,
}

/// A chart in the project, in the store, or in both.
struct ListedChart {
    id: String,
    version: String,
    hash: ChartHash,
    name: String,
    offered: bool,
    instances: usize,
}

pub(crate) fn run(args: &Args, console: &mut Console) -> Result<CommandVerdict, CommandFailure> {
    let place = ProjectContext::here(&args.store)?;
    place.mention_settings(console);
    let mut lines: Vec<ListedChart> = place.offered().iter().map(of_edition).collect();
    if let Some(reader) = place.reader()? {
        let mut counts: HashMap<ChartHash, usize> = HashMap::new();
        for row in reader.store().list(&Filter::default())?.rows {
            *counts.entry(row.new.chart).or_default() += 1;
        }
        for row in reader.store().charts()? {
            if !lines.iter().any(|line| line.hash == row.hash) {
                lines.push(of_row(&row));
            }
        }
        for line in &mut lines {
            line.instances = counts.get(&line.hash).copied().unwrap_or(0);
        }
    }
    lines.sort_by(|one, other| {
        (&one.id, &one.version, !one.offered).cmp(&(&other.id, &other.version, !other.offered))
    });
    if args.json {
        print_json(&lines, console)?
    } else {
        print_table(&lines, console)?
    }
    Ok(CommandVerdict::Done)
}

fn of_edition(edition: &Edition) -> ListedChart {
    ListedChart {
        id: edition.chart.id().to_owned(),
        version: edition.chart.version().to_owned(),
        hash: edition.chart.hash(),
        name: edition.name.to_string(),
        offered: true,
        instances: 0,
    }
}

fn of_row(row: &ChartRow) -> ListedChart {
    ListedChart {
        id: row.id.clone(),
        version: row.version.clone(),
        hash: row.hash,
        name: row.name.clone(),
        offered: false,
        instances: 0,
    }
}

fn print_table(lines: &[ListedChart], console: &mut Console) -> Result<(), CommandFailure> {
    let mut table = ConsoleTable::new(&["ID", "VERSION", "HASH", "PUBLISHED", "INSTANCES", "FROM"]);
    for line in lines {
        table.add(vec![
            Cell::painted(&line.id, TextStyle::Bold),
            Cell::new(&line.version),
            Cell::painted(&hex(&line.hash)[..12], TextStyle::Dim),
            Cell::new(if line.offered { "yes" } else { "-" }),
            Cell::new(line.instances.to_string()),
            Cell::new(&line.name),
        ]);
    }
    if table.is_empty() {
        let text = "no charts yet; add one to `.rawko/charts`, or run one with `rawko run CHART`";
        console.note(TextStyle::Dim, "none", text);
        return Ok(());
    }
    table.print(console)
}

fn print_json(lines: &[ListedChart], console: &mut Console) -> Result<(), CommandFailure> {
    let charts = lines.iter().map(|line| {
        json!({
            "id": line.id,
            "version": line.version,
            "hash": hex(&line.hash),
            "offered": line.offered,
            "instances": line.instances,
            "from": line.name,
        })
    });
    let document = json!({"v": 1, "charts": charts.collect::<Vec<_>>()});
    console.line(&format!("{document:#}"))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
