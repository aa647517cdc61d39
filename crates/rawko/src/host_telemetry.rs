//! Telemetry of a hosting process: traces, metrics and log lines, as configured by flags, environment and settings.
//! Nothing is sent or observed unless one of them enables it.

use std::path::Path;
use std::sync::Arc;

use rawko_chart::Finding;
use rawko_host::{Host, Settings, SnapshotReader};
use rawko_store::Store;
use rawko_telemetry::{
    LogFormat, LogLevel, LogSettings, Readings, Redactor, Telemetry, TelemetryPlan, TelemetrySettings,
};

use crate::failure::CommandFailure;
use crate::hosting::ProjectContext;

/// The log options of a long-running command.
#[cfg(feature = "server")]
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct LogArgs {
    /// Log format on standard error; set the level with RAWKO_LOG
    #[arg(long, value_name = "FORMAT", display_order = 810)]
    log_format: Option<LogOutput>,
}

#[cfg(feature = "server")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum LogOutput {
    Text,
    Json,
}

/// The telemetry options. By default only explicitly enabled parts: a short command prints its own progress.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WatchPlan {
    /// The process runs long: it has metrics, and logs problems that need attention.
    pub(crate) is_serving: bool,
    format: Option<LogFormat>,
}

impl WatchPlan {
    #[cfg(feature = "server")]
    pub(crate) fn serving(args: LogArgs) -> Self {
        let format = args.log_format.map(|format| match format {
            LogOutput::Text => LogFormat::Text,
            LogOutput::Json => LogFormat::Json,
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

/// Returns the observer of a host that is about to start; `None` if telemetry is disabled.
pub(crate) fn start(
    place: &ProjectContext,
    store: Arc<dyn Store>,
) -> Result<Option<Arc<Telemetry>>, CommandFailure> {
    let (settings, problems) = TelemetrySettings::read(&place.settings);
    if let Some((file, finding)) = first(&problems) {
        return Err(CommandFailure::Invalid(format!("invalid settings\n{file}: {}", finding.message)));
    }
    let environment = place.settings.environment();
    let level = place.watch.level(&settings, said_level(&place.settings)?);
    let format = place.watch.format.or(settings.log_format).unwrap_or_default();
    let plan = TelemetryPlan {
        traces: settings.traces(environment),
        metrics: place.watch.is_serving,
        logs: Some(LogSettings { level, format }),
        redactor: Redactor::of_process(&texts(&place.root)),
        environment: environment.clone(),
    };
    Telemetry::start(plan, store).map_err(|error| CommandFailure::Invalid(error.to_string()))
}

/// Connects the metrics to a started host.
pub(crate) fn look_at(telemetry: Option<&Arc<Telemetry>>, host: &Host) {
    if let Some(telemetry) = telemetry {
        let host = host.clone();
        telemetry.metrics().look_at(move || Readings::of(&host));
    }
}

/// Connects the metrics to the store of a remote host.
pub(crate) fn look_at_store(telemetry: Option<&Arc<Telemetry>>, reader: &SnapshotReader) {
    if let Some(telemetry) = telemetry {
        let reader = reader.clone();
        telemetry.metrics().look_at(move || Readings::of_store(&**reader.store()));
    }
}

/// Returns all problems of the section, for `doctor`.
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

fn said_level(settings: &Settings) -> Result<Option<LogLevel>, CommandFailure> {
    let Some(text) = settings.environment().get("RAWKO_LOG").filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let level = LogLevel::parse(text);
    let help = "use off, error, warn, info or debug";
    level.map(Some).ok_or_else(|| CommandFailure::Usage(format!("invalid RAWKO_LOG `{text}`; {help}")))
}

/// Returns the texts of the files that name variables with secrets.
fn texts(root: &Path) -> String {
    let files = [".rawko/config.yaml", ".mcp.json"];
    files.map(|file| std::fs::read_to_string(root.join(file)).unwrap_or_default()).join("\n")
}
