//! `PersonAnswer`: a person's reply to an approval or a form.

use rawko_core::{Event, Value};

use crate::records::OpenEffect;
use crate::result::{EffectNote, EffectResult};

/// A person's decision on a request.
#[derive(Clone, Debug, PartialEq)]
pub struct PersonAnswer {
    /// True for approval and for a submitted form.
    pub approved: bool,
    /// The proven author.
    pub by: Option<String>,
    /// Another name that the author claimed.
    pub claimed: Option<String>,
    /// The time of the request that is meant, if the author saw it: a later one of the same name is another request.
    pub asked_ms: Option<i64>,
    /// Remark of the person; the chart receives it.
    pub comment: Option<String>,
    /// The fields of a form.
    pub data: Value,
}

impl PersonAnswer {
    /// Returns the `event.data` of the chart's done event.
    fn to_value(&self) -> Value {
        let text = |text: &Option<String>| text.as_deref().map_or(Value::Null, Value::str);
        let claimed = self.claimed.as_ref().map(|claimed| ("as", Value::str(claimed)));
        let fields = [
            Some(("approved", Value::Bool(self.approved))),
            Some(("by", text(&self.by))),
            claimed,
            Some(("comment", text(&self.comment))),
            Some(("data", self.data.clone())),
        ];
        Value::map(fields.into_iter().flatten())
    }

    pub(crate) fn to_result(&self, effect: &OpenEffect) -> EffectResult {
        let note = EffectNote {
            decision: if self.approved { "approved" } else { "denied" }.into(),
            reason: match (&self.by, &self.claimed) {
                (Some(by), Some(claimed)) => format!("{by}, as {claimed}"),
                (by, _) => by.clone().unwrap_or_default(),
            },
            outcome_open: false,
        };
        let invocation = effect.invocation.unwrap_or_default();
        EffectResult { event: Some(Event::InvokeDone { invocation, data: self.to_value() }), note }
    }
}
