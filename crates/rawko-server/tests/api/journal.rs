//! The journal: complete entries, and any position of a long one.

use serde_json::{Value, json};

use crate::made;
use crate::sse::Events;
use crate::support::{Api, ORDER, keys};

const TOLD: [&str; 7] = ["step", "kind", "title", "configuration", "entered", "left", "status"];

fn steps(journal: &Value) -> Vec<u64> {
    journal["entries"].as_array().unwrap().iter().map(|entry| entry["step"].as_u64().unwrap()).collect()
}

#[tokio::test]
async fn entries_say_what_happened_in_the_chart() {
    let api = Api::start().await;
    api.order("o-1").await;
    api.send("o-1", "PAY", json!({"amount": 1})).await;
    api.send("o-1", "PAY", json!({"amount": 12})).await;
    api.send("o-1", "SHIP", json!(null)).await;
    api.send("o-1", "BACK", json!(null)).await;
    api.send("o-1", "DONE", json!(null)).await;
    api.post("/v1/instances/o-1/fork", json!({"at": 3, "id": "f-1"})).await.ok();
    let table = [
        r#"0 "started" "start" ["open"] ["open"] [] "active""#,
        r#"1 "ignored" "PAY" ["open"] [] [] "active""#,
        r#"2 "step" "PAY" ["work.packing"] ["work","work.packing"] ["open"] "active""#,
        r#"3 "step" "SHIP" ["work.shipped"] ["work.shipped"] ["work.packing"] "active""#,
        r#"4 "step" "BACK" ["work.packing"] ["work.packing"] ["work.shipped"] "active""#,
        r#"5 "step" "DONE" ["closed"] ["closed"] ["work.packing","work","closed"] "done""#,
    ];
    let journal = api.get("/v1/instances/o-1/journal").await.ok();
    assert_eq!(keys(&journal, &["v", "next_step", "last_step"]), "1 null 5");
    let told: Vec<_> =
        journal["entries"].as_array().unwrap().iter().map(|entry| keys(entry, &TOLD)).collect();
    assert_eq!(told, table);
    let fork = api.get("/v1/instances/f-1/journal").await.ok();
    let begun =
        r#"3 "forked" "forked from o-1 at step 3" ["work.shipped"] ["work","work.shipped"] [] "active""#;
    assert_eq!(keys(&fork["entries"][0], &TOLD), begun);
    // The transitions taken exist in the drawing.
    let drawing = api.get("/v1/instances/o-1/drawing").await.text;
    for (step, ends) in
        [(2, ["open", "work"]), (3, ["work.packing", "work.shipped"]), (5, ["work", "closed"])]
    {
        let taken = &journal["entries"][step]["transitions"];
        assert_eq!(taken.as_array().unwrap().len(), 1, "{step}: {taken}");
        let arrow =
            format!(r#"data-transition="{}" data-source="{}" data-target="{}""#, taken[0], ends[0], ends[1]);
        assert!(drawing.contains(&arrow), "{arrow}");
    }
    let journal = api.get("/v1/instances/o-1/journal?from=2&limit=1").await.ok();
    let entry = &journal["entries"][0];
    assert_eq!(keys(&journal, &["next_step", "last_step"]), "3 5");
    assert_eq!(entry["changes"], json!([{"key": "paid", "before": 0, "after": 12}]));
    assert_eq!(
        entry["event"],
        json!({"kind": "event", "type": "PAY", "data": {"amount": 12}, "origin": null})
    );
    assert_eq!(entry["story"], json!([]));
    let explained = api.get("/v1/instances/o-1/journal?from=1&limit=1&explain=true").await.ok();
    let story = explained["entries"][0]["story"].to_string();
    assert!(story.contains("its guard is false"), "{story}");
    let last = api.get("/v1/instances/o-1/journal?order=desc&limit=1").await.ok();
    assert_eq!(keys(&last["entries"][0], &["step", "status", "output"]), r#"5 "done" {"paid":12}"#);
    api.stop().await;
}

#[tokio::test]
async fn a_journal_can_be_read_in_both_directions() {
    let api = Api::start().await;
    api.order("o-1").await;
    for number in 1..=25 {
        api.send("o-1", "NOTE", json!(number)).await;
    }
    api.post("/v1/instances/o-1/fork", json!({"at": 20, "id": "f-1"})).await.ok();
    for number in 21..=24 {
        api.send("f-1", "NOTE", json!(number)).await;
    }
    for (id, order, expected) in [
        ("o-1", "asc", (0..=25).collect::<Vec<u64>>()),
        ("o-1", "desc", (0..=25).rev().collect()),
        ("f-1", "asc", (20..=24).collect()),
        ("f-1", "desc", (20..=24).rev().collect()),
    ] {
        for limit in [1, 7, 26, 100] {
            let (mut seen, mut from) = (Vec::new(), String::new());
            loop {
                let path = format!("/v1/instances/{id}/journal?order={order}&limit={limit}{from}");
                let journal = api.get(&path).await.ok();
                seen.extend(steps(&journal));
                match journal["next_step"].as_u64() {
                    Some(next) => from = format!("&from={next}"),
                    None => break,
                }
            }
            assert_eq!(seen, expected, "{id} {order} {limit}");
        }
    }
    let past = api.get("/v1/instances/o-1/journal?from=99").await.ok();
    assert_eq!((steps(&past), keys(&past, &["next_step"])), (vec![], "null".to_owned()));
    api.stop().await;
}

#[tokio::test]
async fn any_place_of_a_long_journal() {
    let folder = made::folder();
    made::journal(folder.path(), 100_000);
    let api = Api::after(folder).await;
    for from in [0, 1, 199, 200, 50_000, 99_950, 100_000] {
        let journal = api.get(&format!("/v1/instances/long/journal?from={from}&limit=50")).await.ok();
        let expected: Vec<u64> = (from..=100_000).take(50).collect();
        assert_eq!(steps(&journal), expected, "{from}");
        let entry = journal["entries"].as_array().unwrap().last().unwrap();
        let step = *expected.last().unwrap();
        if step > 0 {
            let change = json!([{"key": "count", "before": step - 1, "after": step}]);
            assert_eq!(entry["changes"], change, "{from}");
            assert_eq!(entry["left"], json!([if step.is_multiple_of(2) { "odd" } else { "even" }]), "{from}");
        }
        let document = api.get(&format!("/v1/instances/long?at={from}")).await.ok();
        assert_eq!(keys(&document, &["step", "last_step"]), format!("{from} 100000"));
        assert_eq!(document["context"]["count"], from);
    }
    let last = api.get("/v1/instances/long/journal?order=desc&limit=3").await.ok();
    assert_eq!(steps(&last), [100_000, 99_999, 99_998]);
    // The instance continues from there.
    api.send("long", "TICK", json!(null)).await;
    let last = api.get("/v1/instances/long/journal?order=desc&limit=1").await.ok();
    assert_eq!(steps(&last), [100_001]);
    api.stop().await;
}

/// Faults and failed steps, even if they are the last entry.
#[tokio::test]
async fn entries_and_instances_show_faults() {
    let api = Api::start().await;
    api.order("o-1").await;
    let mut all = Events::open(api.address(), "?after=0", None).await;
    let mut own = Events::open(api.address(), "?instance=o-1&after=0", None).await;
    api.send("o-1", "PAY", json!({"amount": "ten"})).await;
    let fault = json!([{
        "what": "guard", "state": "open", "at": "PAY",
        "message": "`event.data.amount >= context.amount`: `>=` compares two numbers or two strings, not a string and a number \
                    in `event.data.amount >= context.amount`",
    }]);
    let journal = api.get("/v1/instances/o-1/journal?from=1").await.ok();
    let entry = &journal["entries"][0];
    assert_eq!((keys(entry, &["step", "kind"]), &entry["faults"]), (r#"1 "ignored""#.to_owned(), &fault));
    // The first is the start.
    own.named("step").await;
    all.named("step").await;
    assert_eq!(own.named("step").await.data["faults"], fault);
    assert_eq!(all.named("step").await.data["faults"], 1);
    let faults = api.get("/v1/instances/o-1").await.ok()["faults"].clone();
    assert_eq!(keys(&faults, &["count"]), "1");
    let text = faults["last"]["text"].as_str().unwrap();
    assert!(text.starts_with("guard failed in state `open` on PAY: "), "{text}");

    let strict = ORDER.replace("id: order", "id: strict\n  unhandled: error");
    api.post("/v1/instances", json!({"text": strict, "id": "s-1"})).await.ok();
    let refused = api.post("/v1/instances/s-1/events", json!({"type": "UNKNOWN"})).await;
    assert!(refused.status >= 400, "{}", refused.text);
    let journal = api.get("/v1/instances/s-1/journal").await.ok();
    assert_eq!(steps(&journal), [0, 1]);
    assert_eq!(keys(&journal, &["next_step", "last_step"]), "null 0");
    assert_eq!(journal["entries"][1]["kind"], "refused");
    let text = api.get("/v1/instances/s-1").await.ok()["faults"]["last"]["text"].clone();
    assert!(text.as_str().unwrap().starts_with("step failed on UNKNOWN: no state handles event"), "{text}");
    api.stop().await;
}
