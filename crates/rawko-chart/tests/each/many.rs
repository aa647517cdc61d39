//! Long lists: ten thousand items cost what ten thousand items cost, not their square.

use rawko_core::{Event, Snapshot, Value, start, step};

use crate::chart;

const ITEMS: i64 = 10_000;

fn run(invoke: &str) -> (usize, usize, String) {
    let chart = chart(invoke, "");
    let list = Value::list((0..ITEMS).map(Value::Int).collect());
    let (mut snapshot, _) = start(&chart, Value::map([("list", list)]), 0).unwrap();
    let (mut bytes, mut steps) = (0, 0);
    while let Some(fan_out) = snapshot.fan_outs().first() {
        let index = fan_out.items().position(|(_, state)| state.as_str() == "running").unwrap() as u32;
        let invocation = fan_out.invocation(index).unwrap().id;
        let before = snapshot.clone();
        let data = Value::Int(i64::from(index) * 2);
        step(&chart, &mut snapshot, Event::InvokeDone { invocation, data }, 0).unwrap();
        bytes += snapshot.delta_json(&before, &chart).len();
        steps += 1;
    }
    let text = snapshot.to_json(&chart);
    assert_eq!(Snapshot::from_json(&chart, &text).unwrap(), snapshot);
    (steps, bytes, snapshot.context_map(&chart).get("got").to_string())
}

#[test]
fn ten_thousand_answers_are_ten_thousand_macrosteps() {
    let wanted = Value::list((0..ITEMS).map(|number| Value::Int(number * 2)).collect()).to_string();
    for invoke in [
        "src: svc, each: context.list",
        "src: svc, each: context.list, max_concurrent: 10000",
        "src: svc, each: context.list, max_concurrent: 100, timeout: 1m",
    ] {
        let (steps, bytes, got) = run(invoke);
        assert_eq!((steps, got == wanted), (ITEMS as usize, true), "{invoke}");
        assert!(bytes < 400 * ITEMS as usize, "{invoke}: {bytes} bytes of changes");
    }
}

#[test]
fn ten_thousand_items_that_cannot_start_are_no_runaway() {
    let invoke = "src: svc, each: context.list, input: {n: 'item + []'}, join: settled,
        onItemError: {actions: [{type: assign, context_updates: {flag: event.index}}]}";
    let chart = chart(invoke, "");
    let list = Value::list((0..ITEMS).map(Value::Int).collect());
    let (mut snapshot, _) = start(&chart, Value::map([("list", list)]), 0).unwrap();
    let mut steps = 0;
    while let Some(timer) = snapshot.next_timer().map(|timer| timer.id) {
        step(&chart, &mut snapshot, Event::TimerFired { timer }, 0).unwrap();
        steps += 1;
    }
    assert_eq!(snapshot.context_map(&chart).get("got").as_list().unwrap().len(), ITEMS as usize);
    assert!((100..1_000).contains(&steps), "{steps}");
}
