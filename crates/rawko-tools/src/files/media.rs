//! Detects file types by their first bytes, because extensions are unreliable.

/// Larger images are not sent to a model.
pub(crate) const IMAGE_BYTES_MAX: u64 = 5 * 1024 * 1024;
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

/// Returns true if the content is not text. A character cut off at the end of the inspected bytes is ignored.
pub(super) fn is_binary(head: &[u8]) -> bool {
    head.contains(&0) || std::str::from_utf8(head).is_err_and(|error| error.error_len().is_some())
}
