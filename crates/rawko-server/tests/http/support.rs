//! Test server and minimal client.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rawko_chart::Registry;
use rawko_host::{Edition, Host, Receipt, SystemClock};
use rawko_server::{
    AgentHealth, AgentInfo, AppOptions, ChartOrigin, ErrorResponse, HealthState, HttpServer, NewTask,
    ProblemCode, ProjectFuture, ProjectService, Role, ServeOptions, ServerTokens, ServingChannels,
    TurnSettings,
};
use rawko_store::{SqliteOptions, SqliteStore};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Timeout that only a hang exceeds.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) const DOOR: &str = "statechart:\n  id: door\n  version: 1.0.0\n  initial: shut\n  states:\n    shut: {on: {OPEN: open}}\n    open: {on: {SHUT: shut}}\n";

/// Secrets of the tokens. They must never appear in a response.
pub(crate) const SECRETS: [(Role, &str); 5] = [
    (Role::Read, "look-1f9e"),
    (Role::Operate, "work-7b2c"),
    (Role::Admin, "rule-44d0"),
    (Role::Agent, "talk-9a31"),
    (Role::Service, "serve-4c17"),
];

pub(crate) struct TestServer {
    pub(crate) server: HttpServer,
    pub(crate) serving: Arc<ServingChannels>,
    pub(crate) host: Host,
    pub(crate) project: Arc<TestProject>,
    folder: tempfile::TempDir,
}

/// A project with one agent, with uploads in memory.
#[derive(Default)]
pub(crate) struct TestProject {
    pub(crate) uploads: Mutex<BTreeMap<(String, String), String>>,
}

impl ProjectService for TestProject {
    fn agents(&self) -> Vec<AgentInfo> {
        let info = |name: &str, broken: Option<&str>| AgentInfo {
            name: name.to_owned(),
            display_name: name.to_uppercase(),
            kind: "llm".to_owned(),
            model: None,
            description: "Builds.".to_owned(),
            file: format!(".rawko/agents/{name}.md"),
            broken: broken.map(str::to_owned),
        };
        vec![info("builder", None), info("stray", Some("its file has mistakes"))]
    }

    fn health(&self) -> ProjectFuture<'_, Vec<(String, AgentHealth)>> {
        let health = AgentHealth { state: HealthState::Ok, message: "asks a model".to_owned() };
        Box::pin(async { vec![("builder".to_owned(), health)] })
    }

    fn start_task(&self, new: NewTask) -> ProjectFuture<'_, Result<Receipt, ErrorResponse>> {
        Box::pin(async move {
            match new.task.as_str() {
                "break" => Err(ErrorResponse::internal(format!("disk 7 is gone, says {}", SECRETS[2].1))),
                "panic" => panic!("disk 8 is gone"),
                _ => Err(ErrorResponse::new(ProblemCode::NotPossible, "no task is done in tests")),
            }
        })
    }

    fn task_chart(&self) -> &str {
        "rawko"
    }

    fn registry(&self) -> Registry {
        Registry::default()
    }

    fn origin(&self, chart: &str, version: &str) -> Option<ChartOrigin> {
        let key = (chart.to_owned(), version.to_owned());
        let is_uploaded = self.uploads.lock().unwrap().contains_key(&key);
        if is_uploaded {
            Some(ChartOrigin::Uploaded)
        } else {
            (chart == "door").then_some(ChartOrigin::Project)
        }
    }

    fn keep_chart(&self, chart: &str, version: &str, text: &str) -> std::io::Result<()> {
        self.uploads.lock().unwrap().insert((chart.to_owned(), version.to_owned()), text.to_owned());
        Ok(())
    }
}

/// On loopback, without tokens.
pub(crate) async fn open() -> TestServer {
    start(ServerTokens::default(), |_| {}).await
}

/// With a token for each role.
pub(crate) async fn guarded() -> TestServer {
    start(tokens(), |_| {}).await
}

pub(crate) fn tokens() -> ServerTokens {
    let with = |tokens: ServerTokens, (role, secret): (Role, &str)| tokens.with(role.as_str(), role, secret);
    SECRETS.into_iter().fold(ServerTokens::default(), with)
}

