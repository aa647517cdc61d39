//! `ToolService`: a service that agents may call as a tool. Separate from the services of charts, whose calls the host
//! decides on, records and retries: here the call of the tool is recorded, and the model decides what comes next.

use std::sync::Arc;

use rawko_core::{Schema, Value};

use super::{Category, OnRestart, RemoteServices, Service, ServiceCall, ServiceError};
use crate::contents::ContentReader;
use crate::progress::ProgressSender;
use crate::runtime_gate::RuntimeGate;

/// A service with `tool: true` in the settings.
#[derive(Clone)]
pub struct ToolService {
    pub(crate) name: Arc<str>,
    pub(crate) description: String,
    pub(crate) input: Option<Schema>,
    pub(crate) remote: RemoteServices,
    pub(crate) may_write: bool,
    /// The rule of the gate that refuses every call.
    pub(crate) refusal: Option<String>,
    pub(crate) service: Arc<dyn Service>,
}

impl ToolService {
    /// The name in the settings.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The text by which a model chooses it.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Returns the rule of the settings that refuses every call.
    pub fn refusal(&self) -> Option<&str> {
        self.refusal.as_deref()
    }

    /// Returns true for a program that rawko starts in the project, which may change files.
    pub fn may_write(&self) -> bool {
        self.may_write
    }

    /// Returns true if a call with an unknown outcome may be repeated under its key.
    pub fn is_safe_to_repeat(&self) -> bool {
        self.service.on_restart() == OnRestart::Retry
    }

    /// Returns the JSON Schema of the input: that of the settings, else that of a connected program.
    pub fn input_schema(&self) -> Value {
        let declared = self.input.as_ref().map(|schema| schema.source().clone());
        let schema = declared.or_else(|| self.remote.input_of(&self.name));
        schema.unwrap_or_else(|| Value::map([("type", Value::str("object"))]))
    }

    /// Calls the service for an instance, under an idempotency key.
    pub async fn call(&self, instance: &str, idempotency: &str, input: Value) -> Result<Value, ServiceError> {
        if let Some(rule) = &self.refusal {
            return Err(ServiceError::new(Category::Failed, rule.clone()));
        }
        if let Some(violation) =
            self.input.as_ref().and_then(|schema| schema.violations(&input).into_iter().next())
        {
            let message = format!("the input does not fit the schema: {}", violation.message);
            return Err(ServiceError::new(Category::Failed, message));
        }
        let call = ServiceCall {
            idempotency: idempotency.into(),
            instance: instance.into(),
            id: Arc::clone(&self.name),
            name: Arc::clone(&self.name),
            input,
            attempt: 1,
            policy: Value::Null,
            teller: ProgressSender::silent(),
            runtime_gate: RuntimeGate::absent(),
            contents: ContentReader::default(),
        };
        match self.service.at_once(&call) {
            Some(result) => result,
            None => self.service.call(call).await,
        }
    }
}
