//! `Prompt`: a pending request to the person, answered in place: a permission, a question, an approval or a form.

use rawko_core::Value;
use serde_json::{Map as JsonMap, Value as Json};

use super::editor::Editor;
use super::fields::Field;
use super::keys::Key;
use super::markdown::diff_line;
use crate::console::{Console, Style};
use crate::live_area::wrapped;
use crate::standing::Ask;
use crate::times;

/// An answer of the person.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Reply {
    pub(crate) approved: bool,
    /// Adds a rule that allows the call for good.
    pub(crate) always: bool,
    pub(crate) comment: Option<String>,
    pub(crate) data: Value,
}

/// The effect of a key.
#[derive(Debug, PartialEq)]
pub(crate) enum Pressed {
    Ignored,
    Handled,
    Problem(String),
    Answer(Reply),
}

#[derive(Clone, Debug, PartialEq)]
enum Choice {
    Allow,
    Always,
    Deny,
    DenyWithReason,
    ApproveWithComment,
    Option(String),
}

/// The meaning of the input line.
#[derive(Clone, Debug, PartialEq)]
enum Entry {
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

pub(crate) struct Prompt {
    pub(crate) ask: Ask,
    choices: Vec<(char, String, Choice)>,
    selected: usize,
    entry: Entry,
    fields: Vec<Field>,
    filled: JsonMap<String, Json>,
    pub(crate) shown_ms: i64,
}

impl Prompt {
    pub(crate) fn of(ask: &Ask) -> Prompt {
        let input = &ask.input;
        let form = ["form", "schema", "fields"].iter().map(|key| input.get(key)).find(|form| !form.is_null());
        let is_question = input.get("kind").as_str() == Some("question");
        let is_permission = !input.get("tool").is_null() && !input.get("rule").is_null();
        let fields = if is_question { Vec::new() } else { form.map(Field::all).unwrap_or_default() };
        let mut choices = Vec::new();
        let mut add = |key: char, words: &str, choice: Choice| choices.push((key, words.to_owned(), choice));
        let entry = if is_question {
            let options = input.get("options").as_list().unwrap_or_default();
            for (number, option) in options.iter().filter_map(Value::as_str).take(9).enumerate() {
                let key = char::from_digit(u32::try_from(number + 1).unwrap_or(9), 10).unwrap_or('9');
                add(key, option, Choice::Option(option.to_owned()));
            }
            Entry::Answer
        } else if !fields.is_empty() {
            Entry::Field(0)
        } else {
            add('y', if is_permission { "allow once" } else { "yes" }, Choice::Allow);
            let always: Vec<&str> =
                input.get("always").as_list().unwrap_or_default().iter().filter_map(Value::as_str).collect();
            if !always.is_empty() {
                add('a', &format!("always allow {}", always.join(", ")), Choice::Always);
            }
            if !is_permission {
                add('c', "yes, with a comment", Choice::ApproveWithComment);
            }
            add('n', if is_permission { "deny" } else { "no" }, Choice::Deny);
            add(
                'r',
                if is_permission { "deny with a reason" } else { "no, with a reason" },
                Choice::DenyWithReason,
            );
            Entry::None
        };
        let shown_ms = times::now_ms();
        Prompt { ask: ask.clone(), choices, selected: 0, entry, fields, filled: JsonMap::new(), shown_ms }
    }

    pub(crate) fn is(&self, ask: &Ask) -> bool {
        (&*self.ask.instance, &*self.ask.invoke, self.ask.since_ms)
            == (&*ask.instance, &*ask.invoke, ask.since_ms)
    }

    /// Returns the label of the input line, if typed text answers the request.
    pub(crate) fn label(&self) -> Option<String> {
        match &self.entry {
            Entry::None => None,
            Entry::Reason => Some("reason".to_owned()),
            Entry::Comment => Some("comment".to_owned()),
            Entry::Answer => Some("answer".to_owned()),
            Entry::Field(place) => self.fields.get(*place).map(|field| field.title.clone()),
        }
    }

    pub(crate) fn press(&mut self, key: &Key, editor: &mut Editor) -> Pressed {
        match key {
            Key::Escape if matches!(self.entry, Entry::Reason | Entry::Comment) => {
                self.entry = Entry::None;
                editor.clear();
                Pressed::Handled
            }
            Key::Escape if matches!(self.entry, Entry::Field(_) | Entry::Answer) => {
                self.entry = Entry::Reason;
                editor.clear();
                Pressed::Handled
            }
            Key::Enter
                if self.entry != Entry::None && !(self.entry == Entry::Answer && editor.is_empty()) =>
            {
                self.enter(editor)
            }
            Key::Enter if editor.is_empty() => match self.choices.get(self.selected).cloned() {
                Some((_, _, choice)) => self.choose(choice),
                None => Pressed::Ignored,
            },
            Key::Up | Key::Down if editor.is_empty() && self.choices.len() > 1 && self.has_choices() => {
                let count = self.choices.len();
                let step = if *key == Key::Up { count - 1 } else { 1 };
                self.selected = (self.selected + step) % count;
                Pressed::Handled
            }
            Key::Char(letter) if editor.is_empty() && self.has_choices() => {
                let chosen = self.choices.iter().find(|(key, ..)| key == letter).cloned();
                chosen.map_or(Pressed::Ignored, |(_, _, choice)| self.choose(choice))
            }
            _ => Pressed::Ignored,
        }
    }

