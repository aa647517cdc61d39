//! `rawko run`: starts an instance of a chart and follows it.

use std::path::{Path, PathBuf};

use rawko_host::Edition;
use serde_json::Value as Json;

use crate::console::{Console, TextStyle};
use crate::delivering::started;
use crate::failure::{CommandFailure, CommandVerdict};
use crate::files;
use crate::following::{FollowArgs, Narrator, OutputFormat, RunFollower, Signals, TaskEnding};
use crate::hosting::{self, HostAccess, LoadedChart, ProjectContext, StoreArgs};
use crate::inputs;
use crate::loading;
use crate::task_request::is_workflow;

const EXAMPLES: &str = "\
Follows the instance until it is done, fails, or waits for a person, an event or a timer that is due
later than --patience. Its state is stored; `rawko resume` and `rawko serve` continue it. Ctrl-C
pauses the instance: then only `rawko resume` continues it. No other command moves it. Every step is
stored before its effects run, so an instance survives crashes, reboots and later edits of the chart
file.

Charts may call only the services that `.rawko/config.yaml` defines and allows.

Exit codes: 0 done, 1 failed, 3 try again later, 52 invalid chart or settings, 53 budget exceeded,
54 loop detected, 55 waiting or paused, 130 paused by Ctrl-C.

Examples:
  rawko run order.yaml
  rawko run plan_build --input goal=\"Make the tests pass\"
  rawko run order.yaml --input order_id=o-17 --input amount=250 --id order-17
  rawko run review.yaml --input diff=@change.diff --with lint.yaml
  rawko run order.yaml --output-format stream-json | jq -c 'select(.type == \"log\")'";

/// Run a chart and follow its progress
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Chart file, `-` for standard input, or a chart id (`rawko charts`)
    chart: PathBuf,

    /// Input: a JSON object, key=value, key=@file or @file (repeatable)
    #[arg(long, value_name = "JSON|KEY=VALUE")]
    input: Vec<String>,

    /// Instance id (generated if omitted)
    #[arg(long, value_name = "ID")]
    id: Option<String>,

    /// Chart that may be invoked as a child (repeatable)
    #[arg(long, value_name = "CHART")]
    with: Vec<PathBuf>,

    /// Calls that need an approval: wait for a person, or deny
    #[arg(long, value_name = "MODE", value_parser = ["wait", "deny"])]
    permission_mode: Option<String>,

    #[command(flatten)]
    follow: FollowArgs,

    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) fn run(args: &Args, console: &mut Console) -> Result<CommandVerdict, CommandFailure> {
    let place = match is_name(&args.chart) {
        true => ProjectContext::here(&args.store)?,
        false => ProjectContext::of_chart(&args.chart, &args.store)?,
    };
    let charts = charts(args, &place, console)?;
    let input = Json::Object(inputs::object_or_files("--input", &args.input)?);
    let manner = args.follow.manner();
    hosting::block_on(async {
        let mut signals = Signals::new()?;
        let mut access = HostAccess::open(&place, &charts, console).await?;
        let seq = access.reader().store().last_seq()?;
        let mode = args.permission_mode.as_deref().map(rawko_core::Value::str);
        let budget = mode.map(|mode| rawko_core::Value::map([("permission_mode", mode)])).unwrap_or_default();
        let parts = (input.into(), args.id.clone(), budget);
        let started = match started(&mut access, &place, &charts, parts, console).await {
            Ok(started) => started,
            Err(failure) => {
                access.close(console).await;
                return Err(failure);
            }
        };
        if manner.format == OutputFormat::Text {
            let id = console.paint(TextStyle::Bold, &started.instance);
            let about = charts.first().map(|edition| {
                console.paint(TextStyle::Dim, &format!("{} {}", edition.chart.id(), edition.chart.version()))
            });
            console.line(&format!("{id}  {}", about.unwrap_or_default()))?;
        }
        let follow = RunFollower::after(seq, &access, &started.instance, &place, manner).owned();
        let workflow = charts.first().map(|edition| edition.chart.id()).filter(|chart| is_workflow(chart));
        match workflow.filter(|_| manner.format == OutputFormat::Text && !manner.verbose) {
            Some(chart) => {
                let follow = follow.narrated(Narrator::new(chart, console));
                let (ended, reader, other) = follow.until_rest(access, &mut signals, console).await?;
                let id = &*started.instance;
                TaskEnding { place: &place, reader: &reader, id, ended, other }.tell(manner.format, console)
            }
            None => follow.until_end(access, &mut signals, console).await,
        }
    })
}

/// Returns true for the id of a chart rather than a file: `plan_build`, `order@^2`.
pub(crate) fn is_name(chart: &Path) -> bool {
    let text = chart.to_string_lossy();
    !files::is_stdin(chart) && !chart.exists() && !text.contains(['/', '\\']) && !has_ending(&text)
}

fn has_ending(text: &str) -> bool {
    [".yaml", ".yml", ".json"].iter().any(|ending| text.ends_with(ending))
}

/// Returns the chart to run, followed by those of `--with`.
fn charts(
    args: &Args,
    place: &ProjectContext,
    console: &mut Console,
) -> Result<Vec<Edition>, CommandFailure> {
    let readers = std::iter::once(&args.chart).chain(&args.with).filter(|path| files::is_stdin(path));
    if readers.count() > 1 {
        return Err(CommandFailure::Usage("only one chart can be `-` (standard input)".to_owned()));
    }
    let mut charts = Vec::new();
    for path in std::iter::once(&args.chart).chain(&args.with) {
        if is_name(path) {
            charts.push(place.named(&path.to_string_lossy())?);
            continue;
        }
        let loaded = loading::runnable(path)?;
        loading::warn(&loaded, console);
        charts.push(loaded.edition());
    }
    Ok(charts)
}

pub(crate) fn texts(charts: &[Edition]) -> Vec<LoadedChart> {
    charts.iter().map(LoadedChart::from).collect()
}
