//! Minimal HTTP client: one connection, sequential requests.

use std::net::SocketAddr;

use anyhow::{Context, Result, ensure};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::server::TOKEN;

pub(crate) struct Client {
    stream: TcpStream,
    address: SocketAddr,
    buffer: Vec<u8>,
}

impl Client {
    pub(crate) async fn connect(address: SocketAddr) -> Result<Client> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Client { stream, address, buffer: Vec::new() })
    }

    pub(crate) async fn get(&mut self, path: &str) -> Result<Vec<u8>> {
        self.ask(&format!(
            "GET {path} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {TOKEN}\r\n\r\n",
            self.address
        ))
        .await
    }

    pub(crate) async fn post(&mut self, path: &str, body: &str) -> Result<Vec<u8>> {
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {TOKEN}\r\ncontent-type: application/json",
            self.address
        );
        self.ask(&format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len())).await
    }

    async fn ask(&mut self, request: &str) -> Result<Vec<u8>> {
        self.stream.write_all(request.as_bytes()).await?;
        let head = self.head().await?;
        ensure!(head.starts_with("http/1.1 20"), "{request}\n{head}");
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let length: usize = length.context("an answer has a length")?.trim().parse()?;
        while self.buffer.len() < length {
            ensure!(self.stream.read_buf(&mut self.buffer).await? > 0, "the connection ended");
        }
        Ok(self.buffer.drain(..length).collect())
    }

    async fn head(&mut self) -> Result<String> {
        loop {
            if let Some(end) = self.buffer.windows(4).position(|four| four == b"\r\n\r\n") {
                let head = String::from_utf8(self.buffer.drain(..end + 4).collect())?;
                return Ok(head.to_ascii_lowercase());
            }
            ensure!(self.stream.read_buf(&mut self.buffer).await? > 0, "the connection ended");
        }
    }

    /// Requests a stream; afterwards the connection only receives.
    pub(crate) async fn stream(mut self) -> Result<Stream> {
        let request = format!(
            "GET /v1/stream HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {TOKEN}\r\n\r\n",
            self.address
        );
        self.stream.write_all(request.as_bytes()).await?;
        let head = self.head().await?;
        ensure!(head.starts_with("http/1.1 200"), "{head}");
        Ok(Stream { stream: self.stream, buffer: self.buffer })
    }
}

/// Event stream as bytes. Framing is irrelevant here, because the benchmark only searches for titles.
pub(crate) struct Stream {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Stream {
    /// Returns the received data, up to the end of the last complete event.
    pub(crate) async fn next(&mut self) -> Result<Vec<u8>> {
        loop {
            if let Some(end) = self.buffer.windows(2).rposition(|two| two == b"\n\n") {
                return Ok(self.buffer.drain(..end + 2).collect());
            }
            ensure!(self.stream.read_buf(&mut self.buffer).await? > 0, "the stream ended");
        }
    }
}
