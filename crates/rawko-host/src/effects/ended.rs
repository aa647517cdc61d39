//! `Complete`, `Cancelled`, `Stall`: what the parent hears, committed together with the step that ended the child.

use rawko_core::{Event, Value};

use crate::instance::Live;
use crate::instance::delivery::Letter;
use crate::instance::plan::Plan;
use crate::ledger::Spent;
use crate::planning::Planner;
use crate::policy::agent_of;

impl Planner<'_> {
    pub(super) fn plan_complete(&self, live: &Live, output: Value, plan: &mut Plan) {
        self.tell_parent(live, plan, |invocation| Event::InvokeDone { invocation, data: output });
    }

    /// If it was the parent who ended it, the parent does not wait any more and the letter is dropped there.
    pub(super) fn plan_cancelled(&self, live: &Live, reason: Value, plan: &mut Plan) {
        let message = match &reason {
            Value::Null => "it was cancelled".to_owned(),
            reason => format!("it was cancelled: {reason}"),
        };
        let error = Value::map([
            ("category", Value::str("cancelled")),
            ("message", Value::from(message)),
            ("retryable", Value::Bool(false)),
        ]);
        self.tell_parent(live, plan, |invocation| Event::InvokeFailed { invocation, error });
    }

    /// A child that failed with nobody to help has failed for its parent.
    pub(super) fn plan_stall(&self, live: &Live, error: Value, plan: &mut Plan) {
        self.tell_parent(live, plan, |invocation| Event::InvokeFailed { invocation, error });
    }

    fn tell_parent(&self, live: &Live, plan: &mut Plan, event: impl FnOnce(u64) -> Event) {
        let (Some(key), Some(parent)) = (live.parent, &live.new.parent) else { return };
        let letter = Letter {
            event: event(parent.invocation),
            child: Some(live.new.id.clone()),
            spent: spent_by(live),
        };
        plan.post(key, self.around.next_inbound(), letter);
    }
}

/// An agent's time is the time it was there; whatever else a child did has told its own.
fn spent_by(live: &Live) -> Spent {
    let mut spent = live.ledger.total;
    if agent_of(&live.policy).is_some() {
        spent.time_ms = u64::try_from(live.last_ms - live.new.created_ms).unwrap_or(0);
    }
    spent
}
