//! Ollama's own `/api/chat`: JSON lines, tool calls whole, images beside the text.

mod request;
mod stream;

pub(super) use request::body;
pub(super) use stream::handle_chunk;
