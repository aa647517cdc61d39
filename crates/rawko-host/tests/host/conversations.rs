//! Long lists: a reader that follows an instance reads the same as a new one, and every record
//! gives the snapshot after its step.

use std::sync::Arc;

use rawko_core::{NamedEvent, Value};
use rawko_host::SnapshotReader;
use rawko_store::content::{ListReader, ShortText};
use rawko_store::{Record, RecordKind};

use crate::bench::{Act, bench, start};

const TALK: &str = "
statechart:
  id: talk
  initial: one
  context: {messages: [], answer: null}
  states:
    one:
      invoke: &ask
        id: ask
        src: ask
        input: {session: \"'of the test'\", messages: context.messages, length: length(context.messages)}
      on:
        NEXT: {target: two, actions: &append [{type: assign, context_updates: {messages: 'append(context.messages, event.data)'}}]}
        SHORTEN: {target: two, actions: [{type: assign, context_updates: {messages: 'slice(context.messages, 150)'}}]}
    two:
      invoke: *ask
      on:
        NEXT: {target: one, actions: *append}
        END: done
    done: {type: final, output: context.messages}
";

fn message(number: usize) -> Value {
    let text = format!("message {number} {}", "word ".repeat(number % 90));
    Value::map([("role", Value::str("user")), ("text", Value::from(text))])
}

/// Returns the text of a record's effects with the lists back in their places.
fn restored(short: &ShortText) -> Value {
    let mut value: Value = serde_json::from_str(short.text()).unwrap();
    short.restore(&mut value);
    assert!(short.is_restored());
    value
}

#[tokio::test]
async fn a_reader_that_follows_reads_the_same_as_a_new_one() {
    let bench = bench(&[TALK]).service("ask", &[Act::Hang]);
    let host = bench.host().await;
    start(&host, "talk", Value::Null.to_json()).await;
    let follower = SnapshotReader::new(Arc::clone(&bench.store));
    let events = (0..400).map(|number| match number {
        300 => ("SHORTEN", Value::Null),
        399 => ("END", Value::Null),
        _ => ("NEXT", message(number)),
    });
    for (number, (name, data)) in events.enumerate() {
        host.send("i", NamedEvent::new(name, data), None).await.unwrap();
        if number % 7 == 0 || number > 380 {
            let row = follower.find("i").unwrap();
            let followed = follower.snapshot(&row, None).unwrap();
            let read = SnapshotReader::new(Arc::clone(&bench.store)).snapshot(&row, None).unwrap();
            assert_eq!(followed.snapshot, read.snapshot, "{number}");
            assert_eq!(followed.at_ms, read.at_ms, "{number}");
            assert_eq!(followed.snapshot.step_number(), row.step);
        }
    }
    let row = follower.find("i").unwrap();
    let records = follower.store().records(row.key, 0, 1_000).unwrap();
    let stepped: Vec<&Record> = records.iter().filter(|it| it.kind == RecordKind::Stepped).collect();
    assert_eq!(stepped.len(), 400);
    let mut lists = ListReader::default();
    let first = follower.snapshot(&row, Some(0)).unwrap();
    let (chart, mut snapshot) = (first.chart, first.snapshot);
    let mut longest = 0;
    for record in stepped {
        let length = follower.apply_delta(&mut snapshot, &chart, &record.delta, &mut lists).unwrap().unwrap();
        longest = longest.max(length);
        if record.step % 50 == 0 {
            assert_eq!(snapshot, follower.snapshot(&row, Some(record.step)).unwrap().snapshot);
        }
        if !record.effects.is_empty() {
            let whole: Value = serde_json::from_str(&follower.unpack(&record.effects).unwrap()).unwrap();
            let short = follower.shorten(&record.effects, &mut lists).unwrap();
            assert!(restored(&short).is_identical(&whole), "step {}", record.step);
        }
    }
    assert_eq!(snapshot, follower.snapshot(&row, None).unwrap().snapshot);
    // The message of the step and those that are in no group yet: the 300 messages have 70,000 bytes.
    assert!(longest < 20_000, "{longest} bytes of changes were read at once");
}
