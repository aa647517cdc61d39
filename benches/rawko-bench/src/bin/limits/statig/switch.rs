//! W1 for statig: `off` and `on`.

use std::hint::black_box;

use anyhow::Result;
use statig::prelude::*;

use rawko_bench::report::{Report, timed};

pub(crate) enum Event {
    Toggle,
}

#[derive(Default)]
pub(crate) struct Switch;

#[state_machine(initial = "State::off()", state(derive(Debug, PartialEq)))]
impl Switch {
    #[state]
    fn off(event: &Event) -> Outcome<State> {
        match event {
            Event::Toggle => Transition(State::on()),
        }
    }

    #[state]
    fn on(event: &Event) -> Outcome<State> {
        match event {
            Event::Toggle => Transition(State::off()),
        }
    }
}

pub(super) fn w1(report: &Report, n: u64) -> Result<()> {
    let mut switch = Switch.state_machine();
    let (spent, ()) = timed(|| {
        for _ in 0..n {
            switch.handle(black_box(&Event::Toggle));
        }
    });
    report.check(
        "the state",
        switch.state(),
        if n.is_multiple_of(2) { &State::Off {} } else { &State::On {} },
    )?;
    report.ns_per_event(spent, n)
}
