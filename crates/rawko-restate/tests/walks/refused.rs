//! Refused and large inputs: none of them may block an instance.

use rawko_core::{NamedEvent, Value};
use rawko_host::{Edition, Engine, HostError, Library};
use rawko_restate::client::HandlerTarget;
use rawko_restate::layout::{CHART, ChartSource, INSTANCE, RestateRefusal, RestateReply, StartAsk, handler};

use crate::project;
use crate::site::Site;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chart_that_cannot_be_used_is_an_answer() {
    let mut site = Site::start().await;
    site.work(project::worker()).await;
    let start = async |id: &str, chart: &str| -> RestateReply {
        let ask = StartAsk { chart: chart.into(), input: Value::Null, budget: Value::Null, with: Vec::new() };
        let target = HandlerTarget::object(INSTANCE, id, handler::START);
        site.restate.ingress().call(&target, &ask).await.unwrap()
    };
    let unknown = "00112233445566778899aabbccddeeff";
    assert_eq!(start("a", unknown).await, Err(RestateRefusal::NoChart(unknown.into())));
    assert_eq!(start("a", "nonsense").await, Err(RestateRefusal::NoChart("nonsense".into())));

    let text = "statechart: {id: broken}".to_owned();
    let text =
        ChartSource { id: "broken".into(), version: "1".into(), name: "b.yaml".into(), text, added_ms: 0 };
    let target = HandlerTarget::object(CHART, unknown, handler::PUT);
    site.restate.ingress().call::<_, ()>(&target, &text).await.unwrap();
    let Err(RestateRefusal::Other(words)) = start("a", unknown).await else { panic!("it cannot be read") };
    assert!(words.starts_with("invalid chart"), "{words}");

    // A text that does not match its hash is refused.
    let another = ChartSource { text: "statechart: {id: b, initial: a, states: {a: {}}}".into(), ..text };
    let refused = site.restate.ingress().call::<_, ()>(&target, &another).await.unwrap_err().to_string();
    assert!(refused.contains(&format!("the text stored for chart {unknown} belongs to chart")), "{refused}");

    let engine = site.engine(Library::default());
    let gone = engine.retry("a".into()).await;
    assert_eq!(gone, Err(HostError::NoInstance("a".into())));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_instance_may_keep_more_than_restate_sends_at_once() {
    const KEEPER: &str = "
statechart:
  id: keeper
  initial: a
  context: {last: null, count: 0}
  states:
    a: {on: {PUT: {actions: [{type: assign, context_updates: {last: event.data, count: context.count + 1}}]}}}
";
    const MIB: usize = 1024 * 1024;
    let mut site = Site::start().await;
    site.work(project::worker()).await;
    let engine = site.engine(Library::default());
    let edition = Edition::read("keeper.yaml", KEEPER).unwrap();
    engine.start(edition, Value::Null, Some("k".into()), Value::Null).await.unwrap();
    let put = async |letter: &str, size: usize| {
        let event = NamedEvent::new("PUT", Value::from(letter.repeat(size)));
        engine.send("k".into(), event, None).await
    };
    // Each one is a different blob; together they exceed the size of a message.
    for letter in ["a", "b", "c", "d", "e", "f", "g", "h", "i"] {
        put(letter, 4 * MIB).await.unwrap();
    }
    // Quotes and control characters are longer when sent than in memory.
    for (letter, size) in [("x", 20 * MIB), ("\"", 9 * MIB), ("\u{1}", 3 * MIB)] {
        let refused = put(letter, size).await.unwrap_err().to_string();
        assert!(refused.contains("the limit on Restate is 16 MiB"), "{refused}");
    }
    assert_eq!(put("z", 10).await.unwrap().step, 10);
}
