//! `ListMarks`: marks in place of the long lists of a text. A conversation and the memory of calls are in the event and the
//! effects of a record, the changes of the snapshot, and the open effect; each is packed once, and only where it grew.

use std::cell::RefCell;
use std::sync::Arc;

use rawko_core::{Effect, Event, Invoke, Value};

use crate::content::{self, PackedLists, is_long_list, mark_start, mark_token_start};
use crate::records::Blob;
use crate::transaction::Transaction;

/// Forms of marks. Data that looks like a mark of one form makes the writer use the next.
const FORMS: u8 = 4;
/// Lists that are deeper in maps are written with the text.
const DEPTH_MAX: usize = 4;

/// Replaces long lists by marks, and packs them.
pub(crate) struct ListMarks<'l> {
    /// `None` leaves all values as they are.
    lists: Option<RefCell<MarkedLists<'l>>>,
}

struct MarkedLists<'l> {
    form: u8,
    packer: &'l mut PackedLists,
    /// The packed lists, by the number of their marks.
    packed: Vec<String>,
    blobs: Vec<Blob>,
}

impl ListMarks<'_> {
    /// Returns the value with marks, if it has long lists.
    pub(crate) fn of(&self, value: &Value) -> Option<Value> {
        self.replaced(value, 0)
    }

    pub(crate) fn in_event(&self, event: &Event) -> Event {
        let mut marked = event.clone();
        marked.for_each_value(|value| self.put(value));
        marked
    }

    pub(crate) fn in_effect(&self, effect: &Effect) -> Effect {
        let mut marked = effect.clone();
        marked.for_each_value(|value| self.put(value));
        marked
    }

    pub(crate) fn in_invoke(&self, invoke: &Invoke) -> Invoke {
        let mut marked = invoke.clone();
        self.put(&mut marked.input);
        marked
    }

    fn put(&self, value: &mut Value) {
        if let Some(marked) = self.of(value) {
            *value = marked;
        }
    }

    fn replaced(&self, value: &Value, depth: usize) -> Option<Value> {
        match value {
            Value::List(items) if is_long_list(items) => self.mark(value),
            Value::Map(map) if depth < DEPTH_MAX => {
                let mut marked = None;
                for (key, value) in map.iter() {
                    if let Some(value) = self.replaced(value, depth + 1) {
                        marked.get_or_insert_with(|| map.as_ref().clone()).insert(Arc::clone(key), value);
                    }
                }
                marked.map(|map| Value::Map(Arc::new(map)))
            }
            Value::Null
            | Value::Bool(_)
            | Value::Int(_)
            | Value::Float(_)
            | Value::Str(_)
            | Value::List(_)
            | Value::Map(_) => None,
        }
    }

    fn mark(&self, list: &Value) -> Option<Value> {
        let mut lists = self.lists.as_ref()?.borrow_mut();
        let (packed, blobs) = lists.packer.pack(list);
        lists.blobs.extend(blobs);
        lists.packed.push(packed);
        Some(Value::from(format!("{}{}", mark_start(lists.form), lists.packed.len() - 1)))
    }
}

