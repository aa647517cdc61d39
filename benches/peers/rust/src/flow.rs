//! `graph-flow`: three tasks in a loop, in memory. Its only durable storage is a Postgres server.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use async_trait::async_trait;
use graph_flow::{
    Context, FlowRunner, GraphBuilder, InMemorySessionStorage, NextAction, Session, SessionStorage, Task,
    TaskResult,
};

use crate::report::{Report, Stopwatch};
use crate::{ROUNDS, check};

struct Select;
struct Execute;
struct Evaluate;

fn number(context: &Context, key: &str) -> i64 {
    context.get(key).unwrap_or(-1)
}

fn next() -> graph_flow::Result<TaskResult> {
    Ok(TaskResult::new(None, NextAction::ContinueAndExecute))
}

#[async_trait]
impl Task for Select {
    fn id(&self) -> &str {
        "select"
    }

    async fn run(&self, context: Context) -> graph_flow::Result<TaskResult> {
        context.set("action", number(&context, "i"))?;
        next()
    }
}

#[async_trait]
impl Task for Execute {
    fn id(&self) -> &str {
        "execute"
    }

    async fn run(&self, context: Context) -> graph_flow::Result<TaskResult> {
        context.set("result", number(&context, "action") * 2)?;
        next()
    }
}

#[async_trait]
impl Task for Evaluate {
    fn id(&self) -> &str {
        "evaluate"
    }

    async fn run(&self, context: Context) -> graph_flow::Result<TaskResult> {
        let i = number(&context, "i") + 1;
        let mut log: Vec<i64> = context.get("log").unwrap_or_default();
        log.push(number(&context, "result"));
        context.set("log", log)?;
        context.set("i", i)?;
        let is_done = i >= number(&context, "max");
        if is_done { Ok(TaskResult::new(None, NextAction::End)) } else { next() }
    }
}

async fn play(runner: &FlowRunner, storage: &InMemorySessionStorage, id: &str) -> Result<()> {
    let session = Session::new_from_task(id.to_owned(), "select");
    session.context.set("i", 0)?;
    session.context.set("max", ROUNDS)?;
    session.context.set("log", Vec::<i64>::new())?;
    storage.save(session).await?;
    runner.run(id).await?;
    let end = storage.get(id).await?.context("the session is gone")?;
    check(number(&end.context, "i"), &end.context.get::<Vec<i64>>("log").unwrap_or_default())?;
    storage.delete(id).await?;
    Ok(())
}

pub async fn measure(report: &Report, runs: u64) -> Result<()> {
    let graph = GraphBuilder::new("w9")
        .add_task(Arc::new(Select))
        .add_task(Arc::new(Execute))
        .add_task(Arc::new(Evaluate))
        .add_edge("select", "execute")
        .add_edge("execute", "evaluate")
        .add_edge("evaluate", "select")
        .build()?;
    let storage = Arc::new(InMemorySessionStorage::new());
    let runner = FlowRunner::new(Arc::new(graph), storage.clone());
    play(&runner, &storage, "warm").await?;
    let watch = Stopwatch::start();
    for run in 0..runs {
        play(&runner, &storage, &run.to_string()).await?;
    }
    report.iterations(&watch, runs * ROUNDS.unsigned_abs());
    Ok(())
}
