//! A client of event streams, like a browser: reads frames, tracks the last id.

use std::net::SocketAddr;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{PATIENCE, request};

pub(crate) struct Events {
    stream: TcpStream,
    /// Received bytes that are not decoded yet.
    raw: Vec<u8>,
    /// Content of the chunks.
    text: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Event {
    pub(crate) id: Option<u64>,
    pub(crate) name: String,
    pub(crate) data: Value,
}

impl Events {
    /// Opens a stream. Returns once the response headers were read.
    pub(crate) async fn open(address: SocketAddr, query: &str, last: Option<u64>) -> Events {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let last = last.map(|last| last.to_string());
        let headers: Vec<(&str, &str)> =
            last.as_deref().map(|last| ("last-event-id", last)).into_iter().collect();
        let request = request(address, "GET", &format!("/v1/stream{query}"), &headers, None);
        stream.write_all(&request).await.unwrap();
        let mut events = Events { stream, raw: Vec::new(), text: Vec::new() };
        let head = loop {
            if let Some(at) = find(&events.raw, b"\r\n\r\n") {
                break events.raw.drain(..at + 4).collect::<Vec<u8>>();
            }
            assert!(events.more().await, "an answer");
        };
        let head = String::from_utf8(head).unwrap().to_ascii_lowercase();
        assert!(head.starts_with("http/1.1 200"), "{head}");
        assert!(head.contains("content-type: text/event-stream"), "{head}");
        events
    }

    /// Returns the next event; `None` at the end of the stream.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        loop {
            while let Some(end) = find(&self.text, b"\n\n") {
                let frame: Vec<u8> = self.text.drain(..end + 2).collect();
                let frame = String::from_utf8(frame).unwrap();
                if !frame.starts_with(':') {
                    return Some(parse(&frame));
                }
            }
            self.unpack();
            if find(&self.text, b"\n\n").is_none() && !self.more().await {
                return None;
            }
        }
    }

    /// Returns the next event with this name.
    pub(crate) async fn named(&mut self, name: &str) -> Event {
        loop {
            let event = self.next().await.unwrap_or_else(|| panic!("no {name} before the end"));
            if event.name == name {
                return event;
            }
        }
    }

    async fn more(&mut self) -> bool {
        let read = tokio::time::timeout(PATIENCE, self.stream.read_buf(&mut self.raw));
        matches!(read.await.expect("something, or the end"), Ok(1..))
    }

    /// Decodes complete chunks.
    fn unpack(&mut self) {
        while let Some(at) = find(&self.raw, b"\r\n") {
            let length = std::str::from_utf8(&self.raw[..at]).unwrap();
            let length = usize::from_str_radix(length, 16).unwrap();
            if self.raw.len() < at + 2 + length + 2 {
                return;
            }
            self.text.extend_from_slice(&self.raw[at + 2..at + 2 + length]);
            self.raw.drain(..at + 2 + length + 2);
        }
    }
}

fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|window| window == part)
}

fn parse(frame: &str) -> Event {
    let field = |name: &str| frame.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    Event {
        id: field("id").map(|id| id.parse().unwrap()),
        name: field("event").unwrap().to_owned(),
        data: serde_json::from_str(field("data").unwrap()).unwrap(),
    }
}
