//! `rawko verify`: explores every reachable configuration of a chart, and proves or refutes its properties.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rawko_chart::Severity;
use rawko_core::{Value, World, duration};
use rawko_sim::ReportLine;
use rawko_verify::{
    Counterexample, ExplorationLimits, Model, PropertyReport, STATES_MAX_DEFAULT, Storage, VerifyReport,
};

use crate::console::{Console, TextStyle};
use crate::failure::{CommandFailure, CommandVerdict};
use crate::files;
use crate::inputs;
use crate::loading;
use crate::scenario::report::count;
use crate::simulation::show::Show;
use crate::verification::{self, VerifyProgress};

const EXAMPLES: &str = "\
Every event, timer and outcome of a call is tried in every reachable configuration, on the engine
that also runs the chart. Built-in properties are always checked: no_trap, no_stall,
bounded_eventless, failures_handled, approval_respected, read_only_phases, bounded_children and
bounded_by_budget. Own properties are in `properties:` of the chart or in a file:

  properties:
    approval_first: {before: {first: \"in('approved')\", then: \"invoked('deploy')\"}}
    exclusive:      {never: \"in('a') and in('b')\"}
    ends:           {leads_to: {from: \"in('open')\", to: \"ended()\"}, assume: [people_answer]}
    in_time:        {within: {from: \"in('open')\", to: \"not in('open')\", time: 24h}}

A violation is a shortest trace. In the JSON output it is ready for `rawko simulate`.

The exit code is 0 if all properties hold, 1 if one is violated, 3 if one is undecided, 52 if a
chart or a property is invalid.

Examples:
  rawko verify order.yaml
  rawko verify order.yaml --with parcel.yaml --properties order.properties.yaml
  rawko verify .
  rawko verify order.yaml --max-states 1000000 --time 5m
  rawko verify order.yaml --max-states 50000000 --time 1h --compact
  rawko verify order.yaml --any-input
  rawko verify order.yaml --manifest
  rawko verify order.yaml --diff order.old.yaml
  rawko verify order.yaml --save order.hole.scenario.yaml
  rawko verify order.yaml --json | jq '.properties[] | select(.verdict == \"violated\") | .trace'";

/// Prove properties of a chart, or find a shortest violation
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Charts or projects (directories), or `-` for standard input
    #[arg(required = true, value_name = "CHART|PROJECT")]
    charts: Vec<PathBuf>,

    /// More properties for every chart (JSON or YAML)
    #[arg(long, value_name = "FILE")]
    properties: Option<PathBuf>,

    /// Chart that may be invoked as a child (repeatable)
    #[arg(long, value_name = "CHART")]
    with: Vec<PathBuf>,

    /// Stop after N states per chart
    #[arg(long, value_name = "N", default_value_t = STATES_MAX_DEFAULT)]
    max_states: usize,

    /// Stop after this time per chart, such as 30s or 5m
    #[arg(long, value_name = "DURATION", default_value = "60s")]
    time: String,

    /// Compare states by 64-bit hashes only: less memory, not exact
    #[arg(long)]
    compact: bool,

    /// Input: a JSON object or key=value (repeatable)
    #[arg(long, value_name = "JSON|KEY=VALUE", conflicts_with = "any_input")]
    input: Vec<String>,

    /// Prove properties for every input instead of the default one
    #[arg(long)]
    any_input: bool,

    /// Print the most that each chart can do: ceilings, tools, approvals
    #[arg(long)]
    manifest: bool,

    /// Print what the chart may do beyond an older one; exit 1 if it may
    #[arg(long, value_name = "OLD")]
    diff: Option<PathBuf>,

    /// Print one JSON object per chart
    #[arg(long)]
    json: bool,

    /// Print the formula and the bound of each property too
    #[arg(short, long)]
    verbose: bool,

    /// Write the violations as scenarios that fail in `rawko test`
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, console: &mut Console) -> Result<CommandVerdict, CommandFailure> {
    let time =
        duration::parse_ms(&args.time).map_err(|error| CommandFailure::Usage(format!("--time: {error}")))?;
    let mut worst = rawko_verify::PropertyVerdict::Holds;
    let mut scenarios = Vec::new();
    let storage = if args.compact { Storage::Compact } else { Storage::Exact };
    for path in &verification::charts(&args.charts)? {
        let (mut models, world) = verification::models(path, &args.with)?;
        prepare(args, &mut models[0])?;
        let progress = VerifyProgress::new(models[0].chart.id(), Duration::from_millis(time));
        let limits = ExplorationLimits {
            states_max: args.max_states,
            stop: &|states| progress.is_over(states),
            storage,
        };
        if args.manifest || args.diff.is_some() {
            let limits = ExplorationLimits { stop: &|_| progress.is_over(0), ..limits };
            if print_manifest(args, &models, &world, &limits, console)? {
                worst = rawko_verify::PropertyVerdict::Violated;
            }
            continue;
        }
        let Some(report) = rawko_verify::verify(&models, &world, &limits) else { continue };
        progress.erase();
        if args.json {
            console.line(&report.to_value().to_string())?;
        } else {
            print(&report, args.verbose, console)?;
            print_traces(&report, &models, &world, console)?;
        }
        for (property, trace) in violations(&report) {
            scenarios.push(scenario(
                path,
                property,
                trace,
                &verification::replay(&models, &world, None, trace)?,
            ));
        }
        worst = worse(worst, report.verdict());
    }
    if let Some(path) = &args.save {
        // The exploration has no gate, and a trace replays as it was found.
        verification::save(path, &args.charts[0], &args.with, scenarios, true)?;
    }
    Ok(match worst {
        rawko_verify::PropertyVerdict::Holds => CommandVerdict::Done,
        rawko_verify::PropertyVerdict::Violated => CommandVerdict::Failed,
        rawko_verify::PropertyVerdict::Unknown => CommandVerdict::Undecided,
    })
}

fn worse(
    one: rawko_verify::PropertyVerdict,
    other: rawko_verify::PropertyVerdict,
) -> rawko_verify::PropertyVerdict {
    use rawko_verify::PropertyVerdict::{Holds, Unknown, Violated};
    match (one, other) {
        (Violated, _) | (_, Violated) => Violated,
        (Unknown, _) | (_, Unknown) => Unknown,
        (Holds, Holds) => Holds,
    }
}

/// Adds the input and the properties of the command line.
fn prepare(args: &Args, model: &mut Model) -> Result<(), CommandFailure> {
    if let Some(path) = &args.properties {
        let source = files::read_source(path)?;
        let findings = model.add_properties(&source);
        if findings.iter().any(|finding| finding.severity >= Severity::Error) {
            return Err(loading::unusable(&source, &findings));
        }
    }
    let input = inputs::object_from("--input", &args.input)?;
    if !input.is_empty() {
        model.input = serde_json::Value::Object(input).into();
    }
    model.any_input = args.any_input;
    Ok(())
}

/// Prints the manifest of a chart, or what it adds to that of an older one.
fn print_manifest(
    args: &Args,
    models: &[Model],
    world: &World,
    limits: &ExplorationLimits<'_>,
    console: &mut Console,
) -> Result<bool, CommandFailure> {
    let new = rawko_verify::manifest(models, world, limits).unwrap_or_default();
    let Some(old) = &args.diff else {
        let text = match args.json {
            true => new.to_string(),
            false => serde_json::to_string_pretty(&new)
                .map_err(|error| CommandFailure::Failed(error.to_string()))?,
        };
        console.line(&text)?;
        return Ok(false);
    };
    let (older, world) = verification::models(old, &args.with)?;
    let old = rawko_verify::manifest(&older, &world, limits).unwrap_or_default();
    let changes = rawko_verify::manifest_changes(&old, &new);
    if args.json {
        let list = |is_more: bool| {
            let those = changes.iter().filter(|change| change.is_more == is_more);
            Value::list(those.map(|change| Value::str(&change.text)).collect())
        };
        let chart = new.get("chart").clone();
        console
            .line(&Value::map([("chart", chart), ("more", list(true)), ("less", list(false))]).to_string())?;
    } else if changes.is_empty() {
        console.line("no change in authority")?;
    }
    for change in changes.iter().filter(|_| !args.json) {
        let (style, word) = if change.is_more { (TextStyle::Bad, "more") } else { (TextStyle::Good, "less") };
        let word = console.paint(style, word);
        console.line(&format!("{word}  {}", change.text))?;
    }
    Ok(changes.iter().any(|change| change.is_more))
}

fn violations(report: &VerifyReport) -> impl Iterator<Item = (&PropertyReport, &Counterexample)> {
    report.properties.iter().filter_map(|property| Some((property, property.trace.as_ref()?)))
}

fn print(report: &VerifyReport, is_verbose: bool, console: &mut Console) -> Result<(), CommandFailure> {
    let size = format!("{}, {}", count(report.states, "state"), count(report.transitions, "transition"));
    console.line(&format!("{} ({size})", report.chart))?;
    for property in &report.properties {
        let (style, word) = match property.verdict {
            rawko_verify::PropertyVerdict::Holds => (TextStyle::Good, "holds"),
            rawko_verify::PropertyVerdict::Violated => (TextStyle::Bad, "VIOLATED"),
            rawko_verify::PropertyVerdict::Unknown => (TextStyle::Notice, "unknown"),
        };
        let word = console.paint(style, &format!("{word:<8}"));
        let why = match &property.trace {
            Some(trace) => format!(": {}", trace.reason),
            None => String::new(),
        };
        console.line(&format!("  {word}  {}{why}", property.name))?;
        if is_verbose {
            let formula = property.ltl.iter().map(|formula| ("formula", formula));
            for (name, text) in formula.chain([("explored", &property.bound)]) {
                let line = console.paint(TextStyle::Dim, &format!("              {name}: {text}"));
                console.line(&line)?;
            }
        }
    }
    if let Some(property) = report.properties.first().filter(|_| !is_verbose) {
        let bound = console.paint(TextStyle::Dim, &format!("  explored: {}", property.bound));
        console.line(&bound)?;
    }
    Ok(())
}

fn print_traces(
    report: &VerifyReport,
    models: &[Model],
    world: &World,
    console: &mut Console,
) -> Result<(), CommandFailure> {
    for (property, trace) in violations(report) {
        console.line("")?;
        console.line(&format!("{}: {}", property.name, trace.reason))?;
        let mut show = Show::new(false, false);
        for (number, line) in verification::replay(models, world, None, trace)?.iter().enumerate() {
            if trace.loop_from == number.checked_sub(1) && number > 0 {
                let mark = console.paint(TextStyle::Dim, "the loop begins:");
                console.line(&mark)?;
            }
            show.report(line, console)?;
        }
    }
    Ok(())
}

/// Returns a scenario that fails as long as the chart ends up where the trace does.
fn scenario(path: &Path, property: &PropertyReport, trace: &Counterexample, lines: &[ReportLine]) -> Value {
    let name = format!("{}: {}", property.name, trace.reason);
    let description = format!("found by rawko verify in {}", files::shown(path));
    verification::scenario((name, description), trace, |number| {
        let last = lines.last().filter(|_| number == trace.events.len())?;
        let configuration = last.configuration.iter().map(|path| Value::str(path)).collect();
        Some(Value::map([("configuration", Value::map([("excludes", Value::list(configuration))]))]))
    })
}
