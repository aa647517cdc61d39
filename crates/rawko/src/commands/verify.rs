//! `rawko verify`: explores every reachable configuration of a chart, and proves or refutes its properties.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rawko_chart::{Finding, Registry, Severity, codes};
use rawko_core::{Value, World, duration};
use rawko_sim::{Line, Simulation, Stimulus, Stubs};
use rawko_verify::{Counterexample, Limits, Model, PropertyReport, Report, STATES_MAX_DEFAULT};

use crate::console::{Console, Style};
use crate::failure::{Failure, Verdict};
use crate::files;
use crate::loading;
use crate::project::Project;
use crate::scenario::report::count;
use crate::simulation::show::Show;

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
  rawko verify order.yaml --max-states 1000000 --time 5m
  rawko verify order.yaml --save order.hole.scenario.yaml
  rawko verify order.yaml --json | jq '.properties[] | select(.verdict == \"violated\") | .trace'";

/// Prove properties of a chart, or find a shortest violation
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Chart files, or `-` for standard input
    #[arg(required = true, value_name = "CHART")]
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

    /// Print one JSON object per chart
    #[arg(long)]
    json: bool,

    /// Write the violations as scenarios that fail in `rawko test`
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, console: &mut Console) -> Result<Verdict, Failure> {
    let time = duration::parse_ms(&args.time).map_err(|error| Failure::Usage(format!("--time: {error}")))?;
    let mut worst = rawko_verify::Verdict::Holds;
    let mut scenarios = Vec::new();
    for path in &args.charts {
        let (models, world) = models(args, path)?;
        let end = Instant::now() + Duration::from_millis(time);
        let limits = Limits { states_max: args.max_states, stop: &|| Instant::now() >= end };
        let Some(report) = rawko_verify::verify(&models, &world, &limits) else { continue };
        if args.json {
            console.line(&report.to_value().to_string())?;
        } else {
            print(&report, &models, &world, console)?;
        }
        for (property, trace) in violations(&report) {
            scenarios.push(scenario(path, property, trace, &replay(&models, &world, trace)?));
        }
        worst = worse(worst, report.verdict());
    }
    if let Some(path) = &args.save {
        save(path, &args.charts[0], scenarios)?;
    }
    Ok(match worst {
        rawko_verify::Verdict::Holds => Verdict::Done,
        rawko_verify::Verdict::Violated => Verdict::Failed,
        rawko_verify::Verdict::Unknown => Verdict::Undecided,
    })
}

fn worse(one: rawko_verify::Verdict, other: rawko_verify::Verdict) -> rawko_verify::Verdict {
    use rawko_verify::Verdict::{Holds, Unknown, Violated};
    match (one, other) {
        (Violated, _) | (_, Violated) => Violated,
        (Unknown, _) | (_, Unknown) => Unknown,
        (Holds, Holds) => Holds,
    }
}

/// Returns the chart with its properties, then those that it may invoke.
fn models(args: &Args, path: &Path) -> Result<(Vec<Model>, World), Failure> {
    let mut model = load(path)?;
    if let Some(path) = &args.properties {
        let source = files::read_source(path)?;
        let findings = model.add_properties(&source);
        if findings.iter().any(|finding| finding.severity >= Severity::Error) {
            return Err(loading::unusable(&source, &findings));
        }
    }
    let project = Project::around(path)?;
    let mut models = vec![model];
    for path in &args.with {
        models.push(load(path)?);
    }
    for path in project.as_ref().map(Project::invocable_charts).unwrap_or_default() {
        // A broken registered chart matters only to charts that invoke it, and `check` reports it.
        let Ok(other) = load(&path) else { continue };
        let is_same = |known: &Model| {
            known.chart.id() == other.chart.id() && known.chart.version() == other.chart.version()
        };
        if !models.iter().any(is_same) {
            models.push(other);
        }
    }
    let agents = project.map(|project| project.agents.clone()).unwrap_or_default();
    Ok((models, World { env: Value::Map(std::sync::Arc::default()), agents }))
}

fn load(path: &Path) -> Result<Model, Failure> {
    let source = rawko_chart::source_from_bytes(&files::shown(path), &files::read(path)?)
        .map_err(|unread| loading::unusable(&unread.0, std::slice::from_ref(&unread.1)))?;
    let (model, findings) = Model::load(&source, &Registry::default());
    let is_wrong = |finding: &&Finding| {
        finding.severity == Severity::Fatal || finding.code == codes::INVALID_PROPERTY.name
    };
    let wrong: Vec<Finding> = findings.iter().filter(is_wrong).cloned().collect();
    model.filter(|_| wrong.is_empty()).ok_or_else(|| loading::unusable(&source, &wrong))
}

