//! Actors over charts without agents: subscribe, send, persist, restore, stores, and the errors a program meets.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rawko::{
    Actor, Answer, Error, OnRestart, PersistedSnapshot, Project, ProjectOptions, ServiceError, Status,
};
use rawko::{service, service_with_call};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

const ORDER: &str = "
id: order
initial: cart
context: {id: '', amount: 0, receipt: null}
states:
  cart: {on: {PAY: paying}}
  paying:
    invoke:
      src: charge
      input: {id: context.id, amount: context.amount}
      onDone: {target: paid, actions: [{type: assign, context_updates: {receipt: event.data.number}}]}
  paid: {type: final, output: {receipt: context.receipt}}
";

#[derive(Serialize, Deserialize)]
struct Order {
    id: String,
    amount: u32,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Receipt {
    number: String,
}

async fn charge(order: Order) -> Result<Receipt, ServiceError> {
    match order.amount {
        0 => Err("nothing to pay".into()),
        _ => Ok(Receipt { number: format!("r-{}", order.id) }),
    }
}

fn shop() -> ProjectOptions {
    Project::options().service(service("charge", charge)).chart("order.yaml", ORDER)
}

fn order(amount: u32) -> Order {
    Order { id: "o1".to_owned(), amount }
}

#[tokio::test]
async fn every_step_is_seen_and_the_output_has_its_type() {
    let project = shop().start().await.unwrap();
    let actor = Actor::start(&project, "order", order(5)).await.unwrap();
    let mut snapshots = actor.subscribe().unwrap();
    actor.send("PAY", ()).await.unwrap();
    let output: Json = actor.result().await.unwrap();
    assert_eq!(output, json!({"receipt": "r-o1"}));
    let mut seen = Vec::new();
    while let Some(snapshot) = snapshots.next().await {
        let snapshot = snapshot.unwrap();
        seen.push((snapshot.step, snapshot.states.join(" ")));
    }
    let states: Vec<&str> = seen.iter().map(|(_, states)| states.as_str()).collect();
    assert_eq!(states, ["cart", "paying", "paid"], "{seen:?}");
    assert!(seen.windows(2).all(|pair| pair[0].0 + 1 == pair[1].0), "{seen:?}");
    project.close().await;
}

#[tokio::test]
async fn a_failure_that_the_chart_does_not_handle_is_an_error_with_its_message() {
    let project = shop().start().await.unwrap();
    let actor = project.actor_of("order", order(0)).await.unwrap();
    actor.send("PAY", ()).await.unwrap();
    let error = actor.result::<Json>().await.unwrap_err();
    assert!(matches!(&error, Error::Failed { .. }), "{error:?}");
    assert!(error.to_string().contains("nothing to pay"), "{error}");
    assert_eq!(actor.snapshot().unwrap().status, Status::Error);
    actor.cancel("given up").await.unwrap();
    assert!(matches!(actor.result::<Json>().await, Err(Error::Cancelled { .. })));
}

#[tokio::test]
async fn a_chart_that_does_not_fit_a_service_is_refused_before_it_runs() {
    let table = [
        ("a field that the output does not have", ORDER.replace("data.number", "data.nummer"), "nummer"),
        ("an input without a field", ORDER.replace("{id: context.id, amount:", "{amount:"), "id"),
        ("a service that does not exist", ORDER.replace("src: charge", "src: charged"), "charged"),
    ];
    for (name, chart, word) in table {
        let options = Project::options().service(service("charge", charge)).chart("order.yaml", chart);
        match options.start().await {
            Err(Error::Invalid(findings)) => assert!(findings.contains(word), "{name}: {findings}"),
            Err(other) => panic!("{name}: {other}"),
            Ok(_) => panic!("{name}: started"),
        }
    }
}

#[tokio::test]
async fn an_instance_moves_to_another_store_as_json_and_continues() {
    let dir = tempfile::tempdir().unwrap();
    let memory = shop().start().await.unwrap();
    let actor = memory.actor_of("order", order(5)).await.unwrap();
    let json = serde_json::to_string(&actor.persisted_snapshot().unwrap()).unwrap();
    memory.close().await;

    let saved: PersistedSnapshot = serde_json::from_str(&json).unwrap();
    let stored = shop().store(dir.path().join("shop.db")).start().await.unwrap();
    let restored = Actor::restore(&stored, &saved).await.unwrap();
    assert_eq!(restored.id(), actor.id());
    assert!(matches!(Actor::restore(&stored, &saved).await, Err(Error::Host(_))), "it exists already");
    // Keys of new instances do not collide with the restored one.
    let other = stored.actor_of("order", order(7)).await.unwrap();
    restored.send("PAY", ()).await.unwrap();
    assert_eq!(restored.result::<Json>().await.unwrap(), json!({"receipt": "r-o1"}));
    assert!(other.snapshot().unwrap().matches("cart"));
    let changed = json.replace("order", "0rder");
    let changed: PersistedSnapshot = serde_json::from_str(&changed).unwrap();
    assert!(matches!(Actor::restore(&stored, &changed).await, Err(Error::Persisted(_))));
    stored.close().await;
}

#[tokio::test]
async fn a_call_in_flight_is_made_again_after_a_restore_with_the_same_key() {
    let (started, calls) = (Arc::new(tokio::sync::Notify::new()), Arc::new(AtomicUsize::new(0)));
    let keys: Arc<std::sync::Mutex<Vec<String>>> = Arc::default();
    let slow = {
        let (started, calls, keys) = (Arc::clone(&started), Arc::clone(&calls), Arc::clone(&keys));
        let run = move |order: Order, call: rawko::ServiceCall| {
            let (started, calls, keys) = (Arc::clone(&started), Arc::clone(&calls), Arc::clone(&keys));
            async move {
                keys.lock().unwrap().push(call.idempotency.to_string());
                if calls.fetch_add(1, Ordering::SeqCst) == 0 {
                    started.notify_one();
                    std::future::pending::<()>().await;
                }
                charge(order).await
            }
        };
        service_with_call("charge", run).on_restart(OnRestart::Retry)
    };
    let shop = || Project::options().service(slow.clone()).chart("order.yaml", ORDER);
    let first = shop().start().await.unwrap();
    let actor = first.actor_of("order", order(5)).await.unwrap();
    actor.send("PAY", ()).await.unwrap();
    started.notified().await;
    let saved = actor.persisted_snapshot().unwrap();
    first.close().await;

    let second = shop().start().await.unwrap();
    let restored = Actor::restore(&second, &saved).await.unwrap();
    assert_eq!(restored.result::<Json>().await.unwrap(), json!({"receipt": "r-o1"}));
    let keys = keys.lock().unwrap().clone();
    assert_eq!((keys.len(), &keys[0]), (2, &keys[1]));
}

#[tokio::test]
async fn a_stored_instance_continues_in_the_next_program_and_only_one_program_holds_the_store() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("shop.db");
    let first = shop().store(&file).start().await.unwrap();
    let id = first.actor_of("order", order(5)).await.unwrap().id().to_owned();
    assert!(matches!(shop().store(&file).start().await, Err(Error::Unavailable(_))));
    first.close().await;

