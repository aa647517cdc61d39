//! Starts a host on an existing store: sets deadlines again, delivers messages in flight, and informs instances with
//! open calls of the restart. The order does not matter: the machine handles each input once.

use std::collections::BTreeSet;
use std::sync::Arc;

use rawko_instance::{Input, Message};
use rawko_store::{EffectKind, OpenEffect};

use super::deadlines::Due;
use super::slot::Delivery;
use crate::error::HostError;
use crate::host::Inner;

impl Inner {
    /// Continues after the last host. Instances without pending work stay on disk; an unreadable instance is reported
    /// and does not stop the others.
    pub(crate) fn recover(self: &Arc<Self>) -> Result<(), HostError> {
        for (key, due_ms) in self.store.timers()? {
            self.deadlines.set_earlier(Due::Instance(key), due_ms);
        }
        let epoch = u64::try_from(self.clock.now_ms()).unwrap_or(0);
        let mut restarted = BTreeSet::new();
        for effect in self.store.open_effects(None)? {
            if let Some(due_ms) = effect.due_ms {
                self.deadlines.set_earlier(Due::Instance(effect.instance), due_ms);
            }
            if is_call(&effect) && restarted.insert(effect.instance) {
                self.post_or_complain(effect.instance, Delivery::unawaited(Input::Restart { epoch }));
            }
        }
        for inbound in self.store.inbound(None)? {
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
        EffectKind::Child | EffectKind::Person | EffectKind::Unknown => false,
    }
}
