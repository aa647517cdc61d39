//! A proxy that loses responses, as a server does that is killed after its commit: the request is carried out, the
//! client gets nothing, and the idempotency key is forgotten.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::scripts::{SETTINGS, project};
use crate::support::{Language, TOKEN, finish};

/// Starts the proxy before a server; `lost` are the numbers of the POST requests whose response is dropped.
fn proxy(upstream: &str, lost: &'static [usize]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let upstream = upstream.strip_prefix("http://").unwrap().to_owned();
    let posts = Arc::new(AtomicUsize::new(0));
    std::thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let (upstream, posts) = (upstream.clone(), Arc::clone(&posts));
            std::thread::spawn(move || relay(client, &upstream, &posts, lost));
        }
    });
    address
}

fn relay(mut client: TcpStream, upstream: &str, posts: &AtomicUsize, lost: &[usize]) {
    let Some((head, body)) = request(&mut client) else { return };
    let is_lost = head.starts_with("POST ") && lost.contains(&posts.fetch_add(1, Ordering::Relaxed));
    let kept = head.lines().filter(|line| {
        let name = line.split(':').next().unwrap_or_default().to_ascii_lowercase();
        !["idempotency-key", "connection", "host"].contains(&name.as_str())
    });
    let head: Vec<String> = kept
        .filter(|line| !line.is_empty())
        .map(str::to_owned)
        .chain([format!("host: {upstream}"), "connection: close".to_owned(), "\r\n".to_owned()])
        .collect();
    let mut server = TcpStream::connect(upstream).unwrap();
    server.write_all(head.join("\r\n").as_bytes()).unwrap();
    server.write_all(&body).unwrap();
    if is_lost {
        server.read_to_end(&mut Vec::new()).unwrap();
    } else {
        // A stream has no end.
        let _ = std::io::copy(&mut server, &mut client);
    }
}

/// Starts a proxy whose first stream begins and then brings nothing, and stays open, as when a NAT forgets a connection.
fn silent_proxy(upstream: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let upstream = upstream.strip_prefix("http://").unwrap().to_owned();
    let streams = Arc::new(AtomicUsize::new(0));
    std::thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let (upstream, streams) = (upstream.clone(), Arc::clone(&streams));
            std::thread::spawn(move || silent_relay(client, &upstream, &streams));
        }
    });
    address
}

fn silent_relay(mut client: TcpStream, upstream: &str, streams: &AtomicUsize) {
    let Some((head, body)) = request(&mut client) else { return };
    if head.starts_with("GET /v1/stream") && streams.fetch_add(1, Ordering::Relaxed) == 0 {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        client.write_all(head.as_bytes()).unwrap();
        // Until the client closes it.
        while client.read(&mut [0; 64]).is_ok_and(|amount| amount > 0) {}
        return;
    }
    let mut server = TcpStream::connect(upstream).unwrap();
    let lines = head.lines().filter(|line| {
        !line.to_ascii_lowercase().starts_with("connection:")
            && !line.to_ascii_lowercase().starts_with("host:")
    });
    let head: Vec<&str> = lines.chain(["connection: close"]).collect();
    server.write_all(format!("{}\r\nhost: {upstream}\r\n\r\n", head.join("\r\n")).as_bytes()).unwrap();
    server.write_all(&body).unwrap();
    let _ = std::io::copy(&mut server, &mut client);
}

/// Reads the head and the body of a request.
fn request(client: &mut TcpStream) -> Option<(String, Vec<u8>)> {
    let (mut read, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        let amount = client.read(&mut buffer).ok().filter(|amount| *amount > 0)?;
        read.extend_from_slice(&buffer[..amount]);
        let Some(end) = read.windows(4).position(|window| window == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&read[..end]).into_owned();
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
        });
        let body = &read[end + 4..];
        if body.len() >= length.unwrap_or_default() {
            return Some((head, body.to_vec()));
        }
    }
}

/// The first start is carried out and its response lost: the run is found again. An id that is taken stays an error.
#[test]
fn a_start_whose_response_is_lost_is_found_again_by_its_id() {
    for language in [Language::Python, Language::Node] {
        let mut served = project(SETTINGS);
        let _server = served.serve();
        served.url = proxy(&served.url, &[0, 3]);
        let said = finish(&mut served.script(language, &language.of_tests("lost"), TOKEN));
        assert_eq!(said, "started mine\nrawko::api::exists false\nrawko::api::exists true\n");
    }
}

#[test]
fn a_stream_that_falls_silent_is_opened_again() {
    for language in [Language::Python, Language::Node] {
        let mut served = project(SETTINGS);
        let _server = served.serve();
        served.url = silent_proxy(&served.url);
        let printed = finish(&mut served.script(language, &language.of_tests("silent"), TOKEN));
        assert_eq!(printed, "failed true\n");
    }
}
