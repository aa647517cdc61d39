//! One seed: instances begin, people answer, ticks arrive, time passes, hosts take over, and everything breaks now and
//! then. Then the storm ends, and everything has to come to its end.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use rawko_core::{NamedEvent, Value};
use rawko_instance::{Input, InstanceError, PersonAnswer};
use rawko_sim::driver::{DriverTurn, SimDriver, SimReply, SimSetup};
use rawko_store::{Filter, MemoryStore, Store, StoreError, WaitReason};

use crate::charts::{chart, charts, gate};
use crate::dice::Dice;
use crate::storm::{Fate, Storm};
use crate::totals::Totals;
use crate::world::{Outside, World};

pub(crate) struct Run {
    fate: Rc<RefCell<Fate>>,
    pub(crate) world: Rc<RefCell<World>>,
    /// The handle of the host that owns the store.
    pub(crate) store: Arc<MemoryStore>,
    pub(crate) driver: SimDriver,
    /// A host that was replaced and does not know it yet.
    stale: Option<SimDriver>,
    pub(crate) orders: Vec<String>,
    /// Ticks by number: whether the client has its acknowledgement.
    pub(crate) ticks: BTreeMap<u64, bool>,
    /// Decisions of people (true if approved), by order.
    pub(crate) answers: BTreeMap<String, Vec<bool>>,
    pub(crate) totals: Totals,
}

/// A seed in its storm, until everything has come to rest.
pub(crate) fn storm(seed: u64) -> Run {
    let mut run = Run::new(Dice::new(seed), false);
    let orders = 1 + run.below(4);
    run.begin_all(orders);
    for _ in 0..20 + run.below(40) {
        run.disturb();
        run.work();
    }
    run.calm_down();
    run
}

/// The same instances without any fault.
pub(crate) fn calm(orders: u64) -> Run {
    let mut run = Run::new(Dice::new(0), true);
    run.begin_all(orders);
    run.calm_down();
    run
}

/// The instance that a tick goes to.
pub(crate) fn receiver(tick: u64) -> &'static str {
    if tick % 3 == 2 { "clock" } else { "hub" }
}

fn driver(fate: &Rc<RefCell<Fate>>, world: &Rc<RefCell<World>>, store: &Arc<MemoryStore>) -> SimDriver {
    let setup = SimSetup { charts: charts().to_vec(), gate: gate(), ..SimSetup::default() };
    let services = Box::new(Outside(Rc::clone(world)));
    let mut driver = SimDriver::new(setup, Arc::clone(store) as Arc<dyn Store>, services).unwrap();
    driver.set_chaos(Box::new(Storm(Rc::clone(fate))));
    driver
}

impl Run {
    fn new(dice: Dice, is_calm: bool) -> Self {
        let fate = Rc::new(RefCell::new(Fate { dice, is_calm }));
        let store = Arc::new(MemoryStore::new());
        let world = Rc::new(RefCell::new(World::new(Rc::clone(&fate), Arc::clone(&store))));
        Self {
            driver: driver(&fate, &world, &store),
            fate,
            world,
            store,
            stale: None,
            orders: Vec::new(),
            ticks: BTreeMap::new(),
            answers: BTreeMap::new(),
            totals: Totals::default(),
        }
    }

    fn below(&mut self, n: u64) -> u64 {
        self.fate.borrow_mut().dice.below(n)
    }

    fn begin_all(&mut self, orders: u64) {
        self.begin("hub", "hub", Value::Null);
        for number in 0..orders {
            let id = format!("order-{number}");
            self.begin(&id, "order", Value::map([("name", Value::str(&id))]));
            self.orders.push(id);
            self.work();
        }
        self.begin("spender", "spender", Value::map([("name", Value::str("spender"))]));
        let goal = || Value::map([("goal", Value::list(vec![Value::str("a list")]))]);
        self.begin("builder", "builder", goal());
        self.begin("sketch", "sketch", goal());
        self.begin("clock", "clock", Value::Null);
        self.begin("traveller", "traveller", Value::Null);
        self.begin("payer", "payer", Value::Null);
        self.begin("warden", "warden", Value::Null);
    }

    /// Starts an instance, again and again until the store has it.
    fn begin(&mut self, id: &str, of: &str, input: Value) {
        while self.store.find(id).unwrap().is_none() {
            match self.driver.start(id, &chart(of), input.clone()) {
                Ok(turn) => self.after(&turn),
                Err(InstanceError::Store(error)) if error.is_transient() => {}
                Err(error) => panic!("{id} does not start: {error}"),
            }
        }
    }

    fn after(&mut self, turn: &DriverTurn) {
        match turn {
            DriverTurn::Took | DriverTurn::Idle => {}
            DriverTurn::Crashed => {
                self.totals.crashes += 1;
                self.driver.restart().unwrap();
            }
            DriverTurn::Runaway => panic!("inputs never end"),
        }
    }

    /// Something happens outside.
    fn disturb(&mut self) {
        match self.below(25) {
            0..=7 => {
                let number = self.ticks.len() as u64;
                self.ticks.insert(number, false);
                self.tick(number);
            }
            8..=11 => self.answer(),
            12..=14 => {
                let jump = self.below(120_000) as i64 - 40_000;
                self.driver.set_clock((self.driver.now_ms() + jump).max(0));
            }
            15 => self.take_over(),
            // A retry starts the same work again, which fails again.
            16 => {
                let _ = self.driver.request("sketch", Input::Retry).unwrap();
            }
            17..=20 => self.pause_or_resume(),
            _ => {
                let until = self.driver.now_ms() + self.below(5_000) as i64;
                self.driver.advance_to_next(until).unwrap();
            }
        }
    }

