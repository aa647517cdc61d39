//! Schemas of a remote service: those of the settings and of the program must agree, and calls are held to them.

use rawko_core::{Schema, Value};

use super::process::RegisterRefusal;
use super::ticket::RemoteResult;
use crate::services::{Category, ServiceError};

/// Schemas of a service; `None` accepts everything.
#[derive(Clone, Debug, Default)]
pub(crate) struct Schemas {
    pub(crate) input: Option<Schema>,
    pub(crate) output: Option<Schema>,
}

/// Returns the schema that both sides agree on: that of the settings, else that of the program.
pub(super) fn agreed(
    name: &str,
    part: &str,
    declared: Option<&Schema>,
    offered: Option<&Value>,
) -> Result<Option<Schema>, RegisterRefusal> {
    let Some(offered) = offered else { return Ok(declared.cloned()) };
    if let Some(declared) = declared.filter(|declared| declared.source() != offered) {
        let message = format!(
            "`{part}` of `{name}` differs from the settings: the program has {offered}, the settings {}",
            declared.source()
        );
        return Err(RegisterRefusal { code: "schema_mismatch", message });
    }
    let (schema, problems) = Schema::compile(offered);
    match problems.into_iter().next() {
        Some(problem) => {
            let message = format!("`{part}` of `{name}` is not a usable schema: {}", problem.message);
            Err(RegisterRefusal { code: "invalid_schema", message })
        }
        None => Ok(Some(schema)),
    }
}

/// Returns the error of an input that does not fit. Nothing was sent.
pub(super) fn misfit(schemas: &Schemas, input: &Value) -> Option<ServiceError> {
    let violation = schemas.input.as_ref()?.violations(input).into_iter().next()?;
    let message = format!("the input does not fit the schema: {}", violation.message);
    Some(ServiceError::new(Category::Failed, message).with_retryable(false))
}

/// Returns a result that fits its schema. One that does not may come from a call that took effect.
pub(super) fn fitting(schemas: Option<&Schemas>, value: Value) -> RemoteResult {
    let schema = schemas.and_then(|schemas| schemas.output.as_ref());
    match schema.and_then(|schema| schema.violations(&value).into_iter().next()) {
        Some(violation) => {
            let message = format!("the result does not fit the schema: {}", violation.message);
            Err(ServiceError::new(Category::InvalidAnswer, message))
        }
        None => Ok(value),
    }
}
