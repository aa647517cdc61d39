//! Deduplication of large values by content hash: in JSON text, long strings and long lists are replaced by references
//! to blobs. Separate from the stores, because each of them stores the result and none needs to look inside.
//!
//! - A string of 256 bytes or more becomes `{"$ref":"<hash>"}`; its blob is `s` and the text.
//! - A list is cut at fixed positions into groups of eight, groups of groups of eight, and so on. A full group of 256
//!   bytes or more becomes an element `{"$chunk":"<hash>"}` that represents its elements; its blob is `l` and a packed
//!   list. A list that grows at its end therefore adds a few references, and never its previous contents.
//! - A map that itself has a key beginning with `$` is wrapped: `{"$map":{…}}`.
//!
//! It works on text and not on values, so that numbers keep every digit.

mod hashing;
mod lists;
mod pack;
mod scan;
mod unpack;
mod values;

use std::borrow::Cow;

pub(crate) use self::hashing::InputHasher;
pub use self::lists::{ListReader, ShortText};
pub(crate) use self::lists::{mark_start, mark_token_start};
pub(crate) use self::values::{PackedLists, is_long_list};
use crate::error::StoreError;
use crate::records::Blob;

/// Strings and groups of list elements below this size in JSON bytes stay inline.
const LARGE_BYTES: usize = 256;
/// Number of elements, or groups of the level below, in a group.
const GROUP_LEN: usize = 8;
/// Deeper texts are left unchanged; no JSON reader here supports this depth.
const DEPTH_MAX: usize = 256;

const STRING: u8 = b's';
const LIST: u8 = b'l';

/// JSON text without its large parts, and those parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packed<'a> {
    /// JSON text with references in place of large values.
    pub text: Cow<'a, str>,
    /// Each once.
    pub blobs: Vec<Blob>,
}

/// Finds a blob by its name.
pub type Lookup<'b> = dyn FnMut(&[u8; 16]) -> Result<Option<Blob>, StoreError> + 'b;

/// Returns the name of a blob.
pub fn hash(bytes: &[u8]) -> [u8; 16] {
    let mut name = [0; 16];
    name.copy_from_slice(&blake3::hash(bytes).as_bytes()[..16]);
    name
}

/// The name of the blob that a long string becomes.
pub fn text_name(text: &str) -> [u8; 16] {
    hash(&[&[STRING], text.as_bytes()].concat())
}

/// Returns the string in a blob. `None` for another kind of blob, and if the hash does not match the name.
pub fn text_of(name: &[u8; 16], mut body: Vec<u8>) -> Option<String> {
    if body.first() != Some(&STRING) || hash(&body) != *name {
        return None;
    }
    body.remove(0);
    String::from_utf8(body).ok()
}

/// Takes the large parts out of JSON text. A text with nothing large in it comes back as it is, unread.
pub fn pack(json: &str) -> Packed<'_> {
    pack_new(json, &|_| false)
}

/// Like `pack`, without the blobs that are already stored.
pub fn pack_new<'a>(json: &'a str, known: &dyn Fn(&[u8; 16]) -> bool) -> Packed<'a> {
    if scan::needs_packing(json)
        && let Some((text, blobs)) = pack::pack(json, known)
    {
        return Packed { text: Cow::Owned(text), blobs };
    }
    Packed { text: Cow::Borrowed(json), blobs: Vec::new() }
}

/// Restores the large parts. A blob that is missing or does not match its hash means that the store is damaged.
pub fn unpack<'b>(text: &str, blob: &'b mut Lookup<'b>) -> Result<String, StoreError> {
    if scan::mentions_dollar(text) { unpack::unpack(text, blob) } else { Ok(text.to_owned()) }
}

/// Returns the text form of a hash.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    let text: Vec<u8> = digits.map(|digit| DIGITS[usize::from(digit)]).collect();
    // Only digits, so it is always valid.
    String::from_utf8(text).unwrap_or_default()
}

/// Reads a hash as it is written in texts.
pub fn from_hex(text: &str) -> Option<[u8; 16]> {
    if text.len() != 32 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let mut name = [0; 16];
    for (at, byte) in name.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(name)
}
