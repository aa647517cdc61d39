//! Anthropic's messages. A structured response is requested as the input of a tool that the model must call: that works
//! with every model and every compatible server, while the service's own output format is limited to some models. The
//! tool is hidden: its input becomes the text of the response.

mod caching;
mod request;
mod stream;
mod thinking;

pub(super) use request::body;
pub(super) use stream::{AnswerTool, handle_event};

/// Reserved: must not collide with a real tool name.
const ANSWER_TOOL: &str = "rawko_answer";
