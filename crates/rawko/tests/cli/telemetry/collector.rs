//! A collector that records OTLP requests, and its small HTTP server.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

use super::otlp::{Seen, spans};

/// One HTTP request.
pub(crate) struct Asked {
    pub(crate) path: String,
    pub(crate) headers: Vec<String>,
    pub(crate) body: Vec<u8>,
}

/// Answers every request on a local address until the test is over.
pub(crate) fn serve(answer: impl Fn(Asked) -> (u16, String) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let answer = Arc::new(answer);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let answer = Arc::clone(&answer);
            thread::spawn(move || while converse(&stream, &*answer).is_some() {});
        }
    });
    address
}

/// Returns `None` when the client has disconnected.
fn converse(stream: &TcpStream, answer: &dyn Fn(Asked) -> (u16, String)) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line.trim().is_empty() {
            break;
        }
        lines.push(line.trim().to_owned());
    }
    let path = lines.first()?.split(' ').nth(1)?.to_owned();
    let length = lines.iter().find_map(|line| {
        line.to_ascii_lowercase().strip_prefix("content-length:").map(|length| length.trim().parse::<usize>())
    });
    let mut body = vec![0; length?.ok()?];
    reader.read_exact(&mut body).ok()?;
    let (status, text) = answer(Asked { path, headers: lines.split_off(1), body });
    let head = format!(
        "HTTP/1.1 {status} x\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        text.len()
    );
    let mut stream = stream;
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(text.as_bytes()).ok()
}

#[derive(Clone)]
pub(crate) struct Collector {
    pub(crate) address: SocketAddr,
    got: Arc<(Mutex<Got>, Condvar)>,
}

#[derive(Default)]
struct Got {
    spans: Vec<Seen>,
    /// The raw requests, including headers.
    raw: Vec<u8>,
}

impl Collector {
    pub(crate) fn start() -> Collector {
        let got: Arc<(Mutex<Got>, Condvar)> = Arc::default();
        let taken = Arc::clone(&got);
        let address = serve(move |asked| {
            assert_eq!(asked.path, "/v1/traces");
            assert!(asked.headers.iter().any(|header| header.ends_with("application/x-protobuf")));
            let (lock, changed) = &*taken;
            let mut got = lock.lock().unwrap();
            got.spans.extend(spans(&asked.body));
            got.raw.extend(asked.headers.join("\n").into_bytes());
            got.raw.extend(asked.body);
            changed.notify_all();
            (200, String::new())
        });
        Collector { address, got }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn spans(&self) -> Vec<Seen> {
        self.got.0.lock().unwrap().spans.clone()
    }

    pub(crate) fn contains(&self, text: &str) -> bool {
        let got = self.got.0.lock().unwrap();
        got.raw.windows(text.len()).any(|window| window == text.as_bytes())
    }

    /// Waits for a span with this name.
    pub(crate) fn wait_for(&self, name: &str) {
        let (lock, changed) = &*self.got;
        let missing = |got: &mut Got| !got.spans.iter().any(|span| span.name == name);
        drop(changed.wait_while(lock.lock().unwrap(), missing).unwrap());
    }
}

/// Returns the spans as a tree, in order of their end, without those of steps.
pub(crate) fn tree(spans: &[Seen], show: &[&str]) -> String {
    let mut spans: Vec<&Seen> = spans.iter().filter(|span| !span.name.starts_with("step")).collect();
    spans.sort_by_key(|span| span.end);
    let mut out = String::new();
    let roots = spans.iter().filter(|span| !spans.iter().any(|other| other.id == span.parent));
    roots.for_each(|root| branch(root, &spans, show, 0, &mut out));
    out
}

fn branch(span: &Seen, all: &[&Seen], show: &[&str], depth: usize, out: &mut String) {
    let shown: Vec<String> = show
        .iter()
        .filter_map(|key| {
            span.attributes.get(*key).map(|value| format!("{}={value}", key.rsplit('.').next().unwrap()))
        })
        .collect();
    let error = if span.is_error { " ERROR" } else { "" };
    *out += format!("{}{}{error} {}", "  ".repeat(depth), span.name, shown.join(" ")).trim_end();
    *out += "\n";
    let mut children: Vec<&Seen> = all.iter().copied().filter(|other| other.parent == span.id).collect();
    // Calls that run at the same time end in any order; they are shown in the order of their ids.
    for run in children.chunk_by_mut(|one, other| is_tool(one) && is_tool(other)) {
        run.sort_by_key(|span| span.attributes.get("gen_ai.tool.call.id").map(|id| (id.len(), id.clone())));
    }
    children.iter().for_each(|child| branch(child, all, show, depth + 1, out));
}

fn is_tool(span: &Seen) -> bool {
    span.name.starts_with("execute_tool")
}
