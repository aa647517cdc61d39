//! A hash in JSON: hex text.

use serde::{Deserialize, Deserializer, Serializer, de::Error};

use super::ChartHash;
use crate::content;

pub(super) fn serialize<S: Serializer>(hash: &ChartHash, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&content::hex(hash))
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ChartHash, D::Error> {
    let text = String::deserialize(deserializer)?;
    content::from_hex(&text).ok_or_else(|| D::Error::custom("not a hash in hex"))
}
