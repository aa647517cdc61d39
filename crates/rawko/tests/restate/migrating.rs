//! Instances on Restate continue on another version of their chart: refused with reasons, tried, migrated, taken back until
//! the next step; their timers, questions and the journal are kept.

use rawko_testkit::RestateOptions;
use serde_json::Value as Json;

use crate::support::{Place, Site, directory, free_address, wait_for};

/// A question with a timer around it.
const FIRST: &str = "\
statechart:
  id: article
  version: 1.0.0
  initial: review
  context: {points: 3}
  states:
    review:
      after: {24h: rejected}
      invoke: {id: ask, src: human, onDone: published, onError: rejected}
    published: {type: final}
    rejected: {type: final}
";

/// The state and the question have other names, points are a score.
const SECOND: &str = "\
statechart:
  id: article
  version: 2.0.0
  initial: reviewing
  context: {score: 0}
  states:
    reviewing:
      after: {24h: rejected}
      invoke: {id: question, src: human, onDone: published, onError: rejected}
    published: {type: final, output: {score: context.score}}
    rejected: {type: final}
";

const MAP: &str =
    "{states: {review: reviewing}, context: {score: old.points * 10}, invokes: {ask: question}}\n";

fn show(place: &Place, id: &str) -> Json {
    let ran = place.run(&format!("show {id} --json"));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    serde_json::from_str(&ran.stdout).unwrap()
}

fn version(place: &Place, id: &str) -> String {
    let shown = show(place, id);
    format!("{} {} {}", shown["version"], shown["configuration"][0], shown["status"])
}

#[test]
fn instances_on_restate_continue_on_another_chart() {
    let project =
        directory(&[(".rawko/charts/article.yaml", FIRST), ("new.yaml", SECOND), ("map.yaml", MAP)]);
    let site = Site::new(project.path(), &RestateOptions::default());
    let _worker = site.ready_worker(&free_address(), "worker");
    let place = &site.place;
    for id in ["a-1", "a-2"] {
        let ran = place.run(&format!("run article --id {id} --patience 0s"));
        assert_eq!(ran.code, Some(55), "{ran:?}");
    }
    let (before, asked) = (r#""1.0.0" "review" "waiting""#, r#""2.0.0" "reviewing" "waiting""#);
    let due = || show(place, "a-1")["waits"]["timers"][0]["due_ms"].clone();
    let first_due = due();
    assert!(first_due.is_i64());

    let gaps = place.run("migrate a-1 --to new.yaml --apply");
    assert_eq!(gaps.code, Some(1), "{gaps:?}");
    let dry = place.run("migrate a-1 --to new.yaml --map map.yaml");
    assert_eq!(dry.code, Some(0), "{dry:?}");
    assert_eq!(version(place, "a-1"), before);

    let done = place.run("migrate a-1 a-2 --to new.yaml --map map.yaml --apply");
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!((version(place, "a-1"), version(place, "a-2")), (asked.to_owned(), asked.to_owned()));
    assert_eq!(due(), first_due, "the timer is due when it was");

    let back = place.run("migrate a-2 --back --apply");
    assert_eq!(back.code, Some(0), "{back:?}");
    assert_eq!(version(place, "a-2"), before);

    // The question that was asked before is answered under its new id.
    for (id, expected) in
        [("a-1", r#""2.0.0" "published" "ended""#), ("a-2", r#""1.0.0" "published" "ended""#)]
    {
        let answered = place.run(&format!("approve {id}"));
        assert_eq!(answered.code, Some(0), "{answered:?}");
        wait_for(&format!("{id} is done"), || version(place, id) == expected);
    }
    assert_eq!(show(place, "a-1")["output"]["score"], 30);
    let late = place.run("migrate a-1 --back --apply");
    assert_eq!(late.code, Some(1), "a step was taken since: {late:?}");
}
