//! Images of conversations, by content hash. A chart holds a reference to each large one, so the context of an agent stays
//! small however many screenshots it takes. The data is in the answer that brought it (`attached`), and so in the journal
//! of the step that holds its reference: stored once, exported and pruned with its instance, found again after a crash.
//!
//! A reference whose data is gone becomes words, never a failure.

use std::sync::Arc;

use rawko_core::Value;
use rawko_host::{Category, ContentReader, ServiceError};

use super::bounds::{INLINE_IMAGE_BYTES_MAX, REQUEST_IMAGE_BYTES_MAX};
use super::types::{ModelFailure, value};
use rawko_model::provider::ErrorCode;
use rawko_model::{Message, MessagePart};

const TOO_MANY: &str =
    "[an older image is left out: the images of this conversation are more than one request can hold]";
const GONE: &str = "[an image is left out: it is no longer stored]";

/// Base64 of all images that a task is started with.
pub const ATTACHMENTS_BYTES_MAX: usize = 12 * 1024 * 1024;

/// The data of images that an answer holds references to.
#[derive(Debug, Default)]
pub(super) struct AttachedImages(Vec<Value>);

impl AttachedImages {
    /// Replaces every large image by a reference to it.
    pub(super) fn keep_all(&mut self, messages: Vec<Message>) -> Vec<Message> {
        let mut kept = |message: Message| Message {
            parts: message.parts.into_iter().map(|part| self.keep(part)).collect(),
            ..message
        };
        messages.into_iter().map(&mut kept).collect()
    }

    /// Replaces a large image by a reference to it.
    pub(super) fn keep(&mut self, part: MessagePart) -> MessagePart {
        match part {
            MessagePart::Image { media_type, data } if data.len() > INLINE_IMAGE_BYTES_MAX => {
                let (hash, bytes) = (ContentReader::name(&data), data.len() as u64);
                self.0.push(Value::from(data));
                MessagePart::ImageRef { media_type, hash, bytes }
            }
            part => part,
        }
    }

    /// For the answer. Charts do not read it; its place in the journal is what keeps the data.
    pub(super) fn into_values(self) -> Vec<Value> {
        self.0
    }
}

/// Replaces references by images, the newest first, as far as a request can hold them.
pub(super) async fn load_all(
    mut messages: Arc<Vec<Message>>,
    contents: &ContentReader,
) -> Result<Arc<Vec<Message>>, ServiceError> {
    let is_reference = |part: &MessagePart| matches!(part, MessagePart::ImageRef { .. });
    if !messages.iter().any(|message| message.parts.iter().any(is_reference)) {
        return Ok(messages);
    }
    let mut bytes_left = REQUEST_IMAGE_BYTES_MAX;
    for part in
        Arc::make_mut(&mut messages).iter_mut().rev().flat_map(|message| message.parts.iter_mut().rev())
    {
        load(part, &mut bytes_left, contents).await?;
    }
    Ok(messages)
}

async fn load(
    part: &mut MessagePart,
    bytes_left: &mut u64,
    contents: &ContentReader,
) -> Result<(), ServiceError> {
    let MessagePart::ImageRef { media_type, hash, bytes } = &*part else { return Ok(()) };
    let Some(left) = bytes_left.checked_sub(*bytes) else {
        *part = MessagePart::Text { text: TOO_MANY.to_owned() };
        return Ok(());
    };
    let data = contents.text(hash).await.map_err(|error| unreadable(&error))?;
    *part = match data {
        // The reference may come from anywhere, and so may the size in it.
        Some(data) if data.len() as u64 == *bytes => {
            *bytes_left = left;
            MessagePart::Image { media_type: media_type.clone(), data }
        }
        Some(_) | None => MessagePart::Text { text: GONE.to_owned() },
    };
    Ok(())
}

