//! The JSON stored in Restate and sent through it: written as `tests/shapes/now.json` shows, and every earlier shape is
//! still read. To change a shape, keep the file of the earlier one and add a new one.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;

use expect_test::expect_file;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json};

use super::outcome::{HandlerOutcome, ResultAsk, WorkAsk};
use crate::layout::{
    AnswerAsk, ChartSource, DeliverAsk, ForkAsk, LiveState, PostedEvent, SnapshotMark, StartAsk, StoredRow,
};

/// With every field of the first release.
const FIRST: &str = include_str!("../../tests/shapes/first.json");

fn again<T: Serialize + DeserializeOwned>(name: &str, shape: Json) -> Json {
    let read: T = serde_json::from_value(shape).unwrap_or_else(|error| panic!("{name}: {error}"));
    serde_json::to_value(read).unwrap()
}

fn rewritten(name: &str, shape: Json) -> Json {
    match name {
        "row" => again::<StoredRow>(name, shape),
        "live" => again::<LiveState>(name, shape),
        "outcome" | "refused" => again::<HandlerOutcome>(name, shape),
        "work" => again::<WorkAsk>(name, shape),
        "result" => again::<ResultAsk>(name, shape),
        "post" => again::<PostedEvent>(name, shape),
        "start" => again::<StartAsk>(name, shape),
        "fork" => again::<ForkAsk>(name, shape),
        "deliver" => again::<DeliverAsk>(name, shape),
        "answer" => again::<AnswerAsk>(name, shape),
        "chart" => again::<ChartSource>(name, shape),
        "mark" => again::<SnapshotMark>(name, shape),
        other => panic!("{other} is no shape"),
    }
}

/// Sorts fields by name, because their order has no meaning.
fn sorted(json: Json) -> Json {
    match json {
        Json::Object(fields) => {
            let fields: BTreeMap<String, Json> =
                fields.into_iter().map(|(name, field)| (name, sorted(field))).collect();
            Json::Object(fields.into_iter().collect())
        }
        Json::Array(items) => Json::Array(items.into_iter().map(sorted).collect()),
        scalar @ (Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_)) => scalar,
    }
}

#[test]
fn what_was_written_before_is_read_and_written_as_now() {
    let first: Map<String, Json> = serde_json::from_str(FIRST).unwrap();
    let now = first.into_iter().map(|(name, shape)| (name.clone(), rewritten(&name, shape))).collect();
    let text = serde_json::to_string_pretty(&sorted(Json::Object(now))).unwrap() + "\n";
    expect_file!["../../tests/shapes/now.json"].assert_eq(&text);
}

/// Fields added after the first release (budgets, supplied charts, agents) may be missing.
#[test]
fn what_was_not_there_at_first_may_be_missing() {
    let first: Json = serde_json::from_str(FIRST).unwrap();
    let lacking = [
        ("live", &["with"][..]),
        ("work", &["agent"]),
        ("result", &["audit"]),
        ("post", &["child", "spent", "from", "to_itself"]),
        ("start", &["budget", "with"]),
        ("fork", &["budget"]),
        ("deliver", &["key"]),
        ("answer", &["invoke", "by", "comment", "data"]),
    ];
    for (name, keys) in lacking {
        let mut shape = first[name].clone();
        let fields = shape.as_object_mut().unwrap();
        keys.iter().for_each(|key| assert!(fields.remove(*key).is_some(), "{name} has no {key}"));
        rewritten(name, shape);
    }
}
