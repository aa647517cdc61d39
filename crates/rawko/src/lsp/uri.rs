//! Paths as `file:` addresses, which is how editors name documents.

use std::path::{Path, PathBuf};

/// Returns the path of a `file:` address; `None` for anything else, such as a document without a file.
pub(super) fn path_of(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    let path = &rest[rest.find('/')?..];
    let mut bytes = Vec::with_capacity(path.len());
    let mut left = path.as_bytes();
    while let Some((first, rest)) = left.split_first() {
        let code = rest.get(..2).and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()).filter(|_| *first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                left = &rest[2..];
            }
            None => {
                bytes.push(*first);
                left = rest;
            }
        }
    }
    let text = String::from_utf8(bytes).ok()?;
    // `/c:/project` is `c:/project`.
    let is_drive = text.get(2..3) == Some(":") && text.as_bytes()[1].is_ascii_alphabetic();
    Some(PathBuf::from(if is_drive { &text[1..] } else { &text }))
}

/// Returns the `file:` address of a path.
pub(super) fn of_path(path: &Path) -> String {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut uri = "file://".to_owned();
    let text = path.to_string_lossy().replace('\\', "/");
    if !text.starts_with('/') {
        uri.push('/');
    }
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte) {
            uri.push(byte as char);
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_survive_the_way_there_and_back() {
        for path in ["/a/b.yaml", "/with space/ü#%25.yaml", "/a/b:c"] {
            assert_eq!(path_of(&of_path(Path::new(path))), Some(PathBuf::from(path)), "{path}");
        }
        assert_eq!(path_of("file:///c%3A/x.yaml"), Some(PathBuf::from("c:/x.yaml")));
        assert_eq!(path_of("file://host/a.yaml"), Some(PathBuf::from("/a.yaml")));
        assert_eq!(path_of("untitled:Untitled-1"), None);
        assert_eq!(path_of("file:///%zz"), Some(PathBuf::from("/%zz")));
    }
}
