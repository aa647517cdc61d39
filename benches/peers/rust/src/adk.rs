//! `adk-graph`: three nodes in a loop, in memory and with its SQLite checkpointer.

use adk_graph::{
    CompiledGraph, END, ExecutionConfig, NodeContext, NodeOutput, Reducer, START, SqliteCheckpointer, State,
    StateGraph, StateSchema,
};
use anyhow::Result;
use serde_json::json;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions, SqliteSynchronous};

use crate::report::{Report, Stopwatch};
use crate::{ROUNDS, check};

fn number(state: &State, key: &str) -> i64 {
    state.get(key).and_then(serde_json::Value::as_i64).unwrap_or(-1)
}

fn graph() -> Result<CompiledGraph> {
    let schema = StateSchema::builder()
        .channel("i")
        .channel("max")
        .channel("action")
        .channel("result")
        .channel("done")
        .channel_with_reducer("log", Reducer::Append)
        .build();
    let select = |context: NodeContext| async move {
        Ok(NodeOutput::new().with_update("action", json!(number(&context.state, "i"))))
    };
    let execute = |context: NodeContext| async move {
        Ok(NodeOutput::new().with_update("result", json!(number(&context.state, "action") * 2)))
    };
    let evaluate = |context: NodeContext| async move {
        let i = number(&context.state, "i") + 1;
        Ok(NodeOutput::new()
            .with_update("i", json!(i))
            .with_update("done", json!(i >= number(&context.state, "max")))
            .with_update("log", json!([number(&context.state, "result")])))
    };
    let is_done = |state: &State| if state["done"] == json!(true) { "end" } else { "more" }.to_owned();
    let graph = StateGraph::new(schema)
        .add_node_fn("select", select)
        .add_node_fn("execute", execute)
        .add_node_fn("evaluate", evaluate)
        .add_edge(START, "select")
        .add_edge("select", "execute")
        .add_edge("execute", "evaluate")
        .add_conditional_edges("evaluate", is_done, [("end", END), ("more", "select")])
        .compile()?;
    Ok(graph.with_recursion_limit(10 * 50))
}

async fn play(graph: &CompiledGraph, thread: &str) -> Result<()> {
    let begin = [("i", json!(0)), ("max", json!(ROUNDS)), ("done", json!(false)), ("log", json!([]))];
    let begin: State = begin.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    let config = ExecutionConfig::new(thread).with_recursion_limit(10 * 50);
    let end = graph.invoke(begin, config).await?;
    let log: Vec<i64> = serde_json::from_value(end["log"].clone())?;
    check(number(&end, "i"), &log)
}

async fn time(report: &Report, graph: &CompiledGraph, runs: u64) -> Result<()> {
    play(graph, "warm").await?;
    let watch = Stopwatch::start();
    for run in 0..runs {
        play(graph, &run.to_string()).await?;
    }
    report.iterations(&watch, runs * ROUNDS.unsigned_abs());
    Ok(())
}

pub async fn measure(report: &Report, runs: u64) -> Result<()> {
    time(report, &graph()?, runs).await
}

pub async fn measure_on_disk(report: &Report, runs: u64) -> Result<()> {
    // Beside the program: a temporary directory may be in memory.
    let program = std::env::current_exe()?;
    let place = tempfile::tempdir_in(program.parent().unwrap_or(&program))?;
    let options = SqliteConnectOptions::new()
        .filename(place.path().join("adk.db"))
        .create_if_missing(true)
        .synchronous(SqliteSynchronous::Full);
    let pool = SqlitePoolOptions::new().max_connections(1).connect_with(options).await?;
    let graph = graph()?.with_checkpointer(SqliteCheckpointer::from_pool(pool.clone()).await?);
    time(report, &graph, runs).await?;
    let (kept,): (i64,) = sqlx::query_as("select count(*) from graph_checkpoints").fetch_one(&pool).await?;
    let least = 3 * ROUNDS * (i64::try_from(runs)? + 1);
    anyhow::ensure!(kept >= least, "only {kept} checkpoints of {least} are on disk");
    Ok(())
}
