//! `RequestPrompt`: a pending request to the person, answered in place: a permission, a question, an approval or a form. No
//! single key answers: a letter or an arrow selects, Enter confirms, and only after the request was on the screen for a
//! moment without typing. Everything else that is typed stays text.

mod form;
mod lines;

use std::time::{Duration, Instant};

use rawko_core::Value;
use serde_json::{Map as JsonMap, Value as Json};

use super::editor::Editor;
use super::fields::FormField;
use super::keys::TerminalKey;
use super::markdown::plain;
use crate::standing::PendingAsk;

pub(crate) use lines::PromptLine;

/// A request takes keys once it was on the screen for this long, and as long after the last key of a message.
const QUIET: Duration = Duration::from_millis(600);

/// An answer of the person.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct PromptReply {
    pub(crate) approved: bool,
    /// Adds a rule that allows the call for good.
    pub(crate) always: bool,
    pub(crate) comment: Option<String>,
    pub(crate) data: Value,
}

/// The effect of a key.
#[derive(Debug, PartialEq)]
pub(crate) enum KeyResult {
    Ignored,
    Handled,
    Problem(String),
    Answer(PromptReply),
}

#[derive(Clone, Debug, PartialEq)]
enum PromptChoice {
    Allow,
    Always,
    Deny,
    DenyWithReason,
    ApproveWithComment,
    Option(String),
}

/// The meaning of the input line.
#[derive(Clone, Debug, PartialEq)]
enum PromptInput {
    /// Choices only; typed text is a message to the agent.
    None,
    Reason,
    Comment,
    /// Free text answers the question.
    Answer,
    Field(usize),
}

/// Other waiting requests that are listed.
const OTHERS_MAX: usize = 5;

pub(crate) struct RequestPrompt {
    pub(crate) ask: PendingAsk,
    choices: Vec<(char, String, PromptChoice)>,
    /// Nothing at first: Enter alone answers no request.
    selected: Option<usize>,
    entry: PromptInput,
    fields: Vec<FormField>,
    filled: JsonMap<String, Json>,
    /// The texts of the fields until now, for a form that is filled in again.
    entered: Vec<String>,
    /// When it was drawn for the first time.
    shown: Option<Instant>,
}

impl RequestPrompt {
    pub(crate) fn of(ask: &PendingAsk) -> RequestPrompt {
        let input = &ask.input;
        let form = ["form", "schema", "fields"].iter().map(|key| input.get(key)).find(|form| !form.is_null());
        let (is_question, is_permission) = (is_question(input), is_permission(input));
        let fields = if is_question { Vec::new() } else { form.map(FormField::all).unwrap_or_default() };
        let mut choices = Vec::new();
        let mut add =
            |key: char, words: &str, choice: PromptChoice| choices.push((key, words.to_owned(), choice));
        let entry = if is_question {
            let options = input.get("options").as_list().unwrap_or_default();
            for (number, option) in options.iter().filter_map(Value::as_str).take(9).enumerate() {
                let key = char::from_digit(u32::try_from(number + 1).unwrap_or(9), 10).unwrap_or('9');
                add(key, option, PromptChoice::Option(option.to_owned()));
            }
            PromptInput::Answer
        } else if !fields.is_empty() {
            PromptInput::Field(0)
        } else {
            add('y', if is_permission { "allow once" } else { "yes" }, PromptChoice::Allow);
            let always: Vec<&str> =
                input.get("always").as_list().unwrap_or_default().iter().filter_map(Value::as_str).collect();
            if !always.is_empty() {
                add('a', &format!("always allow {}", always.join(", ")), PromptChoice::Always);
            }
            if !is_permission {
                add('c', "yes, with a comment", PromptChoice::ApproveWithComment);
            }
            add('n', if is_permission { "deny" } else { "no" }, PromptChoice::Deny);
            add(
                'r',
                if is_permission { "deny with a reason" } else { "no, with a reason" },
                PromptChoice::DenyWithReason,
            );
            PromptInput::None
        };
        let (selected, shown) = (None, None);
        let (filled, entered) = (JsonMap::new(), Vec::new());
        RequestPrompt { ask: ask.clone(), choices, selected, entry, fields, filled, entered, shown }
    }

    fn is_question(&self) -> bool {
        is_question(&self.ask.input)
    }

    fn is_permission(&self) -> bool {
        is_permission(&self.ask.input)
    }

    /// Notes that the person can see it.
    pub(crate) fn drawn(&mut self, at: Instant) {
        self.shown.get_or_insert(at);
    }

    /// Notes that the person cannot see it any more.
    pub(crate) fn hidden(&mut self) {
        self.shown = None;
    }

