//! `work:look`: images become words by the vision model, for a text model that cannot see.

use rawko_core::Value;
use rawko_host::{Call, ServiceError};

use super::complete::{ask, bare, text};
use super::session::Session;
use super::{Workshop, part, value};
use crate::message::{Message, Usage};
use crate::provider::CompletionRequest;
use crate::vision::{Looked, VisionMemory, join, plan};

pub(super) async fn look(workshop: &Workshop, call: Call) -> Result<Value, ServiceError> {
    let session: Session = part(&call.input, "session")?;
    let messages: Vec<Message> = part(&call.input, "messages")?;
    let seen: VisionMemory = if call.input.get("seen").is_null() { VisionMemory::default() } else { part(&call.input, "seen")? };
    let plan = plan(&messages, &seen);
    let model = session.vision_model.clone().unwrap_or_default();
    let mut usage = Usage::default();
    let mut looked = Vec::with_capacity(plan.requests.len());
    for planned in &plan.requests {
        let request = CompletionRequest {
            system: planned.system.clone(),
            messages: planned.messages.clone(),
            ..bare(&session, &call)
        };
        // A vision model that fails is told to the text model; the work goes on.
        looked.push(match ask(workshop, &model, request, &call).await {
            Ok(completion) => {
                usage = usage.plus(completion.usage);
                Looked::Words(text(&completion.message))
            }
            Err(error) => Looked::Failed(error.message),
        });
    }
    let (messages, seen) = join(&messages, &plan, &looked, seen);
    Ok(Value::map([("messages", value(&messages)), ("seen", value(&seen)), ("usage", value(&usage))]))
}
