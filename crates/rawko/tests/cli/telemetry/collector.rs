//! A collector that records what it gets over OTLP, read with the protocol's own definitions, and the small HTTP server
//! that it stands on.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;

/// One HTTP request.
pub(crate) struct Asked {
    pub(crate) path: String,
    pub(crate) headers: Vec<String>,
    pub(crate) body: Vec<u8>,
}

/// Answers every request on this machine until the test is over.
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

/// `None`: the other side has gone.
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
    spans: Vec<Span>,
    services: Vec<String>,
    /// Everything as it came, headers among it.
    raw: Vec<u8>,
}

impl Collector {
    pub(crate) fn start() -> Collector {
        let got: Arc<(Mutex<Got>, Condvar)> = Arc::default();
        let taken = Arc::clone(&got);
        let address = serve(move |asked| {
            assert_eq!(asked.path, "/v1/traces");
            let request = ExportTraceServiceRequest::decode(asked.body.as_slice()).unwrap();
            let (lock, changed) = &*taken;
            let mut got = lock.lock().unwrap();
            for resource in request.resource_spans {
                let attributes = resource.resource.unwrap_or_default().attributes;
                let named = attributes.iter().find(|attribute| attribute.key == "service.name");
                got.services
                    .extend(named.map(|attribute| text(attribute.value.as_ref().unwrap().value.as_ref())));
                got.spans.extend(resource.scope_spans.into_iter().flat_map(|scope| scope.spans));
            }
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
        self.got.0.lock().unwrap().spans.iter().map(Seen::of).collect()
    }

    pub(crate) fn services(&self) -> Vec<String> {
        let mut services = self.got.0.lock().unwrap().services.clone();
        services.dedup();
        services
    }

    pub(crate) fn contains(&self, text: &str) -> bool {
        let got = self.got.0.lock().unwrap();
        got.raw.windows(text.len()).any(|window| window == text.as_bytes())
    }

    /// Waits until a span with this name is there.
    pub(crate) fn wait_for(&self, name: &str) {
        let (lock, changed) = &*self.got;
        let missing = |got: &mut Got| !got.spans.iter().any(|span| span.name == name);
        drop(changed.wait_while(lock.lock().unwrap(), missing).unwrap());
    }
}

/// A span as tests look at it.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) trace: String,
    pub(crate) id: String,
    pub(crate) parent: String,
    pub(crate) name: String,
    pub(crate) kind: i32,
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) is_error: bool,
    pub(crate) attributes: BTreeMap<String, String>,
}

impl Seen {
    fn of(span: &Span) -> Seen {
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let attribute = |attribute: &opentelemetry_proto::tonic::common::v1::KeyValue| {
            (attribute.key.clone(), text(attribute.value.as_ref().and_then(|value| value.value.as_ref())))
        };
        Seen {
            trace: hex(&span.trace_id),
            id: hex(&span.span_id),
            parent: hex(&span.parent_span_id),
            name: span.name.clone(),
            kind: span.kind,
            start: span.start_time_unix_nano,
            end: span.end_time_unix_nano,
            is_error: span.status.as_ref().is_some_and(|status| status.code == 2),
            attributes: span.attributes.iter().map(attribute).collect(),
        }
    }

    pub(crate) fn has(&self, key: &str) -> &str {
        self.attributes.get(key).map_or("", String::as_str)
    }
}

fn text(value: Option<&Value>) -> String {
    match value {
        Some(Value::StringValue(text)) => text.clone(),
        Some(Value::IntValue(number)) => number.to_string(),
        Some(Value::DoubleValue(number)) => number.to_string(),
        Some(Value::BoolValue(flag)) => flag.to_string(),
        Some(Value::ArrayValue(items)) => {
            let items: Vec<String> = items.values.iter().map(|item| text(item.value.as_ref())).collect();
            format!("[{}]", items.join(", "))
        }
        other => format!("{other:?}"),
    }
}

/// Spans as a tree, in the order in which they ended; those of steps left out.
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
    all.iter()
        .filter(|other| other.parent == span.id)
        .for_each(|child| branch(child, all, show, depth + 1, out));
}