    let second = shop().store(&file).start().await.unwrap();
    let actor = second.actor(&id).await.unwrap();
    actor.send("PAY", ()).await.unwrap();
    assert_eq!(actor.result::<Json>().await.unwrap(), json!({"receipt": "r-o1"}));
    second.close().await;
}

/// A request with a form, and one that is only approved or denied.
const SHIPMENT: &str = "
id: shipment
initial: choosing
context: {region: '', by: '', note: ''}
states:
  choosing:
    invoke:
      id: choice
      src: human
      input: \"{title: 'Where to?', form: {type: 'object', properties: {region: {type: 'string'}}, required: ['region']}}\"
      onDone: {target: confirming, actions: [{type: assign, context_updates: {region: event.data.data.region, by: event.data.by}}]}
  confirming:
    invoke:
      id: confirmation
      src: human
      input: {title: \"'Ship it?'\"}
      onDone:
        - {guard: event.data.approved, target: shipped}
        - {target: kept, actions: [{type: assign, context_updates: {note: event.data.comment}}]}
  shipped: {type: final, output: {region: context.region, by: context.by}}
  kept: {type: final, output: {note: context.note}}
";

#[tokio::test]
async fn a_program_passes_on_the_answers_of_people() {
    let project = Project::options().chart("shipment.yaml", SHIPMENT).start().await.unwrap();
    for (last, expected) in [
        (Answer::approve(), json!({"region": "eu", "by": "ada"})),
        (Answer::deny().comment("too late"), json!({"note": "too late"})),
    ] {
        let actor = project.actor_of("shipment", ()).await.unwrap();
        let wrong = Answer::approve().data(json!({"region": 7})).unwrap();
        assert!(actor.answer(None, wrong).await.is_err(), "a form whose fields do not fit is refused");
        let chosen = Answer::approve().by("ada").data(json!({"region": "eu"})).unwrap();
        actor.answer(Some("choice"), chosen).await.unwrap();
        assert!(actor.answer(Some("choice"), Answer::approve()).await.is_err(), "it was answered");
        actor.answer(Some("confirmation"), last).await.unwrap();
        assert_eq!(actor.result::<Json>().await.unwrap(), expected);
    }
}
