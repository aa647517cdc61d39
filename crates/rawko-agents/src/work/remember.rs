//! `work:remember`: extracts lessons from an agent's work for later work. A model proposes them; they become files that
//! people can read and change.

use jiff::Timestamp;
use rawko_core::Value;
use rawko_host::{Call, Category, ServiceError};

use super::complete::{ask, bare_as};
use super::models::ModelChain;
use super::{Workshop, value};
use crate::memories::{
    Extraction, MEMORIES_FOLDER, extraction_prompt, extraction_schema, parse_extraction, read_memories,
    write_memory,
};
use rawko_model::provider::{CompletionRequest, OutputSchema};
use rawko_model::{Message, Role};

const WHO: &str = "memory";

pub(super) async fn remember(workshop: &Workshop, call: Call) -> Result<Value, ServiceError> {
    let said = |key: &str| call.input.get(key).as_str().unwrap_or_default();
    if !workshop.memories.remember || said("text").trim().is_empty() {
        return Ok(Value::map([("memories", Value::list(Vec::new()))]));
    }
    let folder = workshop.root.join(MEMORIES_FOLDER);
    let known = read_memories(&folder).map_err(|error| unwritable(&error))?.all;
    let titles: Vec<String> = known.into_iter().map(|memory| memory.title).collect();
    let extraction =
        Extraction { task: said("task"), agent: said("agent"), text: said("text"), known: &titles };
    let request = CompletionRequest {
        messages: vec![Message::text(Role::User, extraction_prompt(&extraction))],
        schema: Some(OutputSchema { name: "memories".into(), schema: Value::from_json(extraction_schema()) }),
        ..bare_as(WHO, &call)
    };
    let model = workshop.memories.model.as_deref().unwrap_or_else(|| said("providerName"));
    let from = match workshop.memories.model {
        Some(_) => "`memories.model` in .rawko/config.yaml",
        None => "`--model`",
    };
    let completion = ask(&ModelChain::of(workshop, model, from, &call), request, &call).await?;
    let answer = completion.data.unwrap_or_default().to_json();
    let today = Timestamp::now().to_string();
    let today = today.split('T').next().unwrap_or_default();
    let memories = parse_extraction(&answer, &titles, today)
        .map_err(|error| ServiceError::new(Category::InvalidAnswer, error.to_string()))?;
    let mut names = Vec::new();
    for memory in &memories {
        names.push(write_memory(&folder, memory).map_err(|error| unwritable(&error))?);
    }
    Ok(Value::map([("memories", value(&names)), ("usage", value(&completion.usage))]))
}

fn unwritable(error: &std::io::Error) -> ServiceError {
    ServiceError::new(Category::Failed, format!("{MEMORIES_FOLDER}: {error}"))
}
