//! Event streams: subscriptions, and that no event is lost or repeated.

use serde_json::{Value, json};

use crate::sse::{Event, Events};
use crate::support::{Api, keys};

fn step_of(event: &Event) -> (String, u64) {
    (event.data["instance"].as_str().unwrap().to_owned(), event.data["step"].as_u64().unwrap())
}

async fn steps(events: &mut Events, count: usize) -> Vec<Event> {
    let mut seen = Vec::new();
    while seen.len() < count {
        seen.push(events.named("step").await);
    }
    seen
}

#[tokio::test]
async fn a_stream_begins_with_where_it_begins() {
    let api = Api::start().await;
    api.order("o-1").await;
    let mut all = Events::open(api.address(), "", None).await;
    let hello = all.next().await.unwrap();
    assert_eq!((hello.name.as_str(), hello.id), ("hello", Some(1)));
    assert_eq!(hello.data, json!({"seq": 1, "version": env!("CARGO_PKG_VERSION")}));
    api.send("o-1", "NOTE", json!("x")).await;
    let step = all.next().await.unwrap();
    assert_eq!((step.name.as_str(), step.id), ("step", Some(2)));
    let told = ["instance", "chart", "seq", "step", "status", "title", "configuration", "waits_for"];
    assert_eq!(keys(&step.data, &told), r#""o-1" "order" 2 1 "active" "NOTE" ["open"] "timer""#);
    assert_eq!(step.data["effects"], Value::Null);
    api.stop().await;
    assert_eq!(all.next().await, None, "the server closed");
}

#[tokio::test]
async fn an_instance_with_all_there_is_to_tell_and_what_is_below_it() {
    let api = Api::start().await;
    api.post("/v1/instances", json!({"chart": "parent", "id": "p-1"})).await.ok();
    api.order("o-1").await;
    let mut one = Events::open(api.address(), "?instance=p-1", None).await;
    let mut below = Events::open(api.address(), "?instance=p-1&children=true", None).await;
    one.named("hello").await;
    below.named("hello").await;
    api.send("o-1", "PAY", json!({"amount": 12})).await;
    api.send("p-1.order.0", "PAY", json!({"amount": 12})).await;
    api.send("p-1.order.0", "SHIP", json!(null)).await;
    api.send("p-1.order.0", "DONE", json!(null)).await;
    let told: Vec<_> = steps(&mut below, 4).await;
    let steps_below: Vec<_> = told.iter().map(step_of).collect();
    let child = |step| ("p-1.order.0".to_owned(), step);
    assert_eq!(steps_below, [child(1), child(2), child(3), ("p-1".to_owned(), 1)]);
    assert_eq!(keys(&told[0].data, &["entered", "left"]), r#"["work","work.packing"] ["open"]"#);
    assert_eq!(told[0].data["changes"], json!([{"key": "paid", "before": 0, "after": 12}]));
    let only = one.named("step").await;
    assert_eq!((step_of(&only), &only.data["status"]), (("p-1".to_owned(), 1), &json!("done")));
    api.stop().await;
}

#[tokio::test]
async fn what_was_missed_is_told_first_wherever_the_client_was() {
    let api = Api::start().await;
    api.post("/v1/instances", json!({"chart": "parent", "id": "p-1"})).await.ok();
    for number in 0..300 {
        api.send("p-1.order.0", "NOTE", json!(number)).await;
        if number % 3 == 0 {
            api.order(&format!("o-{number}")).await;
        }
    }
    let mut whole = Events::open(api.address(), "?after=0", None).await;
    assert_eq!(whole.named("hello").await.data["seq"], 0);
    let all = steps(&mut whole, 402).await;
    assert_eq!(all.iter().map(|event| event.id.unwrap()).collect::<Vec<_>>(), (1..=402).collect::<Vec<_>>());
    for (query, wanted) in [
        ("?instance=p-1.order.0", vec!["p-1.order.0"]),
        ("?instance=p-1&children=true", vec!["p-1", "p-1.order.0"]),
        ("?instance=p-1", vec!["p-1"]),
        ("", vec!["p-1", "p-1.order.0", "o-"]),
    ] {
        for last in [0, 1, 2, 200, 402] {
            let belongs = |event: &&Event| {
                let id = event.data["instance"].as_str().unwrap();
                wanted.iter().any(|wanted| *wanted == id || (*wanted == "o-" && id.starts_with("o-")))
            };
            let missed = all.iter().filter(|event| event.id > Some(last)).filter(belongs);
            let missed: Vec<_> = missed.map(|event| event.id).collect();
            let mut events = Events::open(api.address(), query, Some(last)).await;
            let told: Vec<_> = steps(&mut events, missed.len()).await.iter().map(|event| event.id).collect();
            assert_eq!(told, missed, "{query} after {last}");
        }
    }
    // A number from another store: the stream starts at the end.
    let mut events = Events::open(api.address(), "?after=999999", None).await;
    assert_eq!(events.named("hello").await.data["seq"], 402);
    api.send("p-1.order.0", "NOTE", json!("last")).await;
    assert_eq!(events.named("step").await.id, Some(403));
    api.stop().await;
}

#[tokio::test]
async fn nothing_is_lost_or_told_twice_while_clients_come_and_go_under_load() {
    const SENDERS: u64 = 4;
    const EVENTS: u64 = 250;
    let api = std::sync::Arc::new(Api::start().await);
    for sender in 0..SENDERS {
        api.order(&format!("o-{sender}")).await;
    }
    let last = SENDERS + SENDERS * EVENTS;
    let senders: Vec<_> = (0..SENDERS)
        .map(|sender| {
            let api = std::sync::Arc::clone(&api);
            tokio::spawn(async move {
                for number in 0..EVENTS {
                    api.send(&format!("o-{sender}"), "NOTE", json!(number)).await;
                }
            })
        })
        .collect();
    let clients: Vec<_> = (0..8)
        .map(|client: u64| {
            let address = api.address();
            tokio::spawn(async move {
                let query = if client.is_multiple_of(2) {
                    String::new()
                } else {
                    format!("?instance=o-{}", client / 2)
                };
                let (mut seen, mut at) = (Vec::new(), Some(SENDERS));
                // Each client disconnects after some events, and reconnects.
                let expected = if client.is_multiple_of(2) { SENDERS * EVENTS } else { EVENTS };
                while (seen.len() as u64) < expected {
                    let mut events = Events::open(address, &query, at).await;
                    for _ in 0..37 + client {
                        if seen.len() as u64 == expected {
                            break;
                        }
                        let id = events.named("step").await.id;
                        seen.push(id.unwrap());
                        at = id;
                    }
                }
                (client, seen)
            })
        })
        .collect();
    for sender in senders {
        sender.await.unwrap();
    }
    for client in clients {
        let (client, seen) = client.await.unwrap();
        assert!(seen.is_sorted_by(|one, other| one < other), "{client}: nothing twice, and in order");
        if client.is_multiple_of(2) {
            assert_eq!(seen, (SENDERS + 1..=last).collect::<Vec<_>>(), "{client}");
        }
    }
    std::sync::Arc::into_inner(api).unwrap().stop().await;
}

#[tokio::test]
async fn what_a_call_tells_meanwhile_reaches_those_who_listen_to_its_instance() {
    let api = Api::start().await;
    let counting = "
statechart:
  id: counting
  initial: busy
  states:
    busy: {invoke: {id: counter, src: count}}
";
    api.post("/v1/instances", json!({"text": counting, "id": "c-1"})).await.ok();
    let mut events = Events::open(api.address(), "?instance=c-1", None).await;
    events.named("hello").await;
    let told = events.named("progress").await;
    assert_eq!(told.id, None);
    let expected = r#""c-1" null "counter" "count" "plain""#;
    let keys_of = &["instance", "agent", "invoke", "name", "class"];
    assert_eq!(keys(&told.data, keys_of), expected, "no agent plays it");
    assert_eq!(told.data["data"]["type"], "counted");
    api.stop().await;
}

/// The progress of a call and its result reach the server in two ways; a client sees all progress, before the step with
/// the result.
#[tokio::test]
async fn all_progress_of_a_call_is_streamed_before_its_result() {
    const CALLS: u64 = 300;
    let api = Api::start().await;
    let murmuring = format!(
        "
statechart:
  id: murmuring
  initial: waiting
  context: {{calls: 0}}
  states:
    waiting: {{on: {{GO: busy}}}}
    busy:
      invoke:
        src: murmur
        onDone:
          - {{target: over, guard: context.calls == {CALLS}}}
          - {{target: busy, reenter: true, actions: [{{type: assign, context_updates: {{calls: context.calls + 1}}}}]}}
    over: {{type: final}}
"
    );
    api.post("/v1/instances", json!({"text": murmuring, "id": "m-1"})).await.ok();
    let mut events = Events::open(api.address(), "?instance=m-1", None).await;
    events.named("hello").await;
    api.send("m-1", "GO", json!({})).await;
    // Steps of calls, whose progress is complete from the second call on: the stream may have begun during the first.
    let (mut answered, mut seen) = (0, std::collections::BTreeMap::<u64, u64>::new());
    loop {
        let event = events.next().await.unwrap();
        match (event.name.as_str(), event.data["event"]["kind"].as_str()) {
            ("progress", _) => {
                let asked = event.data["step"].as_u64().unwrap();
                *seen.entry(asked).or_default() += 1;
                assert!(asked >= answered, "of the call of step {asked}, after step {answered} answered it");
            }
            ("step", Some("answered")) => answered = event.data["step"].as_u64().unwrap(),
            _ => {}
        }
        if event.data["status"] == "done" {
            break;
        }
    }
    let complete = seen.values().skip(1).filter(|count| **count == 3).count();
    assert_eq!(complete, seen.len() - 1, "{seen:?}");
    let first = *seen.keys().next().unwrap();
    assert_eq!(seen.len() as u64, answered - first, "each call after the first one seen: {seen:?}");
    assert!(answered > CALLS);
    api.stop().await;
}

#[tokio::test]
async fn what_cannot_be_listened_to() {
    let api = Api::start().await;
    assert_eq!(api.get("/v1/stream?instance=nobody").await.problem(), "404 no_instance");
    assert_eq!(api.get("/v1/stream?after=x").await.problem(), "400 invalid_request");
    assert_eq!(api.get("/v1/stream?colour=red").await.problem(), "400 invalid_request");
    let wrong = api.ask("GET", "/v1/stream", &[("last-event-id", "soon")], None).await;
    assert_eq!(wrong.problem(), "400 invalid_request");
    api.stop().await;
}
