//! W4 and W4B for statig: two towers of twelve states, each with an entry and an exit action. Long, because statig
//! requires a function for every state.

use std::hint::black_box;

use anyhow::Result;
use statig::prelude::*;

use rawko_bench::report::{Report, timed};

pub(crate) enum Event {
    Flip,
    Tick,
}

#[derive(Default)]
pub(crate) struct Towers {
    entered: i64,
    exited: i64,
    ticks: i64,
}

#[state_machine(initial = "State::a12()")]
impl Towers {
    #[action]
    fn enter(&mut self) {
        self.entered += 1;
    }

    #[action]
    fn leave(&mut self) {
        self.exited += 1;
    }

    #[superstate(entry_action = "enter", exit_action = "leave")]
    fn a1(&mut self, event: &Event) -> Outcome<State> {
        match event {
            Event::Flip => Transition(State::b12()),
            Event::Tick => self.tick(),
        }
    }

    #[superstate(superstate = "a1", entry_action = "enter", exit_action = "leave")]
    fn a2() -> Outcome<State> {
        Super
    }

    #[superstate(superstate = "a2", entry_action = "enter", exit_action = "leave")]
    fn a3() -> Outcome<State> {
        Super
    }

    #[superstate(superstate = "a3", entry_action = "enter", exit_action = "leave")]
    fn a4() -> Outcome<State> {
        Super
    }

    #[superstate(superstate = "a4", entry_action = "enter", exit_action = "leave")]
    fn a5() -> Outcome<State> {
        Super
    }

    #[superstate(superstate = "a5", entry_action = "enter", exit_action = "leave")]
    fn a6() -> Outcome<State> {
        Super
    }

    #[superstate(superstate = "a6", entry_action = "enter", exit_action = "leave")]
    fn a7() -> Outcome<State> {
        Super
    }

    #[superstate(superstate = "a7", entry_action = "enter", exit_action = "leave")]
    fn a8() -> Outcome<State> {
        Super
    }

    #[superstate(superstate = "a8", entry_action = "enter", exit_action = "leave")]
    fn a9() -> Outcome<State> {
        Super
    }

    #[superstate(superstate = "a9", entry_action = "enter", exit_action = "leave")]
    fn a10() -> Outcome<State> {
        Super
    }

    #[superstate(superstate = "a10", entry_action = "enter", exit_action = "leave")]
    fn a11() -> Outcome<State> {
        Super
    }

    #[state(superstate = "a11", entry_action = "enter", exit_action = "leave")]
    fn a12() -> Outcome<State> {
        Super
    }

    #[superstate(entry_action = "enter", exit_action = "leave")]
    fn b1(&mut self, event: &Event) -> Outcome<State> {
        match event {
            Event::Flip => Transition(State::a12()),
            Event::Tick => self.tick(),
        }
    }

    #[superstate(superstate = "b1", entry_action = "enter", exit_action = "leave")]
    fn b2() -> Outcome<State> {
        Super
    }

    #[superstate(superstate = "b2", entry_action = "enter", exit_action = "leave")]
    fn b3() -> Outcome<State> {
        Super
    }

    #[superstate(superstate = "b3", entry_action = "enter", exit_action = "leave")]
    fn b4() -> Outcome<State> {
        Super
    }

    #[superstate(superstate = "b4", entry_action = "enter", exit_action = "leave")]
    fn b5() -> Outcome<State> {
        Super
    }

    #[superstate(superstate = "b5", entry_action = "enter", exit_action = "leave")]
    fn b6() -> Outcome<State> {
        Super
    }

    #[superstate(superstate = "b6", entry_action = "enter", exit_action = "leave")]
    fn b7() -> Outcome<State> {
        Super
    }

    #[superstate(superstate = "b7", entry_action = "enter", exit_action = "leave")]
    fn b8() -> Outcome<State> {
        Super
    }

    #[superstate(superstate = "b8", entry_action = "enter", exit_action = "leave")]
    fn b9() -> Outcome<State> {
        Super
    }

    #[superstate(superstate = "b9", entry_action = "enter", exit_action = "leave")]
    fn b10() -> Outcome<State> {
        Super
    }

    #[superstate(superstate = "b10", entry_action = "enter", exit_action = "leave")]
    fn b11() -> Outcome<State> {
        Super
    }

    #[state(superstate = "b11", entry_action = "enter", exit_action = "leave")]
    fn b12() -> Outcome<State> {
        Super
    }
}

impl Towers {
    fn tick(&mut self) -> Outcome<State> {
        self.ticks += 1;
        Handled
    }
}

pub(super) fn w4(report: &Report, n: u64) -> Result<()> {
    let mut towers = Towers::default().state_machine();
    towers.init();
    let (spent, ()) = timed(|| {
        for _ in 0..n {
            towers.handle(black_box(&Event::Flip));
        }
    });
    let steps = n as i64;
    report.check(
        "entered, exited",
        (towers.inner().entered, towers.inner().exited),
        (12 * (steps + 1), 12 * steps),
    )?;
    report.ns_per_event(spent, n)
}

pub(super) fn w4b(report: &Report, n: u64) -> Result<()> {
    let mut towers = Towers::default().state_machine();
    towers.init();
    let (spent, ()) = timed(|| {
        for _ in 0..n {
            towers.handle(black_box(&Event::Tick));
        }
    });
    report.check("ticks, entered", (towers.inner().ticks, towers.inner().entered), (n as i64, 12))?;
    report.ns_per_event(spent, n)
}
