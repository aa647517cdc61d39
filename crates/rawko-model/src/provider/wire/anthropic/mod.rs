//! Anthropic's messages. A structured answer is asked for as the input of a tool that the model must call: that works
//! with every model and every compatible server, while the service's own output format is known to some models only.
//! The tool never shows: its input comes out as the text of the answer.

mod request;
mod stream;

pub(super) use request::body;
pub(super) use stream::{AnswerTool, handle_event};

/// No tool of anybody's is called this.
const ANSWER_TOOL: &str = "rawko_answer";
