//! `EventChoice`: which events would do something now. Found by trying each on a copy, so that it is never a guess.

use std::sync::Arc;

use rawko_core::{Event, MacrostepTrace, Now, TraceEntry, Value, step_traced};

use crate::Simulation;

/// An event some active state waits for, and what it would do (sent without data).
#[derive(Clone, Debug)]
pub struct EventChoice {
    /// Event name.
    pub event: Arc<str>,
    /// True if a transition would be taken.
    pub would_act: bool,
    /// The candidates with their guards' outcomes.
    pub trace: MacrostepTrace,
}

impl Simulation {
    /// The events that have at least one candidate transition in the current configuration.
    pub fn choices(&self) -> Vec<EventChoice> {
        let Some(snapshot) = self.snapshot() else { return Vec::new() };
        let facts = self.facts();
        let (chart, now) = (self.chart(), Now::new(self.now_ms(), self.world()).of(&facts));
        let mut found = Vec::new();
        for name in chart.event_names() {
            let mut copy = snapshot.clone();
            let Ok(step) = step_traced(chart, &mut copy, Event::named(name, Value::Null), now) else {
                continue;
            };
            let has_candidate =
                step.trace.entries.iter().any(|entry| matches!(entry, TraceEntry::Candidate { .. }));
            if has_candidate {
                found.push(EventChoice { event: name.into(), would_act: step.handled, trace: step.trace });
            }
        }
        found
    }
}