    /// Returns true if a key of this moment may answer. `typed`: the last key of a message.
    pub(crate) fn is_ready(&self, at: Instant, typed: Option<Instant>) -> bool {
        let quiet_since = self.shown.map(|shown| typed.map_or(shown, |typed| typed.max(shown)));
        quiet_since.is_some_and(|since| at.saturating_duration_since(since) >= QUIET)
    }

    /// Returns true if the person has begun to answer this request.
    pub(crate) fn is_engaged(&self) -> bool {
        self.selected.is_some()
            || !self.entered.is_empty()
            || matches!(self.entry, PromptInput::Reason | PromptInput::Comment)
    }

    /// Returns true if the text of the input line belongs to the answer.
    pub(crate) fn takes_text(&self) -> bool {
        self.selected.is_some() || self.entry != PromptInput::None
    }

    /// Returns true if the text is the key of a choice.
    pub(crate) fn is_choice(&self, text: &str) -> bool {
        let mut letters = text.chars();
        let only = letters.next().filter(|_| letters.next().is_none());
        self.has_choices() && only.is_some_and(|only| self.choices.iter().any(|(key, ..)| *key == only))
    }

    /// Returns true if Up and Down select.
    pub(crate) fn has_list(&self) -> bool {
        self.has_choices() && !self.choices.is_empty()
    }

    pub(crate) fn is(&self, ask: &PendingAsk) -> bool {
        (&*self.ask.instance, &*self.ask.invoke, self.ask.since_ms)
            == (&*ask.instance, &*ask.invoke, ask.since_ms)
    }

    /// Returns the label of the input line, if typed text answers the request.
    pub(crate) fn label(&self) -> Option<String> {
        match &self.entry {
            PromptInput::None => None,
            PromptInput::Reason => Some("reason".to_owned()),
            PromptInput::Comment => Some("comment".to_owned()),
            PromptInput::Answer => Some("answer".to_owned()),
            PromptInput::Field(place) => self.fields.get(*place).map(|field| field.title.clone()),
        }
    }

    pub(crate) fn press(&mut self, key: &TerminalKey, editor: &mut Editor) -> KeyResult {
        match key {
            TerminalKey::Escape if self.selected.take().is_some() => {
                editor.clear();
                KeyResult::Handled
            }
            TerminalKey::Escape if matches!(self.entry, PromptInput::Reason | PromptInput::Comment) => {
                self.entry = PromptInput::None;
                editor.clear();
                KeyResult::Handled
            }
            TerminalKey::Escape if matches!(self.entry, PromptInput::Field(_) | PromptInput::Answer) => {
                self.entry = PromptInput::Reason;
                editor.clear();
                KeyResult::Handled
            }
            TerminalKey::Escape if self.has_choices() && !self.is_question() && editor.is_empty() => {
                self.entry = PromptInput::Reason;
                KeyResult::Handled
            }
            TerminalKey::Enter if let Some(place) = self.selected.take() => {
                editor.clear();
                match self.choices.get(place).cloned() {
                    Some((_, _, choice)) => self.choose(choice),
                    None => KeyResult::Ignored,
                }
            }
            TerminalKey::Enter
                if self.entry != PromptInput::None
                    && !(self.entry == PromptInput::Answer && editor.is_empty()) =>
            {
                self.enter(editor)
            }
            TerminalKey::Up | TerminalKey::Down
                if self.has_list() && (editor.is_empty() || self.selected.is_some()) =>
            {
                editor.clear();
                let (count, is_up) = (self.choices.len(), *key == TerminalKey::Up);
                self.selected = Some(match self.selected {
                    Some(place) => (place + if is_up { count - 1 } else { 1 }) % count,
                    None if is_up => count - 1,
                    None => 0,
                });
                KeyResult::Handled
            }
            TerminalKey::Char(letter) if editor.is_empty() && self.has_choices() => {
                // The letter is shown in the input line: with another one behind it, it is text.
                self.selected = self.choices.iter().position(|(key, ..)| key == letter);
                KeyResult::Ignored
            }
            _ => {
                self.selected = None;
                KeyResult::Ignored
            }
        }
    }

    /// Returns true if a key can select one of the choices.
    fn has_choices(&self) -> bool {
        matches!(self.entry, PromptInput::None | PromptInput::Answer)
    }

