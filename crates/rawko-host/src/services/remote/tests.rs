//! The queue of remote services without a socket: waiting, losing, resuming, cancelling.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use rawko_core::{Schema, Value};

use super::*;
use crate::services::testing::call;

const LONG: Duration = Duration::from_secs(600);

fn pool(schemas: Schemas) -> RemoteServices {
    let pool = RemoteServices::default();
    pool.declare("charge_card", schemas);
    pool.open();
    pool
}

fn service(
    pool: &RemoteServices,
    wait: Duration,
    reconnect: Duration,
    on_restart: OnRestart,
) -> Arc<RemoteService> {
    Arc::new(RemoteService::new(
        RemoteForm { wait, reconnect },
        pool.clone(),
        None,
        (on_restart, Value::Null),
    ))
}

fn offer(concurrency: usize) -> ProcessOffer {
    let services = vec![("charge_card".to_owned(), None, None)];
    ProcessOffer { name: "shop".into(), concurrency, services, ..ProcessOffer::default() }
}

fn joined(pool: &RemoteServices, offer: ProcessOffer, session: &str) -> ProgramRegistration {
    pool.register(offer, session.to_owned()).unwrap_or_else(|refusal| panic!("{refusal:?}"))
}

/// Returns the number and key of the next message, which must be a call.
async fn next_call(registered: &mut ProgramRegistration) -> (u64, Arc<str>) {
    match registered.messages.recv().await {
        Some(RemoteMessage::Call { id, key, .. }) => (id, key),
        other => panic!("{other:?}"),
    }
}

fn start(service: &Arc<RemoteService>) -> tokio::task::JoinHandle<Result<Value, ServiceError>> {
    tokio::spawn(service.call(call(Value::Int(1))))
}

#[tokio::test]
async fn a_call_waits_for_a_program_and_gets_its_result() {
    let pool = pool(Schemas::default());
    let running = start(&service(&pool, LONG, LONG, OnRestart::Unknown));
    while pool.list()[0].2 == 0 {
        tokio::task::yield_now().await;
    }
    let mut shop = joined(&pool, offer(1), "p-1");
    let (id, key) = next_call(&mut shop).await;
    assert_eq!((&*key, shop.resumed), ("order-1/4/0", false));
    shop.handle.answer(id, Ok(Value::str("paid")));
    assert_eq!(running.await.unwrap(), Ok(Value::str("paid")));
    assert_eq!(shop.messages.recv().await, Some(RemoteMessage::Received { id }));
}

#[tokio::test]
async fn nothing_was_sent_without_a_server_or_a_program() {
    let closed = RemoteServices::default();
    let error = start(&service(&closed, LONG, LONG, OnRestart::Retry)).await.unwrap().unwrap_err();
    assert_eq!((error.category, error.outcome_open()), (Category::Host, false));
    let pool = pool(Schemas::default());
    let error = start(&service(&pool, Duration::ZERO, LONG, OnRestart::Retry)).await.unwrap().unwrap_err();
    assert_eq!((error.category, error.outcome_open()), (Category::Network, false), "{error:?}");
    assert_eq!(pool.list(), [("charge_card".to_owned(), Vec::new(), 0, 0)]);
}

#[tokio::test]
async fn a_lost_call_goes_to_another_program_with_its_key_only_if_it_may_be_repeated() {
    for on_restart in [OnRestart::Retry, OnRestart::Unknown] {
        let pool = pool(Schemas::default());
        let running = start(&service(&pool, LONG, Duration::ZERO, on_restart));
        let mut first = joined(&pool, offer(1), "p-1");
        let (_, key) = next_call(&mut first).await;
        let mut second = joined(&pool, offer(1), "p-2");
        drop(first);
        if on_restart == OnRestart::Retry {
            let (id, again) = next_call(&mut second).await;
            assert_eq!(key, again);
            second.handle.answer(id, Ok(Value::Int(2)));
            assert_eq!(running.await.unwrap(), Ok(Value::Int(2)));
        } else {
            let error = running.await.unwrap().unwrap_err();
            assert_eq!((error.category, error.outcome_open()), (Category::Network, true));
        }
    }
}

