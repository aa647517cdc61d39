//! Completions that servers ask for while a call runs: sampling. Only servers that the settings name may ask, a bounded
//! number of times, and what they use is part of the call's usage, so that budgets count it.

#![expect(deprecated, reason = "sampling is deprecated, and servers of both revisions still ask for it")]

use std::sync::{Arc, Mutex, PoisonError};

use rawko_core::Value;
use rawko_model::provider::{CompletionRequest, Provider};
use rawko_model::{Message, MessagePart, Role, StopReason, Usage};
use rawko_tools::{SamplingSettings, ToolOutcome};
use rmcp::model::{
    CreateMessageRequestParams, CreateMessageResult, ErrorData, SamplingMessage, SamplingMessageContentBlock,
};

use super::settings::SamplingModel;

/// The right of one server to completions; `None` if the settings do not name it.
pub(super) type Sampler = Option<Arc<AllowedSampling>>;

pub(super) struct AllowedSampling {
    provider: Arc<dyn Provider>,
    model: String,
    completions_max: u32,
    output_tokens_max: u32,
}

/// Returns the right of a server.
pub(super) fn sampler_of(server: &str, settings: Option<&(SamplingSettings, SamplingModel)>) -> Sampler {
    let (rule, model) = settings.filter(|(rule, _)| rule.servers.iter().any(|name| name == server))?;
    Some(Arc::new(AllowedSampling {
        provider: Arc::clone(&model.provider),
        model: model.model.clone(),
        completions_max: rule.completions_max,
        output_tokens_max: rule.output_tokens_max,
    }))
}

/// The completions during one call.
#[derive(Default)]
pub(super) struct Sampled(Mutex<Total>);

#[derive(Clone, Copy, Default)]
struct Total {
    completions: u32,
    usage: Usage,
}

impl Sampled {
    /// Counts a completion before it is made; returns false if the limit is reached.
    fn begin(&self, completions_max: u32) -> bool {
        let mut total = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_allowed = total.completions < completions_max;
        total.completions += u32::from(is_allowed);
        is_allowed
    }

    fn add(&self, usage: Usage) {
        let mut total = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        total.usage = total.usage.plus(usage);
    }

    /// Adds the usage to the result of the call.
    pub(super) fn report(&self, outcome: ToolOutcome) -> ToolOutcome {
        let total = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if total.completions == 0 {
            return outcome;
        }
        let usage = serde_json::to_value(total.usage).map(Value::from_json).unwrap_or_default();
        let mut data = match outcome.data.to_json() {
            serde_json::Value::Object(data) => data,
            serde_json::Value::Null => serde_json::Map::new(),
            other => serde_json::Map::from_iter([("result".to_owned(), other)]),
        };
        data.insert("usage".to_owned(), usage.to_json());
        data.insert("completions".to_owned(), total.completions.into());
        ToolOutcome { data: Value::from_json(data.into()), ..outcome }
    }
}

/// Makes a completion for a server.
pub(super) async fn sample(
    sampler: &Sampler,
    sampled: Option<&Sampled>,
    params: CreateMessageRequestParams,
) -> Result<CreateMessageResult, ErrorData> {
    let refused = |why: &str| ErrorData::invalid_request(why.to_owned(), None);
    let Some(allowed) = sampler else {
        return Err(refused("sampling is not allowed for this server: see `tools.sampling` in the settings"));
    };
    let Some(sampled) = sampled else {
        return Err(refused("sampling is only possible during a call, and not clear with several of them"));
    };
    if params.tools.is_some_and(|tools| !tools.is_empty()) {
        return Err(ErrorData::invalid_params("tools are not supported in sampling", None));
    }
    let messages = params.messages.into_iter().map(message).collect::<Result<Vec<_>, _>>()?;
    if !sampled.begin(allowed.completions_max) {
        let why = format!("this call has used its {} completions", allowed.completions_max);
        return Err(refused(&why));
    }
    let request = CompletionRequest {
        model: allowed.model.clone(),
        system: params.system_prompt.unwrap_or_default(),
        messages: messages.into(),
        output_tokens_max: Some(params.max_tokens.clamp(1, allowed.output_tokens_max)),
        temperature: params.temperature.map(f64::from),
        ..CompletionRequest::default()
    };
    let completion = allowed.provider.complete(request, &mut |_| {}).await;
    let completion = completion.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    sampled.add(completion.usage);
    let text: String = completion
        .message
        .parts
        .iter()
        .filter_map(|part| if let MessagePart::Text { text } = part { Some(text.as_str()) } else { None })
        .collect();
    let model = completion.model.unwrap_or_else(|| allowed.model.clone());
    let mut result = CreateMessageResult::new(SamplingMessage::assistant_text(text), model);
    result.stop_reason = match completion.stop_reason {
        StopReason::Length => Some(CreateMessageResult::STOP_REASON_END_MAX_TOKEN.to_owned()),
        StopReason::Stop | StopReason::ToolCalls | StopReason::ContentFilter | StopReason::Other => {
            Some(CreateMessageResult::STOP_REASON_END_TURN.to_owned())
        }
    };
    Ok(result)
}

/// Only text and images: nothing else has a counterpart with every provider.
fn message(message: SamplingMessage) -> Result<Message, ErrorData> {
    let role = match message.role {
        rmcp::model::Role::User => Role::User,
        rmcp::model::Role::Assistant => Role::Assistant,
    };
    let part = |block: SamplingMessageContentBlock| match block {
        SamplingMessageContentBlock::Text(text) => Ok(MessagePart::Text { text: text.text }),
        SamplingMessageContentBlock::Image(image) => {
            Ok(MessagePart::Image { media_type: image.mime_type, data: image.data })
        }
        _ => Err(ErrorData::invalid_params("only text and images are supported in sampling", None)),
    };
    let parts = message.content.into_vec().into_iter().map(part).collect::<Result<Vec<_>, _>>()?;
    Ok(Message { role, parts })
}
