//! OpenAI's chat completions and compatible servers: Z.ai, llama.cpp, vLLM, OpenRouter and others.

mod request;
mod stream;

pub(super) use request::body;
pub use request::{OpenAiTraits, ReasoningReturn, SchemaSupport};
pub(super) use request::{can_reason, is_strict};
pub(super) use stream::handle_chunk;
