//! Shared helpers of the tests of services: a service from settings, and a sample call.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::path::Path;
use std::sync::Arc;

use rawko_chart::{Severity, SourceFile};
use rawko_core::Value;
use rawko_host::{Environment, Service, ServiceCall, ServiceError, Settings};

/// Builds a service from settings, in an environment with these variables and this process's PATH.
pub(crate) fn service(root: &Path, definition: &str, variables: &[(&str, &str)]) -> Arc<dyn Service> {
    let path = std::env::var("PATH").unwrap();
    let environment: Environment = variables.iter().copied().chain([("PATH", path.as_str())]).collect();
    let text = format!("services:\n  charge_card: {definition}\ngovernance: {{allow: [charge_card]}}\n");
    let (settings, findings) = Settings::of_source(&SourceFile::new("config.yaml", text), &environment);
    assert!(findings.iter().all(|finding| finding.severity == Severity::Warning), "{findings:?}");
    settings.services(root).find("charge_card").unwrap()
}

pub(crate) fn call(input: Value) -> ServiceCall {
    let mut call = ServiceCall::sample("charge_card", input);
    call.attempt = 2;
    call.policy = Value::map([("budget", Value::map([("tool_calls", Value::Int(3))]))]);
    call
}

/// Formats the result or the error on one line, as the chart would see it.
pub(crate) fn shown(result: Result<Value, ServiceError>) -> String {
    match result {
        Ok(value) => format!("ok {}", value.to_json()),
        Err(error) => format!("error {}", error.to_value().to_json()),
    }
}
