//! `work:remember`: extracts lessons from an agent's work for later work. A model proposes them; they become files that
//! people can read and change.

use jiff::Timestamp;
use rawko_core::Value;
use rawko_host::{Category, ServiceCall, ServiceError};

use super::AgentServices;
use super::complete::{CompletionOrigin, ask};
use super::models::ModelChain;
use super::types::{RememberInput, RememberOutput};
use crate::memories::{
    Extraction, MEMORIES_FOLDER, extraction_prompt, extraction_schema, parse_extraction, read_memories,
    write_memory,
};
use rawko_model::provider::{CompletionRequest, OutputSchema};
use rawko_model::{Message, Role};

const WHO: &str = "memory";

pub(super) async fn remember(
    agent_services: &AgentServices,
    call: &ServiceCall,
    input: RememberInput,
) -> Result<RememberOutput, ServiceError> {
    let text = input.text.as_deref().unwrap_or_default();
    if !agent_services.memories.remember || text.trim().is_empty() {
        return Ok(RememberOutput::default());
    }
    let folder = agent_services.root.join(MEMORIES_FOLDER);
    let known = read_memories(&folder).map_err(|error| unwritable(&error))?.all;
    let titles: Vec<String> = known.into_iter().map(|memory| memory.title).collect();
    let (task, agent) = (input.task.as_deref(), input.agent.as_deref());
    let (task, agent) = (task.unwrap_or_default(), agent.unwrap_or_default());
    let extraction = Extraction { task, agent, text, known: &titles };
    let origin = CompletionOrigin { agent: WHO, occasion: input.occasion.as_deref(), attempt: input.attempt };
    let request = CompletionRequest {
        messages: vec![Message::text(Role::User, extraction_prompt(&extraction))].into(),
        schema: Some(OutputSchema { name: "memories".into(), schema: Value::from_json(extraction_schema()) }),
        ..origin.request(call)
    };
    let model =
        agent_services.memories.model.as_deref().or(input.provider_name.as_deref()).unwrap_or_default();
    let from = match agent_services.memories.model {
        Some(_) => "`memories.model` in .rawko/config.yaml",
        None => "`--model`",
    };
    let chain = ModelChain::of(agent_services, model, from, input.model_index);
    let completion = ask(&chain, request, call).await?;
    let answer = completion.data.unwrap_or_default().to_json();
    let today = Timestamp::now().to_string();
    let today = today.split('T').next().unwrap_or_default();
    let memories = parse_extraction(&answer, &titles, today)
        .map_err(|error| ServiceError::new(Category::InvalidAnswer, error.to_string()))?;
    let mut names = Vec::new();
    for memory in &memories {
        names.push(write_memory(&folder, memory).map_err(|error| unwritable(&error))?);
    }
    let model = Some(chain.model().to_owned());
    Ok(RememberOutput { memories: names, usage: Some(completion.usage), model })
}

fn unwritable(error: &std::io::Error) -> ServiceError {
    ServiceError::new(Category::Failed, format!("{MEMORIES_FOLDER}: {error}"))
}
