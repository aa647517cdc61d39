//! `rawko simulate`: runs a chart in virtual time, with stimuli from a file, a pipe or a prompt.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rawko_chart::SpannedValue;
use rawko_core::{AgentEntry, Chart, Status, Value, World};
use rawko_sim::{Simulation, Stubs, agents_from_json};
use serde_json::{Map, Value as Json};

use crate::console::{Console, TextStyle};
use crate::failure::{CommandFailure, CommandVerdict};
use crate::files;
use crate::inputs;
use crate::loading;
use crate::project::LoadedProject;
use crate::simulation::gate::project_gate;
use crate::simulation::prompt;
use crate::simulation::show::Show;
use crate::simulation::stimuli::Stimuli;

const EXAMPLES: &str = "\
Stimuli are JSON objects, one per line: an event, or an amount of time.

  {\"type\": \"APPROVED\", \"data\": {\"by\": \"ada\"}}
  {\"advance\": 1500}
  {\"advance\": \"24h\"}

--services stubs the services: a delay, then a result or an error. An invoke without a stub waits
for a stimulus `done.invoke.<id>` or `error.invoke.<id>`. In a project, calls that its `governance`
refuses fail as in `rawko run`, stubbed or not.

  {\"charge_card\": {\"after\": \"2s\", \"done\": {\"receipt\": \"r-1\"}},
   \"agent:linter\": {\"after\": 50, \"error\": {\"message\": \"no such rule\"}}}

On a terminal without --events, stimuli are read from a prompt; type `:help` there.

Examples:
  rawko simulate order.yaml
  rawko simulate order.yaml --with parcel.yaml --services stubs.json --events events.jsonl
  echo '{\"advance\": \"1m\"}' | rawko simulate traffic-light.yaml --json
  rawko simulate order.yaml --input order_id=o-17 --input amount=250 -v";

/// Step through a chart in virtual time, with stubbed services
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Chart file, or `-` for standard input
    pub(crate) chart: PathBuf,

    /// Chart that may be invoked as a child (repeatable)
    #[arg(long, value_name = "CHART")]
    pub(crate) with: Vec<PathBuf>,

    /// Stubs for services and agents (JSON or YAML)
    #[arg(long, value_name = "FILE")]
    pub(crate) services: Option<PathBuf>,

    /// Stimuli, one JSON object per line, or `-` for standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) events: Option<PathBuf>,

    /// Print one JSON object per stimulus, and one for the start
    #[arg(long)]
    pub(crate) json: bool,

    /// Explain which transitions were taken and which were not
    #[arg(long, short)]
    pub(crate) verbose: bool,

    /// Input: a JSON object or key=value (repeatable)
    #[arg(long, value_name = "JSON|KEY=VALUE")]
    pub(crate) input: Vec<String>,

    /// Agents for `agents.select` (JSON or YAML)
    #[arg(long, value_name = "FILE")]
    pub(crate) agents: Option<PathBuf>,

    /// Value of the `env` binding (repeatable)
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) env: Vec<String>,

    /// Allow calls that the project's `governance` refuses
    #[arg(long)]
    pub(crate) open_gate: bool,
}

pub(crate) fn run(args: &Args, console: &mut Console) -> Result<CommandVerdict, CommandFailure> {
    only_one_reads_stdin(args)?;
    let project = LoadedProject::around(&args.chart)?;
    let charts = charts(args, project.as_ref(), console)?;
    let mut simulation = simulation(args, charts, project.as_ref())?;
    if !args.open_gate {
        simulation = simulation.with_gate(project_gate(&args.chart)?);
    }
    // A pipe can be read only once, and its writer may wait for a report.
    if let Some(path) = args.events.as_deref().filter(|path| !files::is_stdin(path) && path.is_file()) {
        simulation = simulation.with_stimuli(&Stimuli::open(path)?.readable());
    }
    let mut show = Show::new(args.json, args.verbose);
    if args.events.is_none() && !args.json && io::stdin().is_terminal() {
        return prompt::talk(&mut simulation, &mut show, console);
    }
    play(args, &mut simulation, &mut show, console)
}

fn only_one_reads_stdin(args: &Args) -> Result<(), CommandFailure> {
    let named = [&args.services, &args.events, &args.agents].into_iter().flatten();
    let readers =
        std::iter::once(&args.chart).chain(&args.with).chain(named).filter(|path| files::is_stdin(path));
    if readers.count() > 1 {
        return Err(CommandFailure::Usage("only one file can be `-` (standard input)".to_owned()));
    }
    Ok(())
}

/// Prints one report for the start and one for each stimulus. A malformed stimulus stops it after the earlier ones.
fn play(
    args: &Args,
    simulation: &mut Simulation,
    show: &mut Show,
    console: &mut Console,
) -> Result<CommandVerdict, CommandFailure> {
    let mut stimuli = Stimuli::open(args.events.as_deref().unwrap_or(Path::new("-")))?;
    let mut verdict = CommandVerdict::Done;
    let mut line = simulation.start();
    loop {
        show.report(&line, console)?;
        if let Some(error) = &line.error {
            verdict = CommandVerdict::Failed;
            console.note(TextStyle::Bad, "error", &format!("step {}: {error}", line.step));
        }
        match stimuli.next()? {
            Some(stimulus) => line = simulation.apply(&stimulus),
            // As `rawko run` does for an instance with a failure that nothing handles.
            None if line.status == Status::Error.as_str() => return Ok(CommandVerdict::Failed),
            None => return Ok(verdict),
        }
    }
}

/// Returns the simulated chart, those of `--with`, and those registered in its project under other ids.
fn charts(
    args: &Args,
    project: Option<&LoadedProject>,
    console: &mut Console,
) -> Result<Vec<Arc<Chart>>, CommandFailure> {
    let mut charts = Vec::new();
    for path in std::iter::once(&args.chart).chain(&args.with) {
        let loaded = loading::runnable(path)?;
        loading::warn(&loaded, console);
        charts.push(loaded.chart);
    }
    loading::add_registered(&mut charts, project);
    Ok(charts)
}

fn simulation(
    args: &Args,
    charts: Vec<Arc<Chart>>,
    project: Option<&LoadedProject>,
) -> Result<Simulation, CommandFailure> {
    let services = match &args.services {
        Some(path) => match json_of(path)? {
            Json::Object(services) => services,
            Json::Null => Map::new(),
            _ => {
                return Err(CommandFailure::Usage(format!(
                    "invalid stubs in `{}`: expected a map from service to result",
                    files::shown(path)
                )));
            }
        },
        None => Map::new(),
    };
    let env = object(inputs::env_from(&args.env)?);
    let stubs =
        Stubs::from_value(&object(services)).map_err(|error| CommandFailure::Usage(error.to_string()))?;
    let world = World { env, agents: agents(args, project)? };
    let input = object(inputs::object_from("--input", &args.input)?);
    let mut charts = charts.into_iter();
    let chart = charts.next().ok_or_else(|| CommandFailure::Usage("no chart to simulate".to_owned()))?;
    Ok(Simulation::new(chart, charts.collect(), stubs, world, input))
}

/// Keeps an empty map a map, so that `input.key` is null and not an error.
fn object(map: Map<String, Json>) -> Value {
    Json::Object(map).into()
}

/// Returns the agents of the file, else those of the project.
fn agents(args: &Args, project: Option<&LoadedProject>) -> Result<Vec<AgentEntry>, CommandFailure> {
    match &args.agents {
        Some(path) => {
            let json = json_of(path)?;
            let list = json.get("agents").unwrap_or(&json);
            agents_from_json(list)
                .map_err(|problem| CommandFailure::Usage(format!("`{}`: {problem}", files::shown(path))))
        }
        None => Ok(project.map(|project| project.agents.clone()).unwrap_or_default()),
    }
}

fn json_of(path: &Path) -> Result<Json, CommandFailure> {
    let source = files::read_source(path)?;
    let document =
        SpannedValue::read(&source.text).map_err(|findings| loading::unusable(&source, &findings))?;
    Ok(document.to_json())
}
