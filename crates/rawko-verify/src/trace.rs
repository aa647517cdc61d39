//! Traces for `rawko simulate`: inputs as stimuli, and stubs for child charts, which would otherwise run by themselves.

use rawko_core::{ServiceClass, Value};

use crate::graph::{Counterexample, ModelInput};
use crate::model::{Model, class_of};

/// A stub that never answers by itself: the trace answers by name.
const NEVER: &str = "36500d";

pub(crate) fn counterexample(
    model: &Model,
    inputs: &[ModelInput],
    loop_from: Option<usize>,
    reason: String,
) -> Counterexample {
    let (mut events, mut merged_at): (Vec<Value>, Vec<usize>) = (Vec::new(), Vec::new());
    for (number, input) in inputs.iter().enumerate() {
        merged_at.push(events.len());
        // Waiting and then waiting for a timer is one wait; a loop begins with an event of its own.
        let previous = number.checked_sub(1).map(|previous| &inputs[previous]);
        match (previous, input) {
            (Some(ModelInput::Advance { ms: before }), ModelInput::Advance { ms })
                if Some(number) != loop_from =>
            {
                let earlier = events.pop().and_then(|event| event.get("advance").as_i64()).unwrap_or(*before);
                merged_at[number] = events.len();
                events.push(ModelInput::Advance { ms: earlier + ms }.to_value());
            }
            _ => events.push(input.to_value()),
        }
    }
    let loop_from = loop_from.map(|number| merged_at.get(number).copied().unwrap_or(events.len()));
    Counterexample { input: model.input.clone(), events, services: stubs(model), loop_from, reason }
}

fn stubs(model: &Model) -> Value {
    let children =
        model.invokes().filter(|(_, invoke)| matches!(class_of(invoke), Some(ServiceClass::Chart) | None));
    let never = Value::map([("after", Value::str(NEVER)), ("done", Value::Null)]);
    Value::map(children.map(|(_, invoke)| (invoke.id.clone(), never.clone())))
}
