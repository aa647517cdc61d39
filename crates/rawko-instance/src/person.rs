//! `PersonAnswer`: a person's reply to an approval or a form.

use rawko_core::{Event, Value};

use crate::records::OpenEffect;
use crate::result::{EffectNote, EffectResult};

#[derive(Clone, Debug, PartialEq)]
pub struct PersonAnswer {
    pub approved: bool,
    pub by: Option<String>,
    pub comment: Option<String>,
    /// The fields of a form.
    pub data: Value,
}

impl PersonAnswer {
    /// Returns the `event.data` of the chart's done event.
    fn to_value(&self) -> Value {
        let text = |text: &Option<String>| text.as_deref().map_or(Value::Null, Value::str);
        Value::map([
            ("approved", Value::Bool(self.approved)),
            ("by", text(&self.by)),
            ("comment", text(&self.comment)),
            ("data", self.data.clone()),
        ])
    }

    pub(crate) fn to_result(&self, effect: &OpenEffect) -> EffectResult {
        let note = EffectNote {
            decision: if self.approved { "approved" } else { "denied" }.into(),
            reason: self.by.clone().unwrap_or_default(),
            outcome_open: false,
        };
        let invocation = effect.invocation.unwrap_or_default();
        EffectResult { event: Some(Event::InvokeDone { invocation, data: self.to_value() }), note }
    }
}
