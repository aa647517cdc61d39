//! The faults of drivers and stores, thrown by the dice of the seed.

use std::cell::RefCell;
use std::rc::Rc;

use rawko_sim::driver::{Chaos, CommitFate, Point};

use crate::dice::Dice;

/// The dice and whether faults happen at all, shared by the world and the chaos.
pub(crate) struct Fate {
    pub(crate) dice: Dice,
    pub(crate) is_calm: bool,
}

pub(crate) struct Storm(pub(crate) Rc<RefCell<Fate>>);

impl Storm {
    fn strikes(&self, one_in: u64) -> bool {
        let mut fate = self.0.borrow_mut();
        !fate.is_calm && fate.dice.one_in(one_in)
    }
}

impl Chaos for Storm {
    fn crashes(&mut self, point: Point) -> bool {
        self.strikes(match point {
            Point::BeforeCommit => 60,
            Point::AfterCommit => 40,
            Point::AfterAction => 50,
            Point::BeforeReply => 60,
        })
    }

    fn commit_fate(&mut self) -> CommitFate {
        if self.strikes(40) {
            CommitFate::Refused
        } else if self.strikes(60) {
            CommitFate::Torn
        } else if self.strikes(80) {
            CommitFate::Unknown
        } else {
            CommitFate::Kept
        }
    }

    fn duplicates(&mut self) -> bool {
        self.strikes(6)
    }

    fn picks(&mut self, waiting: usize) -> usize {
        let mut fate = self.0.borrow_mut();
        if fate.is_calm { 0 } else { fate.dice.below(waiting as u64) as usize }
    }

    fn evicts(&mut self) -> bool {
        self.strikes(8)
    }

    fn loads_twice(&mut self) -> bool {
        self.strikes(4)
    }
}
