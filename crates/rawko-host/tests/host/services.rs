//! Services: results, retries, idempotency keys, and the gate.

use rawko_core::{Status, Value};
use rawko_host::{Category, Edition, Gate, Host, Services, SettleReason, StartOptions, function};
use serde_json::json;

use crate::bench::{Act, bench, journal, rest, send, start};

const PAY: &str = "
statechart:
  id: pay
  initial: paying
  context: {receipt: null, why: null}
  states:
    paying:
      invoke:
        id: card
        src: charge
        input: {amount: '10'}
        retry: {max_attempts: 3, backoff: fixed, initial_delay: 1s}
        onDone: {target: paid, actions: [{type: assign, context_updates: {receipt: event.data.receipt}}]}
        onError: {target: unpaid, actions: [{type: assign, context_updates: {why: event.data.category}}]}
    paid: {type: final, output: {receipt: context.receipt}}
    unpaid: {type: final, output: {why: context.why}}
";

#[tokio::test]
async fn a_service_answers_and_the_chart_goes_on() {
    let bench = bench(&[PAY]).service("charge", &[Act::Answer(json!({"receipt": "r1"}))]);
    let host = bench.host().await;
    start(&host, "pay", json!({})).await;
    assert_eq!(rest(&host, "i").await, r#"done [paid] {"receipt":"r1"}"#);
    assert_eq!(bench.called(), ["charge i/0/0 1"]);
    assert_eq!(journal(&host, "i"), ["0 Started ", "1 Stepped invoke_done"]);
}

#[tokio::test]
async fn an_answered_failure_gets_a_new_key_an_unknown_outcome_keeps_it() {
    let acts = [
        Act::Fail(Category::Failed, "declined"),
        Act::Fail(Category::Network, "cut off"),
        Act::Answer(json!({"receipt": "r3"})),
    ];
    let bench = bench(&[PAY]).service("charge", &acts);
    let host = bench.host().await;
    start(&host, "pay", json!({})).await;
    assert_eq!(rest(&host, "i").await, "waits [paying]");
    bench.advance(&host, 1_000);
    bench.until_called(2).await;
    assert_eq!(rest(&host, "i").await, "waits [paying]");
    bench.advance(&host, 1_000);
    bench.until_called(3).await;
    assert_eq!(rest(&host, "i").await, r#"done [paid] {"receipt":"r3"}"#);
    assert_eq!(bench.called(), ["charge i/0/0 1", "charge i/2/0 2", "charge i/2/0 3"]);
    assert_eq!(bench.store.open_effects(None).unwrap(), []);
}

#[tokio::test]
async fn what_is_not_allowed_is_refused_audited_and_heard() {
    let gate = Gate::new(&["other"], &[], None).unwrap();
    let bench = bench(&[PAY]).service("charge", &[Act::Answer(json!({}))]).gate(gate);
    let host = bench.host().await;
    start(&host, "pay", json!({})).await;
    assert_eq!(rest(&host, "i").await, r#"done [unpaid] {"why":"refused"}"#);
    assert_eq!(bench.called(), Vec::<String>::new());
    let audit = bench.store.audit(Some("i"), 10).unwrap();
    let lines: Vec<_> = audit.iter().map(|line| format!("{} {}", line.decision, line.reason)).collect();
    assert_eq!(
        lines,
        [
            "refused `charge` is not in `governance.allow` of .rawko/config.yaml",
            "failed refused: `charge` is not in `governance.allow` of .rawko/config.yaml",
        ]
    );
}

const CALLS: &str = "
statechart:
  id: calls
  initial: a
  context: {trouble: null}
  states:
    a:
      entry:
        - {type: invoke, handler: notify, params: {text: hello}}
        - {type: send, target: nowhere, event: PING}
      on:
        error.communication:
          actions: [{type: assign, context_updates: {trouble: event.data.message}}]
        STOP: b
    b: {type: final, output: {trouble: context.trouble}}
";

#[tokio::test]
async fn a_called_handler_runs_once_and_an_unknown_address_is_an_error_the_chart_hears() {
    let bench = bench(&[CALLS]).service("notify", &[Act::Answer(json!(null))]);
    let host = bench.host().await;
    start(&host, "calls", json!({})).await;
    assert_eq!(rest(&host, "i").await, "waits [a]");
    assert_eq!(bench.called(), ["notify i/0/0 1"]);
    send(&host, "i", "STOP").await;
    assert_eq!(
        rest(&host, "i").await,
        r#"done [b] {"trouble":"`PING` could not be sent: there is no instance, running invoke or endpoint `nowhere`"}"#
    );
    assert_eq!(bench.store.open_effects(None).unwrap(), []);
    assert_eq!(bench.store.inbound(None).unwrap(), []);
}

#[tokio::test]
async fn leaving_the_state_stops_the_service() {
    const CHART: &str = "
statechart:
  id: work
  initial: busy
  states:
    busy:
      invoke: {id: job, src: slow, onDone: done, onError: done}
      on: {GIVE_UP: done}
    done: {type: final}
";
    let bench = bench(&[CHART]).service("slow", &[Act::Hang]);
    let host = bench.host().await;
    start(&host, "work", json!({})).await;
    bench.until_called(1).await;
    assert!(host.activity("i").unwrap().busy);
    send(&host, "i", "GIVE_UP").await;
    assert_eq!(rest(&host, "i").await, "done [done] null");
    while bench.stopped().is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!(bench.stopped(), ["i/0/0"]);
}

#[tokio::test]
async fn the_same_delivery_twice_is_taken_once() {
    const CHART: &str = "
statechart:
  id: count
  initial: a
  context: {n: 0}
  states:
    a: {on: {INC: {actions: [{type: assign, context_updates: {n: context.n + 1}}]}}}
";
    let bench = bench(&[CHART]);
    let host = bench.host().await;
    start(&host, "count", json!({})).await;
    let event = || rawko_core::NamedEvent::new("INC", rawko_core::Value::Null);
    let first = host.send("i", event(), Some("k1")).await.unwrap();
    let again = host.send("i", event(), Some("k1")).await.unwrap();
    let other = host.send("i", event(), Some("k2")).await.unwrap();
    assert_eq!((first.step, again.step, other.step), (1, 1, 2));
    assert_eq!(host.results("i").unwrap().context.to_json(), json!({"n": 2}));
}

#[tokio::test]
async fn plain_functions_are_steps_of_their_own_and_one_that_panics_has_failed() {
    let double = function(|call| Ok(Value::Int(call.input.get("n").as_i64().unwrap_or(0) * 2)));
    let crash = function(|_| panic!("a mistake in the function"));
    let services = Services::new().add("double", double).add("crash", crash);
    let text = "
statechart:
  id: sums
  initial: doubling
  context: {n: 21, said: null}
  states:
    doubling:
      invoke:
        src: double
        input: {n: context.n}
        onDone: {target: crashing, actions: [{type: assign, context_updates: {n: event.data}}]}
        onError: failed
    crashing:
      invoke:
        src: crash
        onDone: failed
        onError: {target: done, actions: [{type: assign, context_updates: {said: event.data.message}}]}
    done: {type: final}
    failed: {type: final}
";
    let host = Host::builder()
        .chart(Edition::read("sums.yaml", text).unwrap())
        .services(services)
        .gate(Gate::open())
        .start()
        .await
        .unwrap();
    let start = StartOptions { chart: "sums".into(), id: Some("s".to_owned()), ..StartOptions::default() };
    host.start(start).await.unwrap();
    assert_eq!(host.settled("s", std::time::Duration::ZERO).await.unwrap(), SettleReason::Over(Status::Done));
    let row = host.reader().find("s").unwrap();
    let restored = host.reader().snapshot(&row, None).unwrap();
    let context = restored.snapshot.context_map(&restored.chart);
    assert_eq!(
        (context.get("n"), context.get("said")),
        (&Value::Int(42), &Value::str("the service crashed"))
    );
    // One commit for the start, then one for each result: no call is made before it is on disk.
    assert_eq!(host.commits().0, 3);
    host.close().await;
}
