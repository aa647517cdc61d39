//! Gemini's `streamGenerateContent`. It sends `STOP` even when it waits for a tool; the rule that tool calls take
//! precedence is shared by all dialects.

mod request;
mod schema;
mod stream;

pub(super) use request::body;
pub(super) use stream::handle_chunk;
