//! Interprets the exit of a program as a result or an error.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use rawko_core::{Map, Value, duration};

use super::process::{ProgramExit, RunLimits};
use crate::services::bodies::{KEPT_BYTES, head, shown_size, tail};
use crate::services::secrets::Secrets;
use crate::services::{AttemptOutcome, Category, ServiceError};

/// Takes the secrets because they must be hidden before texts are cut, so that no half of one survives at a cut.
pub(super) fn answer(
    program: &str,
    ending: ProgramExit,
    limits: &RunLimits,
    secrets: &Secrets,
) -> Result<Value, ServiceError> {
    match ending {
        ProgramExit::Exited { status, stdout, stderr } => {
            let stderr = secrets.hide(&String::from_utf8_lossy(&stderr));
            let run = CommandRun { program, stdout: &stdout, stderr: tail(&stderr, KEPT_BYTES) };
            if status.success() { run.value(secrets) } else { Err(run.failure(status)) }
        }
        ProgramExit::TooMuchOutput => {
            let message =
                format!("the output of `{program}` is larger than {}", shown_size(limits.output_bytes_max));
            Err(ServiceError::new(Category::InvalidAnswer, message))
        }
        ProgramExit::TimedOut => {
            let ms = limits.timeout.map_or(0, |timeout| timeout.as_millis() as u64);
            let message = format!("`{program}` was killed: no result within {}", duration::format_ms(ms));
            Err(ServiceError::new(Category::Timeout, message))
        }
        ProgramExit::Abandoned => Err(ServiceError::new(Category::Host, "the result is no longer needed")),
    }
}

struct CommandRun<'r> {
    program: &'r str,
    stdout: &'r [u8],
    stderr: &'r str,
}

impl CommandRun<'_> {
    fn value(&self, secrets: &Secrets) -> Result<Value, ServiceError> {
        if self.stdout.trim_ascii().is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_slice(self.stdout).map_err(|error| {
            let stdout = secrets.hide(&String::from_utf8_lossy(self.stdout));
            let message = format!("the output of `{}` is not one JSON value: {error}", self.program);
            let details =
                [("stdout", Value::str(head(&stdout, KEPT_BYTES))), ("stderr", Value::str(self.stderr))];
            ServiceError::new(Category::InvalidAnswer, message).with_details(Value::map(details))
        })
    }

    /// Builds the error of a failed program from its JSON report on stdout, else from its exit status and the end of
    /// stderr.
    fn failure(&self, status: ExitStatus) -> ServiceError {
        let said: Map = serde_json::from_slice::<Value>(self.stdout)
            .ok()
            .and_then(|value| value.as_map().cloned())
            .unwrap_or_default();
        let text = |key: &str| said.get(key).and_then(Value::as_str);
        let is_typed = status.code().is_some() && (text("category").is_some() || text("message").is_some());
        let category = text("category").and_then(Category::claimed).unwrap_or(Category::Failed);
        let message = text("message").map_or_else(|| self.ending_in_words(status), str::to_owned);
        let mut error = ServiceError::new(category, message);
        if let Some(retryable) = said.get("retryable").and_then(Value::as_bool) {
            error.retryable = Some(retryable);
        }
        // A program that reports its failure has a definite outcome. Any other may have died after it acted.
        if !is_typed {
            error.outcome = AttemptOutcome::Unknown;
        }
        error.with_details(self.details(status, &said))
    }

    fn ending_in_words(&self, status: ExitStatus) -> String {
        let last = self.stderr.lines().rev().map(str::trim).find(|line| !line.is_empty());
        let ended = match (status.code(), status.signal()) {
            (Some(code), _) => format!("`{}` exited with code {code}", self.program),
            (None, Some(signal)) => format!("`{}` was killed by signal {signal}", self.program),
            (None, None) => format!("`{}` exited without a code", self.program),
        };
        last.map_or_else(|| ended.clone(), |line| format!("{ended}: {}", head(line, 300)))
    }

    /// Returns the exit status and the other fields of the program's report, for the chart to read.
    fn details(&self, status: ExitStatus, said: &Map) -> Value {
        let mut details = Map::default();
        let own = ["category", "message", "retryable"];
        details.extend(
            said.iter().filter(|(key, _)| !own.contains(&&***key)).map(|(k, v)| (k.clone(), v.clone())),
        );
        if let Some(code) = status.code() {
            details.insert("exit_code".into(), Value::Int(code.into()));
        }
        if let Some(signal) = status.signal() {
            details.insert("signal".into(), Value::Int(signal.into()));
        }
        details.insert("stderr".into(), Value::str(self.stderr));
        Value::Map(details.into())
    }
}
