//! Lists: filters, pages, counts.

use serde_json::{Value, json};

use crate::made;
use crate::support::{Api, keys};

fn ids(list: &Value) -> Vec<&str> {
    list["instances"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn instances_are_listed_newest_first_with_filters() {
    let api = Api::start().await;
    api.order("o-1").await;
    api.order("o-2").await;
    api.order("Ork-3").await;
    api.post("/v1/instances", json!({"chart": "parent", "id": "p-1"})).await.ok();
    api.send("o-2", "BIG", json!(null)).await;
    api.send("p-1.order.0", "BIG", json!(null)).await;
    api.post("/v1/instances/o-1/cancel", json!({"reason": "enough"})).await.ok();
    api.post("/v1/instances/Ork-3/pause", json!(null)).await.ok();
    let table: [(&str, &[&str]); 18] = [
        ("", &["p-1", "Ork-3", "o-2", "o-1"]),
        ("children=true", &["p-1.order.0", "p-1", "Ork-3", "o-2", "o-1"]),
        ("status=cancelled", &["o-1"]),
        ("status=cancelled&status=active", &["p-1", "Ork-3", "o-2", "o-1"]),
        ("status=done", &[]),
        ("status=paused", &["Ork-3"]),
        // The child of `p-1` waits for a person, so `p-1` does.
        ("status=running", &[]),
        ("status=waiting", &["p-1", "o-2"]),
        ("status=waiting&children=true", &["p-1.order.0", "p-1", "o-2"]),
        ("status=ended&status=paused", &["Ork-3", "o-1"]),
        ("status=stalled", &[]),
        ("outcome=cancelled", &["o-1"]),
        ("waits=person", &["p-1.order.0", "o-2"]),
        ("waits=person&status=cancelled", &[]),
        ("chart=parent", &["p-1"]),
        ("q=or", &["Ork-3"]),
        ("q=O-&status=active", &["o-2"]),
        ("q=%25", &[]),
    ];
    for (query, expected) in table {
        let list = api.get(&format!("/v1/instances?{query}")).await.ok();
        assert_eq!(ids(&list), expected, "{query}");
        assert_eq!(list["total"], expected.len(), "{query}");
        assert_eq!(list["next"], Value::Null, "{query}");
    }
    for query in ["", "status=done&limit=1", "waits=person"] {
        let list = api.get(&format!("/v1/instances?{query}")).await.ok();
        let expected = json!({"running": 0, "waiting": 2, "paused": 1, "stalled": 0, "ended": 1, "active": 3, "done": 0, "error": 0, "cancelled": 1, "person": 2});
        assert_eq!(list["counts"], expected, "{query}");
    }
    let list = api.get("/v1/instances?children=true&q=p-1").await.ok();
    let counts =
        keys(&list["counts"], &["running", "waiting", "paused", "stalled", "ended", "active", "person"]);
    assert_eq!(counts, "0 2 0 0 0 2 1");
    api.stop().await;
}

#[tokio::test]
async fn a_search_has_the_filters_of_the_list() {
    let api = Api::start().await;
    for id in ["o-1", "o-2", "o-3"] {
        api.order(id).await;
        api.send(id, "NOTE", json!("Ring the bell")).await;
    }
    api.post("/v1/instances", json!({"chart": "parent", "id": "bell"})).await.ok();
    api.send("o-2", "BIG", json!(null)).await;
    api.send("bell.order.0", "BIG", json!(null)).await;
    api.post("/v1/instances/o-1/cancel", json!({"reason": "enough"})).await.ok();
    api.post("/v1/instances/o-3/pause", json!(null)).await.ok();
    let table: [(&str, &[&str], bool); 8] = [
        ("", &["bell", "o-3", "o-2", "o-1"], true),
        ("limit=2", &["bell", "o-3"], false),
        ("status=paused&limit=1", &["o-3"], true),
        ("status=paused&status=ended", &["o-3", "o-1"], true),
        // The child of `bell` waits for a person, so `bell` does.
        ("status=waiting", &["bell", "o-2"], true),
        ("status=running", &[], true),
        ("outcome=cancelled", &["o-1"], true),
        ("waits=person", &["bell.order.0", "o-2"], true),
    ];
    for (query, expected, is_complete) in table {
        let found = api.get(&format!("/v1/search?q=bell&{query}")).await.ok();
        let ids: Vec<&str> =
            found["results"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap()).collect();
        assert_eq!((ids.as_slice(), &found["complete"]), (expected, &json!(is_complete)), "{query}");
    }
    api.stop().await;
}

#[tokio::test]
async fn a_row_says_what_the_command_line_says() {
    let api = Api::start().await;
    api.post("/v1/instances", json!({"chart": "parent", "id": "p-1"})).await.ok();
    let list = api.get("/v1/instances?children=true&q=order").await.ok();
    let row = &list["instances"][0];
    let shown =
        keys(row, &["id", "chart", "version", "status", "waits_for", "step", "parent", "configuration"]);
    let expected =
        r#""p-1.order.0" "order" "1.2.0" "waiting" "timer" 0 {"id":"p-1","invoke":"child"} ["open"]"#;
    assert_eq!(shown, expected);
    let created = row["created_ms"].as_i64().unwrap();
    assert_eq!(row["next_due_ms"], created + 24 * 3_600_000);
    assert_eq!(keys(row, &["fault", "forked_from", "agent"]), "null null null");
    let moment = rawko_view::times::moment(row["updated_ms"].as_i64().unwrap()).replacen(' ', "T", 1);
    assert_eq!((&row["waiting_for"], &row["updated"]), (&json!("timer"), &json!(moment)));
    assert_eq!(row["spent"], json!({"tokens": 0, "cost_usd": 0.0, "time_ms": 0, "tool_calls": 0}));
    assert_eq!(row["chart_hash"].as_str().unwrap().len(), 32);
    api.stop().await;
}

#[tokio::test]
async fn what_cannot_be_asked_for() {
    let api = Api::start().await;
    let table = [
        ("limit=0", "400 invalid_request"),
        ("limit=501", "400 invalid_request"),
        ("limit=x", "400 invalid_request"),
        ("status=gone", "400 invalid_request"),
        ("waits=godot", "400 invalid_request"),
        ("colour=red", "400 invalid_request"),
        ("cursor=77", "400 invalid_cursor"),
        ("sort=colour", "400 invalid_request"),
        ("order=up", "400 invalid_request"),
        // `next` of a list by age and of one by steps.
        ("sort=cost&cursor=azc3", "400 invalid_cursor"),
        ("sort=cost&cursor=czEgdyAy", "400 invalid_cursor"),
    ];
    for (query, expected) in table {
        assert_eq!(api.get(&format!("/v1/instances?{query}")).await.problem(), expected, "{query}");
    }
    api.stop().await;
}

#[tokio::test]
async fn lists_are_sorted_over_all_pages() {
    let api = Api::start().await;
    for id in ["o-1", "O-2", "o-3", "p-4", "o-5"] {
        api.order(id).await;
    }
    for (id, notes) in [("O-2", 3), ("o-3", 1), ("p-4", 2)] {
        for note in 0..notes {
            api.send(id, "NOTE", json!(note)).await;
        }
    }
    api.post("/v1/instances/o-1/cancel", json!({"reason": "enough"})).await.ok();
    api.post("/v1/instances/o-5/pause", json!(null)).await.ok();
    let table: [(&str, &[&str]); 13] = [
        ("sort=created", &["o-5", "p-4", "o-3", "O-2", "o-1"]),
        ("order=asc", &["o-1", "O-2", "o-3", "p-4", "o-5"]),
        ("sort=created&order=asc", &["o-1", "O-2", "o-3", "p-4", "o-5"]),
        ("sort=title", &["o-1", "O-2", "o-3", "o-5", "p-4"]),
        ("sort=title&order=desc", &["p-4", "o-5", "o-3", "O-2", "o-1"]),
        ("sort=steps&q=o-&status=waiting", &["O-2", "o-3"]),
        ("sort=steps&order=asc&status=waiting", &["o-3", "p-4", "O-2"]),
        ("sort=outcome", &["o-1", "o-5", "O-2", "o-3", "p-4"]),
        ("sort=outcome&order=desc&status=waiting", &["p-4", "o-3", "O-2"]),
        ("sort=cost", &["o-5", "p-4", "o-3", "O-2", "o-1"]),
        ("sort=updated&status=waiting", &["p-4", "o-3", "O-2"]),
        ("sort=title&outcome=cancelled", &["o-1"]),
        ("sort=title&q=nothing", &[]),
    ];
    for (query, expected) in table {
        let list = api.get(&format!("/v1/instances?{query}")).await.ok();
        assert_eq!(ids(&list), expected, "{query}");
        assert_eq!((&list["total"], &list["next"]), (&json!(expected.len()), &Value::Null), "{query}");
        // In pages of two.
        let (mut seen, mut cursor) = (Vec::new(), String::new());
        loop {
            let list = api.get(&format!("/v1/instances?{query}&limit=2{cursor}")).await.ok();
            assert_eq!(list["total"], expected.len(), "{query}");
            seen.extend(ids(&list).into_iter().map(str::to_owned));
            let Some(next) = list["next"].as_str() else { break };
            cursor = format!("&cursor={next}");
        }
        assert_eq!(seen, expected, "{query}");
        let found = api
            .get(&format!("/v1/search?{}&{query}", if query.contains("q=") { "" } else { "q=-" }))
            .await
            .ok();
        let found: Vec<&str> =
            found["results"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap()).collect();
        assert_eq!(found, expected, "search {query}");
    }
    // The rest of a list begins after the end of the page before, also if that instance moved, and new values count.
    let list = api.get("/v1/instances?sort=steps&status=waiting&limit=1").await.ok();
    assert_eq!(ids(&list), ["O-2"]);
    let next = list["next"].as_str().unwrap();
    for note in 0..4 {
        api.send("o-3", "NOTE", json!(note)).await;
    }
    let list = api.get(&format!("/v1/instances?sort=steps&status=waiting&limit=1&cursor={next}")).await.ok();
    assert_eq!(ids(&list), ["p-4"]);
    let list = api.get("/v1/instances?sort=steps&status=waiting").await.ok();
    assert_eq!(ids(&list), ["o-3", "O-2", "p-4"]);
    // Removed ones are gone from it.
    api.post("/v1/prune", json!({"ids": ["o-1"]})).await.ok();
    let list = api.get("/v1/instances?sort=title").await.ok();
    assert_eq!((ids(&list), &list["total"]), (vec!["O-2", "o-3", "o-5", "p-4"], &json!(4)));
    api.stop().await;
}

#[tokio::test]
async fn ten_thousand_instances_in_pages() {
    let folder = made::folder();
    made::instances(folder.path(), 10_000);
    let api = Api::after(folder).await;
    let mut seen = Vec::new();
    let mut cursor = String::new();
    loop {
        let list = api.get(&format!("/v1/instances?limit=500{cursor}")).await.ok();
        assert_eq!(list["total"], 10_000);
        assert_eq!(list["counts"]["active"], 10_000);
        seen.extend(ids(&list).into_iter().map(str::to_owned));
        match list["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    let list = api.get("/v1/instances?sort=title&limit=3").await.ok();
    assert_eq!(ids(&list), ["made-00001", "made-00002", "made-00003"]);
    let expected: Vec<String> = (1..=10_000).rev().map(|number| format!("made-{number:05}")).collect();
    assert_eq!(seen, expected);
    let found = api.get("/v1/instances?q=-0999&limit=3").await.ok();
    assert_eq!(ids(&found), ["made-09999", "made-09998", "made-09997"]);
    assert_eq!(found["total"], 10);
    api.stop().await;
}
