//! `each`: starting the items of a list as far as `max_concurrent` allows, handling their results, and ending the whole
//! when its join is met or can no longer be met. Every answer is a macrostep of its own.

use std::sync::Arc;

use super::StepError;
use super::items::item_name;
use super::run::{InternalEvent, Macrostep};
use super::trace::TraceEntry;
use crate::blueprint::EachSpec;
use crate::effect::Effect;
use crate::event::NamedEvent;
use crate::fault::{Fault, FaultKind};
use crate::ids::{InvokeId, NodeId};
use crate::snapshot::{
    FailedWork, FanOut, Invocation, ItemState, JoinDecision, TimerPurpose, UnhandledFailure, needed,
};
use crate::value::Value;
use crate::world::FanOutRequest;

/// Items of one macrostep whose `src`, `input` or `timeout` may fail; the rest follow in steps of their own, because
/// each failure may take a transition.
const FAILED_STARTS_MAX: u32 = 64;

impl Macrostep<'_> {
    /// Evaluates the lists of a node on its entry, with `event` bound as in its entry actions.
    pub(super) fn evaluate_lists(&mut self, node: NodeId) {
        let tables = self.tables();
        for index in tables.node(node).invokes.usize() {
            let invoke = InvokeId(index as u32);
            if let Some(each) = &tables.invoke(invoke).each {
                let list = self.list_of(&each.list).map_err(|error| error.message);
                self.lists.retain(|(known, _)| *known != invoke);
                self.lists.push((invoke, list));
            }
        }
    }

    pub(super) fn start_each(&mut self, node: NodeId, invoke: InvokeId, each: &EachSpec) {
        let known = self.lists.iter().position(|(known, _)| *known == invoke);
        let list = match known {
            Some(at) => self.lists.swap_remove(at).1,
            // A person retries a list that could not be evaluated.
            None => self.list_of(&each.list).map_err(|error| error.message),
        };
        let list = match list {
            Ok(Value::List(list)) => list,
            Ok(Value::Null) => Arc::default(),
            Ok(other) => {
                let message =
                    format!("`each` needs a list, not {}", crate::expr::with_article(other.type_name()));
                self.record_each_fault(node, invoke, None, &message);
                return self.each_not_started(node, invoke, "execution", "not_a_list", message);
            }
            Err(reason) => {
                let message = format!("`each`: {reason}");
                self.record_each_fault(node, invoke, None, &message);
                return self.each_not_started(node, invoke, "execution", "not_a_list", message);
            }
        };
        let wanted = needed(each.join) as usize;
        if wanted > list.len() {
            let count =
                |number: usize, noun: &str| format!("{number} {noun}{}", if number == 1 { "" } else { "s" });
            let (results, items) = (count(wanted, "result"), count(list.len(), "item"));
            let message = format!("the join needs {results}, and the list has {items}");
            return self.each_not_started(node, invoke, "execution", "join_impossible", message);
        }
        if list.is_empty() {
            let event = self.each_event("done.invoke", invoke, Value::list(Vec::new()));
            return self.raise(event);
        }
        if let Some((code, message)) = self.refused(node, invoke, &list) {
            return self.each_not_started(node, invoke, "limit", &code, message);
        }
        let id = self.next_id();
        let first = self.next_ids(list.len());
        self.more_mut().fan_outs.push(FanOut::new(id, invoke, node, first, list));
        self.to_advance.push_back((id, None));
    }

    /// Returns the reason of the host's refusal: a budget that cannot pay for all items.
    fn refused(
        &mut self,
        node: NodeId,
        invoke: InvokeId,
        list: &Arc<Vec<Value>>,
    ) -> Option<(String, String)> {
        let admission = self.now.admission?;
        let spec = self.tables().invoke(invoke);
        let mut sources = Vec::with_capacity(list.len());
        for (index, item) in list.iter().enumerate() {
            self.bind(item.clone(), index as u32);
            sources.push(self.render_text(&spec.src).ok());
            self.locals.clear();
        }
        admission.refuse(&FanOutRequest { node, id: &spec.id, sources: &sources })
    }

    pub(super) fn bind(&mut self, item: Value, index: u32) {
        self.locals.clear();
        self.locals.push(item);
        self.locals.push(Value::Int(i64::from(index)));
    }

    /// The whole has failed before any item started.
    #[cold]
    fn each_not_started(
        &mut self,
        node: NodeId,
        invoke: InvokeId,
        category: &str,
        code: &str,
        message: String,
    ) {
        let id = Arc::clone(&self.tables().invoke(invoke).id);
        let message = format!("invoke `{id}`: {message}");
        self.trace(|| TraceEntry::Failed { message: message.clone() });
        let cause = [
            ("category", Value::str(category)),
            ("code", Value::str(code)),
            ("message", Value::from(message)),
        ];
        let mut error = crate::value::Map::default();
        error.extend(cause.clone().map(|(key, value)| (key.into(), value)));
        error.insert("retryable".into(), Value::Bool(false));
        error.insert("error".into(), Value::map(cause));
        let error = Value::Map(Arc::new(error));
        let unstarted = self.unstarted_invocation(node, invoke);
        let event = self.each_event("error.invoke", invoke, error.clone());
        self.trace(|| TraceEntry::Raised { event: Arc::clone(&event.name) });
        let failure = Some(Box::new(UnhandledFailure { work: FailedWork::Invocation(unstarted), error }));
        self.queue.push_back(InternalEvent { event, failure, fan_out: None });
    }

    fn each_event(&self, kind: &str, invoke: InvokeId, data: Value) -> NamedEvent {
        let id = &self.tables().invoke(invoke).id;
        NamedEvent {
            origin: Value::Str(Arc::clone(id)),
            invoke_id: Some(Arc::clone(id)),
            ..NamedEvent::new(format!("{kind}.{id}"), data)
        }
    }

    pub(super) fn record_each_fault(
        &mut self,
        node: NodeId,
        invoke: InvokeId,
        index: Option<u32>,
        message: &str,
    ) {
        let id = &self.tables().invoke(invoke).id;
        let at = index.map_or_else(|| Arc::clone(id), |index| item_name(id, index));
        let state = Arc::clone(&self.chart.node(node).path);
        let message = super::faults::clipped(message.to_owned());
        self.record_fault(Fault { what: FaultKind::Invoke, state, at, message });
    }

    pub(super) fn fan_out(&self, id: u64) -> Option<&FanOut> {
        self.snapshot.fan_outs().iter().find(|known| known.id == id)
    }

    pub(super) fn fan_out_mut(&mut self, id: u64) -> Option<&mut FanOut> {
        self.more_mut().fan_outs.iter_mut().find(|known| known.id == id)
    }

    pub(super) fn set_item(&mut self, id: u64, index: u32, state: ItemState) {
        if let Some(fan_out) = self.fan_out_mut(id) {
            fan_out.set(index, state);
        }
    }

    /// Decides the join of a fan-out, or starts its next items.
    pub(super) fn advance(&mut self, id: u64, ended: Option<u32>) {
        let failed_max = FAILED_STARTS_MAX.min(self.chart.microsteps_max / 4).max(1);
        let mut decisive = ended;
        while let Some(fan_out) = self.fan_out(id) {
            let Some(each) = &self.tables().invoke(fan_out.invoke).each else { return };
            match fan_out.verdict(each) {
                JoinDecision::Met => return self.end_met(id, each),
                JoinDecision::Missed => return self.end_missed(id, decisive),
                JoinDecision::Pending => {}
            }
            if fan_out.counts().running >= each.max_concurrent {
                return;
            }
            let Some(index) = self.fan_out_mut(id).and_then(FanOut::next_waiting) else { return };
            if self.failed_starts >= failed_max {
                self.set_timer(0, TimerPurpose::EachContinue { fan_out: id });
                return;
            }
            if let Err(reason) = self.start_item(id, index) {
                decisive = Some(index);
                // A handler runs before anything else starts: it may leave the state.
                if self.item_not_started(id, index, reason) {
                    self.failed_starts += 1;
                    self.to_advance.push_back((id, decisive));
                    return;
                }
            }
        }
    }

    pub(super) fn fire_each_continue(&mut self, id: u64) -> Result<(), StepError> {
        self.to_advance.push_back((id, None));
        self.settle()
    }

    /// The join is met: the rest is stopped.
    fn end_met(&mut self, id: u64, each: &EachSpec) {
        let Some(fan_out) = self.take_fan_out(id) else { return };
        let data = fan_out.outcome(each.join);
        let event = self.each_event("done.invoke", fan_out.invoke, data);
        self.raise(event);
    }

    fn end_missed(&mut self, id: u64, decisive: Option<u32>) {
        let Some(fan_out) = self.take_fan_out(id) else { return };
        let first =
            || (0u32..).zip(fan_out.items.iter()).find(|(_, state)| matches!(state, ItemState::Failed(_)));
        let index = decisive
            .filter(|index| matches!(fan_out.state(*index), ItemState::Failed(_)))
            .or_else(|| first().map(|(index, _)| index))
            .unwrap_or_default();
        let ItemState::Failed(error) = fan_out.state(index) else { return };
        let data = fan_out.about(index, "error", error.clone());
        self.fail_fan_out(fan_out, data);
    }

    fn fail_fan_out(&mut self, fan_out: FanOut, data: Value) {
        let event = self.each_event("error.invoke", fan_out.invoke, data.clone());
        self.trace(|| TraceEntry::Raised { event: Arc::clone(&event.name) });
        let failure =
            Some(Box::new(UnhandledFailure { work: FailedWork::FanOut(Box::new(fan_out)), error: data }));
        self.queue.push_back(InternalEvent { event, failure, fan_out: None });
    }

    /// Ends a whole fan-out by name, with a result that a person supplied.
    pub(super) fn end_fan_out(&mut self, id: u64, result: Result<Value, Value>) -> Result<(), StepError> {
        let before = self.before_deferred();
        if let Some(fan_out) = self.take_fan_out(id) {
            match result {
                Ok(data) => {
                    let event = self.each_event("done.invoke", fan_out.invoke, data);
                    self.raise(event);
                }
                Err(error) => self.fail_fan_out(fan_out, error),
            }
        }
        self.settle()?;
        self.offer_deferred_since(before)
    }

    /// Removes a fan-out and stops its items.
    fn take_fan_out(&mut self, id: u64) -> Option<FanOut> {
        let at = self.snapshot.fan_outs().iter().position(|known| known.id == id)?;
        let mut fan_out = self.more_mut().fan_outs.remove(at);
        self.stop_items(&mut fan_out);
        Some(fan_out)
    }

    pub(super) fn stop_items(&mut self, fan_out: &mut FanOut) {
        let id = &self.tables().invoke(fan_out.invoke).id;
        let running: Vec<u32> = fan_out.running().collect();
        for index in &running {
            let invocation = fan_out.first + u64::from(*index);
            self.effects.push(Effect::StopInvoke { invocation, id: item_name(id, *index) });
            fan_out.set(*index, ItemState::Stopped);
        }
        let fan_out = &*fan_out;
        self.cancel_timers(|purpose| match purpose {
            TimerPurpose::InvokeTimeout { invocation } | TimerPurpose::InvokeRetry { invocation } => {
                fan_out.index_of(*invocation).is_some()
            }
            TimerPurpose::EachContinue { fan_out: of } => *of == fan_out.id,
            TimerPurpose::After { .. } | TimerPurpose::Send { .. } => false,
        });
    }

    pub(super) fn stop_fan_outs_of(&mut self, node: NodeId) {
        let own = self.tables().node(node).invokes.usize();
        self.lists.retain(|(invoke, _)| !own.contains(&invoke.index()));
        let ids: Vec<u64> = self
            .snapshot
            .fan_outs()
            .iter()
            .filter(|known| known.node == node)
            .map(|known| known.id)
            .collect();
        for id in ids {
            self.take_fan_out(id);
        }
    }

    /// Starts again what failed or was stopped; results of the earlier invocations are stale.
    pub(super) fn retry_fan_out(&mut self, fan_out: FanOut) {
        let first = self.next_ids(fan_out.len());
        let id = fan_out.id;
        self.more_mut().fan_outs.push(fan_out.again(first));
        self.to_advance.push_back((id, None));
    }

    pub(super) fn fan_out_by_name(&self, name: &str) -> Option<u64> {
        let mut all = self.snapshot.fan_outs().iter();
        all.find(|known| &*self.tables().invoke(known.invoke).id == name).map(|known| known.id)
    }

    pub(super) fn unstarted_invocation(&mut self, node: NodeId, invoke: InvokeId) -> Invocation {
        let id = self.next_id();
        Invocation { id, invoke, node, attempt: 0, src: "".into(), input: Value::Null, item: None }
    }
}
