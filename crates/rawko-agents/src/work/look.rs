//! `work:look`: converts images to text with the vision model, for a text model without vision.

use rawko_core::Value;
use rawko_host::{Call, ServiceError};

use super::attachments::load_all;
use super::complete::bare;
use super::session::Session;
use super::{Workshop, part, value};
use rawko_model::provider::{Completion, CompletionRequest, ErrorCode, ProviderError};
use rawko_model::vision::{VisionMemory, VisionRequest, plan};
use rawko_model::{Message, Usage};

pub(super) async fn look(workshop: &Workshop, call: Call) -> Result<Value, ServiceError> {
    let session: Session = part(&call.input, "session")?;
    let messages: Vec<Message> = part(&call.input, "messages")?;
    let mut seen = match call.input.get("seen") {
        Value::Null => VisionMemory::default(),
        _ => part(&call.input, "seen")?,
    };
    let model = session.vision_model.clone().unwrap_or_default();
    let mut usage = Usage::default();
    for planned in plan(&messages, &seen, &model, &call.idempotency).requests {
        let answer = ask(workshop, &model, &planned, &session, &call).await;
        if let Ok(completion) = &answer {
            usage = usage.plus(completion.usage);
        }
        // A failure of the vision model is reported to the text model, and the work continues.
        seen = seen.with(planned.analysed(answer.as_ref()));
    }
    Ok(Value::map([("seen", value(&seen)), ("usage", value(&usage))]))
}

async fn ask(
    workshop: &Workshop,
    model: &str,
    planned: &VisionRequest,
    session: &Session,
    call: &Call,
) -> Result<Completion, ProviderError> {
    let (provider, name) = workshop.providers.find(model)?;
    let who = bare(session, call);
    let occasion = format!("{}/look", who.occasion);
    let messages = load_all(planned.completion.messages.clone(), &call.contents).await;
    let messages = messages.map_err(|error| ProviderError::new(ErrorCode::NetworkError, error.message))?;
    let planned = CompletionRequest { messages, ..planned.completion.clone() };
    let request = CompletionRequest { model: name, agent: who.agent, occasion, ..planned };
    provider.complete(request, &mut |_| {}).await
}
