//! Bash: a command line that passed the shell filter, started by the launcher with the profile of its grant, and
//! terminated with all its child processes.

mod environment;
mod output;
mod process;
mod temporary;
mod watch;

pub use environment::CommandVariables;
pub(super) use temporary::Temporary;
pub use watch::{OutputWatch, with_output_watch};

use std::time::Duration;

use rawko_core::{Value, duration};
use rawko_process::{
    Confinement, Egress, Launch, LaunchError, ProcessLimits, Profile, ProgramStdin, ProgramStdout as Pipes,
};

use super::confine::ProjectRoot;
use super::input::whole;
use super::outcome::{ToolFailure, ToolOutcome};
use super::settings::ToolSettings;
use super::shell::Permit;
use output::CommandOutput;
use process::ShellEnd;

/// A model may request a longer timeout, up to this factor.
const TIMEOUT_FACTOR_MAX: u32 = 5;

/// The key of the hosts that a command reached, in the data of its result.
pub(super) const CONNECTED: &str = "connected";

/// The key of the hosts that a person has to approve first, each with the rule that asks.
pub(super) const WANTED: &str = "wanted";

/// Limits of each process of a command.
const LIMITS: ProcessLimits = ProcessLimits {
    file_bytes: Some(4 * 1024 * 1024 * 1024),
    cpu_seconds: Some(60 * 60),
    processes: Some(8192),
};

/// The caller of a command.
pub(super) struct CommandCaller<'c> {
    pub(super) instance: &'c str,
    pub(super) idempotency: &'c str,
}

pub(super) async fn bash(
    project: &ProjectRoot,
    settings: &ToolSettings,
    (temporary, egress): (&Temporary, Option<Egress>),
    (permit, caller): (Permit, CommandCaller<'_>),
    input: &Value,
) -> Result<ToolOutcome, ToolFailure> {
    let limit = timeout(settings, input);
    let profile = if permit.is_read_only { Profile::ReadOnly } else { Profile::Workspace };
    let confinement = Confinement {
        hidden: permit.denied.hidden.clone(),
        protected: permit.denied.protected.clone(),
        needs_boundary: permit.needs_kernel.clone(),
        egress,
        ..settings.confinement(project.root()).with_scratch(temporary.path()?)
    };
    let launch = Launch {
        args: vec!["-c".to_owned(), permit.line.clone()],
        inherited: settings.bash.inherited.all(),
        set: settings.bash.variables(&caller, permit.is_read_only && permit.line.contains("git")),
        input: ProgramStdin::Null,
        output: Pipes::Merged,
        limits: LIMITS,
        ..Launch::new("bash", profile, confinement)
    };
    let running = process::start(launch).await.map_err(|error| match error {
        LaunchError::Program(error) => {
            format!("bash could not be started in {}: {error}", project.root().display())
        }
        LaunchError::Confinement(why) => why,
    })?;
    let (sandbox, connections) = (running.sandbox.clone(), running.connections.clone());
    let (ending, output, refused) = running.finish(limit, settings.bash.output_max).await;
    let mut outcome = outcome(&ending, &output, limit, &sandbox);
    let hosts: Vec<Value> = connections.hosts().into_iter().map(Value::from).collect();
    let wanted = connections.wanted();
    for (host, rule) in &wanted {
        let line = format!("[no connection to {host}: it needs the approval of a person, by {rule}]");
        outcome.content = format!("{}\n{line}", outcome.content.trim_end_matches('\n'));
    }
    let wanted = wanted
        .into_iter()
        .map(|(host, rule)| Value::map([("host", Value::from(host)), ("rule", Value::from(rule))]));
    outcome.data = with_list(outcome.data, CONNECTED, hosts);
    outcome.data = with_list(outcome.data, WANTED, wanted.collect());
    for line in refused {
        outcome.content = format!("{}\n[{line}]", outcome.content.trim_end_matches('\n'));
    }
    Ok(outcome)
}

/// Adds a list that is not empty to the data of a result.
fn with_list(data: Value, key: &str, list: Vec<Value>) -> Value {
    match data.as_map() {
        Some(map) if !list.is_empty() => {
            let mut map = map.clone();
            map.insert(key.into(), Value::list(list));
            Value::Map(map.into())
        }
        Some(_) | None => data,
    }
}

impl ToolSettings {
    /// Returns the bounds of all programs of the project.
    pub fn confinement(&self, root: &std::path::Path) -> Confinement {
        let home = self.bash.inherited.get("HOME").map(Into::into);
        let usual = Confinement::of_project(root);
        Confinement {
            sandbox: self.bash.sandbox,
            home: home.or_else(|| usual.home.clone()),
            extra_read: self.extra_read_paths.clone(),
            extra_write: self.extra_write_paths.clone(),
            unconfined: self.unconfined.clone(),
            egress: self.network.clone(),
            ..usual
        }
    }
}

fn timeout(settings: &ToolSettings, input: &Value) -> Duration {
    let usual = settings.bash.timeout;
    let asked = whole(input, "timeout_ms").map(Duration::from_millis);
    asked.map_or(usual, |asked| asked.min(usual * TIMEOUT_FACTOR_MAX))
}

fn outcome(ending: &ShellEnd, output: &CommandOutput, limit: Duration, sandbox: &str) -> ToolOutcome {
    let said = match ending {
        ShellEnd::Exited(0) => None,
        ShellEnd::Exited(code) => Some(format!("[exit code {code}]")),
        ShellEnd::Signalled(signal) => Some(format!("[ended by signal {signal}]")),
        ShellEnd::TimedOut => {
            Some(format!("[ended: it ran longer than {}]", duration::format_ms(limit.as_millis() as u64)))
        }
        ShellEnd::Flooded => Some("[ended: it wrote without end]".to_owned()),
    };
    let text = output.text();
    let content = match (said, text.is_empty()) {
        (None, true) => "[no output]".to_owned(),
        (None, false) => text,
        (Some(said), true) => said,
        (Some(said), false) => format!("{}\n{said}", text.trim_end_matches('\n')),
    };
    ToolOutcome {
        content,
        is_error: *ending != ShellEnd::Exited(0),
        data: data(ending, output, sandbox),
        ..ToolOutcome::default()
    }
}

fn data(ending: &ShellEnd, output: &CommandOutput, sandbox: &str) -> Value {
    let exit_code =
        if let ShellEnd::Exited(code) = ending { Value::Int(i64::from(*code)) } else { Value::Null };
    let signal =
        if let ShellEnd::Signalled(signal) = ending { Value::Int(i64::from(*signal)) } else { Value::Null };
    Value::map([
        ("exit_code", exit_code),
        ("signal", signal),
        ("timed_out", Value::Bool(*ending == ShellEnd::TimedOut)),
        ("output_bytes", Value::Int(output.total() as i64)),
        ("truncated", Value::Bool(output.is_cut())),
        ("sandbox", Value::str(sandbox)),
    ])
}
