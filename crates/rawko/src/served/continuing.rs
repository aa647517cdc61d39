//! Continuing tasks of a served project: messages, follow-ups and higher limits, as `rawko task --continue` and
//! `rawko resume --max-iterations` do.

use std::sync::Arc;

use rawko_core::{NamedEvent, Value};
use rawko_host::{Fork, Receipt};
use rawko_server::{ContinueRequest, ErrorResponse, ProblemCode, RaiseRequest};
use rawko_store::WaitReason;

use super::{ServedProject, invalid, problem};
use crate::commands::continuing::{ContinuedTask, insist_on_task};
use crate::commands::task::merged;
use crate::raising::{LimitOverride, read_ms};
use crate::standing::InstanceStanding;
use crate::task_request::{ORCHESTRATOR, TaskRequest, insist_on_gate, insist_on_managed};
use crate::times;

impl ServedProject {
    pub(super) async fn go_on(&self, request: ContinueRequest) -> Result<Receipt, ErrorResponse> {
        let ContinueRequest { id, text, by } = request;
        let standing = self.standing(&id).await?;
        insist_on_task(&standing.row).map_err(problem)?;
        let continued = ContinuedTask { row: standing.row.clone(), text };
        if continued.is_over() {
            return self.follow_up(&continued, &standing).await;
        }
        let is_paused = standing.row.head.wait == WaitReason::Paused;
        let sent = match &continued.text {
            Some(text) => {
                let data = Value::map([("text", Value::str(text))]);
                Some(self.engine.send(id.clone(), NamedEvent::new("MESSAGE", data), None).await?)
            }
            None => None,
        };
        match (is_paused, sent) {
            (true, _) => Ok(self.engine.resume(id, by).await?),
            (false, Some(receipt)) => Ok(receipt),
            (false, None) => Err(invalid("`text` is required: say what to do".to_owned())),
        }
    }

    /// Starts a task that takes over the conversations of one that ended.
    async fn follow_up(
        &self,
        continued: &ContinuedTask,
        standing: &InstanceStanding,
    ) -> Result<Receipt, ErrorResponse> {
        let Some(text) = &continued.text else {
            return Err(invalid("`text` is required: the task has ended, say what to do next".to_owned()));
        };
        let chart = self.engine.library().resolve(ORCHESTRATOR)?;
        insist_on_gate(&self.settings.gate(), &chart).map_err(problem)?;
        let task_request = TaskRequest { task: continued.task(standing, text), ..TaskRequest::default() };
        let input = task_request.input(&self.agent_services, &chart).map_err(problem)?;
        let input = merged(&continued.kept(standing), &input);
        Ok(self.engine.start(chart, input, None, Value::Null).await?)
    }

    pub(super) async fn raise_limits(&self, request: RaiseRequest) -> Result<Receipt, ErrorResponse> {
        let RaiseRequest { id, limits } = request;
        let more_ms = limits.timeout.as_deref().map(read_ms).transpose();
        let more_ms = more_ms.map_err(|why| invalid(format!("`timeout`: {why}")))?;
        if limits.max_budget_usd.is_some_and(|most| !most.is_finite() || most <= 0.0) {
            return Err(invalid("`max_budget_usd` must be greater than zero".to_owned()));
        }
        let raised =
            LimitOverride { iterations: limits.max_iterations, budget_usd: limits.max_budget_usd, more_ms };
        if !raised.is_any() {
            return Err(invalid("name a limit: `max_iterations`, `max_budget_usd` or `timeout`".to_owned()));
        }
        insist_on_managed(&self.settings, limits.max_iterations, more_ms).map_err(problem)?;
        let standing = self.standing(&id).await?;
        raised.insist(&standing).map_err(problem)?;
        let at = Some(standing.snapshot.step_number().saturating_sub(1));
        let fork = Fork { at, set: raised.edits(), id: None };
        Ok(self.engine.fork_within(id, fork, raised.budget()).await?)
    }

    async fn standing(&self, id: &str) -> Result<InstanceStanding, ErrorResponse> {
        let (engine, world, id) = (Arc::clone(&self.engine), self.world.clone(), id.to_owned());
        let read = move || InstanceStanding::of(engine.reader(), &id, &world, times::now_ms());
        let done = tokio::task::spawn_blocking(read).await;
        match done {
            Ok(standing) => standing.map_err(|error| match error {
                rawko_view::ViewError::Host(error) => error.into(),
                error => ErrorResponse::internal(error.to_string()),
            }),
            Err(error) => Err(ErrorResponse::new(ProblemCode::Internal, error.to_string())),
        }
    }
}
