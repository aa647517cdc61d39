//! `LongInput`: the input of a call with a long list in it, packed once for all texts of a step that hold it: the effects
//! of the record, the changes of the snapshot, and the open effect. Separate, because the texts are written in three places.

use std::cell::Cell;

use rawko_core::{Effect, Invocation, Invoke, Value};

use crate::content;
use crate::instance::Instance;
use crate::transaction::Transaction;

/// Texts that may stand for the input while the rest is packed.
const MARKS: u8 = 4;

#[derive(Debug)]
pub(crate) struct LongInput {
    invocation: u64,
    input: Value,
    packed: String,
}

/// A value that stands for a long input in a text.
pub(crate) struct LongInputMark<'t> {
    input: &'t LongInput,
    mark: Value,
    /// How often the mark was written: data that looks like it is no mark.
    uses: Cell<usize>,
}

impl LongInputMark<'_> {
    pub(crate) fn of_invocation(&self, invocation: &Invocation) -> Option<Value> {
        self.of(invocation.id, &invocation.input)
    }

    pub(crate) fn in_invoke(&self, invoke: &Invoke) -> Invoke {
        let input = self.of(invoke.invocation, &invoke.input).unwrap_or_else(|| invoke.input.clone());
        Invoke { input, ..invoke.clone() }
    }

    pub(crate) fn in_effect(&self, effect: &Effect) -> Effect {
        if let Effect::Invoke(invoke) = effect {
            Effect::Invoke(self.in_invoke(invoke))
        } else {
            effect.clone()
        }
    }

    fn of(&self, invocation: u64, input: &Value) -> Option<Value> {
        let is_same = invocation == self.input.invocation && self.input.input.is_identical(input);
        is_same.then(|| {
            self.uses.set(self.uses.get() + 1);
            self.mark.clone()
        })
    }
}

impl Instance {
    /// Packs the input of the pending invocation if it is the only one and has a long list.
    pub(crate) fn pack_long_input(&mut self, tx: &mut Transaction) {
        tx.long_input = None;
        let [invocation] = self.snapshot.invocations() else { return };
        if !content::is_long(&invocation.input) {
            return;
        }
        let (packed, blobs) = self.lists.pack(&invocation.input);
        tx.commit.blobs.extend(blobs);
        tx.long_input =
            Some(LongInput { invocation: invocation.id, input: invocation.input.clone(), packed });
    }
}

impl Transaction {
    /// Packs a text that may hold the long input of this step; `text_of` writes it with a mark in its place. Returns its
    /// length before packing too, without that input. The result is that of packing the text itself, unless the input is
    /// in a list of eight or more short elements, which no text of a step has: that is packed as validly, but ungrouped.
    pub(crate) fn pack_around(
        &mut self,
        text_of: &dyn Fn(Option<&LongInputMark<'_>>) -> String,
    ) -> (String, usize) {
        if let Some(input) = self.long_input.take() {
            let packed = self.pack_marked(&input, text_of);
            self.long_input = Some(input);
            if let Some(packed) = packed {
                return packed;
            }
        }
        let text = text_of(None);
        let length = text.len();
        (self.pack(text), length)
    }

    /// Returns `None` if the place of the input is not certain.
    fn pack_marked(
        &mut self,
        input: &LongInput,
        text_of: &dyn Fn(Option<&LongInputMark<'_>>) -> String,
    ) -> Option<(String, usize)> {
        for number in 0..MARKS {
            let mark = Value::from(format!("\u{1}{number}"));
            let token = serde_json::to_string(&mark).unwrap_or_default();
            let marked = LongInputMark { input, mark, uses: Cell::new(0) };
            let text = text_of(Some(&marked));
            let length = text.len();
            match (marked.uses.get(), text.matches(&token).count()) {
                (0, _) => return Some((self.pack(text), length)),
                (1, 1) => {
                    let packed = content::pack(&text);
                    // The place may be in a group of a list: then the whole is packed as usual.
                    let (before, after) = packed.text.split_once(&token)?;
                    let whole = [before, &input.packed, after].concat();
                    self.commit.blobs.extend(packed.blobs);
                    return Some((whole, length));
                }
                // The data has the same text.
                _ => {}
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::PackedLists;
    use crate::records::InstanceKey;

    fn invoke() -> Invoke {
        let message =
            |number: i64| Value::map([("role", Value::str("user")), ("number", Value::Int(number))]);
        let messages = Value::list((0..200).map(message).collect());
        Invoke {
            invocation: 7,
            id: "complete".into(),
            src: "model:complete".into(),
            input: Value::map([("messages", messages)]),
            attempt: 1,
            policy: Value::Null,
        }
    }

    /// Checks that a text packs as without the long input. Returns true if its parts were packed only once.
    fn check(text_of: &dyn Fn(&Invoke) -> String) -> bool {
        let invoke = invoke();
        let (packed, blobs) = PackedLists::default().pack(&invoke.input);
        let mut tx = Transaction::new(InstanceKey(1));
        tx.long_input = Some(LongInput { invocation: 7, input: invoke.input.clone(), packed });
        let (text, _) = tx.pack_around(&|long| match long {
            Some(long) => text_of(&long.in_invoke(&invoke)),
            None => text_of(&invoke),
        });
        let whole = text_of(&invoke);
        assert_eq!(text, content::pack(&whole).text);
        assert!(!blobs.is_empty() && tx.long_input.is_some());
        !tx.commit.blobs.iter().any(|blob| blobs.contains(blob))
    }

    #[test]
    fn a_text_packs_as_without_its_long_input() {
        let json = |invoke: &Invoke| serde_json::to_string(invoke).unwrap();
        assert!(check(&json));
        assert!(check(&|invoke| format!("[{}]", json(invoke))));
        assert!(check(&|_| "{\"other\":1}".to_owned()), "a text without the input");
        assert!(check(&|invoke| format!("[\"\\u00010\",{}]", json(invoke))), "data that looks like the mark");
        let all = (0..4).map(|number| format!("\"\\u0001{number}\"")).collect::<Vec<_>>().join(",");
        assert!(!check(&|invoke| format!("[{all},{}]", json(invoke))), "data that looks like all marks");
        let others = format!("\"{}\",", "x".repeat(60)).repeat(7);
        assert!(!check(&|invoke| format!("[{others}{}]", json(invoke))), "the place is in a group");
    }

    #[test]
    fn data_that_looks_like_the_mark_is_kept() {
        let input = invoke().input;
        for text in [r#"["\u00010"]"#, r#"["x\"\u00010"]"#] {
            let mut tx = Transaction::new(InstanceKey(1));
            let packed = PackedLists::default().pack(&input).0;
            tx.long_input = Some(LongInput { invocation: 7, input: input.clone(), packed });
            assert_eq!(tx.pack_around(&|_| text.to_owned()).0, text);
        }
    }

    #[test]
    fn another_input_is_written_itself() {
        let invoke = invoke();
        let input = LongInput { invocation: 7, input: invoke.input.clone(), packed: String::new() };
        let mark = LongInputMark { input: &input, mark: Value::Null, uses: Cell::new(0) };
        assert_eq!(mark.in_invoke(&invoke).input, Value::Null);
        let next = Invoke { invocation: 8, ..invoke.clone() };
        assert_eq!(mark.in_invoke(&next), next);
        let changed = Invoke { input: Value::map([("messages", Value::Null)]), ..invoke };
        assert_eq!(mark.in_invoke(&changed), changed);
    }
}