pub(crate) async fn start(tokens: ServerTokens, change: impl FnOnce(&mut AppOptions)) -> TestServer {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&folder.path().join("rawko.db"), SqliteOptions::default()).unwrap();
    let door = Edition::read("door.yaml", DOOR).unwrap();
    let host = Host::builder().store(Arc::new(store)).chart(door).start().await.unwrap();
    let options = ServeOptions {
        judge: None,
        settings: TurnSettings::default(),
        tokens: tokens.clone(),
        takers: Vec::new(),
        clock: Arc::new(SystemClock),
        log: Arc::new(|_| {}),
        own_agents: true,
    };
    let serving = Arc::new(ServingChannels::start(host.clone(), options).await.unwrap());
    let project = Arc::new(TestProject::default());
    let mut app = AppOptions {
        channels: Some(Arc::clone(&serving)),
        project: Arc::clone(&project) as Arc<dyn ProjectService>,
        tokens,
        ..AppOptions::new(Arc::new(host.clone()))
    };
    change(&mut app);
    let server = HttpServer::start(TcpListener::bind("127.0.0.1:0").await.unwrap(), app).unwrap();
    TestServer { server, serving, host, project, folder }
}

impl TestServer {
    pub(crate) fn address(&self) -> SocketAddr {
        self.server.address()
    }

    pub(crate) fn get(&self, path: &str) -> Ask {
        Ask::new(self.address(), "GET", path)
    }

    pub(crate) fn post(&self, path: &str, body: Value) -> Ask {
        self.ask("POST", path).json(&body)
    }

    pub(crate) fn ask(&self, method: &str, path: &str) -> Ask {
        Ask::new(self.address(), method, path)
    }

    pub(crate) async fn stop(self) {
        self.server.close().await;
        self.serving.close().await;
        self.host.close().await;
        drop(self.folder);
    }
}

/// A request, written out as bytes.
#[derive(Clone)]
pub(crate) struct Ask {
    address: SocketAddr,
    line: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Ask {
    fn new(address: SocketAddr, method: &str, path: &str) -> Ask {
        let headers =
            vec![("host".to_owned(), address.to_string()), ("connection".to_owned(), "close".to_owned())];
        Ask { address, line: format!("{method} {path} HTTP/1.1"), headers, body: Vec::new() }
    }

    /// Sets or replaces a header.
    pub(crate) fn header(mut self, name: &str, value: &str) -> Ask {
        self.headers.retain(|(known, _)| known != name);
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn token(self, secret: &str) -> Ask {
        self.header("authorization", &format!("Bearer {secret}"))
    }

    pub(crate) fn role(self, role: Role) -> Ask {
        let secret = SECRETS.iter().find(|(known, _)| *known == role).unwrap().1;
        self.token(secret)
    }

    pub(crate) fn json(self, body: &Value) -> Ask {
        self.header("content-type", "application/json").body(body.to_string().into_bytes())
    }

    pub(crate) fn body(mut self, body: Vec<u8>) -> Ask {
        self.body = body;
        let length = self.body.len().to_string();
        self.header("content-length", &length)
    }

    pub(crate) async fn send(self) -> Answer {
        let head: String = self.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let mut bytes = format!("{}\r\n{head}\r\n", self.line).into_bytes();
        bytes.extend(self.body);
        raw(self.address, &bytes).await
    }
}

/// Sends bytes and reads until the server closes the connection.
pub(crate) async fn raw(address: SocketAddr, bytes: &[u8]) -> Answer {
    let mut stream = TcpStream::connect(address).await.unwrap();
    // The server may respond and close before it has read everything.
    let _ = stream.write_all(bytes).await;
    Answer::read(&mut stream).await
}

#[derive(Debug)]
pub(crate) struct Answer {
    /// 0: no response.
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) async fn read(stream: &mut TcpStream) -> Answer {
        let mut bytes = Vec::new();
        let _ = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut bytes))
            .await
            .expect("an answer, or the end");
        Answer::of(&bytes)
    }

    fn of(bytes: &[u8]) -> Answer {
        let text = String::from_utf8_lossy(bytes);
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            return Answer { status: 0, headers: Vec::new(), text: text.into_owned() };
        };
        let mut lines = head.lines();
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let pair =
            |line: &str| line.split_once(": ").map(|(name, value)| (name.to_lowercase(), value.to_owned()));
        Answer { status, headers: lines.filter_map(pair).collect(), text: body.to_owned() }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Returns all headers except the date.
    pub(crate) fn headers_sorted(&self) -> Vec<(String, String)> {
        let mut headers: Vec<_> = self.headers.iter().filter(|(name, _)| name != "date").cloned().collect();
        headers.sort();
        headers
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }

    /// Returns the last word of a problem's code.
    pub(crate) fn problem(&self) -> String {
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{self:?}");
        let json = self.json();
        assert_eq!(json["status"], self.status, "{self:?}");
        json["code"].as_str().unwrap().strip_prefix("rawko::api::").unwrap().to_owned()
    }
}
