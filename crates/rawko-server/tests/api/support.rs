//! Test server and minimal client.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rawko_core::Value as Data;
use rawko_host::{Category, Edition, Gate, Host, ServiceError, Services, closure};
use rawko_server::{AppOptions, HttpServer, ProjectService};
use rawko_store::{SqliteOptions, SqliteStore, Store};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Timeout that only a hang exceeds.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// An order: paid directly, approved by a person or charged by a service, then packed and shipped.
pub(crate) const ORDER: &str = "
statechart:
  id: order
  version: 1.2.0
  initial: open
  context: {amount: 10, paid: 0, note: null}
  states:
    open:
      on:
        PAY:
          - {target: work, guard: event.data.amount >= context.amount, actions: [{type: assign, context_updates: {paid: event.data.amount}}]}
        NOTE: {actions: [{type: assign, context_updates: {note: event.data}}]}
        BIG: asking
        BREAK: charging
      after: {24h: {target: closed}}
    asking:
      invoke:
        id: approval
        src: human
        input: {title: \"'May I?'\", expires: \"'24h'\"}
        onDone: [{target: work, guard: event.data.approved, actions: [{type: assign, context_updates: {note: event.data.by}}]}, closed]
    charging:
      invoke: {id: charge, src: charge, onDone: work}
    work:
      initial: packing
      on: {DONE: closed}
      states:
        packing: {on: {SHIP: shipped}}
        shipped: {on: {BACK: packing}}
    closed: {type: final, output: {paid: context.paid}}
";

/// Invokes `order` as a child.
pub(crate) const PARENT: &str = "
statechart:
  id: parent
  version: 1.0.0
  initial: waiting
  states:
    waiting:
      invoke: {id: child, src: 'statechart:order', onDone: done}
    done: {type: final}
";

pub(crate) struct Api {
    pub(crate) host: Host,
    server: HttpServer,
    pub(crate) folder: Arc<tempfile::TempDir>,
}

impl Api {
    pub(crate) async fn start() -> Api {
        Self::with(Arc::new(tempfile::tempdir().unwrap()), |_| {}).await
    }

    /// Reuses the folder of an earlier server.
    pub(crate) async fn after(before: Arc<tempfile::TempDir>) -> Api {
        Self::with(before, |_| {}).await
    }

    pub(crate) async fn of(project: Arc<dyn ProjectService>) -> Api {
        let folder = Arc::new(tempfile::tempdir().unwrap());
        Self::with(folder, move |options| options.project = project).await
    }

    async fn with(folder: Arc<tempfile::TempDir>, change: impl FnOnce(&mut AppOptions)) -> Api {
        let host = host(folder.path()).await;
        Self::on(host, folder, change)
    }

    /// Serves a host.
    pub(crate) fn on(
        host: Host,
        folder: Arc<tempfile::TempDir>,
        change: impl FnOnce(&mut AppOptions),
    ) -> Api {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let mut options = AppOptions::new(Arc::new(host.clone()));
        options.settings.rate = None;
        change(&mut options);
        let server = HttpServer::start(TcpListener::from_std(listener).unwrap(), options).unwrap();
        Api { host, server, folder }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.server.address()
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[], None).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Answer {
        self.ask("POST", path, &[], Some(body)).await
    }

    pub(crate) async fn ask(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<Value>,
    ) -> Answer {
        let mut stream = TcpStream::connect(self.address()).await.unwrap();
        let request = request(self.address(), method, path, headers, body);
        stream.write_all(&request).await.unwrap();
        let mut bytes = Vec::new();
        tokio::time::timeout(PATIENCE, stream.read_to_end(&mut bytes)).await.expect("an answer").unwrap();
        Answer::of(&bytes)
    }

    /// Starts an order with this id.
    pub(crate) async fn order(&self, id: &str) {
        let answer = self.post("/v1/instances", json!({"chart": "order", "id": id})).await;
        assert_eq!(answer.status, 201, "{}", answer.text);
    }

    pub(crate) async fn send(&self, id: &str, event: &str, data: Value) -> Value {
        let body = json!({"type": event, "data": data});
        self.post(&format!("/v1/instances/{id}/events"), body).await.ok()
    }

    /// Ends all streams and flushes to disk.
    pub(crate) async fn stop(self) -> Arc<tempfile::TempDir> {
        self.server.close().await;
        self.host.close().await;
        self.folder
    }
}

async fn host(folder: &Path) -> Host {
    let store: Arc<dyn Store> =
        Arc::new(SqliteStore::open(&folder.join("rawko.db"), SqliteOptions::default()).unwrap());
    let mut builder = Host::builder().store(store).services(services()).gate(Gate::open());
    for text in [ORDER, PARENT] {
        builder = builder.chart(Edition::read("chart.yaml", text).unwrap());
    }
    builder.start().await.unwrap()
}

/// A service that always fails, one that reports progress until it is stopped, and one that reports it three times.
fn services() -> Services {
    let charge = closure(|_| async { Err(ServiceError::new(Category::Failed, "the bank is closed")) });
    let count = closure(|call| async move {
        for number in 0.. {
            call.teller.tell(Data::map([("type", Data::str("counted")), ("number", Data::Int(number))]));
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        Ok(Data::Null)
    });
    let murmur = closure(|call| async move {
        for _ in 0..3 {
            call.teller.tell(Data::map([("type", Data::str("murmured"))]));
        }
        Ok(Data::Null)
    });
    Services::new().add("charge", charge).add("count", count).add("murmur", murmur)
}

pub(crate) fn request(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: Option<Value>,
) -> Vec<u8> {
    let mut head = format!("{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n");
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    let body = body.map(|body| body.to_string()).unwrap_or_default();
    if !body.is_empty() {
        head += &format!("content-type: application/json\r\ncontent-length: {}\r\n", body.len());
    }
    format!("{head}\r\n{body}").into_bytes()
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) text: String,
}

impl Answer {
    fn of(bytes: &[u8]) -> Answer {
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        let (head, text) = text.split_once("\r\n\r\n").expect("an end of the headers");
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { status, head: head.to_ascii_lowercase(), text: text.to_owned() }
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    /// Returns the body of a successful response.
    pub(crate) fn ok(&self) -> Value {
        assert!(self.status == 200 || self.status == 201, "{} {}", self.status, self.text);
        self.json()
    }

    /// Formats a problem as `404 no_instance`.
    pub(crate) fn problem(&self) -> String {
        assert!(self.head.contains("content-type: application/problem+json"), "{}", self.head);
        let problem = self.json();
        let code = problem["code"].as_str().unwrap().strip_prefix("rawko::api::").unwrap().to_owned();
        assert_eq!(problem["status"], self.status);
        format!("{} {code}", self.status)
    }
}

/// Returns these keys of an object, on one line.
pub(crate) fn keys(object: &Value, keys: &[&str]) -> String {
    keys.iter().map(|key| object[key].to_string()).collect::<Vec<_>>().join(" ")
}
