//! Messages of the Language Server Protocol over a pair of streams: a header with the length, then JSON-RPC.

use std::io::{self, BufRead, Read, Write};

use serde_json::{Value as Json, json};

/// Size limit of a message; a chart may have 8 MB, and JSON escapes some of it.
const BYTES_MAX: usize = 64 * 1024 * 1024;

/// Codes of JSON-RPC and the protocol.
pub(super) const PARSE_ERROR: i64 = -32700;
pub(super) const INVALID_REQUEST: i64 = -32600;
pub(super) const UNKNOWN_METHOD: i64 = -32601;
pub(super) const INVALID_PARAMS: i64 = -32602;
pub(super) const NOT_INITIALIZED: i64 = -32002;
pub(super) const REQUEST_FAILED: i64 = -32803;

/// A request that cannot be answered.
#[derive(Debug)]
pub(super) struct ResponseError {
    pub(super) code: i64,
    pub(super) message: String,
}

impl ResponseError {
    pub(super) fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

/// Reads the next message. `Ok(None)` at the end of the stream; the inner error if the content is not JSON.
pub(super) fn read(input: &mut impl BufRead) -> io::Result<Option<Result<Json, String>>> {
    let mut length = None;
    loop {
        let mut line = String::new();
        if input.by_ref().take(8 * 1024).read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse::<usize>().ok();
        }
    }
    let wrong = |text: &str| io::Error::new(io::ErrorKind::InvalidData, text.to_owned());
    let length = length.ok_or_else(|| wrong("a message has no Content-Length"))?;
    if length > BYTES_MAX {
        return Err(wrong("a message is larger than 64 MB"));
    }
    let mut bytes = vec![0; length];
    input.read_exact(&mut bytes)?;
    Ok(Some(serde_json::from_slice(&bytes).map_err(|error| error.to_string())))
}

/// Writes a message.
pub(super) fn write(output: &mut impl Write, message: &Json) -> io::Result<()> {
    let text = message.to_string();
    write!(output, "Content-Length: {}\r\n\r\n{text}", text.len())?;
    output.flush()
}

pub(super) fn response(id: &Json, result: Result<Json, ResponseError>) -> Json {
    match result {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err(error) => {
            json!({ "jsonrpc": "2.0", "id": id, "error": { "code": error.code, "message": error.message } })
        }
    }
}

pub(super) fn notification(method: &str, params: &Json) -> Json {
    json!({ "jsonrpc": "2.0", "method": method, "params": params })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_framed_by_bytes() {
        let mut bytes = Vec::new();
        write(&mut bytes, &json!({ "text": "ß" })).unwrap();
        write(&mut bytes, &json!(2)).unwrap();
        bytes.extend(b"Content-Length: 3\r\nContent-Type: x\r\n\r\n{x}");
        let mut input = bytes.as_slice();
        assert_eq!(read(&mut input).unwrap().unwrap().unwrap(), json!({ "text": "ß" }));
        assert_eq!(read(&mut input).unwrap().unwrap().unwrap(), json!(2));
        assert!(read(&mut input).unwrap().unwrap().is_err());
        assert!(read(&mut input).unwrap().is_none());
        assert!(read(&mut &b"\r\n"[..]).is_err());
        assert!(read(&mut &b"Content-Length: 99999999999\r\n\r\n"[..]).is_err());
    }
}
