//! Snapshots as JSON: their format, compatibility with earlier versions, and the errors for invalid ones.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods, reason = "tests")]

use expect_test::{Expect, expect, expect_file};
use rawko_chart::{Registry, SourceFile, load};
use rawko_core::{Chart, Event, Snapshot, Value, start, step};

/// Every part of a snapshot: history, a timer, a delayed send, an invocation, input.
const CHART: &str = "
statechart:
  id: keeper
  version: 1.0.0
  initial: work
  context: {n: 1, note: null}
  states:
    work:
      initial: a
      states:
        a: {on: {NEXT: b}}
        b: {}
        back: {type: history, variant: deep}
      on: {PAUSE: paused}
    paused:
      entry: [{type: send, target: self, event: WAKE, data: {n: context.n}, delay: 1h, id: wake}]
      invoke: {id: watch, src: watcher, input: {n: context.n}, timeout: 5m, onError: work.back}
      after: {24h: work.back}
      on: {WAKE: work.back}
";

fn chart(text: &str) -> Chart {
    load(&SourceFile::new("keeper.yaml", text), &Registry::default()).chart.expect("a chart")
}

fn paused(chart: &Chart) -> Snapshot {
    let input = Value::map([("n", Value::Int(7)), ("who", Value::str("ada"))]);
    let (mut snapshot, _) = start(chart, input, 1_000).unwrap();
    for event in ["NEXT", "PAUSE"] {
        step(chart, &mut snapshot, Event::named(event, Value::Null), 2_000).unwrap();
    }
    snapshot
}

#[test]
fn a_snapshot_is_readable_json() {
    let chart = chart(CHART);
    let text = paused(&chart).to_json(&chart);
    let pretty: serde_json::Value = serde_json::from_str(&text).unwrap();
    let pretty = serde_json::to_string_pretty(&pretty).unwrap();
    expect_file!["snapshots/keeper-1.json"].assert_eq(&pretty);
    assert_eq!(Snapshot::from_json(&chart, &text).unwrap(), paused(&chart));
}

/// `keeper-0.1.0.json` was written by version 0.1.0 and is never blessed again.
#[test]
fn a_snapshot_of_an_earlier_version_still_loads() {
    let chart = chart(CHART);
    let mut snapshot = Snapshot::from_json(&chart, include_str!("snapshots/keeper-0.1.0.json")).unwrap();
    step(&chart, &mut snapshot, Event::named("WAKE", Value::Null), 3_000).unwrap();
    assert_eq!(chart.leaf_paths(snapshot.configuration()).collect::<Vec<_>>(), ["work.b"]);
}

#[test]
fn what_is_no_snapshot_of_this_chart_is_refused() {
    let original = chart(CHART);
    let good = paused(&original).to_json(&original);
    let refused = |chart: &Chart, text: &str, expected: Expect| {
        expected.assert_eq(&Snapshot::from_json(chart, text).unwrap_err().to_string());
    };
    refused(
        &chart(&CHART.replace("id: keeper", "id: other")),
        &good,
        expect!["this is a snapshot of chart `keeper`, not of `other`"],
    );
    refused(
        &chart(&CHART.replace("1.0.0", "2.0.0")),
        &good,
        expect!["this is a snapshot of `keeper` at version 1.0.0, and the chart here is version 2.0.0"],
    );
    refused(
        &chart(&CHART.replace("24h", "48h")),
        &good,
        expect![
            "this is a snapshot of a different `keeper`: the version is the same but the content differs"
        ],
    );
    refused(
        &original,
        &good.replace("\"format\":1", "\"format\":2"),
        expect!["this snapshot has format 2, and this rawko reads format 1"],
    );
    refused(
        &original,
        &good.replace("[\"paused\"]", "[\"gone\"]"),
        expect!["the snapshot names state `gone`, which chart `keeper` does not have"],
    );
    refused(
        &original,
        &good.replace("[\"paused\"]", "[\"paused\",\"work.a\"]"),
        expect![
            "the snapshot's configuration [paused, work.a] is not legal: a compound state needs one active child, a parallel state all of them"
        ],
    );
    refused(
        &original,
        "{",
        expect!["this is not a snapshot: EOF while parsing an object at line 1 column 1"],
    );
}

/// Comments, spacing and notation do not change the identity of a chart.
#[test]
fn the_same_content_is_the_same_chart() {
    let original = chart(CHART);
    let spaced = chart(&CHART.replace("      on: {PAUSE", "      # a word\n      on:   {PAUSE"));
    assert_eq!(original.hash(), spaced.hash());
    assert!(Snapshot::from_json(&spaced, &paused(&original).to_json(&original)).is_ok());
}

/// A step with a snapshot of another chart is rejected before anything happens.
#[test]
fn a_step_with_another_charts_snapshot_is_refused() {
    let (one, other) = (chart(CHART), chart(&CHART.replace("24h", "48h")));
    let mut snapshot = paused(&one);
    let before = snapshot.clone();
    let error = step(&other, &mut snapshot, Event::named("WAKE", Value::Null), 0).unwrap_err();
    expect!["this snapshot does not belong to chart `keeper`"].assert_eq(&error.to_string());
    assert_eq!(snapshot, before);
}
