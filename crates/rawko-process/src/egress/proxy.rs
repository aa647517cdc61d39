//! The proxy of one confined program: it listens on the loopback interface of the program's network namespace, and
//! connects from rawko's. `CONNECT` for TLS, and plain HTTP with absolute addresses.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::timeout;

use super::rules::is_host;
use super::{Egress, EgressRefusal, ReachedHosts};

/// A request line with its headers.
const HEAD_BYTES_MAX: usize = 64 * 1024;
const HEAD_TIME_MAX: Duration = Duration::from_secs(30);
const CONNECT_TIME_MAX: Duration = Duration::from_secs(30);
const CONNECTIONS_MAX: usize = 256;

/// A running proxy; dropped, it ends with all its connections.
#[derive(Debug)]
pub(crate) struct Proxy(AbortHandle);

impl Drop for Proxy {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Proxy {
    pub(crate) fn start(listener: OwnedFd, egress: Egress, connections: ReachedHosts) -> io::Result<Self> {
        let listener = std::net::TcpListener::from(listener);
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        Ok(Self(tokio::spawn(serve(listener, Arc::new((egress, connections)))).abort_handle()))
    }
}

async fn serve(listener: TcpListener, egress: Arc<(Egress, ReachedHosts)>) {
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        if connections.len() >= CONNECTIONS_MAX {
            connections.join_next().await;
        }
        // An error is of one connection; without a pause a lasting one would keep a core busy.
        match listener.accept().await {
            Ok((client, _)) => {
                let egress = Arc::clone(&egress);
                connections.spawn(async move {
                    let _ = connection(client, &egress.0, &egress.1).await;
                });
            }
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

async fn connection(mut client: TcpStream, egress: &Egress, connections: &ReachedHosts) -> io::Result<()> {
    let Ok(read) = timeout(HEAD_TIME_MAX, read_head(&mut client)).await else { return Ok(()) };
    let head = read?;
    let Some(request) = ProxyRequest::parse(&head) else {
        return refuse(&mut client, "400 Bad Request", "the request cannot be read").await;
    };
    let addresses = match egress.resolve(&request.host, request.port).await {
        Ok(addresses) => addresses,
        Err(EgressRefusal::Unapproved { host, rule }) if is_host(&host) => {
            connections.want(&host, &rule);
            let why = format!("`{host}` needs the approval of a person, who is asked when this call ends");
            return refuse(&mut client, "403 Forbidden", &why).await;
        }
        Err(refusal) => {
            let why = format!("{refusal} (`tools.network.hosts` in the settings)");
            return refuse(&mut client, "403 Forbidden", &why).await;
        }
    };
    let connected = timeout(CONNECT_TIME_MAX, TcpStream::connect(addresses.as_slice())).await;
    let Ok(Ok(mut server)) = connected else {
        return refuse(&mut client, "502 Bad Gateway", "the server did not answer").await;
    };
    connections.note(&request.host);
    match request.head {
        None => client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?,
        Some(head) => server.write_all(&head).await?,
    }
    copy_bidirectional(&mut client, &mut server).await.map(drop)
}

async fn refuse(client: &mut TcpStream, status: &str, why: &str) -> io::Result<()> {
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{why}\n",
        why.len() + 1
    );
    client.write_all(answer.as_bytes()).await?;
    client.shutdown().await
}

/// Reads to the empty line, byte by byte at its end: what follows belongs to the server.
async fn read_head(client: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() >= HEAD_BYTES_MAX {
            return Err(io::ErrorKind::InvalidData.into());
        }
        head.push(client.read_u8().await?);
    }
    Ok(head)
}

#[derive(Debug, PartialEq, Eq)]
struct ProxyRequest {
    host: String,
    port: u16,
    /// What the server gets first; `None` for `CONNECT`.
    head: Option<Vec<u8>>,
}

impl ProxyRequest {
    fn parse(head: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(head).ok()?;
        let (line, headers) = text.split_once("\r\n")?;
        let mut words = line.split(' ');
        let (method, target, version) = (words.next()?, words.next()?, words.next()?);
        if words.next().is_some() || !version.starts_with("HTTP/1.") {
            return None;
        }
        if method == "CONNECT" {
            let (host, port) = target.rsplit_once(':')?;
            return Some(Self { host: host.to_owned(), port: port.parse().ok()?, head: None });
        }
        let rest = target.strip_prefix("http://")?;
        let (authority, path) = match rest.find('/') {
            Some(at) => rest.split_at(at),
            None => (rest, "/"),
        };
        if authority.contains('@') {
            return None;
        }
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok()?),
            Some(_) | None => (authority, 80),
        };
        // One request a connection: a second one could be for another host.
        let kept = headers.split("\r\n").filter(|header| !header.is_empty()).filter(|header| {
            let name = header.split(':').next().unwrap_or_default().to_ascii_lowercase();
            !["proxy-connection", "proxy-authorization", "connection", "keep-alive", "host"]
                .contains(&name.as_str())
        });
        let kept: String = kept.map(|header| format!("{header}\r\n")).collect();
        // The host that was checked: a server may serve others by this header.
        let head =
            format!("{method} {path} {version}\r\nHost: {authority}\r\n{kept}Connection: close\r\n\r\n");
        Some(Self { host: host.to_owned(), port, head: Some(head.into_bytes()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_name_a_host() {
        for (head, expected) in [
            ("CONNECT docs.rs:443 HTTP/1.1\r\n\r\n", Some(("docs.rs", 443))),
            ("CONNECT [::1]:443 HTTP/1.1\r\n\r\n", Some(("[::1]", 443))),
            ("GET http://a.b/c HTTP/1.1\r\nHost: other\r\n\r\n", Some(("a.b", 80))),
            ("GET http://a.b:81 HTTP/1.0\r\n\r\n", Some(("a.b", 81))),
            ("GET http://[::1]/ HTTP/1.1\r\n\r\n", Some(("[::1]", 80))),
            ("GET http://a.b@evil/ HTTP/1.1\r\n\r\n", None),
            ("GET /c HTTP/1.1\r\nHost: a.b\r\n\r\n", None),
            ("GET https://a.b/ HTTP/1.1\r\n\r\n", None),
            ("CONNECT docs.rs HTTP/1.1\r\n\r\n", None),
            ("nonsense", None),
        ] {
            let request = ProxyRequest::parse(head.as_bytes());
            let found = request.as_ref().map(|request| (request.host.as_str(), request.port));
            assert_eq!(found, expected, "{head:?}");
        }
        let plain =
            ProxyRequest::parse(b"GET http://a.b/c HTTP/1.1\r\nHost: evil\r\nProxy-Connection: x\r\n\r\n");
        let head = plain.and_then(|request| request.head).unwrap();
        assert_eq!(head, b"GET /c HTTP/1.1\r\nHost: a.b\r\nConnection: close\r\n\r\n");
    }
}
