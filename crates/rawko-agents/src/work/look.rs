//! `work:look`: converts images to text with the vision model, for a text model without vision.

use rawko_host::{ServiceCall, ServiceError};

use super::AgentServices;
use super::attachments::load_all;
use super::complete::CompletionOrigin;
use super::types::{LookInput, LookOutput};
use rawko_model::Usage;
use rawko_model::provider::{Completion, CompletionRequest, ErrorCode, ProviderError};
use rawko_model::vision::{VisionRequest, plan};

pub(super) async fn look(
    agent_services: &AgentServices,
    call: &ServiceCall,
    input: LookInput,
) -> Result<LookOutput, ServiceError> {
    let LookInput { session, messages, mut seen, occasion } = input;
    let model = session.vision_model.clone().unwrap_or_default();
    let origin = CompletionOrigin { agent: &session.agent, occasion: occasion.as_deref(), attempt: None };
    let mut usage = Usage::default();
    for planned in plan(&messages, &seen, &model, &call.idempotency).requests {
        let answer = ask(agent_services, &model, &planned, &origin, call).await;
        if let Ok(completion) = &answer {
            usage = usage.plus(completion.usage);
        }
        // A failure of the vision model is reported to the text model, and the work continues.
        seen = seen.with(planned.analysed(answer.as_ref()));
    }
    Ok(LookOutput { seen, usage })
}

async fn ask(
    agent_services: &AgentServices,
    model: &str,
    planned: &VisionRequest,
    origin: &CompletionOrigin<'_>,
    call: &ServiceCall,
) -> Result<Completion, ProviderError> {
    let (provider, name) = agent_services.providers.find(model)?;
    let occasion = format!("{}/look", origin.occasion.unwrap_or_default());
    let messages = load_all(planned.completion.messages.clone(), &call.contents).await;
    let messages = messages.map_err(|error| ProviderError::new(ErrorCode::NetworkError, error.message))?;
    let planned = CompletionRequest { messages, ..planned.completion.clone() };
    let request = CompletionRequest { model: name, agent: origin.agent.to_owned(), occasion, ..planned };
    provider.complete(request, &mut |_| {}).await
}
