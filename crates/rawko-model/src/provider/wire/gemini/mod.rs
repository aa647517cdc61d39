//! Gemini's `streamGenerateContent`. It says `STOP` even when it waits for a tool; the rule that tool calls win is the
//! one all dialects share.

mod request;
mod schema;
mod stream;

pub(super) use request::body;
pub(super) use stream::handle_chunk;
