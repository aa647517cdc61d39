//! The world outside: a bank that knows payments by their key, services that nothing protects, and their faults. Every
//! call is compared with the audit the moment it arrives.

use std::any::Any;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use rawko_core::Value;
use rawko_instance::{Category, ServiceError};
use rawko_sim::driver::{CallAnswer, CallRequest, SimServices};
use rawko_store::{MemoryStore, Store};

use crate::fan_outs;
use crate::storm::Fate;

/// The services as every driver of a run sees them.
pub(crate) struct Outside(pub(crate) Rc<RefCell<World>>);

pub(crate) struct World {
    fate: Rc<RefCell<Fate>>,
    store: Arc<MemoryStore>,
    /// Payments by idempotency key: the order that paid.
    pub(crate) payments: BTreeMap<String, String>,
    /// Stamps by order: how often it was stamped.
    pub(crate) stamps: BTreeMap<String, u32>,
    /// Notices by order.
    pub(crate) notices: BTreeMap<String, u32>,
    /// Purchases by spender.
    pub(crate) purchases: BTreeMap<String, u32>,
    /// Calls by idempotency key.
    calls_by_key: BTreeMap<String, usize>,
    pub(crate) calls: u64,
}

impl World {
    pub(crate) fn new(fate: Rc<RefCell<Fate>>, store: Arc<MemoryStore>) -> Self {
        Self {
            fate,
            store,
            payments: BTreeMap::new(),
            stamps: BTreeMap::new(),
            notices: BTreeMap::new(),
            purchases: BTreeMap::new(),
            calls_by_key: BTreeMap::new(),
            calls: 0,
        }
    }

    fn act(&mut self, request: &CallRequest) {
        let order = request.input().get("order").as_str().unwrap_or_default().to_owned();
        match &*request.effect.name {
            "charge" => drop(self.payments.entry(request.effect.idempotency.to_string()).or_insert(order)),
            "notify" => *self.notices.entry(order).or_default() += 1,
            "stamp" => *self.stamps.entry(order).or_default() += 1,
            "buy" => *self.purchases.entry(order).or_default() += 1,
            other => panic!("`{other}` was called: no input of it can be evaluated, or the gate refuses it"),
        }
    }

    /// Each call has a line of its own in the audit, written before the call.
    fn check_audit(&mut self, request: &CallRequest) {
        let (key, name) = (&request.effect.idempotency, &request.effect.name);
        let lines = self.store.audit(Some(&request.instance), usize::MAX).unwrap();
        let announces = |decision: &str| decision == "allowed" || decision == "repeated";
        let lines = lines
            .iter()
            .filter(|line| line.effect == *key && line.service == *name && announces(&line.decision));
        let calls = self.calls_by_key.entry(key.to_string()).or_default();
        *calls += 1;
        let announced = lines.count();
        assert!(*calls <= announced, "call {calls} of {key} ({name}) has {announced} audit lines before it");
    }

    fn call(&mut self, request: &CallRequest) -> Vec<CallAnswer> {
        self.calls += 1;
        self.check_audit(request);
        fan_outs::check_concurrency(&*self.store, request);
        let (kind, after_ms) = {
            let mut fate = self.fate.borrow_mut();
            let kind = if fate.is_calm { 0 } else { fate.dice.below(16) };
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
            _ => (true, Ok(request.input().get("n").as_i64().map_or(Value::Int(1), Value::Int))),
        };
        if acts {
            self.act(request);
        }
        let answer = CallAnswer::new(after_ms, request.result(result));
        match (kind, request.timeout_ms) {
            // Without a timeout of the chart, a lost answer would be waited for until the next restart.
            (12, Some(_)) => Vec::new(),
            (13, Some(_)) => vec![CallAnswer { after_ms: after_ms + 4_000, survives_stop: true, ..answer }],
            (14, _) => {
                let other = request.result(failed(Category::Failed));
                vec![answer, CallAnswer::new(after_ms + 10, other)]
            }
            _ => vec![answer],
        }
    }
}

impl SimServices for Outside {
    fn call(&mut self, request: &CallRequest) -> Vec<CallAnswer> {
        self.0.borrow_mut().call(request)
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
