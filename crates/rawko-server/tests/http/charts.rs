//! Charts over HTTP.

use serde_json::{Value, json};

use crate::support::{DOOR, open};

/// A chart with an unreachable state, which is a finding.
const LOST: &str = "id: lost\ninitial: a\nstates:\n  a: {on: {GO: b}}\n  b: {}\n  c: {}\n";

#[tokio::test(flavor = "multi_thread")]
async fn charts_are_listed_read_and_drawn() {
    let server = open().await;
    let charts = server.get("/v1/charts").send().await.json();
    let door = &charts["charts"][0];
    let expected = json!({"id": "door", "version": "1.0.0", "name": "door.yaml", "source": "project", "states": 2,
        "findings": 0, "instances": 0, "latest": true, "description": null, "hash": door["hash"]});
    assert_eq!(door, &expected);
    let read = server.get("/v1/charts/door").send().await.json();
    assert_eq!(
        (&read["text"], &read["versions"], &read["findings"]),
        (&json!(DOOR), &json!(["1.0.0"]), &json!([]))
    );
    assert_eq!(server.get("/v1/charts/door?version=%5E1").send().await.json()["version"], "1.0.0");

    let svg = server.get("/v1/charts/door/graph").send().await;
    assert_eq!(svg.header("content-type"), Some("image/svg+xml"));
    let policy = svg.header("content-security-policy").unwrap();
    assert!(policy.contains("sandbox") && !policy.contains("script-src"), "{policy}");
    assert!(svg.text.starts_with("<svg") && svg.text.contains("data-node=\"open\""), "{}", svg.text);
    for (format, begins) in [("mermaid", "stateDiagram-v2"), ("plantuml", "@startuml"), ("dot", "digraph")] {
        let drawn = server.get(&format!("/v1/charts/door/graph?format={format}")).send().await;
        assert!(drawn.text.contains(begins), "{format}: {}", drawn.text);
        assert_eq!(drawn.header("content-type"), Some("text/plain; charset=utf-8"));
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_says_what_is_wrong_and_where_on_the_drawing() {
    let server = open().await;
    let checked =
        server.post("/v1/charts/check", json!({"text": LOST, "name": "lost.yaml"})).send().await.json();
    assert_eq!(checked["ok"], false);
    let findings = checked["findings"].as_array().unwrap();
    let lost = findings.iter().find(|it| it["code"] == "rawko::chart::unreachable_state").unwrap();
    assert_eq!((&lost["node"], &lost["line"], &lost["column"]), (&json!("c"), &json!(6), &json!(3)));
    let svg = checked["svg"].as_str().unwrap();
    assert!(svg.contains("data-node=\"c\" data-finding=\"rawko::chart::unreachable_state"), "{svg}");
    let broken = server.post("/v1/charts/check", json!({"text": "id: [a"})).send().await.json();
    assert_eq!((&broken["ok"], &broken["svg"]), (&json!(false), &Value::Null));
    assert_eq!(server.project.uploads.lock().unwrap().len(), 0, "checking keeps nothing");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_uploaded_chart_is_offered_at_once_and_kept() {
    let server = open().await;
    let new = |version: &str, more: &str| json!({"text": format!("id: gate\nversion: {version}\ninitial: a\nstates: {{a: {{{more}}}}}\n"), "name": "gate.yaml"});
    let made = server.post("/v1/charts", new("1.0.0", "")).send().await;
    assert_eq!(
        (made.status, made.header("location")),
        (201, Some("/v1/charts/gate?version=1.0.0")),
        "{made:?}"
    );
    let read = server.get("/v1/charts/gate").send().await.json();
    assert_eq!(
        (&read["source"], &read["latest"], &read["hash"]),
        (&json!("uploaded"), &json!(true), &made.json()["hash"])
    );
    server.post("/v1/charts", new("1.1.0", "")).send().await;
    let replaced = server.post("/v1/charts", new("1.0.0", "on: {GO: a}")).send().await;
    assert_eq!(replaced.status, 201);
    assert_ne!(replaced.json()["hash"], made.json()["hash"]);
    let listed = server.get("/v1/charts").send().await.json();
    let gates: Vec<(&str, bool)> = listed["charts"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|chart| chart["id"] == "gate")
        .map(|chart| (chart["version"].as_str().unwrap(), chart["latest"].as_bool().unwrap()))
        .collect();
    assert_eq!(gates, [("1.0.0", false), ("1.1.0", true)]);
    let kept: Vec<(String, String)> = server.project.uploads.lock().unwrap().keys().cloned().collect();
    let gate = |version: &str| ("gate".to_owned(), version.to_owned());
    assert_eq!(kept, [gate("1.0.0"), gate("1.1.0")]);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_run_or_is_a_file_of_the_project_is_not_taken() {
    let server = open().await;
    let broken = server
        .post("/v1/charts", json!({"text": "id: gate\ninitial: nowhere\nstates: {a: {}}\n"}))
        .send()
        .await;
    assert_eq!((broken.status, broken.problem().as_str()), (422, "invalid_chart"));
    assert_eq!(broken.json()["findings"][0]["code"], "rawko::chart::unknown_initial");
    let other = DOOR.replace("SHUT", "CLOSE");
    let taken = server.post("/v1/charts", json!({"text": other})).send().await;
    assert_eq!((taken.status, taken.problem().as_str()), (409, "exists"));
    let same = server.post("/v1/charts", json!({"text": DOOR})).send().await;
    assert_eq!(same.status, 201, "nothing changes");
    assert_eq!(server.project.uploads.lock().unwrap().len(), 0);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn instances_are_counted_with_the_chart_they_began_with() {
    let server = open().await;
    for _ in 0..3 {
        let door = server.host.library().resolve("door").unwrap();
        server.host.start_edition(door, Default::default(), None).await.unwrap();
        server.get("/v1/charts").send().await;
    }
    assert_eq!(server.get("/v1/charts").send().await.json()["charts"][0]["instances"], 3);
    assert_eq!(server.get("/v1/health").send().await.json()["instances"], 3);
    server.stop().await;
}