fn violations(report: &Report) -> impl Iterator<Item = (&PropertyReport, &Counterexample)> {
    report.properties.iter().filter_map(|property| Some((property, property.trace.as_ref()?)))
}

fn print(report: &Report, models: &[Model], world: &World, console: &mut Console) -> Result<(), Failure> {
    let size = format!("{}, {}", count(report.states, "state"), count(report.transitions, "transition"));
    console.line(&format!("{} ({size})", report.chart))?;
    for property in &report.properties {
        let (style, word) = match property.verdict {
            rawko_verify::Verdict::Holds => (Style::Good, "holds"),
            rawko_verify::Verdict::Violated => (Style::Bad, "VIOLATED"),
            rawko_verify::Verdict::Unknown => (Style::Notice, "unknown"),
        };
        let word = console.paint(style, &format!("{word:<8}"));
        let why = match &property.trace {
            Some(trace) => format!(": {}", trace.reason),
            None => String::new(),
        };
        console.line(&format!("  {word}  {}{why}", property.name))?;
    }
    if let Some(property) = report.properties.first() {
        let bound = console.paint(Style::Dim, &format!("  explored: {}", property.bound));
        console.line(&bound)?;
    }
    for (property, trace) in violations(report) {
        console.line("")?;
        console.line(&format!("{}: {}", property.name, trace.reason))?;
        let mut show = Show::new(false, false);
        for (number, line) in replay(models, world, trace)?.iter().enumerate() {
            if trace.loop_from == number.checked_sub(1) && number > 0 {
                let mark = console.paint(Style::Dim, "the loop begins:");
                console.line(&mark)?;
            }
            show.report(line, console)?;
        }
    }
    Ok(())
}

/// Replays a trace in the simulation; the first line is the start.
fn replay(models: &[Model], world: &World, trace: &Counterexample) -> Result<Vec<Line>, Failure> {
    let mut charts = models.iter().map(|model| std::sync::Arc::clone(&model.chart));
    let Some(chart) = charts.next() else { return Ok(Vec::new()) };
    let stubs = Stubs::from_value(&trace.services).map_err(|error| Failure::Failed(error.to_string()))?;
    let input = Value::Map(std::sync::Arc::default());
    let mut simulation = Simulation::new(chart, charts.collect(), stubs, world.clone(), input);
    let mut lines = vec![simulation.start()];
    for event in &trace.events {
        let stimulus = Stimulus::from_value(event).map_err(|error| Failure::Failed(error.to_string()))?;
        lines.push(simulation.apply(&stimulus));
    }
    Ok(lines)
}

/// Returns a scenario that fails as long as the chart ends up where the trace does.
fn scenario(path: &Path, property: &PropertyReport, trace: &Counterexample, lines: &[Line]) -> Value {
    let mut steps: Vec<Value> = trace.events.iter().map(step).collect();
    if let Some(last) = lines.last() {
        let configuration = last.configuration.iter().map(|path| Value::str(path)).collect();
        let excluded = Value::map([("excludes", Value::list(configuration))]);
        let expected = Value::map([("configuration", excluded)]);
        steps.push(Value::map([("expect", expected)]));
    }
    Value::map([
        ("name", Value::from(format!("{}: {}", property.name, trace.reason))),
        ("description", Value::from(format!("found by rawko verify in {}", files::shown(path)))),
        ("services", trace.services.clone()),
        ("steps", Value::list(steps)),
    ])
}

fn step(event: &Value) -> Value {
    match event.get("type") {
        Value::Null => event.clone(),
        name if event.get("data").is_null() => Value::map([("send", name.clone())]),
        name => Value::map([("send", name.clone()), ("data", event.get("data").clone())]),
    }
}

fn save(path: &Path, chart: &Path, scenarios: Vec<Value>) -> Result<(), Failure> {
    let is_beside = path.parent() == chart.parent();
    let name = chart.file_name().filter(|_| is_beside).map(PathBuf::from);
    let chart = name.or_else(|| chart.canonicalize().ok()).unwrap_or_else(|| chart.to_owned());
    let document = Value::map([
        ("chart", Value::from(chart.display().to_string())),
        ("scenarios", Value::list(scenarios)),
    ]);
    // JSON is YAML.
    let text = serde_json::to_string_pretty(&document).map_err(|error| Failure::Failed(error.to_string()))?;
    files::write_text(path, &format!("{text}\n"))
}
