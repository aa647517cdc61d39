//! One seed: orders begin, people answer, ticks arrive, time passes, and everything breaks now and then. Then the storm
//! ends, and everything has to come to its end.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use rawko_core::{NamedEvent, Value};
use rawko_instance::{Gate, Input, InstanceError, PersonAnswer};
use rawko_sim::driver::{Driver, Setup, Turn};
use rawko_store::{Filter, MemoryStore};

use crate::charts::charts;
use crate::checks;
use crate::dice::Dice;
use crate::world::{Fate, Shared, Storm, World};

/// What a run did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) orders: u64,
    pub(crate) records: u64,
    pub(crate) crashes: u64,
    pub(crate) calls: u64,
    pub(crate) ticks: u64,
}

impl Totals {
    pub(crate) fn add(&mut self, other: &Totals) {
        self.orders += other.orders;
        self.records += other.records;
        self.crashes += other.crashes;
        self.calls += other.calls;
        self.ticks += other.ticks;
    }
}

pub(crate) struct Run {
    pub(crate) driver: Driver,
    fate: Shared,
    pub(crate) orders: Vec<String>,
    /// Ticks by number: whether the client has its acknowledgement.
    pub(crate) ticks: BTreeMap<u64, bool>,
    pub(crate) totals: Totals,
}

pub(crate) fn run(seed: u64) -> Totals {
    let fate: Shared = Rc::new(RefCell::new(Fate { dice: Dice::new(seed), is_calm: false }));
    let setup = Setup { charts: charts(), gate: Gate::open(), ..Setup::default() };
    let world = Box::new(World::new(Rc::clone(&fate)));
    let mut driver = Driver::new(setup, Arc::new(MemoryStore::new()), world).unwrap();
    driver.set_chaos(Box::new(Storm(Rc::clone(&fate))));
    let mut run = Run { driver, fate, orders: Vec::new(), ticks: BTreeMap::new(), totals: Totals::default() };
    run.begin("hub", 2);
    let orders = 1 + run.below(4);
    for number in 0..orders {
        let id = format!("order-{number}");
        run.begin(&id, 0);
        run.orders.push(id);
        run.work();
    }
    for _ in 0..20 + run.below(40) {
        run.disturb();
        run.work();
    }
    run.calm_down();
    if std::env::var("RAWKO_SEED").is_ok() {
        run.print();
    }
    checks::check(&run);
    run.totals.records = run.driver.store().last_seq().unwrap();
    run.totals.orders = orders;
    run.totals.calls = run.driver.services().as_any().downcast_ref::<World>().unwrap().calls;
    run.totals.ticks = run.ticks.len() as u64;
    run.totals
}

impl Run {
    fn below(&mut self, n: u64) -> u64 {
        self.fate.borrow_mut().dice.below(n)
    }

    /// Starts an instance, again and again until the store has it.
    fn begin(&mut self, id: &str, chart: usize) {
        while self.driver.store().find(id).unwrap().is_none() {
            let chart = Arc::clone(&charts()[chart]);
            let input = Value::map([("name", Value::str(id))]);
            let turn = self.driver.start(id, &chart, input).unwrap();
            self.after(&turn);
        }
    }

    fn after(&mut self, turn: &Turn) {
        match turn {
            Turn::Took | Turn::Idle => {}
            Turn::Crashed => {
                self.totals.crashes += 1;
                self.driver.restart().unwrap();
            }
            Turn::Runaway => panic!("inputs never end"),
        }
    }

    /// Something happens outside.
    fn disturb(&mut self) {
        match self.below(5) {
            0 | 1 => {
                let number = self.ticks.len() as u64;
                self.ticks.insert(number, false);
                self.tick(number);
            }
            2 => {
                let order = self.below(self.orders.len() as u64) as usize;
                let answer = PersonAnswer { approved: true, by: None, comment: None, data: Value::Null };
                let id = self.orders[order].clone();
                // Without a pending request the answer is refused, and nothing happens.
                let _ = self.driver.request(&id, Input::Answer { invoke: None, answer, key: None }).unwrap();
            }
            3 => {
                let jump = self.below(120_000) as i64 - 40_000;
                self.driver.set_clock((self.driver.now_ms() + jump).max(0));
            }
            _ => {
                let until = self.driver.now_ms() + self.below(5_000) as i64;
                self.driver.advance_to_next(until).unwrap();
            }
        }
    }

    /// A client sends a tick with a key until it is acknowledged.
    fn tick(&mut self, number: u64) {
        let event = NamedEvent::new("TICK", Value::map([("n", Value::Int(number as i64))]));
        let key = Some(format!("tick-{number}").into());
        let request = self.driver.request("hub", Input::Event { event, key }).unwrap();
        self.work();
        match self.driver.take_reply(request) {
            Some(Ok(_)) => drop(self.ticks.insert(number, true)),
            Some(Err(InstanceError::Store(_))) | None => {}
            Some(Err(error)) => panic!("{error}"),
        }
    }

    fn work(&mut self) {
        loop {
            let turn = self.driver.settle().unwrap();
            self.after(&turn);
            if turn == Turn::Idle {
                return;
            }
        }
    }

    /// The journals and the audit, for a seed that is looked at alone.
    fn print(&self) {
        let store = self.driver.store();
        for row in store.list(&Filter::default()).unwrap().rows.iter().rev() {
            println!("\n{} {:?}", row.new.id, row.head.status);
            for record in store.records(row.key, 0, usize::MAX).unwrap() {
                let (event, effects) = (&record.event, &record.effects);
                println!("  {:>3} {:>8} {:?} {event} {effects}", record.step, record.at_ms, record.kind);
            }
            for line in store.audit(Some(&row.new.id), usize::MAX).unwrap() {
                println!(
                    "  {:>12} {} {} {} {}",
                    line.at_ms, line.effect, line.service, line.decision, line.reason
                );
            }
        }
    }

    /// No more faults: clients repeat what was not acknowledged, and time passes until nothing is due.
    fn calm_down(&mut self) {
        self.fate.borrow_mut().is_calm = true;
        self.work();
        let open: Vec<u64> = self.ticks.iter().filter(|(_, done)| !**done).map(|(n, _)| *n).collect();
        open.into_iter().for_each(|number| self.tick(number));
        for _ in 0..100_000 {
            self.work();
            if !self.driver.advance_to_next(i64::MAX / 2).unwrap() {
                return;
            }
        }
        panic!("something is due for ever");
    }
}
