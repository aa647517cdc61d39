//! Messages of the Language Server Protocol on the wire: a header with the length, then JSON.

use serde_json::Value;

/// A longer message is rejected.
const MESSAGE_BYTES_MAX: usize = 32 * 1024 * 1024;

pub(super) fn encode(message: &Value) -> Vec<u8> {
    let body = message.to_string();
    format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// Takes the first complete message from the buffer; `None` if more bytes are needed.
pub(super) fn take(read: &mut Vec<u8>) -> Result<Option<Value>, String> {
    const END: &[u8] = b"\r\n\r\n";
    let Some(header) = read.windows(END.len()).position(|window| window == END) else { return Ok(None) };
    let text = String::from_utf8_lossy(&read[..header]).to_ascii_lowercase();
    let length =
        text.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse::<usize>().ok());
    let length = length.filter(|length| *length <= MESSAGE_BYTES_MAX);
    let length = length.ok_or("the language server sent a message without a usable length")?;
    let start = header + END.len();
    if read.len() < start + length {
        return Ok(None);
    }
    let message = serde_json::from_slice(&read[start..start + length]);
    read.drain(..start + length);
    message.map(Some).map_err(|error| format!("the language server sent no JSON: {error}"))
}

/// Returns the number of messages before the end or the first error.
pub(crate) fn count_messages(bytes: &[u8]) -> usize {
    let mut read = bytes.to_vec();
    std::iter::from_fn(|| take(&mut read).ok().flatten()).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn messages_in_pieces() {
        let all = [encode(&json!({"a": "ä"})), encode(&json!([1]))].concat();
        for cut in 0..all.len() {
            let (mut read, mut found) = (Vec::new(), Vec::new());
            for piece in [&all[..cut], &all[cut..]] {
                read.extend_from_slice(piece);
                while let Some(message) = take(&mut read).unwrap() {
                    found.push(message);
                }
            }
            assert_eq!(found, [json!({"a": "ä"}), json!([1])]);
        }
        assert!(take(&mut b"Content-Length: -1\r\n\r\n".to_vec()).is_err());
    }
}
