//! Commands as services: a program is started for each call, gets the call as JSON on stdin and returns one JSON value
//! on stdout.

mod outcome;
mod process;
mod start;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rawko_core::Value;
use rawko_process::{Confinement, network_hint};
use serde_json::json;

use super::secrets::Secrets;
use super::template::TextTemplate;
use super::{OnRestart, Service, ServiceCall, ServiceError, ServiceFuture};
use rawko_settings::Environment;

/// Default limit of stdout; more output is an error.
pub(crate) const OUTPUT_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// A program to run, as the settings define it.
#[derive(Clone, Debug)]
pub(crate) struct CommandForm {
    pub(crate) program: String,
    pub(crate) args: Vec<String>,
    /// Relative to the project.
    pub(crate) cwd: PathBuf,
    pub(crate) env: Vec<(String, TextTemplate)>,
    pub(crate) pass_env: Vec<String>,
    pub(crate) output_bytes_max: u64,
    /// `sandbox: off`: a program of the person that is not confined.
    pub(crate) is_trusted: bool,
}

impl CommandForm {
    /// Returns the origin for the audit, without the values of variables.
    pub(crate) fn provenance(&self) -> Vec<(&'static str, Value)> {
        let words = std::iter::once(&self.program).chain(&self.args).map(|word| Value::str(word)).collect();
        let env = self.env.iter().map(|(name, value)| (name.as_str(), Value::from(value.variables_shown())));
        let passed = self.pass_env.iter().map(|name| Value::str(name)).collect();
        let mut entries = vec![
            ("command", Value::list(words)),
            ("cwd", Value::from(self.cwd.display().to_string())),
            ("env", Value::map(env)),
            ("pass_env", Value::list(passed)),
        ];
        if self.is_trusted {
            entries.push(("sandbox", Value::str("off")));
        }
        entries
    }
}

/// A command service ready to be called.
pub(crate) struct CommandService(Arc<ProgramCommand>);

struct ProgramCommand {
    form: CommandForm,
    root: PathBuf,
    timeout: Option<Duration>,
    environment: Environment,
    confinement: Confinement,
    on_restart: OnRestart,
    provenance: Value,
}

impl CommandService {
    pub(crate) fn new(
        form: CommandForm,
        confinement: Confinement,
        timeout: Option<Duration>,
        environment: Environment,
        (on_restart, provenance): (OnRestart, Value),
    ) -> Self {
        let root = confinement.root.clone();
        Self(Arc::new(ProgramCommand {
            form,
            root,
            timeout,
            environment,
            confinement,
            on_restart,
            provenance,
        }))
    }
}

impl Service for CommandService {
    fn call(&self, call: ServiceCall) -> ServiceFuture {
        let program = Arc::clone(&self.0);
        Box::pin(program.run(call))
    }

    fn on_restart(&self) -> OnRestart {
        self.0.on_restart
    }

    fn provenance(&self) -> Value {
        self.0.provenance.clone()
    }
}

impl ProgramCommand {
    async fn run(self: Arc<Self>, call: ServiceCall) -> Result<Value, ServiceError> {
        let limits =
            process::RunLimits { timeout: self.timeout, output_bytes_max: self.form.output_bytes_max };
        let (program, input) = (Arc::clone(&self), input(&call));
        let start = async move { program.start(&call).await };
        let ending = process::supervised(start, input, limits).await?;
        let secrets = self.secrets();
        let answer = outcome::answer(&self.form.program, ending, &limits, &secrets);
        answer.map_err(|error| secrets.hide_in(self.explained(error)))
    }

    /// Adds the setting to a failure for lack of a network.
    fn explained(&self, mut error: ServiceError) -> ServiceError {
        let has_network = self.form.is_trusted || self.confinement.egress.is_some();
        let details = error.details.to_string();
        if let Some(hint) = network_hint(&details).filter(|_| !has_network) {
            error.message = format!("{} ({hint})", error.message);
        }
        error
    }

    fn secrets(&self) -> Secrets {
        let named = self.form.env.iter().flat_map(|(_, value)| value.variables());
        Secrets::of(named.chain(self.form.pass_env.iter().map(String::as_str)), &self.environment)
    }
}

/// Returns the program's stdin, with a final newline for programs that read lines.
fn input(call: &ServiceCall) -> Vec<u8> {
    let input = json!({
        "input": call.input,
        "idempotency_key": &*call.idempotency,
        "instance": &*call.instance,
        "id": &*call.id,
        "attempt": call.attempt,
        "policy": call.policy,
    });
    format!("{input}\n").into_bytes()
}