    /// Returns true if a key can select one of the choices.
    fn has_choices(&self) -> bool {
        matches!(self.entry, Entry::None | Entry::Answer)
    }

    fn choose(&mut self, choice: Choice) -> Pressed {
        let reply = match choice {
            Choice::Allow => Reply { approved: true, ..Reply::default() },
            Choice::Always => Reply { approved: true, always: true, ..Reply::default() },
            Choice::Deny => Reply::default(),
            Choice::Option(text) => answered(&text),
            Choice::DenyWithReason => {
                self.entry = Entry::Reason;
                return Pressed::Handled;
            }
            Choice::ApproveWithComment => {
                self.entry = Entry::Comment;
                return Pressed::Handled;
            }
        };
        Pressed::Answer(reply)
    }

    /// Takes the input line.
    fn enter(&mut self, editor: &mut Editor) -> Pressed {
        let text = editor.take();
        let comment = Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        match self.entry.clone() {
            Entry::None => Pressed::Ignored,
            Entry::Reason => Pressed::Answer(Reply { comment, ..Reply::default() }),
            Entry::Comment => Pressed::Answer(Reply { approved: true, comment, ..Reply::default() }),
            Entry::Answer => Pressed::Answer(answered(text.trim())),
            Entry::Field(place) => {
                let Some(field) = self.fields.get(place) else { return Pressed::Ignored };
                match field.read(&text) {
                    Err(problem) => return Pressed::Problem(problem),
                    Ok(Some(value)) => drop(self.filled.insert(field.name.clone(), value)),
                    Ok(None) => {}
                }
                if place + 1 < self.fields.len() {
                    self.entry = Entry::Field(place + 1);
                    return Pressed::Handled;
                }
                let data = Value::from_json(Json::Object(std::mem::take(&mut self.filled)));
                Pressed::Answer(Reply { approved: true, data, ..Reply::default() })
            }
        }
    }

    /// Returns the lines of the prompt, at most `rows`.
    pub(crate) fn lines(
        &self,
        columns: usize,
        rows: usize,
        others: &[&Ask],
        console: &Console,
    ) -> Vec<String> {
        let input = &self.ask.input;
        let text = |key: &str| input.get(key).as_str().map(str::trim).filter(|text| !text.is_empty());
        let mut head: Vec<String> = wrapped(&title_of(&self.ask), columns.saturating_sub(2))
            .into_iter()
            .map(|line| {
                format!("{} {}", console.paint(Style::Notice, "?"), console.paint(Style::Bold, &line))
            })
            .collect();
        let about = text("prompt").or_else(|| text("message"));
        let about = about.unwrap_or_default().to_owned();
        let dim = |line: &String| format!("  {}", console.paint(Style::Dim, line));
        head.extend(
            wrapped(&about, columns.saturating_sub(2)).iter().filter(|line| !line.is_empty()).map(dim),
        );
        let mut tail = Vec::new();
        if self.has_choices() {
            for (place, (key, words, _)) in self.choices.iter().enumerate() {
                let is_selected = place == self.selected;
                let line = format!("{} {key}  {words}", if is_selected { "›" } else { " " });
                tail.push(if is_selected { console.paint(Style::Bold, &line) } else { line });
            }
        }
        if let Entry::Field(place) = &self.entry
            && let Some(field) = self.fields.get(*place)
        {
            let number = format!("  field {} of {}", place + 1, self.fields.len());
            let choices = if field.choices.is_empty() {
                String::new()
            } else {
                format!(": {}", field.choices.join(", "))
            };
            tail.push(console.paint(Style::Dim, &format!("{number}{choices}")));
        }
        let hint = match &self.entry {
            Entry::None => "",
            Entry::Reason => "  Enter: deny and send the reason to the agent",
            Entry::Comment => "  Enter: send · Esc: back",
            Entry::Answer => "  Enter: send the answer · Esc: decline",
            Entry::Field(_) => "  Enter: next · Esc: deny",
        };
        if !hint.is_empty() {
            tail.push(console.paint(Style::Dim, hint));
        }
        if !others.is_empty() {
            let count = others.len();
            tail.push(console.paint(Style::Notice, &format!("  {count} more waiting (Tab: next)")));
            tail.extend(others.iter().take(OTHERS_MAX).map(|ask| format!("  · {}", title_of(ask))));
        }
        let room = rows.saturating_sub(head.len() + tail.len());
        head.extend(self.details(columns, room, console));
        head.extend(tail);
        head
    }

