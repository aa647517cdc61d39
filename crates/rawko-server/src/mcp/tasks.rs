//! Instances as tasks of the protocol: status, result, answers and cancelling.

use rawko_core::Value as Data;
use rawko_store::InstanceStatus;
use rmcp::RoleServer;
use rmcp::model::{DetailedTask, ErrorData, JsonObject, Task, TaskPayload, TaskStatus, UpdateTaskParams};
use rmcp::service::RequestContext;
use serde_json::json;

use super::people::{Naming, Seen};
use super::{InstanceView, McpServer, not_found};

const POLL_MS: u64 = 1_000;

impl McpServer {
    pub(super) async fn detailed_task(&self, id: &str) -> Result<DetailedTask, ErrorData> {
        self.view(id).await?.detailed()
    }

    pub(super) async fn update(
        &self,
        request: UpdateTaskParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let view = self.view(&request.task_id).await?;
        self.answers(&view, Seen::AsNamed, request.input_responses, context).await.map(drop)
    }

    pub(super) async fn cancel(&self, id: String) -> Result<(), ErrorData> {
        let reason = Data::str("cancelled by an MCP client");
        let view = self.view(&id).await?;
        if view.document.row.outcome.is_some() {
            return Ok(());
        }
        self.engine().cancel(id, reason).await.map(drop).map_err(|error| not_found(&error.to_string()))
    }
}

impl InstanceView {
    pub(super) fn task(&self) -> Task {
        let row = &self.document.row;
        let iso =
            |ms: i64| jiff::Timestamp::from_millisecond(ms).map(|at| at.to_string()).unwrap_or_default();
        let task = Task::new(&row.id, self.task_status(), iso(row.created_ms), iso(row.updated_ms));
        let states = row.configuration.clone().unwrap_or_default().join(", ");
        task.with_poll_interval_ms(POLL_MS).with_status_message(states)
    }

    fn task_status(&self) -> TaskStatus {
        match (self.document.row.outcome.is_some(), self.document.row.status) {
            (true, _) if self.is_cancelled() => TaskStatus::Cancelled,
            (true, _) => TaskStatus::Completed,
            (false, InstanceStatus::Stalled) => TaskStatus::Failed,
            (false, _) if !self.asks.is_empty() => TaskStatus::InputRequired,
            (false, _) => TaskStatus::Working,
        }
    }

    fn detailed(&self) -> Result<DetailedTask, ErrorData> {
        let payload = match self.task_status() {
            TaskStatus::InputRequired => {
                TaskPayload::InputRequired { input_requests: self.questions(Naming::WithTime)? }
            }
            TaskStatus::Completed => TaskPayload::Completed { result: self.result_object() },
            TaskStatus::Failed => {
                let why = self.document.row.reason.clone().unwrap_or_else(|| "a step failed".to_owned());
                let error = json!({"code": -32603, "message": why});
                TaskPayload::Failed { error: error.as_object().cloned().unwrap_or_default() }
            }
            TaskStatus::Cancelled => TaskPayload::Cancelled,
            _ => TaskPayload::Working,
        };
        Ok(DetailedTask::new(self.task(), payload))
    }

    fn result_object(&self) -> JsonObject {
        let result = serde_json::to_value(self.result()).unwrap_or_default();
        result.as_object().cloned().unwrap_or_default()
    }
}
