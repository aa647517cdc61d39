//! Starts a host on an existing store: sets deadlines again, delivers messages in flight, and informs instances with
//! open calls of the restart. The order does not matter: the machine handles each input once.

use std::collections::BTreeSet;
use std::sync::Arc;

use rawko_instance::{Input, Message};
use rawko_store::{EffectKind, Inbound, OpenEffect};

use super::deadlines::Due;
use super::slot::Delivery;
use crate::error::HostError;
use crate::host::Inner;

impl Inner {
    /// Continues after the last host. Instances without pending work stay on disk; an unreadable instance is reported
    /// and does not stop the others. A host that drives only requested instances continues nothing by itself.
    pub(crate) fn recover(self: &Arc<Self>) -> Result<(), HostError> {
        if !self.scope.is_all() {
            return Ok(());
        }
        for (key, due_ms) in self.store.timers()? {
            self.deadlines.set_earlier(Due::Instance(key), due_ms);
        }
        self.restart_calls(self.store.open_effects(None)?);
        self.deliver_inbound(self.store.inbound(None)?)
    }

    /// Continues one instance and its descendants after the last host.
    pub(crate) fn recover_tree(self: &Arc<Self>, root: &str) -> Result<(), HostError> {
        let mut ahead: Vec<_> = self.store.find(root)?.into_iter().collect();
        while let Some(row) = ahead.pop() {
            if let Some(due_ms) = row.head.next_due_ms {
                self.deadlines.set_earlier(Due::Instance(row.key), due_ms);
            }
            self.restart_calls(self.store.open_effects(Some(row.key))?);
            self.deliver_inbound(self.store.inbound(Some(row.key))?)?;
            ahead.extend(self.store.children(&row.new.id)?);
        }
        Ok(())
    }

    fn restart_calls(self: &Arc<Self>, open: Vec<OpenEffect>) {
        let epoch = u64::try_from(self.clock.now_ms()).unwrap_or(0);
        let mut restarted = BTreeSet::new();
        for effect in open {
            if let Some(due_ms) = effect.due_ms {
                self.deadlines.set_earlier(Due::Instance(effect.instance), due_ms);
            }
            if is_call(&effect) && restarted.insert(effect.instance) {
                self.post_or_complain(effect.instance, Delivery::unawaited(Input::Restart { epoch }));
            }
        }
    }

    fn deliver_inbound(self: &Arc<Self>, inbound: Vec<Inbound>) -> Result<(), HostError> {
        for inbound in inbound {
            let text = self.reader.unpack(&inbound.event)?;
            match serde_json::from_str::<Message>(&text) {
                Ok(message) => {
                    let input = Input::Message { seq: inbound.seq, message };
                    self.post_or_complain(inbound.to, Delivery::unawaited(input));
                }
                Err(error) => self.trouble_with("inbound", &HostError::Internal(error.to_string())),
            }
        }
        Ok(())
    }
}

fn is_call(effect: &OpenEffect) -> bool {
    match effect.kind {
        EffectKind::Service | EffectKind::Agent | EffectKind::Call | EffectKind::Send => true,
        EffectKind::Child | EffectKind::Person | EffectKind::Unknown | EffectKind::Held => false,
    }
}