impl Transaction {
    /// Packs a text; `text_of` writes it with marks in place of long lists, which `packer` remembers. Returns its length
    /// before packing too, without these lists. The result is that of packing the text itself, unless a long list is in a list of
    /// eight or more short elements, which no text of a step has: that is packed as validly, but ungrouped.
    pub(crate) fn pack_marked(
        &mut self,
        packer: &mut PackedLists,
        text_of: &dyn Fn(&ListMarks<'_>) -> String,
    ) -> (String, usize) {
        for form in 0..FORMS {
            let lists = MarkedLists { form, packer: &mut *packer, packed: Vec::new(), blobs: Vec::new() };
            let marks = ListMarks { lists: Some(RefCell::new(lists)) };
            let text = text_of(&marks);
            let Some(lists) = marks.lists.map(RefCell::into_inner) else { break };
            let (length, MarkedLists { packed, blobs, .. }) = (text.len(), lists);
            // The groups of a list are not packed again: later texts refer to them.
            self.commit.blobs.extend(blobs);
            if packed.is_empty() {
                return (self.pack(text), length);
            }
            let start = mark_token_start(form);
            if text.matches(&start).count() != packed.len() {
                // The data has the same text.
                continue;
            }
            let around = content::pack(&text);
            let Some(whole) = filled_in(&around.text, &start, &packed) else { break };
            self.commit.blobs.extend(around.blobs);
            return (whole, length);
        }
        let text = text_of(&ListMarks { lists: None });
        let length = text.len();
        (self.pack(text), length)
    }
}

/// Returns a packed text with the lists in place of their marks. `None` if a mark is not in the text itself: it may be in a
/// group of a list.
fn filled_in(text: &str, start: &str, lists: &[String]) -> Option<String> {
    let mut whole = String::with_capacity(text.len() + lists.iter().map(String::len).sum::<usize>());
    let (mut rest, mut count) = (text, 0);
    while let Some((before, after)) = rest.split_once(start) {
        let (number, after) = after.split_once('"')?;
        whole.push_str(before);
        whole.push_str(lists.get(number.parse::<usize>().ok()?)?);
        rest = after;
        count += 1;
    }
    whole.push_str(rest);
    (count == lists.len()).then_some(whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::InstanceKey;

    fn list(count: i64) -> Value {
        let message =
            |number: i64| Value::map([("role", Value::str("user")), ("number", Value::Int(number))]);
        Value::list((0..count).map(message).collect())
    }

    fn input() -> Value {
        let memory = Value::map([("recent", list(100)), ("count", Value::Int(100))]);
        Value::map([("session", Value::str("s")), ("messages", list(200)), ("memory", memory)])
    }

    fn json(marks: &ListMarks<'_>, value: &Value) -> String {
        let marked = marks.of(value);
        serde_json::to_string(marked.as_ref().unwrap_or(value)).unwrap()
    }

    /// Checks that a text packs as without marks, and that the blobs of all lists are committed. Returns the length of the
    /// text that was packed.
    fn check(text_of: &dyn Fn(&ListMarks<'_>) -> String) -> usize {
        let whole = text_of(&ListMarks { lists: None });
        let expected = content::pack(&whole);
        let mut tx = Transaction::new(InstanceKey(1));
        let (text, length) = tx.pack_marked(&mut PackedLists::default(), text_of);
        assert_eq!(text, expected.text);
        let has = |blob: &Blob| tx.commit.blobs.contains(blob);
        assert!(expected.blobs.iter().all(has), "a blob is missing");
        length
    }

    #[test]
    fn a_text_packs_as_without_marks() {
        let input = input();
        let whole = serde_json::to_string(&input).unwrap().len();
        assert!(check(&|marks| json(marks, &input)) < 100);
        assert!(check(&|marks| format!("[{},{}]", json(marks, &input), json(marks, &input))) < 200);
        assert!(check(&|marks| json(marks, &list(300))) < 20, "a list alone");
        assert!(check(&|marks| json(marks, &list(63))) > 63, "a short list");
        assert!(check(&|_| "{\"other\":1}".to_owned()) < 20, "a text without lists");
        assert!(check(&|marks| format!("[\"\\u00010:0\",{}]", json(marks, &input))) < 120, "the first form");
        let all = (0..FORMS).map(|form| format!("\"\\u0001{form}:0\"")).collect::<Vec<_>>().join(",");
        assert!(check(&|marks| format!("[{all},{}]", json(marks, &input))) > whole, "every form");
        let others = format!("\"{}\",", "x".repeat(60)).repeat(7);
        assert!(check(&|marks| format!("[{others}{}]", json(marks, &input))) > whole, "in a group");
    }

    #[test]
    fn data_that_looks_like_a_mark_is_kept() {
        for text in [r#"["\u00010:0"]"#, r#"["x\"\u00010:0"]"#] {
            let mut tx = Transaction::new(InstanceKey(1));
            assert_eq!(tx.pack_marked(&mut PackedLists::default(), &|_| text.to_owned()).0, text);
        }
    }

    #[test]
    fn a_list_of_the_text_before_is_not_packed_again() {
        let (mut tx, mut packer) = (Transaction::new(InstanceKey(1)), PackedLists::default());
        let input = input();
        let invoke = Invoke {
            invocation: 7,
            id: "complete".into(),
            src: "model:complete".into(),
            input: input.clone(),
            attempt: 1,
            policy: Value::Null,
        };
        tx.pack_marked(&mut packer, &|marks| serde_json::to_string(&marks.in_invoke(&invoke)).unwrap());
        let blobs = tx.commit.blobs.len();
        assert!(blobs > 0);
        let effect = Effect::Invoke(invoke);
        tx.pack_marked(&mut packer, &|marks| serde_json::to_string(&marks.in_effect(&effect)).unwrap());
        let event = Event::InvokeDone { invocation: 7, data: input };
        tx.pack_marked(&mut packer, &|marks| serde_json::to_string(&marks.in_event(&event)).unwrap());
        assert_eq!(tx.commit.blobs.len(), blobs);
    }
}