    /// A person answers an order, which may not have asked yet.
    fn answer(&mut self) {
        let order = self.below(self.orders.len() as u64) as usize;
        let approved = self.below(3) > 0;
        let answer = PersonAnswer {
            approved,
            by: None,
            claimed: None,
            asked_ms: None,
            comment: None,
            data: Value::Null,
        };
        let id = self.orders[order].clone();
        // Without a pending request the answer is refused, and nothing happens.
        let _ = self.driver.request(&id, Input::Answer { invoke: None, answer, key: None }).unwrap();
        self.answers.entry(id).or_default().push(approved);
    }

    /// A person pauses an instance, or resumes it; it may be over, or paused already.
    fn pause_or_resume(&mut self) {
        let rows = self.store.list(&Filter::default()).unwrap().rows;
        let at = self.below(rows.len() as u64) as usize;
        let by = Value::str("ada");
        let input = match self.below(5) < 3 {
            true => Input::Pause { by },
            false => Input::Resume { by },
        };
        let _ = self.driver.request(&rows[at].new.id, input).unwrap();
        self.totals.pauses += 1;
    }

    /// The last record of a paused instance is its pause: nothing has moved it since.
    fn paused_rest(&self) {
        for row in
            self.store.list(&Filter { waits: vec![WaitReason::Paused], ..Filter::default() }).unwrap().rows
        {
            let last = self.store.records(row.key, 0, usize::MAX).unwrap().pop().unwrap();
            assert!(last.event.contains("pause_requested"), "{} moved while paused: {last:?}", row.new.id);
        }
    }

    /// Resumes everything.
    fn resume_all(&mut self) {
        for row in self.store.list(&Filter::default()).unwrap().rows {
            let _ = self.driver.request(&row.new.id, Input::Resume { by: Value::Null }).unwrap();
        }
        self.work();
        let paused = Filter { waits: vec![WaitReason::Paused], ..Filter::default() };
        assert_eq!(self.store.list(&paused).unwrap().total, 0, "an instance stays paused after a resume");
    }

    /// Another host opens the store while this one runs: a lock file was deleted, or the path is a link.
    fn take_over(&mut self) {
        self.store = Arc::new(self.store.take_over());
        let mut driver = driver(&self.fate, &self.world, &self.store);
        driver.set_clock(self.driver.now_ms());
        self.stale = Some(std::mem::replace(&mut self.driver, driver));
        self.totals.takeovers += 1;
    }

    /// A client sends a tick with a key until it is acknowledged, now and then to a host that was replaced.
    fn tick(&mut self, number: u64) {
        let event = NamedEvent::new("TICK", Value::map([("n", Value::Int(number as i64))]));
        let input = Input::Event { event, key: Some(format!("tick-{number}").into()) };
        let reply = if self.stale.is_some() && self.below(2) == 0 {
            self.ask_stale(receiver(number), input)
        } else {
            let request = self.driver.request(receiver(number), input).unwrap();
            self.work();
            self.driver.take_reply(request)
        };
        match reply {
            Some(Ok(_)) => drop(self.ticks.insert(number, true)),
            Some(Err(InstanceError::Store(_))) | None => {}
            Some(Err(error)) => panic!("{error}"),
        }
    }

    fn ask_stale(&mut self, id: &str, input: Input) -> Option<SimReply> {
        let request = self.stale.as_mut()?.request(id, input).unwrap();
        for _ in 0..10 {
            self.turn_stale();
            let reply = self.stale.as_mut()?.take_reply(request);
            if reply.is_some() {
                return reply;
            }
        }
        None
    }

    /// Continues the replaced host. It may read; every write is rejected.
    fn turn_stale(&mut self) {
        let Some(stale) = &mut self.stale else { return };
        let before = self.store.last_seq().unwrap();
        let is_over = match stale.turn() {
            Ok(DriverTurn::Took) => false,
            Ok(DriverTurn::Idle) => !stale.advance_to_next(i64::MAX / 2).unwrap(),
            Ok(DriverTurn::Crashed | DriverTurn::Runaway) => true,
            Err(InstanceError::Store(StoreError::Fenced { .. })) => {
                self.totals.fenced += 1;
                true
            }
            Err(error) => panic!("the replaced host: {error}"),
        };
        let after = self.store.last_seq().unwrap();
        assert_eq!(before, after, "a host wrote after another one had taken over the store");
        if is_over {
            self.stale = None;
        }
    }

    fn work(&mut self) {
        loop {
            if self.stale.is_some() && self.below(2) == 0 {
                self.turn_stale();
            }
            let turn = self.driver.turn().unwrap();
            self.after(&turn);
            if turn == DriverTurn::Idle {
                self.paused_rest();
                return;
            }
        }
    }

    /// Stops all faults: clients repeat unacknowledged inputs, and time passes until nothing is due.
    fn calm_down(&mut self) {
        self.fate.borrow_mut().is_calm = true;
        while self.stale.is_some() {
            self.turn_stale();
        }
        self.work();
        self.resume_all();
        let open: Vec<u64> = self.ticks.iter().filter(|(_, done)| !**done).map(|(n, _)| *n).collect();
        open.into_iter().for_each(|number| self.tick(number));
        let _ = self.driver.request("traveller", Input::Cancel { reason: Value::Null }).unwrap();
        for _ in 0..100_000 {
            self.work();
            if self.driver.next_due_ms().unwrap().is_none() {
                return;
            }
            self.driver.advance_to_next(i64::MAX / 2).unwrap();
        }
        panic!("something is due for ever");
    }
}
