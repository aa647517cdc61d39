//! One running `tools/call`: follow-up rounds for input, polling of tasks, and questions that interrupt it. It runs in a
//! task of its own, so that it can be parked while a person is asked.

#![expect(deprecated, reason = "roots and sampling are deprecated, and servers still ask for them")]

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CancelTaskParams, CreateTaskResult, ErrorData,
    GetTaskParams, InputRequest, InputRequests, InputResponses, ListRootsResult, TaskPayload,
    UpdateTaskParams,
};
use rmcp::service::Peer;
use rmcp::{RoleClient, ServiceError};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::asking::{Askers, CallTurn, ServerQuestion};
use super::sampling::{Sampled, Sampler, sample};

/// Rounds of input after which a server is taken to go in circles.
const ROUNDS_MAX: usize = 20;
const POLL: Duration = Duration::from_millis(500);
const POLL_MAX: Duration = Duration::from_secs(30);

/// Ends a task with its owner.
pub(super) struct AbortTaskOnDrop<T = ()>(pub(super) JoinHandle<T>);

impl<T> Drop for AbortTaskOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Why a call stopped for now.
pub(super) enum CallPause {
    Done(Result<CallToolResult, ServiceError>),
    Asked(ServerQuestion),
}

pub(super) struct McpCall {
    task: AbortTaskOnDrop<Result<CallToolResult, ServiceError>>,
    questions: mpsc::Receiver<ServerQuestion>,
    /// Resolves when the call is sent.
    begun: Option<oneshot::Receiver<()>>,
    /// The completions that the server asked for.
    pub(super) sampled: Arc<Sampled>,
    pub(super) turn: Arc<CallTurn>,
}

impl McpCall {
    pub(super) fn start(
        peer: Peer<RoleClient>,
        params: CallToolRequestParams,
        (askers, sampler): (&Arc<Askers>, Sampler),
        roots: ListRootsResult,
    ) -> Self {
        let sampled = Arc::new(Sampled::default());
        let (registration, questions) = askers.register(&sampled);
        let (askers, own) = (Arc::clone(askers), Arc::clone(&sampled));
        let turn = Arc::clone(&registration.turn);
        let driver = CallDriver { peer, askers, roots, sampler, sampled: own };
        let (begin, begun) = oneshot::channel();
        let task = tokio::spawn(async move {
            let id = registration.id;
            driver.askers.begin(&registration.turn).await;
            let _ = begin.send(());
            let result = Askers::during(id, driver.drive(params)).await;
            drop(registration);
            result
        });
        Self { task: AbortTaskOnDrop(task), questions, begun: Some(begun), sampled, turn }
    }

    /// Waits until the call is sent: calls of a server may run one at a time.
    pub(super) async fn begun(&mut self) {
        if let Some(begun) = self.begun.take() {
            let _ = begun.await;
        }
    }

    /// Continues until the result is there or the server asks.
    pub(super) async fn proceed(&mut self) -> CallPause {
        tokio::select! {
            biased;
            Some(question) = self.questions.recv() => CallPause::Asked(question),
            done = &mut self.task.0 => match done {
                Ok(result) => CallPause::Done(result),
                Err(_) => CallPause::Done(Err(ServiceError::TransportClosed)),
            },
        }
    }
}

struct CallDriver {
    peer: Peer<RoleClient>,
    askers: Arc<Askers>,
    roots: ListRootsResult,
    sampler: Sampler,
    sampled: Arc<Sampled>,
}

impl CallDriver {
    async fn drive(&self, mut params: CallToolRequestParams) -> Result<CallToolResult, ServiceError> {
        for round in 0..ROUNDS_MAX {
            match self.peer.call_tool_once(params.clone()).await? {
                CallToolResponse::Complete(result) => return Ok(result),
                CallToolResponse::Task(created) => return self.follow(created).await,
                CallToolResponse::InputRequired(required) => {
                    let requests = required.input_requests.unwrap_or_default();
                    if requests.is_empty() {
                        // The server only wants to be asked again.
                        sleep(POLL.saturating_mul(1 << round.min(5)).min(POLL_MAX)).await;
                    }
                    let responses = self.fulfil(requests).await?;
                    params.input_responses = (!responses.is_empty()).then_some(responses);
                    params.request_state = required.request_state;
                }
                _ => return Err(ServiceError::UnexpectedResponse),
            }
        }
        Err(ServiceError::InputRequiredRoundsExceeded { max_rounds: ROUNDS_MAX })
    }

    /// Polls a task until it ends. A dropped call cancels it.
    async fn follow(&self, created: CreateTaskResult) -> Result<CallToolResult, ServiceError> {
        let id = created.task.task_id;
        let mut cancelling = CancelOnDrop { peer: self.peer.clone(), id: Some(id.clone()) };
        let mut pause = created.task.poll_interval_ms;
        loop {
            sleep(pause.map_or(POLL, Duration::from_millis).min(POLL_MAX)).await;
            let state = self.peer.get_task(GetTaskParams::new(id.clone())).await?.task;
            pause = state.task.poll_interval_ms;
            match state.payload {
                TaskPayload::Working => {}
                TaskPayload::InputRequired { input_requests } => {
                    let responses = self.fulfil(input_requests).await?;
                    self.peer.update_task(UpdateTaskParams::new(id.clone(), responses)).await?;
                }
                TaskPayload::Completed { result } => {
                    cancelling.id = None;
                    let result = serde_json::from_value(serde_json::Value::Object(result));
                    return result.map_err(|_| ServiceError::UnexpectedResponse);
                }
                TaskPayload::Failed { error } => {
                    cancelling.id = None;
                    let error = serde_json::from_value::<ErrorData>(serde_json::Value::Object(error));
                    return Err(error.map_or(ServiceError::UnexpectedResponse, ServiceError::McpError));
                }
                TaskPayload::Cancelled => {
                    cancelling.id = None;
                    let error = ErrorData::internal_error("the server cancelled the task", None);
                    return Err(ServiceError::McpError(error));
                }
                _ => return Err(ServiceError::UnexpectedResponse),
            }
        }
    }

    /// Answers what the server asks for, one after the other.
    async fn fulfil(&self, requests: InputRequests) -> Result<InputResponses, ServiceError> {
        let mut responses = InputResponses::new();
        for (key, request) in requests {
            let response = match request {
                InputRequest::Elicitation(request) => {
                    serde_json::to_value(self.askers.ask(request.params).await)
                }
                InputRequest::ListRoots(_) => serde_json::to_value(&self.roots),
                InputRequest::CreateMessage(request) => {
                    let made = sample(&self.sampler, Some(&self.sampled), request.params).await;
                    serde_json::to_value(made.map_err(ServiceError::McpError)?)
                }
                _ => return Err(ServiceError::UnexpectedResponse),
            };
            responses.insert(key, response.map_err(|_| ServiceError::UnexpectedResponse)?);
        }
        Ok(responses)
    }
}

/// Sends a cancellation for a task that is no longer wanted.
struct CancelOnDrop {
    peer: Peer<RoleClient>,
    id: Option<String>,
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        let (Some(id), Ok(runtime)) = (self.id.take(), tokio::runtime::Handle::try_current()) else { return };
        let peer = self.peer.clone();
        runtime.spawn(async move { peer.cancel_task(CancelTaskParams::new(id)).await });
    }
}
