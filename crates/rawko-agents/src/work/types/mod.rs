//! The inputs, outputs and error details of the agent services, as serde types. The schemas that charts are checked
//! against come from these types (`specs.rs`), so that a key that is renamed here breaks the build or the check of the
//! built-in charts. Separate from the services, because several of them share a type.

mod agent;
mod arbiter;
mod calls;
mod checks;
mod policy;
mod session;

pub(super) use agent::{
    AgentFailure, AgentInput, AgentResult, AgentRun, ApprovedCall, AskedCall, ChartOutput, ExitGoal,
    ExitNeed, UsageRecord,
};
pub(super) use arbiter::{ArbiterOutput, ArbiterRequest, RememberInput, RememberOutput};
pub(super) use calls::{
    AuditedInput, CallFailure, CallGroup, CollectInput, CollectOutput, CollectedResult, End, FailedCall,
    GroupInput, GroupOutput, GroupedResult, HostRequest, PendingCall, PermitDecision, PermitInput,
    PermitOutput, QuestionRequest, SettledCall, StopInput, StopOutput, TokenCount, ToolInput, ToolOutput,
    ToolResultPart, VerdictWord,
};
pub(super) use checks::{
    BaseOutput, CheckpointRecord, CloseChecksInput, CloseChecksOutput, Evidence, JudgedPass, MergeFailure,
    MergeInput, MergeOutput, PatchInput, PatchOutput, ProgressInput, ProgressOutput, ProjectInput,
    ProjectOutput, ReportRecord, RoundInput, RoundOutput,
};
pub(super) use policy::{BudgetLeft, CallPolicy};
pub(super) use session::{
    CloseOutput, CompactInput, CompactOutput, CompleteInput, CompleteOutput, LookInput, LookOutput,
    ModelFailure, OpenInput, OpenOutput, WorktreeInput, WorktreeRecord,
};

use rawko_core::Value;
use rawko_host::{Category, ServiceCall, ServiceError};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};

/// Reads the input of a call.
pub(super) fn input<T: DeserializeOwned>(call: &ServiceCall) -> Result<T, ServiceError> {
    // A chart without `input` passes null.
    let none = Value::map(std::iter::empty::<(&str, Value)>());
    read(if call.input.is_null() { &none } else { &call.input }, call)
}

/// Reads a part of the input of a call.
pub(super) fn read<T: DeserializeOwned>(part: &Value, call: &ServiceCall) -> Result<T, ServiceError> {
    part.read().map_err(|error| {
        let message = format!("the input of `{}` does not have its type: {error}", call.name);
        ServiceError::new(Category::Failed, message)
    })
}

/// Details of a failure of which only the code matters.
#[derive(Debug, Serialize)]
pub(super) struct CodedFailure {
    pub(super) code: &'static str,
}

/// Serialises data for a chart.
pub(super) fn value<T: Serialize>(data: &T) -> Value {
    Value::of(data)
}

/// Reads null as the default.
fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(from: D) -> Result<T, D::Error> {
    Option::deserialize(from).map(Option::unwrap_or_default)
}

/// Reads anything of another type as `None`: for unchecked data of models, people and charts.
fn lenient<'de, D: Deserializer<'de>, T: DeserializeOwned>(from: D) -> Result<Option<T>, D::Error> {
    Value::deserialize(from).map(|value| value.read().ok())
}
