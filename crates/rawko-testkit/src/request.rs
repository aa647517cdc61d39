//! A request as received over the socket.

use std::collections::BTreeMap;
use std::io;

use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt};

/// A test that sends more than this is wrong.
const REQUEST_BYTES_MAX: usize = 16 * 1024 * 1024;

/// A received request.
#[derive(Clone, Debug, PartialEq)]
pub struct ReceivedRequest {
    /// In upper case, as sent: `POST`.
    pub method: String,
    /// Includes the query string.
    pub path: String,
    /// Names in lower case.
    pub headers: BTreeMap<String, String>,
    /// Null if it is not JSON.
    pub body: Value,
}

impl ReceivedRequest {
    /// Returns `None` if the client closed the connection.
    pub(crate) async fn read(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<Self>> {
        let (mut bytes, mut chunk) = (Vec::new(), [0; 8192]);
        loop {
            if let Some(asked) = Self::parse(&bytes) {
                return Ok(Some(asked));
            }
            let count = stream.read(&mut chunk).await?;
            if count == 0 || bytes.len() > REQUEST_BYTES_MAX {
                return Ok(None);
            }
            bytes.extend(chunk.iter().take(count));
        }
    }

    /// Returns `None` while the request is incomplete.
    fn parse(bytes: &[u8]) -> Option<Self> {
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
        let (head, body) = (std::str::from_utf8(bytes.get(..end)?).ok()?, bytes.get(end + 4..)?);
        let mut lines = head.lines();
        let mut first = lines.next()?.split(' ');
        let header = |line: &str| {
            let (name, value) = line.split_once(':')?;
            Some((name.trim().to_lowercase(), value.trim().to_owned()))
        };
        let headers: BTreeMap<String, String> = lines.filter_map(header).collect();
        let length: usize = headers.get("content-length").map_or(Some(0), |length| length.parse().ok())?;
        let body = serde_json::from_slice(body.get(..length)?).unwrap_or(Value::Null);
        Some(Self { method: first.next()?.to_owned(), path: first.next()?.to_owned(), headers, body })
    }
}
