//! OpenAI's responses. Nothing is stored by the service: the whole conversation is sent each time, with the model's
//! reasoning as encrypted items, so that it continues a thought after a tool call.

mod request;
mod stream;

pub(super) use request::body;
pub(super) use stream::handle_event;
