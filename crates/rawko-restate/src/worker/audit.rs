//! Audit of the actions within a running call: decided by this worker's settings, and stored by the instance before the
//! action.

use std::sync::Arc;

use rawko_host::{AuditFuture, AuditHost};
use rawko_store::AuditLine;

use super::state::WorkerState;
use crate::client::HandlerTarget;
use crate::layout::{INSTANCE, handler};

pub(super) struct Tower {
    pub(super) state: Arc<WorkerState>,
    pub(super) instance: Arc<str>,
}

impl AuditHost for Tower {
    fn rule(&self, name: &str, agent: Option<&str>) -> Result<String, String> {
        self.state.project.gate.by_settings(name, agent)
    }

    fn now_ms(&self) -> i64 {
        self.state.now_ms()
    }

    fn approved(&self, name: &str) -> Result<Option<String>, String> {
        self.state.project.gate.approved(name, self.state.now_ms())
    }

    fn note(&self, line: AuditLine) -> AuditFuture {
        let (state, target) =
            (Arc::clone(&self.state), HandlerTarget::object(INSTANCE, &self.instance, handler::NOTE));
        Box::pin(async move {
            let kept = state.ingress.call::<_, ()>(&target, &vec![line]).await;
            kept.map_err(|error| format!("the audit cannot be written: {error}"))
        })
    }
}