    fn choose(&mut self, choice: PromptChoice) -> KeyResult {
        let reply = match choice {
            PromptChoice::Allow => PromptReply { approved: true, ..PromptReply::default() },
            PromptChoice::Always => PromptReply { approved: true, always: true, ..PromptReply::default() },
            PromptChoice::Deny => PromptReply::default(),
            PromptChoice::Option(text) => answered(&text),
            PromptChoice::DenyWithReason => {
                self.entry = PromptInput::Reason;
                return KeyResult::Handled;
            }
            PromptChoice::ApproveWithComment => {
                self.entry = PromptInput::Comment;
                return KeyResult::Handled;
            }
        };
        KeyResult::Answer(reply)
    }

    /// Takes the input line.
    fn enter(&mut self, editor: &mut Editor) -> KeyResult {
        let text = editor.take();
        let comment = Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        match self.entry.clone() {
            PromptInput::None => KeyResult::Ignored,
            PromptInput::Reason => KeyResult::Answer(PromptReply { comment, ..PromptReply::default() }),
            PromptInput::Comment => {
                KeyResult::Answer(PromptReply { approved: true, comment, ..PromptReply::default() })
            }
            PromptInput::Answer => KeyResult::Answer(answered(text.trim())),
            PromptInput::Field(place) => self.enter_field(place, text, editor),
        }
    }
}

fn is_question(input: &Value) -> bool {
    input.get("kind").as_str() == Some("question")
}

fn is_permission(input: &Value) -> bool {
    !input.get("tool").is_null() && !input.get("rule").is_null()
}

/// Returns the title of a request. A question is text of a model, which writes Markdown.
pub(crate) fn title_words(input: &Value, invoke: &str) -> String {
    let title = input.get("title").as_str().map(str::trim).filter(|text| !text.is_empty());
    let title = title.unwrap_or(invoke);
    match is_question(input) {
        true => title.lines().map(plain).collect::<Vec<_>>().join("\n"),
        false => title.to_owned(),
    }
}

