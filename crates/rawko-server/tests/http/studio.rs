//! The chart studio over HTTP: simulation, saving and recording.

use rawko_server::Role;
use serde_json::{Value, json};

use crate::support::{DOOR, guarded, open};

const ORDER: &str = "id: order\ninitial: asking\ncontext: {by: null}\nstates:\n  asking:\n    invoke: {id: ask, src: human, onDone: {target: paying, actions: [{type: assign, context_updates: {by: event.data.by}}]}, onError: gone}\n    after: {1h: gone}\n  paying: {invoke: {id: pay, src: charge, onDone: gone, onError: gone}}\n  gone: {type: final}\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_simulation_takes_events_time_and_stubs() {
    let server = open().await;
    let simulate = |body: Value| server.post("/v1/charts/simulate", body).send();
    let start = simulate(json!({"text": ORDER})).await.json();
    assert_eq!(start["lines"].as_array().unwrap().len(), 1);
    assert_eq!(start["lines"][0]["report"]["configuration"], json!(["asking"]));
    assert_eq!(
        (&start["next_due_in_ms"], &start["timers"][0]["due_in_ms"]),
        (&json!(3_600_000), &json!(3_600_000))
    );
    assert_eq!(start["timers"][0]["transitions"].as_array().unwrap().len(), 1, "the transition of the timer");
    assert_eq!(start["running"], json!([{"id": "ask", "src": "human", "input": null, "is_stubbed": false}]));
    let ids: Vec<&Value> = start["invokes"].as_array().unwrap().iter().map(|it| &it["id"]).collect();
    assert_eq!(ids, [&json!("ask"), &json!("pay")]);
    let stubs = json!({"pay": {"after": "2s", "done": {}}});
    let stimuli = json!([{"type": "done.invoke.ask", "data": {"by": "ada"}}, {"advance": "2s"}]);
    let end = simulate(json!({"text": ORDER, "services": stubs, "stimuli": stimuli})).await.json();
    let lines = end["lines"].as_array().unwrap();
    assert_eq!(
        (&lines[1]["report"]["context"]["by"], &lines[1]["entered"]),
        (&json!("ada"), &json!(["paying"]))
    );
    assert_eq!((&lines[2]["report"]["status"], &lines[2]["now_ms"]), (&json!("done"), &json!(2_000)));
    assert_eq!(end["events"], json!([]), "it is over");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_simulated_is_a_problem() {
    let server = open().await;
    let table = [
        (json!({"text": "id: [a"}), "invalid_chart"),
        (json!({"text": DOOR, "stimuli": [{"nonsense": 1}]}), "invalid_body"),
        (json!({"text": DOOR, "services": {"x": 1}}), "invalid_body"),
        (json!({"text": DOOR, "stimuli": vec![json!({"advance": 1}); 501]}), "invalid_body"),
        (json!({"text": DOOR, "unknown": 1}), "invalid_body"),
    ];
    for (body, code) in table {
        let answer = server.post("/v1/charts/simulate", body).send().await;
        assert_eq!(answer.json()["code"], format!("rawko::api::{code}"), "{answer:?}");
    }
    // Endless timers end with an error.
    let text = "id: loop\ninitial: a\nstates: {a: {after: {1ms: b}}, b: {after: {1ms: a}}}\n";
    let stimuli = json!([{"advance": "24h"}]);
    let answer =
        server.post("/v1/charts/simulate", json!({"text": text, "stimuli": stimuli})).send().await.json();
    let error = answer["lines"][1]["report"]["error"].as_str().unwrap();
    assert_eq!(error, "more than 2000 timers fired in one advance");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trace_of_a_violation_replays_in_the_simulation() {
    let server = open().await;
    let text = format!("{ORDER}properties: {{asks_first: {{never: \"in('paying')\"}}}}\n");
    let proof = server.post("/v1/charts/verify", json!({"text": text})).send().await.json();
    let properties = proof["properties"].as_array().unwrap();
    let named = |name: &str| properties.iter().find(|it| it["name"] == name).unwrap();
    assert_eq!(named("no_trap")["verdict"], "holds", "{proof}");
    let violated = named("asks_first");
    assert_eq!(violated["verdict"], "violated", "{proof}");
    let trace = &violated["trace"];
    let run = json!({"text": text, "input": trace["input"], "services": trace["services"], "stimuli": trace["events"]});
    let played = server.post("/v1/charts/simulate", run).send().await.json();
    let last = played["lines"].as_array().unwrap().last().unwrap();
    assert_eq!(last["report"]["configuration"], json!(["paying"]), "{trace}");
    let invalid = format!("{ORDER}properties: {{x: {{never: \"in(\"}}}}\n");
    for text in ["id: [a", &invalid] {
        let answer = server.post("/v1/charts/verify", json!({"text": text})).send().await;
        assert_eq!(answer.json()["code"], "rawko::api::invalid_chart", "{answer:?}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_an_admin_saves_and_only_a_chart_without_errors() {
    let server = guarded().await;
    for (role, status) in [(Role::Read, 403), (Role::Operate, 403), (Role::Admin, 422)] {
        let ask = server.post("/v1/charts/save", json!({"text": "id: [a"})).role(role);
        assert_eq!(ask.send().await.status, status, "{role:?}");
    }
    let same = server.post("/v1/charts/save", json!({"text": DOOR})).role(Role::Admin).send().await;
    assert_eq!(same.json()["code"], "rawko::api::exists", "a new file for a chart that is there");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_editor_reads_the_schema_and_the_names() {
    let server = open().await;
    let language = server.get("/v1/schema").send().await.json();
    assert_eq!(language["schema"]["title"], "rawko chart");
    assert_eq!((&language["charts"], &language["services"]), (&json!(["door"]), &json!(["human"])));
    // Offsets count UTF-16 code units, as JavaScript does.
    let text = "description: 😀\ninitial: sh\nid: c\nstates: {shut: {}}";
    let place = json!({"text": text, "offset": 15 + 1 + "initial: sh".len()});
    let found = server.post("/v1/charts/suggest", place.clone()).send().await.json();
    assert_eq!(found, json!({"from": 25, "items": [{"text": "shut", "insert": "shut", "note": "state"}]}));
    let word = json!({"text": text, "offset": 18});
    let about = server.post("/v1/charts/explain", word).send().await.json();
    assert_eq!(about["title"], "initial", "{about}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_link_opens_nothing() {
    let server = guarded().await;
    for code in ["x", "7b7d.00", "00"] {
        let answer = server.get(&format!("/v1/requests/{code}")).send().await;
        assert_eq!(answer.status, 401, "{answer:?}");
    }
    server.stop().await;
}
