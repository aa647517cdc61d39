//! A form in a prompt: its fields are entered one after the other, and begin again with their texts if the host refuses the
//! answer.

use rawko_core::Value;
use serde_json::Value as Json;

use super::{KeyResult, PromptInput, PromptReply, RequestPrompt};
use crate::session::editor::Editor;

impl RequestPrompt {
    /// Begins a refused form again, with the entered texts. Returns false for other requests.
    pub(crate) fn begin_again(&mut self, editor: &mut Editor) -> bool {
        if self.fields.is_empty() || self.entered.is_empty() {
            return false;
        }
        self.show_field(0, editor);
        true
    }

    fn show_field(&mut self, place: usize, editor: &mut Editor) {
        self.entry = PromptInput::Field(place);
        if let Some(text) = self.entered.get(place) {
            editor.set(text.clone());
        }
    }

    /// Takes the text of a field. A text that does not fit stays in the input line.
    pub(super) fn enter_field(&mut self, place: usize, text: String, editor: &mut Editor) -> KeyResult {
        let Some(field) = self.fields.get(place) else { return KeyResult::Ignored };
        match field.read(&text) {
            Err(problem) => {
                editor.set(text);
                return KeyResult::Problem(problem);
            }
            Ok(Some(value)) => drop(self.filled.insert(field.name.clone(), value)),
            Ok(None) => drop(self.filled.remove(&field.name)),
        }
        match self.entered.get_mut(place) {
            Some(entered) => *entered = text,
            None => self.entered.push(text),
        }
        if place + 1 < self.fields.len() {
            self.show_field(place + 1, editor);
            return KeyResult::Handled;
        }
        let data = Value::from_json(Json::Object(std::mem::take(&mut self.filled)));
        KeyResult::Answer(PromptReply { approved: true, data, ..PromptReply::default() })
    }
}
