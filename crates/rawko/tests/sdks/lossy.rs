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
    let mut response = Vec::new();
    server.read_to_end(&mut response).unwrap();
    if !is_lost {
        let _ = client.write_all(&response);
    }
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
