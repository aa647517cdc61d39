//! The transcript as messages: for the program's caller, and for its own next round.

use rawko_model::{Message, MessagePart, Role, ToolResult, ToolUse};

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ProgramTranscript {
    pub(super) messages: Vec<Message>,
    /// The agent's text in this round.
    text: String,
    /// The text of the previous round, for one that ends without any.
    text_before: String,
}

impl ProgramTranscript {
    /// Adds a message to the agent.
    pub(super) fn ask(&mut self, message: Message) {
        if !self.text.trim().is_empty() {
            self.text_before = std::mem::take(&mut self.text);
        }
        self.text.clear();
        self.messages.push(message);
    }

    /// Returns its last text.
    pub(super) fn text(&self) -> &str {
        if self.text.trim().is_empty() { &self.text_before } else { &self.text }
    }

    pub(super) fn said(&mut self, text: &str) {
        self.text.push_str(text);
        let parts = self.parts(Role::Assistant);
        match parts.last_mut() {
            Some(MessagePart::Text { text: before }) => before.push_str(text),
            Some(
                MessagePart::Image { .. }
                | MessagePart::ImageRef { .. }
                | MessagePart::ToolUse(_)
                | MessagePart::ToolResult(_)
                | MessagePart::Reasoning(_),
            )
            | None => {
                parts.push(MessagePart::Text { text: text.to_owned() });
            }
        }
    }

    /// Sets the final response, which may differ from the streamed text.
    pub(super) fn answered(&mut self, text: &str) {
        let is_said = self.text.trim_end().ends_with(text.trim_end());
        if !is_said {
            self.parts(Role::Assistant).push(MessagePart::Text { text: text.to_owned() });
        }
        text.clone_into(&mut self.text);
    }

    pub(super) fn called(&mut self, tool_use: ToolUse) {
        self.parts(Role::Assistant).push(MessagePart::ToolUse(tool_use));
    }

    /// Adds a result after its call: another call may have begun meanwhile.
    pub(super) fn returned(&mut self, result: ToolResult) {
        let has_call = |message: &Message| message.tool_uses().any(|asked| asked.id == result.id);
        let after = self.messages.iter().rposition(has_call).map(|at| at + 1);
        match after.and_then(|at| self.messages.get_mut(at)) {
            Some(next) if next.role == Role::User => next.parts.push(MessagePart::ToolResult(result)),
            Some(_) => {
                let message = Message { role: Role::User, parts: vec![MessagePart::ToolResult(result)] };
                self.messages.insert(after.unwrap_or_default(), message);
            }
            None => self.parts(Role::User).push(MessagePart::ToolResult(result)),
        }
    }

    /// Returns the transcript, each call with a result: models reject a conversation in which one is missing.
    pub(super) fn whole(&self) -> Vec<Message> {
        let mut whole = self.clone();
        let open = self.messages.last().into_iter().flat_map(Message::tool_uses);
        for tool_use in open {
            let content = "the work was stopped before this was done".to_owned();
            whole.returned(ToolResult { id: tool_use.id.clone(), content, is_error: true });
        }
        whole.messages
    }

    /// Returns the parts of the last message if it has this role, or of a new one.
    fn parts(&mut self, role: Role) -> &mut Vec<MessagePart> {
        if self.messages.last().is_none_or(|last| last.role != role) {
            self.messages.push(Message { role, parts: Vec::new() });
        }
        let at = self.messages.len() - 1;
        &mut self.messages[at].parts
    }
}

#[cfg(test)]
mod tests {
    use rawko_core::Value;

    use super::*;

    #[test]
    fn a_conversation_takes_turns_and_leaves_no_call_open() {
        let call = |id: &str| ToolUse { id: id.into(), name: "Read".into(), input: Value::Null };
        let mut transcript = ProgramTranscript::default();
        transcript.ask(Message::text(Role::User, "Mend it."));
        transcript.said("let me ");
        transcript.said("look");
        transcript.called(call("1"));
        transcript.returned(ToolResult { id: "1".into(), content: "x".into(), is_error: false });
        transcript.called(call("2"));
        let shown: Vec<String> = transcript
            .whole()
            .iter()
            .map(|message| format!("{:?} {}", message.role, serde_json::to_string(&message.parts).unwrap()))
            .collect();
        assert_eq!(
            shown,
            [
                r#"User [{"type":"text","text":"Mend it."}]"#,
                r#"Assistant [{"type":"text","text":"let me look"},{"type":"tool_use","id":"1","name":"Read","input":null}]"#,
                r#"User [{"type":"tool_result","id":"1","content":"x","is_error":false}]"#,
                r#"Assistant [{"type":"tool_use","id":"2","name":"Read","input":null}]"#,
                r#"User [{"type":"tool_result","id":"2","content":"the work was stopped before this was done","is_error":true}]"#,
            ]
        );
    }

    #[test]
    fn an_answer_is_kept_once() {
        for (case, said, answer, parts) in [
            ("only said", "done\n", "done", 1),
            ("only answered", "", "done", 1),
            ("an answer after talk", "let me look", "it was a typing error", 2),
        ] {
            let mut transcript = ProgramTranscript::default();
            if !said.is_empty() {
                transcript.said(said);
            }
            transcript.answered(answer);
            assert_eq!(transcript.messages[0].parts.len(), parts, "{case}");
            assert_eq!(transcript.text(), answer, "{case}");
        }
    }
}
