//! `src: human`: an approval or a form. It is pending in the store until a person answers or it expires; nothing runs
//! meanwhile.

use rawko_core::Invoke;

use super::EffectPosition;
use crate::consequences::request_due_ms;
use crate::instance::Instance;
use crate::records::OpenEffect;
use crate::transaction::Transaction;

impl Instance {
    pub(super) fn plan_person(
        &mut self,
        mut effect: OpenEffect,
        invoke: &Invoke,
        at: EffectPosition,
        tx: &mut Transaction,
    ) {
        match request_due_ms(&invoke.input, at.ms) {
            Ok(due_ms) => {
                effect.due_ms = due_ms;
                self.open(effect, tx);
            }
            Err(error) => self.refuse(effect, error, tx),
        }
    }
}
