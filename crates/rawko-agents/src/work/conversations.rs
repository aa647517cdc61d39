//! `ConversationCache`: the conversations of agents at work, as messages. A completion gets the whole conversation as data
//! of the chart; only the messages added since the last one of the same agent are read.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use rawko_core::Value;
use rawko_host::{ServiceCall, ServiceError};
use rawko_model::Message;

use super::bounds::ContentSize;
use super::types::{self, CompleteInput};

/// Conversations that are kept; those of other agents are read whole.
const CONVERSATIONS_MAX: usize = 64;
/// Bytes of all kept conversations, as expressions count them.
const BYTES_MAX: usize = 32 * 1024 * 1024;
const MESSAGES: &str = "messages";

/// The conversations that were read last.
#[derive(Debug, Default)]
pub struct ConversationCache {
    kept: Mutex<VecDeque<KeptConversation>>,
}

#[derive(Debug)]
struct KeptConversation {
    instance: Arc<str>,
    /// The messages as the chart holds them.
    items: Arc<Vec<Value>>,
    read: ReadConversation,
}

/// A conversation as messages.
#[derive(Clone, Debug)]
struct ReadConversation {
    messages: Arc<Vec<Message>>,
    size: ContentSize,
}

impl ConversationCache {
    /// Reads the input of `model:complete`. Returns the size of its conversation, too.
    pub(super) fn input(&self, call: &ServiceCall) -> Result<(CompleteInput, ContentSize), ServiceError> {
        let items = match call.input.get(MESSAGES) {
            Value::List(items) => items,
            // Fails: there is no conversation.
            other => return Ok((types::input(call)?, ContentSize::of(other))),
        };
        let mut rest = call.input.as_map().cloned().unwrap_or_default();
        rest.insert(MESSAGES.into(), Value::list(Vec::new()));
        let input: CompleteInput = types::read(&Value::Map(Arc::new(rest)), call)?;
        let ReadConversation { messages, size } = self.read(&call.instance, items, call)?;
        Ok((CompleteInput { messages, ..input }, size))
    }

    fn read(
        &self,
        instance: &Arc<str>,
        items: &Arc<Vec<Value>>,
        call: &ServiceCall,
    ) -> Result<ReadConversation, ServiceError> {
        let (mut read, from) = match self.take(instance).filter(|kept| begins_with(items, &kept.items)) {
            Some(kept) => (kept.read, kept.items.len()),
            None => (ReadConversation { messages: Arc::default(), size: ContentSize::EMPTY_LIST }, 0),
        };
        let messages = Arc::make_mut(&mut read.messages);
        for item in &items[from..] {
            messages.push(types::read(item, call)?);
            read.size.add_item(item);
        }
        let (instance, items) = (Arc::clone(instance), Arc::clone(items));
        self.keep(KeptConversation { instance, items, read: read.clone() });
        Ok(read)
    }

    fn take(&self, instance: &str) -> Option<KeptConversation> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let at = kept.iter().position(|known| &*known.instance == instance)?;
        kept.remove(at)
    }

    /// Keeps a conversation in place of the oldest ones.
    fn keep(&self, conversation: KeptConversation) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push_back(conversation);
        let mut bytes: usize = kept.iter().map(|known| known.read.size.bytes).sum();
        while kept.len() > CONVERSATIONS_MAX || bytes > BYTES_MAX {
            let Some(oldest) = kept.pop_front() else { return };
            bytes -= oldest.read.size.bytes;
        }
    }
}

fn begins_with(items: &[Value], beginning: &[Value]) -> bool {
    items.len() >= beginning.len()
        && beginning.iter().zip(items).all(|(known, item)| known.is_identical(item))
}
#[cfg(test)]
mod tests {
    use rawko_model::{MessagePart, Role};

    use super::*;

    fn item(text: &str) -> Value {
        types::value(&Message::text(Role::User, text))
    }

    fn items(texts: impl IntoIterator<Item = String>) -> Vec<Value> {
        texts.into_iter().map(|text| item(&text)).collect()
    }

    fn texts(count: usize) -> impl Iterator<Item = String> {
        (0..count).map(|number| format!("message {number}"))
    }

    /// Reads a conversation and checks that it is what the chart holds.
    fn check(cache: &ConversationCache, instance: &str, items: &[Value]) -> ReadConversation {
        let call = ServiceCall::sample("model:complete", Value::Null);
        let list = Arc::new(items.to_vec());
        let read = cache.read(&instance.into(), &list, &call).unwrap();
        assert_eq!(types::value(&read.messages), Value::List(Arc::clone(&list)));
        assert_eq!(read.size, ContentSize::of(&Value::List(list)));
        read
    }

    #[test]
    fn a_conversation_that_grows_is_the_same_as_read_whole() {
        let cache = ConversationCache::default();
        let mut all = items(texts(3));
        check(&cache, "one", &all);
        for text in texts(20) {
            all.push(item(&text));
            check(&cache, "one", &all);
            check(&cache, "other", &all[1..]);
        }
        check(&cache, "one", &all[..4]);
        all[0] = item("summary of the rest");
        check(&cache, "one", &all);
        check(&cache, "one", &[]);
    }

    #[test]
    fn known_messages_are_not_read_again() {
        let cache = ConversationCache::default();
        let mut all = items(texts(100));
        let text = |read: &ReadConversation| match &read.messages[0].parts[0] {
            MessagePart::Text { text } => text.as_ptr(),
            part => panic!("{part:?}"),
        };
        let first = text(&check(&cache, "one", &all));
        all.push(item("one more"));
        assert_eq!(text(&check(&cache, "one", &all)), first);
    }

    #[test]
    fn the_oldest_conversations_are_dropped() {
        let cache = ConversationCache::default();
        for number in 0..2 * CONVERSATIONS_MAX {
            check(&cache, &number.to_string(), &items(texts(2)));
        }
        assert_eq!(cache.kept.lock().unwrap().len(), CONVERSATIONS_MAX);
        let large = items(["x".repeat(BYTES_MAX / 3)]);
        for number in 0..5 {
            check(&cache, &number.to_string(), &large);
        }
        assert_eq!(cache.kept.lock().unwrap().len(), 2);
        check(&cache, "too large", &items(["x".repeat(BYTES_MAX)]));
        assert!(cache.kept.lock().unwrap().is_empty());
    }

    #[test]
    fn what_is_no_conversation_is_refused() {
        let cache = ConversationCache::default();
        for input in [
            Value::Null,
            Value::map([("messages", Value::Null)]),
            Value::map([("messages", Value::list(vec![Value::Int(1)]))]),
        ] {
            let error = cache.input(&ServiceCall::sample("model:complete", input)).unwrap_err();
            assert!(error.message.contains("does not have its type"), "{}", error.message);
        }
        let call = ServiceCall::sample("model:complete", Value::Null);
        let wrong = Arc::new(vec![item("fine"), Value::Int(1)]);
        assert!(cache.read(&"one".into(), &wrong, &call).is_err());
        check(&cache, "one", &items(texts(2)));
    }
}
