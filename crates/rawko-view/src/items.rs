//! The items of running fan-outs (`invoke … each`), for `show`, the API and the page.

use rawko_core::{Chart, FailedWork, FanOut, ItemState, Snapshot};
use rawko_store::InstanceRow;
use serde::Serialize;
use serde_json::Value;
#[cfg(feature = "openapi")]
use utoipa::ToSchema;

use crate::standing::InstanceStanding;

/// Items listed for one fan-out; the counts are of all of them.
const LISTED_MAX: usize = 1_000;

/// The items of an `each` that runs, or that failed and can be retried.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = Each))]
pub struct FanOutDocument {
    /// Id of the invoke.
    pub invoke: String,
    /// Path of the state that has the invoke.
    pub state: String,
    /// Number of items.
    pub total: usize,
    /// Not started yet.
    pub waiting: usize,
    /// Started, without a result; includes waiting retries.
    pub running: usize,
    /// Ended with a result.
    pub done: usize,
    /// Items that failed.
    pub error: usize,
    /// Stopped before a result: not needed, or the state was left.
    pub stopped: usize,
    /// The first 1,000 items, in input order.
    pub items: Vec<ItemDocument>,
}

/// One item of an `each`.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = Item))]
pub struct ItemDocument {
    /// Id of its invocation, as in `reviews[0]`.
    pub id: String,
    /// Position in the list, from 0.
    pub index: usize,
    /// Element of the list.
    pub item: Value,
    /// `waiting`, `running`, `done`, `error`, `stopped`.
    pub status: &'static str,
    /// Number of the current attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// Result, if it is done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// Error, if it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Value>,
    /// Id of the instance that works on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub child: Option<String>,
}

/// Returns the fan-outs of an instance: the running ones, then those that failed.
pub fn of(standing: &InstanceStanding) -> Vec<FanOutDocument> {
    in_snapshot(&standing.chart, &standing.snapshot, &standing.children)
}

/// Returns the fan-outs of a snapshot. `children`: the instances that work on items.
pub fn in_snapshot(chart: &Chart, snapshot: &Snapshot, children: &[InstanceRow]) -> Vec<FanOutDocument> {
    let failed = snapshot.failures().iter().filter_map(|failure| match &failure.work {
        FailedWork::FanOut(fan_out) => Some(&**fan_out),
        FailedWork::Invocation(_) | FailedWork::Timer { .. } => None,
    });
    let all = snapshot.fan_outs().iter().chain(failed);
    all.map(|fan_out| document(fan_out, chart, children)).collect()
}

fn document(fan_out: &FanOut, chart: &Chart, children: &[InstanceRow]) -> FanOutDocument {
    let invoke = chart.invoke_name(fan_out.invoke).to_owned();
    let count = |word: &str| fan_out.items().filter(|(_, state)| state.as_str() == word).count();
    let items = fan_out.items().take(LISTED_MAX).enumerate();
    let items = items.map(|(index, (item, state))| {
        let id = format!("{invoke}[{index}]");
        let child = children.iter().rev().find(|row| {
            row.new.parent.as_ref().is_some_and(|parent| {
                *parent.invoke == *id && fan_out.index_of(parent.invocation) == Some(index as u32)
            })
        });
        ItemDocument {
            index,
            item: item.to_json(),
            status: state.as_str(),
            attempt: if let ItemState::Running(running) = state { Some(running.attempt) } else { None },
            data: if let ItemState::Done(data) = state { Some(data.to_json()) } else { None },
            error: if let ItemState::Failed(error) = state { Some(error.to_json()) } else { None },
            child: child.map(|row| row.new.id.to_string()),
            id,
        }
    });
    FanOutDocument {
        items: items.collect(),
        total: fan_out.len(),
        waiting: count("waiting"),
        running: count("running"),
        done: count("done"),
        error: count("error"),
        stopped: count("stopped"),
        state: chart.node(fan_out.node).path.to_string(),
        invoke,
    }
}