/// The store or the cluster does not answer now; it may later.
fn unreadable(error: &str) -> ServiceError {
    let details = ModelFailure::coded(ErrorCode::NetworkError, true);
    ServiceError::new(Category::Network, format!("an image of the conversation cannot be read: {error}"))
        .with_details(value(&details))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use rawko_host::{ContentSource, ReadingBlob};
    use rawko_store::content;

    use super::*;
    use rawko_model::Role;

    fn image(byte: &str, bytes: usize) -> MessagePart {
        MessagePart::Image { media_type: "image/png".into(), data: byte.repeat(bytes) }
    }

    fn said(parts: Vec<MessagePart>) -> Vec<Message> {
        vec![Message { role: Role::User, parts }]
    }

    async fn loaded(messages: Vec<Message>, contents: &ContentReader) -> Vec<Message> {
        Arc::unwrap_or_clone(load_all(messages.into(), contents).await.unwrap())
    }

    /// Blobs of a store after an answer was committed.
    struct Stored(Result<BTreeMap<[u8; 16], Vec<u8>>, String>);

    impl ContentSource for Stored {
        fn blob(&self, name: [u8; 16]) -> ReadingBlob<'_> {
            Box::pin(async move { Ok(self.0.clone()?.get(&name).cloned()) })
        }
    }

    fn committed(attached: AttachedImages) -> ContentReader {
        let json = Value::list(attached.into_values()).to_json().to_string();
        let blobs = content::pack(&json).blobs.into_iter().map(|blob| (blob.hash, blob.body)).collect();
        ContentReader::new(Arc::new(Stored(Ok(blobs))))
    }

    #[tokio::test]
    async fn a_large_image_is_found_by_its_reference() {
        let mut attached = AttachedImages::default();
        let messages = said(vec![image("a", 4), image("b", 100_000), image("b", 100_000)]);
        let kept = attached.keep_all(messages.clone());
        assert_eq!(kept[0].parts[0], image("a", 4), "a small one stays");
        assert!(matches!(kept[0].parts[1], MessagePart::ImageRef { bytes: 100_000, .. }));
        assert_eq!(kept[0].parts[1], kept[0].parts[2]);
        assert_eq!(AttachedImages::default().keep_all(kept.clone()), kept, "a reference stays");
        assert_eq!(loaded(kept, &committed(attached)).await, messages);
    }

    #[tokio::test]
    async fn a_reference_to_nothing_becomes_words() {
        let mut attached = AttachedImages::default();
        let hash = ContentReader::name(&"b".repeat(100_000));
        attached.keep(image("b", 100_000));
        let contents = committed(attached);
        let named = |hash: &str, bytes| MessagePart::ImageRef {
            media_type: "image/png".into(),
            hash: hash.into(),
            bytes,
        };
        let table = [
            (named(&hash, 100_000), &contents, true),
            (named(&hash, 1), &contents, false),
            (named("00000000000000000000000000000000", 1), &contents, false),
            (named("../../secret", 1), &contents, false),
            (named(&hash, 100_000), &ContentReader::default(), false),
        ];
        for (part, contents, is_found) in table {
            let loaded = loaded(said(vec![part.clone()]), contents).await;
            let expected =
                if is_found { image("b", 100_000) } else { MessagePart::Text { text: GONE.into() } };
            assert_eq!(loaded[0].parts[0], expected, "{part:?}");
        }
    }

    #[tokio::test]
    async fn a_store_that_does_not_answer_is_asked_again_later() {
        let contents = ContentReader::new(Arc::new(Stored(Err("busy".into()))));
        let kept = AttachedImages::default().keep_all(said(vec![image("b", 100_000)]));
        let error = load_all(kept.into(), &contents).await.unwrap_err();
        assert_eq!(error.to_value().get("transient"), &Value::Bool(true), "{error:?}");
    }

    #[tokio::test]
    async fn a_request_holds_the_newest_images() {
        let mut attached = AttachedImages::default();
        let size = usize::try_from(REQUEST_IMAGE_BYTES_MAX).unwrap() / 2;
        let messages = said(["a", "b", "c"].map(|byte| image(byte, size)).to_vec());
        let kept = attached.keep_all(messages.clone());
        let loaded = loaded(kept, &committed(attached)).await;
        assert_eq!(loaded[0].parts[0], MessagePart::Text { text: TOO_MANY.into() });
        assert_eq!(loaded[0].parts[1..], messages[0].parts[1..]);
    }
}
