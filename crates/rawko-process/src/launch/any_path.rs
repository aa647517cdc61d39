//! Paths as bytes in the messages to the helper: a file whose name is not UTF-8 must not stop every program.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Text, or the bytes of another name.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Bytes {
    Text(String),
    Raw(Vec<u8>),
}

impl From<&Path> for Bytes {
    fn from(path: &Path) -> Self {
        match path.to_str() {
            Some(text) => Bytes::Text(text.to_owned()),
            None => Bytes::Raw(path.as_os_str().as_bytes().to_vec()),
        }
    }
}

impl From<Bytes> for PathBuf {
    fn from(bytes: Bytes) -> Self {
        match bytes {
            Bytes::Text(text) => text.into(),
            Bytes::Raw(raw) => OsString::from_vec(raw).into(),
        }
    }
}

pub(super) fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    Bytes::from(path).serialize(serializer)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
    Ok(Bytes::deserialize(deserializer)?.into())
}

pub(super) mod list {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(paths: &[PathBuf], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(paths.iter().map(|path| Bytes::from(path.as_path())))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<PathBuf>, D::Error> {
        Ok(Vec::<Bytes>::deserialize(deserializer)?.into_iter().map(Into::into).collect())
    }
}

pub(super) mod keys {
    use super::*;

    pub(crate) fn serialize<S: Serializer, P: Serialize>(
        places: &BTreeMap<PathBuf, P>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(places.iter().map(|(path, place)| (Bytes::from(path.as_path()), place)))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>, P: Deserialize<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<PathBuf, P>, D::Error> {
        let places = Vec::<(Bytes, P)>::deserialize(deserializer)?;
        Ok(places.into_iter().map(|(path, place)| (path.into(), place)).collect())
    }
}
