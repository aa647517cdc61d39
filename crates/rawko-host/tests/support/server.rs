//! An HTTP server on the loopback interface that writes scripted bytes, for the tests of HTTP services.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::path::Path;
use std::sync::{Arc, Mutex};

use rawko_core::Value;
use rawko_host::ServiceError;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::support::{call, service};

/// The state of a connection after the response was written.
#[derive(Clone, Copy)]
pub(crate) enum Then {
    Close,
    Stay,
}

/// A server that gives the same response to every request and records the requests.
pub(crate) struct Server {
    pub(crate) address: String,
    pub(crate) requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// `answer` returns the response bytes for a request.
    pub(crate) async fn new(answer: impl Fn(&str) -> (String, Then) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (answer, kept) = (Arc::new(answer), Arc::clone(&requests));
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let (answer, kept) = (Arc::clone(&answer), Arc::clone(&kept));
                tokio::spawn(async move {
                    let Some(request) = read_request(&mut stream).await else { return };
                    kept.lock().unwrap().push(request.clone());
                    let (bytes, then) = answer(&request);
                    stream.write_all(bytes.as_bytes()).await.unwrap_or_default();
                    match then {
                        Then::Close => {}
                        Then::Stay => std::future::pending().await,
                    }
                });
            }
        });
        Self { address, requests }
    }

    pub(crate) async fn answering(bytes: &str) -> Self {
        let bytes = bytes.to_owned();
        Self::new(move |_| (bytes.clone(), Then::Close)).await
    }

    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    pub(crate) async fn call(
        &self,
        beside: &str,
        variables: &[(&str, &str)],
        input: Value,
    ) -> Result<Value, ServiceError> {
        let definition = format!("{{http: {{url: \"http://{}/charge\"{beside}}}}}", self.address);
        service(Path::new("."), &definition, variables).call(call(input)).await
    }

    pub(crate) fn hidden(&self, text: &str) -> String {
        text.replace(&self.address, "SERVER")
    }
}

/// Reads head and body, with header names as received.
async fn read_request(stream: &mut TcpStream) -> Option<String> {
    let (mut bytes, mut chunk) = (Vec::new(), [0; 4096]);
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
            if body.len() >= length.unwrap_or(0) {
                return Some(text);
            }
        }
        let count = stream.read(&mut chunk).await.ok().filter(|count| *count > 0)?;
        bytes.extend_from_slice(&chunk[..count]);
    }
}

pub(crate) fn response(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n{headers}\r\n{body}", body.len())
}

pub(crate) fn json(status: &str, body: &str) -> String {
    response(status, "Content-Type: application/json; charset=utf-8\r\n", body)
}
