//! Bash: a command line that passed the shell filter, run in its own process group, sandboxed as far as the kernel
//! supports it, and terminated with all its child processes.

mod environment;
mod launch;
mod output;
mod process;
mod sandbox;
mod temporary;

pub use environment::Variables;
pub(super) use temporary::Temporary;

use std::time::Duration;

use rawko_core::{Value, duration};

use super::confine::Project;
use super::input::whole;
use super::outcome::{Failure, ToolOutcome};
use super::settings::ToolSettings;
use super::shell::Permit;
use output::Output;
use process::Ending;

/// A model may request a longer timeout, up to this factor.
const TIMEOUT_FACTOR_MAX: u32 = 5;

/// The caller of a command.
pub(super) struct Caller<'c> {
    pub(super) instance: &'c str,
    pub(super) idempotency: &'c str,
}

pub(super) async fn bash(
    project: &Project,
    settings: &ToolSettings,
    temporary: &Temporary,
    (permit, caller): (Permit, Caller<'_>),
    input: &Value,
) -> Result<ToolOutcome, Failure> {
    let limit = timeout(settings, input);
    let launch = launch::Launch {
        command: permit.line.clone(),
        root: project.root().to_owned(),
        variables: settings.bash.variables(
            &caller,
            temporary.path()?,
            permit.is_read_only && permit.line.contains("git"),
        ),
        needs_kernel: permit.needs_kernel.clone(),
        fence: sandbox::Fence::new(project.root(), temporary.path()?, settings, &permit),
        limits: launch::Limits::default(),
    };
    let running = process::start(launch).await?;
    let sandbox = running.sandbox.clone();
    let (ending, output) = running.finish(limit, settings.bash.output_max).await;
    Ok(outcome(&ending, &output, limit, &sandbox))
}

fn timeout(settings: &ToolSettings, input: &Value) -> Duration {
    let usual = settings.bash.timeout;
    let asked = whole(input, "timeout_ms").map(Duration::from_millis);
    asked.map_or(usual, |asked| asked.min(usual * TIMEOUT_FACTOR_MAX))
}

fn outcome(ending: &Ending, output: &Output, limit: Duration, sandbox: &str) -> ToolOutcome {
    let said = match ending {
        Ending::Exited(0) => None,
        Ending::Exited(code) => Some(format!("[exit code {code}]")),
        Ending::Signalled(signal) => Some(format!("[ended by signal {signal}]")),
        Ending::TimedOut => {
            Some(format!("[ended: it ran longer than {}]", duration::format_ms(limit.as_millis() as u64)))
        }
        Ending::Flooded => Some("[ended: it wrote without end]".to_owned()),
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
        is_error: *ending != Ending::Exited(0),
        data: data(ending, output, sandbox),
        ..ToolOutcome::default()
    }
}

fn data(ending: &Ending, output: &Output, sandbox: &str) -> Value {
    let exit_code =
        if let Ending::Exited(code) = ending { Value::Int(i64::from(*code)) } else { Value::Null };
    let signal =
        if let Ending::Signalled(signal) = ending { Value::Int(i64::from(*signal)) } else { Value::Null };
    Value::map([
        ("exit_code", exit_code),
        ("signal", signal),
        ("timed_out", Value::Bool(*ending == Ending::TimedOut)),
        ("output_bytes", Value::Int(output.total() as i64)),
        ("truncated", Value::Bool(output.is_cut())),
        ("sandbox", Value::str(sandbox)),
    ])
}
