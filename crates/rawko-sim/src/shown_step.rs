//! Adds what a step did to the line of its stimulus.

use rawko_core::{Effect, SendTarget, ServiceClass};
use rawko_instance::StepTrace;

use crate::{EmitLine, InvokeLine, ReportLine, SendLine, TracedStep};

/// Adds a step to its line; only effects of the simulated instance are listed.
pub(crate) fn show(line: &mut ReportLine, trace: StepTrace) {
    let StepTrace { instance, chart, step, handled, trace, effects } = trace;
    let instance = usize::try_from(instance.0 - 1).unwrap_or(0);
    for effect in &effects {
        match effect {
            Effect::Log { message } => line.log.push(message.to_string()),
            Effect::Fault(fault) => line.faults.push(fault.clone()),
            _ => {}
        }
        if instance == 0 {
            show_effect(line, effect);
        }
    }
    line.traces.push(TracedStep { instance, chart, number: step, handled, trace });
}

fn show_effect(line: &mut ReportLine, effect: &Effect) {
    match effect {
        Effect::Invoke(invoke) => line.invoked.push(InvokeLine {
            id: Some(invoke.id.to_string()),
            src: invoke.src.to_string(),
            input: invoke.input.clone(),
        }),
        Effect::Call { handler, params } => {
            line.invoked.push(InvokeLine { id: None, src: handler.to_string(), input: params.clone() });
        }
        Effect::Send(send) => line.sent.push(SendLine {
            target: target_text(&send.target),
            name: send.event.to_string(),
            data: send.data.clone(),
        }),
        Effect::Emit { event, data } => {
            line.emitted.push(EmitLine { name: event.to_string(), data: data.clone() });
        }
        Effect::StopInvoke { id, .. } if id.ends_with(']') => line.stopped.push(id.to_string()),
        Effect::SetTimer { .. }
        | Effect::CancelTimer { .. }
        | Effect::StopInvoke { .. }
        | Effect::Log { .. }
        | Effect::Fault(_)
        | Effect::Complete { .. }
        | Effect::Cancelled { .. }
        | Effect::Stall { .. } => {}
    }
}

/// The target as an author writes it.
fn target_text(target: &SendTarget) -> String {
    match target {
        SendTarget::Itself => "self".to_owned(),
        SendTarget::Parent => "parent".to_owned(),
        SendTarget::Invocation(id) => id.to_string(),
        SendTarget::Channel(name) => ServiceClass::Channel.named(name),
        SendTarget::Agent(name) => ServiceClass::Agent.named(name),
        SendTarget::Other(name) => name.to_string(),
    }
}
