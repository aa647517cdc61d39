//! The proxy of one confined program: it listens on the loopback interface of the program's network namespace, and
//! connects from rawko's. `CONNECT` for TLS, and plain HTTP with absolute addresses.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, copy_bidirectional};
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
        Err(refusal @ EgressRefusal::Unapproved { .. }) if egress.rules.cannot_ask => {
            let why = format!(
                "{refusal}, and this program cannot wait for it: allow the host with `Network(domain:HOST)` in `permissions.allow` of your own settings"
            );
            return refuse(&mut client, "403 Forbidden", &why).await;
        }
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
    match request.plain {
        None => {
            client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?;
            copy_bidirectional(&mut client, &mut server).await.map(drop)
        }
        Some(PlainRequest { head, body }) => {
            server.write_all(&head).await?;
            let (mut from_client, mut to_client) = client.split();
            let (mut from_server, mut to_server) = server.split();
            let sending = async {
                // A server may answer before it has read everything.
                let _ = send_body(&mut from_client, &mut to_server, body).await;
                std::future::pending::<()>().await;
            };
            tokio::select! {
                answered = tokio::io::copy(&mut from_server, &mut to_client) => answered.map(drop),
                () = sending => Ok(()),
            }
        }
    }
}

/// Passes on the body of one request. What follows it would be another request, for any host that the server knows.
async fn send_body(
    client: &mut (impl AsyncRead + Unpin),
    server: &mut (impl AsyncWrite + Unpin),
    body: RequestBody,
) -> io::Result<()> {
    match body {
        RequestBody::Sized(bytes) => tokio::io::copy(&mut (&mut *client).take(bytes), server).await.map(drop),
        RequestBody::Chunked => loop {
            let line = read_line(client).await?;
            let digits = line.split(|byte| *byte == b';').next().unwrap_or_default();
            let digits = std::str::from_utf8(digits).map_err(io::Error::other)?;
            let size = u64::from_str_radix(digits.trim(), 16).map_err(io::Error::other)?;
            server.write_all(&line).await?;
            if size == 0 {
                // The trailer, up to its empty line.
                loop {
                    let line = read_line(client).await?;
                    server.write_all(&line).await?;
                    if line == b"\r\n" {
                        return Ok(());
                    }
                }
            }
            let data = size.checked_add(2).ok_or(io::ErrorKind::InvalidData)?;
            tokio::io::copy(&mut (&mut *client).take(data), server).await?;
        },
    }
}

/// Reads a line with its end.
async fn read_line(client: &mut (impl AsyncRead + Unpin)) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    while !line.ends_with(b"\r\n") {
        if line.len() >= HEAD_BYTES_MAX {
            return Err(io::ErrorKind::InvalidData.into());
        }
        line.push(client.read_u8().await?);
    }
    Ok(line)
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
    /// `None` for `CONNECT`.
    plain: Option<PlainRequest>,
}

#[derive(Debug, PartialEq, Eq)]
struct PlainRequest {
    /// What the server gets first.
    head: Vec<u8>,
    body: RequestBody,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RequestBody {
    Sized(u64),
    Chunked,
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
            return Some(Self { host: host.to_owned(), port: port.parse().ok()?, plain: None });
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
        let (mut kept, mut size, mut is_chunked) = (String::new(), None, false);
        for header in headers.split("\r\n").filter(|header| !header.is_empty()) {
            let (name, value) = header.split_once(':')?;
            // A server may read a line that ends otherwise, or a name with a space, as another header.
            let is_token = |byte: u8| byte.is_ascii_graphic();
            if name.is_empty() || !name.bytes().all(is_token) || header.contains(['\r', '\n', '\0']) {
                return None;
            }
            match name.to_ascii_lowercase().as_str() {
                "proxy-connection" | "proxy-authorization" | "connection" | "keep-alive" | "host" => continue,
                "content-length" if size.is_some() => return None,
                "content-length" => size = Some(value.trim().parse::<u64>().ok()?),
                "transfer-encoding" if is_chunked || !value.trim().eq_ignore_ascii_case("chunked") => {
                    return None;
                }
                "transfer-encoding" => is_chunked = true,
                _ => {}
            }
            kept.push_str(header);
            kept.push_str("\r\n");
        }
        let body = match (size, is_chunked) {
            (Some(_), true) => return None,
            (None, true) => RequestBody::Chunked,
            (size, false) => RequestBody::Sized(size.unwrap_or(0)),
        };
        // The host that was checked: a server may serve others by this header.
        let head =
            format!("{method} {path} {version}\r\nHost: {authority}\r\n{kept}Connection: close\r\n\r\n");
        Some(Self {
            host: host.to_owned(),
            port,
            plain: Some(PlainRequest { head: head.into_bytes(), body }),
        })
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
            ("GET http://a.b/ HTTP/1.1\r\nX: y\nHost: evil\r\n\r\n", None),
            ("GET http://a.b/ HTTP/1.1\r\nHost : evil\r\n\r\n", None),
            ("GET http://a.b/ HTTP/1.1\r\nX: y\r\n Host: evil\r\n\r\n", None),
            ("POST http://a.b/ HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 9\r\n\r\n", None),
            ("POST http://a.b/ HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", None),
            ("POST http://a.b/ HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", None),
        ] {
            let request = ProxyRequest::parse(head.as_bytes());
            let found = request.as_ref().map(|request| (request.host.as_str(), request.port));
            assert_eq!(found, expected, "{head:?}");
        }
        let plain =
            ProxyRequest::parse(b"GET http://a.b/c HTTP/1.1\r\nHost: evil\r\nProxy-Connection: x\r\n\r\n");
        let plain = plain.and_then(|request| request.plain).unwrap();
        assert_eq!(plain.head, b"GET /c HTTP/1.1\r\nHost: a.b\r\nConnection: close\r\n\r\n");
        assert_eq!(plain.body, RequestBody::Sized(0));
    }

    #[tokio::test]
    async fn what_follows_a_request_is_not_passed_on() {
        for (body, sent, expected) in [
            (RequestBody::Sized(0), "GET / HTTP/1.1\r\nHost: evil\r\n\r\n", ""),
            (RequestBody::Sized(3), "abcGET / HTTP/1.1\r\nHost: evil\r\n\r\n", "abc"),
            (RequestBody::Chunked, "3;x=y\r\nabc\r\n0\r\n\r\nGET /", "3;x=y\r\nabc\r\n0\r\n\r\n"),
            (RequestBody::Chunked, "0\r\nA: b\r\n\r\nGET /", "0\r\nA: b\r\n\r\n"),
            (RequestBody::Chunked, "zz\r\nGET /", ""),
        ] {
            let mut heard = Vec::new();
            let _ = send_body(&mut sent.as_bytes(), &mut heard, body).await;
            assert_eq!(String::from_utf8_lossy(&heard), expected, "{sent:?}");
        }
    }
}
