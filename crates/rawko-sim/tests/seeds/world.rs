//! The world outside: a bank that knows payments by their key, a stamp that nothing protects, and the faults between.

use std::any::Any;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use rawko_core::Value;
use rawko_instance::{Category, ServiceError};
use rawko_sim::driver::{CallAnswer, CallRequest, Chaos, Point, Services};

use crate::dice::Dice;

/// The dice and whether faults happen at all, shared by the world and the chaos.
pub(crate) struct Fate {
    pub(crate) dice: Dice,
    pub(crate) is_calm: bool,
}

pub(crate) type Shared = Rc<RefCell<Fate>>;

pub(crate) struct World {
    fate: Shared,
    /// Payments by idempotency key: the order that paid.
    pub(crate) payments: BTreeMap<String, String>,
    /// Stamps by order: how often it was stamped.
    pub(crate) stamps: BTreeMap<String, u32>,
    pub(crate) calls: u64,
}

impl World {
    pub(crate) fn new(fate: Shared) -> Self {
        Self { fate, payments: BTreeMap::new(), stamps: BTreeMap::new(), calls: 0 }
    }

    fn act(&mut self, request: &CallRequest) {
        let order = request.input().get("order").as_str().unwrap_or_default().to_owned();
        match &*request.effect.name {
            "charge" => drop(self.payments.entry(request.effect.idempotency.to_string()).or_insert(order)),
            _ => *self.stamps.entry(order).or_default() += 1,
        }
    }
}

impl Services for World {
    fn call(&mut self, request: &CallRequest) -> Vec<CallAnswer> {
        self.calls += 1;
        let (kind, after_ms) = {
            let mut fate = self.fate.borrow_mut();
            let kind = if fate.is_calm { 0 } else { fate.dice.below(12) };
            (kind, fate.dice.below(6_000))
        };
        let failed = |category| Err(ServiceError::new(category, "simulated"));
        let (acts, result) = match kind {
            // The call happened, and its answer is lost on the way.
            7 => (true, failed(Category::Network)),
            8 => (true, failed(Category::Timeout)),
            9 => (true, failed(Category::InvalidAnswer)),
            // It did not happen: refused before the service saw it, by something between.
            10 => (false, failed(Category::Failed)),
            11 => (false, failed(Category::Network)),
            _ => (true, Ok(Value::Int(1))),
        };
        if acts {
            self.act(request);
        }
        // An invalid answer leaves the outcome open only if the error says so; the bank keeps the key in any case.
        vec![CallAnswer::new(after_ms, request.result(result))]
    }

    fn may_repeat(&self, name: &str) -> bool {
        name == "charge"
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}

/// Faults of the driver, by the same dice.
pub(crate) struct Storm(pub(crate) Shared);

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

    fn refuses_commit(&mut self) -> bool {
        self.strikes(40)
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
}