#[tokio::test]
async fn a_program_that_returns_keeps_its_calls_and_gets_again_what_it_never_received() {
    let pool = pool(Schemas::default());
    let shared = service(&pool, LONG, LONG, OnRestart::Unknown);
    let (one, two) = (start(&shared), start(&shared));
    let mut shop = joined(&pool, offer(2), "p-1");
    let (known, _) = next_call(&mut shop).await;
    let (unknown, _) = next_call(&mut shop).await;
    drop(shop);
    let resumed =
        ProcessOffer { session: Some("p-1".into()), calls: BTreeSet::from([known, 99]), ..offer(3) };
    let mut shop = joined(&pool, resumed, "p-2");
    assert_eq!((&*shop.session, shop.resumed), ("p-1", true));
    assert_eq!(shop.messages.recv().await, Some(RemoteMessage::Cancel { id: 99 }), "it was cancelled");
    assert_eq!(next_call(&mut shop).await.0, unknown);
    shop.handle.answer(known, Ok(Value::Null));
    shop.handle.answer(unknown, Ok(Value::Null));
    assert_eq!((one.await.unwrap(), two.await.unwrap()), (Ok(Value::Null), Ok(Value::Null)));
}

#[tokio::test]
async fn a_call_that_is_dropped_is_cancelled_and_holds_its_place_until_it_stopped() {
    let pool = pool(Schemas::default());
    let shared = service(&pool, LONG, LONG, OnRestart::Unknown);
    let mut shop = joined(&pool, offer(1), "p-1");
    let running = start(&shared);
    let (id, _) = next_call(&mut shop).await;
    running.abort();
    assert_eq!(shop.messages.recv().await, Some(RemoteMessage::Cancel { id }));
    let next = start(&shared);
    while pool.list()[0].2 == 0 {
        tokio::task::yield_now().await;
    }
    assert!(shop.messages.try_recv().is_err(), "the place is taken");
    shop.handle.cancelled(id);
    assert_eq!(shop.messages.recv().await, Some(RemoteMessage::Received { id }));
    let (id, _) = next_call(&mut shop).await;
    shop.handle.cancelled(id);
    let error = next.await.unwrap().unwrap_err();
    assert!(error.outcome_open(), "a program that stops by itself may have acted: {error:?}");
}

#[tokio::test]
async fn only_the_program_of_a_call_answers_it_and_one_that_leaves_gets_no_other() {
    let pool = pool(Schemas::default());
    let shared = service(&pool, LONG, LONG, OnRestart::Unknown);
    let mut shop = joined(&pool, offer(1), "p-1");
    let running = start(&shared);
    let (id, _) = next_call(&mut shop).await;
    let stranger = joined(&pool, ProcessOffer { calls: BTreeSet::from([id]), ..offer(1) }, "p-2");
    stranger.handle.answer(id, Ok(Value::str("false")));
    shop.handle.leave();
    shop.handle.answer(id, Ok(Value::str("true")));
    assert_eq!(running.await.unwrap(), Ok(Value::str("true")));
    let mut stranger = stranger;
    let next = start(&shared);
    loop {
        match stranger.messages.recv().await.unwrap() {
            RemoteMessage::Call { id, .. } => break stranger.handle.answer(id, Ok(Value::Null)),
            RemoteMessage::Cancel { .. } | RemoteMessage::Received { .. } => {}
        }
    }
    assert_eq!(next.await.unwrap(), Ok(Value::Null));
}

#[tokio::test]
async fn schemas_must_agree_and_calls_must_fit() {
    let schema = |text: &str| Value::from_json(serde_json::from_str(text).unwrap());
    let number = schema(r#"{"type": "integer"}"#);
    let text = schema(r#"{"type": "string"}"#);
    let pool = pool(Schemas { input: Some(Schema::compile(&number).0), output: None });
    let refused = |services| {
        let refusal = pool.register(ProcessOffer { services, ..offer(1) }, "p-0".to_owned()).err();
        refusal.map(|refusal| refusal.code)
    };
    let named = |input, output| vec![("charge_card".to_owned(), input, output)];
    assert_eq!(refused(named(Some(text.clone()), None)), Some("schema_mismatch"));
    assert_eq!(refused(named(None, Some(schema(r#"{"type": "nothing"}"#)))), Some("invalid_schema"));
    assert_eq!(refused(vec![("other".to_owned(), None, None)]), Some("unknown_service"));
    let mut shop =
        joined(&pool, ProcessOffer { services: named(Some(number), Some(text)), ..offer(1) }, "p-1");
    let shared = service(&pool, LONG, LONG, OnRestart::Unknown);
    let error = shared.call(call(Value::str("one"))).await.unwrap_err();
    assert_eq!((error.retryable, error.outcome_open()), (Some(false), false), "{error:?}");
    let running = start(&shared);
    let (id, _) = next_call(&mut shop).await;
    shop.handle.answer(id, Ok(Value::Int(3)));
    let error = running.await.unwrap().unwrap_err();
    assert_eq!((error.category, error.outcome_open()), (Category::InvalidAnswer, true));
}
