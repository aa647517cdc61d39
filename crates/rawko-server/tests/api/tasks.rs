//! Tasks: started through the project, listed with the orchestrator's data.

use std::sync::{Arc, OnceLock};

use rawko_chart::Registry;
use rawko_core::Value as Data;
use rawko_host::{Edition, Host, Receipt};
use rawko_server::{
    AgentHealth, AgentInfo, ChartOrigin, ErrorResponse, NewTask, ProblemCode, ProjectFuture, ProjectService,
};
use serde_json::json;

use crate::support::{Api, keys};

const ORCHESTRATOR: &str = "
statechart:
  id: orchestrator
  version: 1.0.0
  initial: working
  context: {task: '', iterationCount: 2, plan: null, currentAgent: {name: builder}}
  states:
    working: {on: {STOP: stopped}}
    stopped: {type: final}
";

/// Starts the orchestrator chart of this file.
#[derive(Default)]
struct Tasks {
    host: OnceLock<Host>,
}

impl ProjectService for Tasks {
    fn agents(&self) -> Vec<AgentInfo> {
        Vec::new()
    }

    fn health(&self) -> ProjectFuture<'_, Vec<(String, AgentHealth)>> {
        Box::pin(async { Vec::new() })
    }

    fn start_task(&self, task: NewTask) -> ProjectFuture<'_, Result<Receipt, ErrorResponse>> {
        Box::pin(async move {
            if task.agent.is_some() {
                return Err(ErrorResponse::new(ProblemCode::NoAgent, "agent `nobody` not found"));
            }
            let edition = Edition::read("orchestrator.yaml", ORCHESTRATOR)?;
            let input = Data::map([("task", Data::str(&task.task))]);
            Ok(self.host.get().unwrap().start_edition(edition, input, task.id).await?)
        })
    }

    fn task_chart(&self) -> &str {
        "orchestrator"
    }

    fn registry(&self) -> Registry {
        Registry::default()
    }

    fn origin(&self, _: &str, _: &str) -> Option<ChartOrigin> {
        None
    }

    fn keep_chart(&self, _: &str, _: &str, _: &str) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn tasks_are_started_and_listed() {
    let tasks = Arc::new(Tasks::default());
    let api = Api::of(Arc::clone(&tasks) as Arc<dyn ProjectService>).await;
    assert!(tasks.host.set(api.host.clone()).is_ok());
    assert_eq!(api.get("/v1/tasks").await.ok(), json!({"tasks": [], "total": 0, "next": null}));
    api.order("o-1").await;
    let started = api.post("/v1/tasks", json!({"task": "Fix the fence", "id": "t-1"})).await;
    assert_eq!(started.status, 201);
    assert!(started.head.contains("location: /v1/instances/t-1"), "{}", started.head);
    let list = api.get("/v1/tasks").await.ok();
    let told = ["id", "chart", "status", "task", "iteration", "plan", "current_agent", "configuration"];
    let expected = r#""t-1" "orchestrator" "waiting" "Fix the fence" 2 null "builder" ["working"]"#;
    assert_eq!(keys(&list["tasks"][0], &told), expected);
    assert_eq!(list["total"], 1);
    let table = [
        (json!({"task": "  "}), "422 invalid_body"),
        (json!({}), "422 invalid_body"),
        (json!({"task": "x", "id": "a/b"}), "422 invalid_name"),
        (json!({"task": "x", "id": "t-1"}), "409 exists"),
        (json!({"task": "x", "agent": "nobody"}), "404 no_agent"),
        (json!({"task": "x", "max_iterations": -1}), "422 invalid_body"),
    ];
    for (body, expected) in table {
        assert_eq!(api.post("/v1/tasks", body.clone()).await.problem(), expected, "{body}");
    }
    api.stop().await;
}