fn answered(text: &str) -> PromptReply {
    let data = Value::map([("answer", Value::str(text))]);
    PromptReply { approved: true, data, ..PromptReply::default() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn prompt(input: Json) -> RequestPrompt {
        let (instance, invoke) = ("t".into(), "person".to_owned());
        RequestPrompt::of(&PendingAsk {
            instance,
            invoke,
            input: Value::from_json(input),
            since_ms: 0,
            expires_ms: None,
        })
    }

    /// Types a line and presses Enter, as the session does.
    fn entered(prompt: &mut RequestPrompt, text: &str) -> KeyResult {
        let mut editor = Editor::default();
        for key in text.chars().map(TerminalKey::Char) {
            match prompt.press(&key, &mut editor) {
                KeyResult::Ignored => drop(editor.press(&key)),
                other => return other,
            }
        }
        prompt.press(&TerminalKey::Enter, &mut editor)
    }

    #[test]
    fn a_form_is_filled_in_field_by_field() {
        let form = json!({"required": ["street"], "properties": {"street": {"type": "string"}, "zip": {"type": "integer"}}});
        let mut prompt = prompt(json!({"title": "Where to?", "form": form}));
        assert_eq!(prompt.label().as_deref(), Some("street"));
        assert_eq!(entered(&mut prompt, ""), KeyResult::Problem("street is required".to_owned()));
        assert_eq!(entered(&mut prompt, "Main Road 1"), KeyResult::Handled);
        assert_eq!(entered(&mut prompt, "x"), KeyResult::Problem("zip is not a whole number".to_owned()));
        let data = Value::from_json(json!({"street": "Main Road 1", "zip": 70173}));
        let reply = PromptReply { approved: true, data, ..PromptReply::default() };
        assert_eq!(entered(&mut prompt, "70173"), KeyResult::Answer(reply.clone()));
        // The host refused it: each field begins with the entered text.
        let mut editor = Editor::default();
        assert!(prompt.begin_again(&mut editor));
        assert_eq!(editor.text(), "Main Road 1");
        assert_eq!(prompt.press(&TerminalKey::Enter, &mut editor), KeyResult::Handled);
        assert_eq!(editor.text(), "70173");
        assert_eq!(prompt.press(&TerminalKey::Enter, &mut editor), KeyResult::Answer(reply));
    }

    #[test]
    fn an_approval_is_given_or_denied_with_words() {
        let ask = json!({"title": "Pay 250?"});
        let yes = PromptReply { approved: true, ..PromptReply::default() };
        assert_eq!(entered(&mut prompt(ask.clone()), "y"), KeyResult::Answer(yes.clone()));
        assert_eq!(entered(&mut prompt(ask.clone()), ""), KeyResult::Ignored, "Enter alone answers nothing");
        assert_eq!(entered(&mut prompt(ask.clone()), "n"), KeyResult::Answer(PromptReply::default()));
        let mut commented = prompt(ask.clone());
        assert_eq!(entered(&mut commented, "c"), KeyResult::Handled);
        let comment = Some("fine".to_owned());
        assert_eq!(entered(&mut commented, "fine"), KeyResult::Answer(PromptReply { comment, ..yes }));
        let mut denied = prompt(ask);
        assert_eq!(entered(&mut denied, "r"), KeyResult::Handled);
        let comment = Some("too expensive".to_owned());
        assert_eq!(
            entered(&mut denied, "too expensive"),
            KeyResult::Answer(PromptReply { comment, ..PromptReply::default() })
        );
    }

    #[test]
    fn text_beside_a_permission_is_a_message_and_no_answer() {
        let mut prompt =
            prompt(json!({"title": "Run `x`", "tool": "Bash", "rule": "r", "always": ["Bash(x)"]}));
        assert_eq!(prompt.label(), None);
        for text in ["wait", "also the tests", "no", "yes", "r u there", "yy"] {
            assert_eq!(entered(&mut prompt, text), KeyResult::Ignored, "{text}");
            assert!(!prompt.takes_text() && !prompt.is_engaged(), "{text}");
        }
    }

    #[test]
    fn escape_denies_with_a_reason_and_once_more_goes_back() {
        let (mut prompt, mut editor) = (prompt(json!({"title": "Pay 250?"})), Editor::default());
        assert_eq!(prompt.press(&TerminalKey::Escape, &mut editor), KeyResult::Handled);
        assert_eq!(prompt.label().as_deref(), Some("reason"));
        assert_eq!(prompt.press(&TerminalKey::Escape, &mut editor), KeyResult::Handled);
        assert_eq!(prompt.label(), None);
        prompt.press(&TerminalKey::Escape, &mut editor);
        let KeyResult::Answer(reply) = entered(&mut prompt, "too much") else { panic!("no answer") };
        assert_eq!((reply.approved, reply.comment.as_deref()), (false, Some("too much")));
    }

    #[test]
    fn a_key_that_is_taken_back_selects_nothing() {
        let again = [
            TerminalKey::Backspace,
            TerminalKey::Ctrl('u'),
            TerminalKey::Escape,
            TerminalKey::Paste("es".to_owned()),
            TerminalKey::Left,
        ];
        for key in again {
            let (mut prompt, mut editor) = (prompt(json!({"title": "Pay 250?"})), Editor::default());
            for key in [&TerminalKey::Char('y'), &key] {
                if prompt.press(key, &mut editor) == KeyResult::Ignored {
                    editor.press(key);
                }
            }
            assert_eq!(prompt.press(&TerminalKey::Enter, &mut editor), KeyResult::Ignored, "{key:?}");
        }
    }

    #[test]
    fn arrows_select_and_enter_confirms() {
        let (mut prompt, mut editor) = (prompt(json!({"title": "Pay 250?"})), Editor::default());
        for key in [TerminalKey::Up, TerminalKey::Up, TerminalKey::Down, TerminalKey::Down] {
            assert_eq!(prompt.press(&key, &mut editor), KeyResult::Handled);
        }
        let yes = PromptReply { approved: true, ..PromptReply::default() };
        assert_eq!(prompt.press(&TerminalKey::Enter, &mut editor), KeyResult::Answer(yes));
    }

    #[test]
    fn a_request_takes_keys_after_a_moment_without_typing() {
        let mut prompt = prompt(json!({"title": "Pay 250?"}));
        let begin = Instant::now();
        assert!(!prompt.is_ready(begin + QUIET * 9, None), "it was never drawn");
        prompt.drawn(begin);
        prompt.drawn(begin + QUIET);
        assert!(!prompt.is_ready(begin, None) && !prompt.is_ready(begin + QUIET / 2, None));
        assert!(prompt.is_ready(begin + QUIET, None));
        let typed = Some(begin + QUIET / 2);
        assert!(!prompt.is_ready(begin + QUIET, typed) && prompt.is_ready(begin + QUIET * 2, typed));
        prompt.hidden();
        assert!(!prompt.is_ready(begin + QUIET * 9, None));
    }

    #[test]
    fn the_number_of_an_option_is_also_the_beginning_of_a_text() {
        let ask = json!({"title": "How many?", "kind": "question", "options": ["one", "two"]});
        assert_eq!(entered(&mut prompt(ask.clone()), "2"), KeyResult::Answer(answered("two")));
        assert_eq!(entered(&mut prompt(ask.clone()), "25"), KeyResult::Answer(answered("25")));
        assert_eq!(entered(&mut prompt(ask), ""), KeyResult::Ignored);
    }
}
