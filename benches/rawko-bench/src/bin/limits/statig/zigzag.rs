//! W3 for statig: one region of the chart, three deep, stepped four times for every event.

use std::hint::black_box;

use anyhow::Result;
use statig::prelude::*;

use rawko_bench::report::{Report, timed};

pub(crate) enum Event {
    Step,
}

#[derive(Default)]
pub(crate) struct Region;

#[state_machine(initial = "State::ax()", state(derive(Debug, PartialEq)))]
impl Region {
    #[state(superstate = "am")]
    fn ax(event: &Event) -> Outcome<State> {
        match event {
            Event::Step => Transition(State::ay()),
        }
    }

    #[state(superstate = "am")]
    fn ay(event: &Event) -> Outcome<State> {
        match event {
            Event::Step => Transition(State::bx()),
        }
    }

    #[superstate(superstate = "a")]
    fn am() -> Outcome<State> {
        Super
    }

    #[superstate]
    fn a() -> Outcome<State> {
        Super
    }

    #[state(superstate = "bm")]
    fn bx(event: &Event) -> Outcome<State> {
        match event {
            Event::Step => Transition(State::by()),
        }
    }

    #[state(superstate = "bm")]
    fn by(event: &Event) -> Outcome<State> {
        match event {
            Event::Step => Transition(State::ax()),
        }
    }

    #[superstate(superstate = "b")]
    fn bm() -> Outcome<State> {
        Super
    }

    #[superstate]
    fn b() -> Outcome<State> {
        Super
    }
}

pub(super) fn w3(report: &Report, n: u64) -> Result<()> {
    let mut regions = [(); 4].map(|()| Region.state_machine());
    let (spent, ()) = timed(|| {
        for _ in 0..n {
            for region in &mut regions {
                region.handle(black_box(&Event::Step));
            }
        }
    });
    let order = [State::Ax {}, State::Ay {}, State::Bx {}, State::By {}];
    for region in &regions {
        report.check("a region's state", region.state(), &order[(n % 4) as usize])?;
    }
    report.ns_per_event(spent, n)
}
