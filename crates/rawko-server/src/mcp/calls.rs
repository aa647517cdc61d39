//! One `tools/call`: starts or continues an instance and follows it until it ends or waits. The instance is durable: it
//! continues if the client disconnects.

use std::time::Duration;

use rawko_core::{NamedEvent, Status, Value as Data};
use rawko_host::SettleReason;
use rawko_store::InstanceStatus;
use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CreateTaskResult, ErrorData,
};
use rmcp::service::RequestContext;
use serde_json::{Value, json};

use super::charts::{SEND, TASK, WAIT};
use super::people::AskOutcome;
use super::reports::CallReports;
use super::{InstanceView, McpServer, not_found};

/// Timers within this time are waited for.
const PATIENCE: Duration = Duration::from_secs(300);

impl McpServer {
    pub(super) async fn call(
        &self,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if let Some(state) = &request.request_state {
            let (id, seen) = self.opened(state)?;
            let view = self.view(&id).await?;
            self.answers(&view, seen, request.input_responses.unwrap_or_default(), context).await?;
            let reports = self.reports(context, false);
            return self.follow(id, reports, context).await;
        }
        let arguments = request.arguments.unwrap_or_default();
        let name = request.name.as_ref();
        let (id, is_new) = match name {
            SEND => (self.send(&arguments).await?, false),
            WAIT => (instance_of(&arguments)?, false),
            TASK if self.has_tasks() => match self.start_task(Value::Object(arguments)).await? {
                Ok(id) => (id, true),
                Err(why) => return Ok(refused(why).into()),
            },
            _ => match self.start(name, Value::Object(arguments)).await? {
                Ok(id) => (id, true),
                Err(why) => return Ok(refused(why).into()),
            },
        };
        let has_tasks =
            context.client_capabilities().is_some_and(|capabilities| capabilities.supports_tasks());
        if is_new && has_tasks {
            let view = self.view(&id).await?;
            // A workflow that is over already needs no polling.
            if view.document.row.outcome.is_none() {
                return Ok(CallToolResponse::Task(CreateTaskResult::new(view.task())));
            }
        }
        let reports = self.reports(context, is_new);
        self.follow(id, reports, context).await
    }

    /// Starts an instance; the reason of a refusal is for the model.
    async fn start(&self, tool: &str, input: Value) -> Result<Result<String, String>, ErrorData> {
        let edition = self.edition(tool).ok_or_else(|| not_found(&format!("there is no tool `{tool}`")))?;
        let started = self.engine().start(edition, input.into(), None, Data::Null).await;
        Ok(started.map(|receipt| receipt.instance.to_string()).map_err(|error| error.to_string()))
    }

    /// Starts a task of the project's agents; the reason of a refusal is for the model.
    async fn start_task(&self, arguments: Value) -> Result<Result<String, String>, ErrorData> {
        let task = serde_json::from_value(arguments)
            .map_err(|error| not_found(&format!("the arguments of `{TASK}`: {error}")))?;
        let started = self.options.project.start_task(task).await;
        Ok(started.map(|receipt| receipt.instance.to_string()).map_err(|error| error.detail().to_owned()))
    }

    async fn send(&self, arguments: &serde_json::Map<String, Value>) -> Result<String, ErrorData> {
        let id = instance_of(arguments)?;
        let event =
            arguments.get("event").and_then(Value::as_str).ok_or_else(|| not_found("`event` is required"))?;
        let data: Data = arguments.get("data").cloned().unwrap_or_default().into();
        let event = NamedEvent::new(event, data);
        self.engine().send(id.clone(), event, None).await.map_err(|error| not_found(&error.to_string()))?;
        Ok(id)
    }

    /// Follows an instance until it is over or waits for something that the client's person cannot give.
    async fn follow(
        &self,
        id: String,
        mut reports: CallReports,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        loop {
            let settled = self.settled(&id, &mut reports, context).await?;
            let view = self.view(&id).await?;
            if matches!(settled, SettleReason::Waiting(_)) && !view.asks.is_empty() {
                match self.ask(&id, &view, context).await? {
                    AskOutcome::Answered => continue,
                    AskOutcome::Later(required) => return Ok(CallToolResponse::InputRequired(required)),
                    AskOutcome::Open => {}
                }
            }
            return Ok(view.result().into());
        }
    }

