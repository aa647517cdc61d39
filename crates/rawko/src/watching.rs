//! What a process that hosts tells about itself: traces, metrics and log lines, as flags, environment and settings say.
//! Nothing is sent and nothing observed unless one of them asks for it.

use std::path::Path;
use std::sync::Arc;

use rawko_chart::Finding;
use rawko_host::{Host, Reader, Settings};
use rawko_store::Store;
use rawko_telemetry::{
    LogFormat, LogLevel, LogSettings, Plan, Readings, Redactor, Telemetry, TelemetrySettings,
};

use crate::failure::Failure;
use crate::hosting::Place;

/// How a long-running command logs.
#[cfg(feature = "server")]
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct LogArgs {
    /// How log lines on standard error look; RAWKO_LOG says how much they tell (warn, info, debug)
    #[arg(long, value_name = "FORMAT", display_order = 810)]
    log_format: Option<Format>,
}

#[cfg(feature = "server")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Text,
    Json,
}

/// What is watched. By default only what somebody asks for: a command that ends soon tells its story itself.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WatchPlan {
    /// It runs long: there are metrics, and what needs somebody is logged.
    pub(crate) is_serving: bool,
    format: Option<LogFormat>,
}

impl WatchPlan {
    #[cfg(feature = "server")]
    pub(crate) fn serving(args: LogArgs) -> Self {
        let format = args.log_format.map(|format| match format {
            Format::Text => LogFormat::Text,
            Format::Json => LogFormat::Json,
        });
        Self { is_serving: true, format }
    }

    fn level(self, settings: &TelemetrySettings, said: Option<LogLevel>) -> LogLevel {
        let otherwise = match self.is_serving {
            true => settings.log_level.unwrap_or(LogLevel::Warn),
            false => LogLevel::Off,
        };
        said.unwrap_or(otherwise)
    }
}

/// The observer of a host that is about to start; `None` when nobody wants to know.
pub(crate) fn start(place: &Place, store: Arc<dyn Store>) -> Result<Option<Arc<Telemetry>>, Failure> {
    let (settings, problems) = TelemetrySettings::read(&place.settings);
    if let Some((file, finding)) = first(&problems) {
        return Err(Failure::Invalid(format!("the settings cannot be used\n{file}: {}", finding.message)));
    }
    let environment = place.settings.environment();
    let level = place.watch.level(&settings, said_level(&place.settings)?);
    let format = place.watch.format.or(settings.log_format).unwrap_or_default();
    let plan = Plan {
        traces: settings.traces(environment),
        metrics: place.watch.is_serving,
        logs: Some(LogSettings { level, format }),
        redactor: Redactor::of_process(&texts(&place.root)),
        environment: environment.clone(),
    };
    Telemetry::start(plan, store).map_err(|error| Failure::Invalid(error.to_string()))
}

/// What metrics look at, once there is a host.
pub(crate) fn look_at(telemetry: Option<&Arc<Telemetry>>, host: &Host) {
    if let Some(telemetry) = telemetry {
        let host = host.clone();
        telemetry.metrics().look_at(move || Readings::of(&host));
    }
}

/// The same where others host: what there is can be looked at all the same.
pub(crate) fn look_at_store(telemetry: Option<&Arc<Telemetry>>, reader: &Reader) {
    if let Some(telemetry) = telemetry {
        let reader = reader.clone();
        telemetry.metrics().look_at(move || Readings::of_store(&**reader.store()));
    }
}

/// Everything that is wrong with the section, for `doctor`.
pub(crate) fn problems(settings: &Settings) -> Vec<(String, Finding)> {
    let (_, problems) = TelemetrySettings::read(settings);
    let named = |(file, findings): (Arc<str>, Vec<Finding>)| {
        findings.into_iter().map(move |finding| (file.to_string(), finding))
    };
    problems.into_iter().flat_map(named).collect()
}

fn first(problems: &[(Arc<str>, Vec<Finding>)]) -> Option<(&str, &Finding)> {
    problems.iter().find_map(|(file, findings)| Some((&**file, findings.first()?)))
}

fn said_level(settings: &Settings) -> Result<Option<LogLevel>, Failure> {
    let Some(text) = settings.environment().get("RAWKO_LOG").filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let level = LogLevel::parse(text);
    let help = "it is off, error, warn, info or debug";
    level.map(Some).ok_or_else(|| Failure::Usage(format!("RAWKO_LOG: `{text}` is no level; {help}")))
}

/// Where settings name the variables that hold secrets.
fn texts(root: &Path) -> String {
    let files = [".rawko/config.yaml", ".mcp.json"];
    files.map(|file| std::fs::read_to_string(root.join(file)).unwrap_or_default()).join("\n")
}
