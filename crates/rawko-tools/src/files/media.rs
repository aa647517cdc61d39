//! Detects file types by their first bytes, because extensions are unreliable.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rawko_model::MessagePart;

/// Larger images are not sent to a model.
pub const IMAGE_BYTES_MAX: u64 = 5 * 1024 * 1024;
/// The number of bytes inspected to detect text.
pub(super) const LOOKED_AT: usize = 8192;

/// Returns the media type of an image that models accept.
pub(crate) fn image_type(head: &[u8]) -> Option<&'static str> {
    match head {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

/// Returns an image for a prompt, or the reason why models would not accept it.
pub fn image_part(bytes: &[u8]) -> Result<MessagePart, String> {
    if bytes.len() as u64 > IMAGE_BYTES_MAX {
        return Err(format!("it has {} bytes; at most {IMAGE_BYTES_MAX} are accepted", bytes.len()));
    }
    let media_type = image_type(bytes).ok_or("it is not a PNG, JPEG, GIF or WebP image")?;
    let data = STANDARD.encode(bytes);
    Ok(MessagePart::Image { media_type: media_type.to_owned(), data })
}

/// The same for an image that comes as Base64, with or without `data:image/png;base64,` before it.
pub fn image_of_base64(text: &str) -> Result<MessagePart, String> {
    let text = text.trim();
    let text =
        text.strip_prefix("data:").and_then(|rest| rest.split_once(',')).map_or(text, |(_, data)| data);
    let bytes = STANDARD.decode(text).map_err(|error| format!("it is not Base64: {error}"))?;
    image_part(&bytes)
}

/// Returns true if the content is not text. A character cut off at the end of the inspected bytes is ignored.
pub(super) fn is_binary(head: &[u8]) -> bool {
    head.contains(&0) || std::str::from_utf8(head).is_err_and(|error| error.error_len().is_some())
}