    /// Waits until an instance settles, and reports its steps meanwhile.
    async fn settled(
        &self,
        id: &str,
        reports: &mut CallReports,
        context: &RequestContext<RoleServer>,
    ) -> Result<SettleReason, ErrorData> {
        let mut changes = self.engine().changes();
        let settled = self.engine().settled(id.to_owned(), PATIENCE);
        tokio::pin!(settled);
        loop {
            tokio::select! {
                biased;
                settled = &mut settled => {
                    reports.send(self, id, context).await;
                    return settled.map_err(|error| not_found(&error.to_string()));
                }
                () = context.ct.cancelled() => {
                    return Err(ErrorData::internal_error("the call was cancelled; the workflow continues", None));
                }
                changed = changes.changed() => {
                    if changed.is_err() {
                        return Err(ErrorData::internal_error("the host closes", None));
                    }
                    reports.send(self, id, context).await;
                }
            }
        }
    }
}

fn instance_of(arguments: &serde_json::Map<String, Value>) -> Result<String, ErrorData> {
    let id = arguments.get("instance").and_then(Value::as_str);
    id.map(str::to_owned).ok_or_else(|| not_found("`instance` is required"))
}

fn refused(why: String) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(why)])
}

impl InstanceView {
    /// Returns the result of a call: the output of the chart, or what the instance waits for.
    pub(super) fn result(&self) -> CallToolResult {
        let document = &self.document;
        let status = document.row.outcome.is_some();
        match (status, self.is_cancelled()) {
            (true, true) => refused(format!("the workflow `{}` was cancelled", document.row.id)),
            (true, false) => self.output(),
            (false, _) => self.unfinished(),
        }
    }

    pub(super) fn is_cancelled(&self) -> bool {
        document_status(self) == Some(Status::Cancelled)
    }

    /// A chart whose output has `content` with MCP's own blocks decides itself what the client shows.
    fn output(&self) -> CallToolResult {
        let output = &self.document.output;
        if let Some(Ok(content)) =
            output.get("content").map(|content| serde_json::from_value(content.clone()))
        {
            let content: Vec<ContentBlock> = content;
            let is_error = output.get("isError").and_then(Value::as_bool).unwrap_or(false);
            return if is_error { CallToolResult::error(content) } else { CallToolResult::success(content) };
        }
        let text = match output {
            Value::Null => "done".to_owned(),
            Value::String(text) => text.clone(),
            other => serde_json::to_string_pretty(other).unwrap_or_default(),
        };
        let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
        result.structured_content = Some(json!({"instance": self.document.row.id, "output": output}));
        result
    }

    fn unfinished(&self) -> CallToolResult {
        let row = &self.document.row;
        let waits = &self.document.waits;
        let id = &row.id;
        let words = match (row.status, waits.asks.is_empty()) {
            (InstanceStatus::Stalled, _) => {
                let why = row.reason.clone().unwrap_or_else(|| "a step failed".to_owned());
                format!(
                    "the workflow `{id}` failed: {why}. A person can continue it with `rawko resume {id}`."
                )
            }
            (_, false) => {
                format!(
                    "the workflow `{id}` waits for a person: answer with `rawko approve {id}` or `rawko deny {id}`, then call {WAIT}."
                )
            }
            (_, true) if !waits.events.is_empty() => {
                format!(
                    "the workflow `{id}` waits for an event: {}. Send one with {SEND}.",
                    waits.events.join(", ")
                )
            }
            (_, true) => format!("the workflow `{id}` is not done yet; call {WAIT} to wait for it."),
        };
        let mut result = match row.status {
            InstanceStatus::Stalled => refused(words),
            _ => CallToolResult::success(vec![ContentBlock::text(words)]),
        };
        let waits = serde_json::to_value(waits).unwrap_or_default();
        result.structured_content = Some(json!({"instance": id, "status": row.status, "waits": waits}));
        result
    }
}

fn document_status(view: &InstanceView) -> Option<Status> {
    let outcome = view.document.row.outcome.as_ref().map(serde_json::to_value)?.ok()?;
    (outcome == json!("cancelled")).then_some(Status::Cancelled)
}