    /// Returns the lines of the command, the diff, or the address.
    fn details(&self, columns: usize, rows: usize, console: &Console) -> Vec<String> {
        let input = &self.ask.input;
        let text = |key: &str| input.get(key).as_str().map(str::trim_end).filter(|text| !text.is_empty());
        let mut lines: Vec<String> = Vec::new();
        if let Some(diff) = text("diff") {
            lines.extend(diff.lines().map(|line| format!("    {}", diff_line(line, console))));
        } else if let Some(command) = text("command") {
            let wide = columns.saturating_sub(6).max(10);
            let runs = text("runs").map(|line| format!("runs: {line}"));
            let all = std::iter::once(command.to_owned()).chain(runs);
            lines.extend(
                all.flat_map(|line| wrapped(&line, wide))
                    .map(|line| format!("    {}", console.paint(Style::Accent, &line))),
            );
        } else {
            let keys = ["url", "query", "task", "input", "path"];
            let found = keys.iter().find_map(|key| text(key));
            let wide = columns.saturating_sub(6).max(10);
            lines.extend(
                found.into_iter().flat_map(|line| wrapped(line, wide)).map(|line| format!("    {line}")),
            );
        }
        if lines.len() > rows {
            let more = lines.len() - rows.saturating_sub(1);
            lines.truncate(rows.saturating_sub(1));
            lines.push(
                console
                    .paint(Style::Dim, &format!("    … {more} more lines: rawko show {}", self.ask.instance)),
            );
        }
        lines
    }
}

/// Returns the title of a request.
pub(crate) fn title_of(ask: &Ask) -> String {
    let title = ask.input.get("title").as_str().map(str::trim).filter(|text| !text.is_empty());
    title.unwrap_or(&ask.invoke).to_owned()
}

fn answered(text: &str) -> Reply {
    let data = Value::map([("answer", Value::str(text))]);
    Reply { approved: true, data, ..Reply::default() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn prompt(input: Json) -> Prompt {
        let (instance, invoke) = ("t".into(), "person".to_owned());
        Prompt::of(&Ask { instance, invoke, input: Value::from_json(input), since_ms: 0, expires_ms: None })
    }

    /// Types a line and presses Enter, as the session does.
    fn entered(prompt: &mut Prompt, text: &str) -> Pressed {
        let mut editor = Editor::default();
        for key in text.chars().map(Key::Char) {
            match prompt.press(&key, &mut editor) {
                Pressed::Ignored => drop(editor.press(&key)),
                other => return other,
            }
        }
        prompt.press(&Key::Enter, &mut editor)
    }

    #[test]
    fn a_form_is_filled_in_field_by_field() {
        let form = json!({"required": ["street"], "properties": {"street": {"type": "string"}, "zip": {"type": "integer"}}});
        let mut prompt = prompt(json!({"title": "Where to?", "form": form}));
        assert_eq!(prompt.label().as_deref(), Some("street"));
        assert_eq!(entered(&mut prompt, ""), Pressed::Problem("street is required".to_owned()));
        assert_eq!(entered(&mut prompt, "Main Road 1"), Pressed::Handled);
        assert_eq!(entered(&mut prompt, "x"), Pressed::Problem("zip is not a whole number".to_owned()));
        let data = Value::from_json(json!({"street": "Main Road 1", "zip": 70173}));
        let reply = Reply { approved: true, data, ..Reply::default() };
        assert_eq!(entered(&mut prompt, "70173"), Pressed::Answer(reply));
    }

    #[test]
    fn an_approval_is_given_or_denied_with_words() {
        let ask = json!({"title": "Pay 250?"});
        let yes = Reply { approved: true, ..Reply::default() };
        assert_eq!(entered(&mut prompt(ask.clone()), "y"), Pressed::Answer(yes.clone()));
        assert_eq!(entered(&mut prompt(ask.clone()), "n"), Pressed::Answer(Reply::default()));
        let mut commented = prompt(ask.clone());
        assert_eq!(entered(&mut commented, "c"), Pressed::Handled);
        let comment = Some("fine".to_owned());
        assert_eq!(entered(&mut commented, "fine"), Pressed::Answer(Reply { comment, ..yes }));
        let mut denied = prompt(ask);
        assert_eq!(entered(&mut denied, "r"), Pressed::Handled);
        let comment = Some("too expensive".to_owned());
        assert_eq!(
            entered(&mut denied, "too expensive"),
            Pressed::Answer(Reply { comment, ..Reply::default() })
        );
    }

    #[test]
    fn text_beside_a_permission_is_a_message_and_no_answer() {
        let mut prompt = prompt(json!({"title": "Run `x`", "tool": "Bash", "rule": "r"}));
        assert_eq!(prompt.label(), None);
        assert_eq!(entered(&mut prompt, "wait"), Pressed::Ignored);
    }
}
