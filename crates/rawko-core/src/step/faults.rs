//! Faults: recording an expression that failed with its place in the chart, once per step, and raising
//! `error.execution` for it. Everything here runs only after a failure.

use std::sync::Arc;

use super::run::{InternalEvent, Macrostep};
use super::trace::TraceEntry;
use crate::effect::Effect;
use crate::event::NamedEvent;
use crate::fault::{Fault, FaultKind};
use crate::ids::{NodeId, TransitionId};
use crate::snapshot::UnhandledFailure;
use crate::value::Value;

/// Limit of recorded faults per step. A `foreach` over a long list can fail at every element.
const FAULTS_MAX: usize = 64;
const MESSAGE_CHARS_MAX: usize = 2_000;

/// Location of an expression in the chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExpressionSite {
    Entry(NodeId),
    Exit(NodeId),
    /// The actions of `initial`, or of a history's default.
    Initial(NodeId),
    Transition(TransitionId),
    Output(NodeId),
}

impl Macrostep<'_> {
    /// Records the fault and raises `error.execution` with the id of the send that failed, if it was one.
    #[cold]
    pub(super) fn fail(
        &mut self,
        what: FaultKind,
        place: ExpressionSite,
        message: String,
        send_id: Option<Arc<str>>,
    ) {
        let told = match place {
            ExpressionSite::Output(node) => format!("output of `{}`: {message}", self.chart.node(node).path),
            ExpressionSite::Entry(_)
            | ExpressionSite::Exit(_)
            | ExpressionSite::Initial(_)
            | ExpressionSite::Transition(_) => {
                format!("{} {message}", what.as_str())
            }
        };
        let (state, at) = self.place_words(place);
        self.record_fault(Fault { what, state, at, message: clipped(message) });
        self.raise_execution_error(told, send_id, None);
    }

    /// Raises `error.execution`. With a failure: work that could not start, which stalls the instance if nothing handles it.
    #[cold]
    pub(super) fn raise_execution_error(
        &mut self,
        message: String,
        send_id: Option<Arc<str>>,
        failure: Option<Box<UnhandledFailure>>,
    ) {
        self.trace(|| TraceEntry::Failed { message: message.clone() });
        let data = Value::map([("message", Value::from(message))]);
        let event = NamedEvent { send_id, ..NamedEvent::new("error.execution", data) };
        self.trace(|| TraceEntry::Raised { event: Arc::clone(&event.name) });
        self.queue.push_back(InternalEvent { event, failure, fan_out: None });
    }

    /// Adds the fault to the record, unless the step already has the same one.
    #[cold]
    pub(super) fn record_fault(&mut self, fault: Fault) {
        let is_known =
            |index: &usize| matches!(&self.effects[*index], Effect::Fault(known) if *known == fault);
        if self.faults.len() > FAULTS_MAX || self.faults.iter().any(is_known) {
            return;
        }
        let fault = if self.faults.len() == FAULTS_MAX {
            let message =
                format!("more expressions failed in this step; the first {FAULTS_MAX} are recorded");
            Fault { message: message.into(), ..fault }
        } else {
            fault
        };
        self.faults.push(self.effects.len());
        self.effects.push(Effect::Fault(fault));
    }

    fn place_words(&self, place: ExpressionSite) -> (Arc<str>, Arc<str>) {
        let path = |node: NodeId| Arc::clone(&self.chart.node(node).path);
        match place {
            ExpressionSite::Entry(node) => (path(node), "entry".into()),
            ExpressionSite::Exit(node) => (path(node), "exit".into()),
            ExpressionSite::Initial(node) => (path(node), "initial".into()),
            ExpressionSite::Output(node) => (path(node), "".into()),
            ExpressionSite::Transition(id) => {
                let transition = self.chart.transition(id);
                (path(transition.source), Arc::clone(&transition.label))
            }
        }
    }
}

/// Truncates a message. It may quote values, and a record must stay small.
pub(super) fn clipped(message: String) -> Arc<str> {
    match message.char_indices().nth(MESSAGE_CHARS_MAX) {
        Some((cut, _)) => format!("{}…", &message[..cut]).into(),
        None => message.into(),
    }
}
