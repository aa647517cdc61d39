//! `invoke … each`, stepped by hand: starts, joins, stops. Every step also checks that
//! the snapshot survives its JSON and its delta.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods, reason = "tests")]

mod joins;
mod many;
mod starting;
mod stopping;

use rawko_chart::{Registry, SourceFile, load};
use rawko_core::{Chart, Effect, Event, Snapshot, Status, Step, Value, start, step};

/// A chart whose state `work` runs `invoke`; `done` and `failed` keep the data of the event that led there.
pub fn chart(invoke: &str, more: &str) -> Chart {
    let text = format!(
        "statechart:
  id: fan
  version: 1.0.0
  initial: work
  context: {{list: [a, b, c], got: null, seen: [], flag: false}}
  actions:
    keep: {{type: assign, context_updates: {{got: event.data}}}}
    note: {{type: assign, context_updates: {{seen: \"append(context.seen, [event.index, event.item, event.data])\"}}}}
  states:
    work:
      invoke: {{id: job, {invoke}, onDone: {{target: finished, actions: keep}}, onError: {{target: failed, actions: keep}}}}
{more}
    finished: {{on: {{BACK: work}}}}
    failed: {{on: {{BACK: work}}}}
"
    );
    let loaded = load(&SourceFile::new("fan.yaml", text), &Registry::default());
    loaded.chart.unwrap_or_else(|| panic!("{:#?}", loaded.findings))
}

pub struct Walk {
    pub chart: Chart,
    pub snapshot: Snapshot,
    pub last: Step,
    pub now_ms: i64,
}

impl Walk {
    pub fn new(invoke: &str, more: &str, input: &str) -> Self {
        let chart = chart(invoke, more);
        let input: Value = serde_json::from_str(input).unwrap();
        let (snapshot, last) = start(&chart, input, 0).unwrap();
        assert_eq!(Snapshot::from_json(&chart, &snapshot.to_json(&chart)).unwrap(), snapshot);
        Self { chart, snapshot, last, now_ms: 0 }
    }

    pub fn deliver(&mut self, event: Event) -> &mut Self {
        let mut replayed = self.snapshot.clone();
        self.last = step(&self.chart, &mut self.snapshot, event, self.now_ms).unwrap();
        let delta = self.snapshot.delta_json(&replayed, &self.chart);
        replayed.apply_delta_json(&self.chart, &delta).unwrap();
        assert_eq!(replayed, self.snapshot, "{delta}");
        let text = self.snapshot.to_json(&self.chart);
        assert_eq!(Snapshot::from_json(&self.chart, &text).unwrap(), self.snapshot, "{text}");
        self
    }

    pub fn id(&self, name: &str) -> u64 {
        let mut pending = self.snapshot.pending();
        let found = pending.find(|known| *self.chart.invocation_name(known) == *name);
        found.unwrap_or_else(|| panic!("{name} does not run")).id
    }

    pub fn done(&mut self, name: &str, data: &str) -> &mut Self {
        let (invocation, data) = (self.id(name), serde_json::from_str(data).unwrap());
        self.deliver(Event::InvokeDone { invocation, data })
    }

    pub fn fail(&mut self, name: &str, message: &str) -> &mut Self {
        let error = Value::map([("category", Value::str("failed")), ("message", Value::str(message))]);
        let invocation = self.id(name);
        self.deliver(Event::InvokeFailed { invocation, error })
    }

    /// Fires the timer that is due next.
    pub fn fire(&mut self) -> &mut Self {
        let timer = self.snapshot.next_timer().unwrap();
        let (timer, due_ms) = (timer.id, timer.due_ms);
        self.now_ms = due_ms;
        self.deliver(Event::TimerFired { timer })
    }

    /// The invokes and stops of the last step: `+job[0] svc {…}`, `-job[1]`.
    pub fn effects(&self) -> String {
        let words = self.last.effects.iter().filter_map(|effect| match effect {
            Effect::Invoke(invoke) => Some(format!("+{} {} {}", invoke.id, invoke.src, invoke.input)),
            Effect::StopInvoke { id, .. } => Some(format!("-{id}")),
            Effect::Fault(fault) => Some(format!("!{}", fault.message)),
            Effect::Stall { id, error } => Some(format!("stall {id} {error}")),
            _ => None,
        });
        words.collect::<Vec<_>>().join("\n")
    }

    pub fn context(&self, key: &str) -> String {
        self.snapshot.context_map(&self.chart).get(key).to_string()
    }

    /// The active state and the data it was reached with.
    pub fn end(&self) -> String {
        let state: Vec<&str> = self.chart.leaf_paths(self.snapshot.configuration()).collect();
        format!("{} {}", state.join(","), self.context("got"))
    }

    pub fn is_stalled(&self) -> bool {
        self.snapshot.status() == Status::Error
    }
}
