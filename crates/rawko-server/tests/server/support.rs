//! Test server and clients.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use rawko_chart::SourceFile;
use rawko_host::{Environment, Host, HostEvent, Observer, Settings, SystemClock};
use rawko_server::{
    AppOptions, HttpServer, LogEntry, Role, RoundJudge, ServeOptions, ServerTokens, ServingChannels,
    TurnSettings, TurnTaker, member_instance,
};
use rawko_store::{SqliteOptions, SqliteStore};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

/// Timeout that only a hang exceeds.
const PATIENCE: Duration = Duration::from_secs(60);

/// Problems reported by the host.
#[derive(Default)]
pub(crate) struct Troubles(Mutex<Vec<String>>);

impl Troubles {
    pub(crate) fn told(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl Observer for Troubles {
    fn observe(&self, observation: HostEvent) {
        if let HostEvent::Troubled { about, message } = observation {
            self.0.lock().unwrap().push(format!("{about}: {message}"));
        }
    }
}

pub(crate) struct TestServer {
    pub(crate) serving: Arc<ServingChannels>,
    server: HttpServer,
    pub(crate) host: Host,
    pub(crate) log: Arc<Mutex<Vec<LogEntry>>>,
    pub(crate) troubles: Arc<Troubles>,
    pub(crate) folder: Arc<tempfile::TempDir>,
}

/// Configuration of a test server.
pub(crate) struct Setup {
    settings: String,
    tokens: ServerTokens,
    folder: Arc<tempfile::TempDir>,
    takers: Vec<Arc<dyn TurnTaker>>,
    judge: Option<Arc<dyn RoundJudge>>,
}

impl Setup {
    pub(crate) fn new() -> Self {
        Self::with("")
    }

    /// With these lines below `turns:`.
    pub(crate) fn with(turns: &str) -> Self {
        let folder = Arc::new(tempfile::tempdir().unwrap());
        Self {
            settings: turns.to_owned(),
            tokens: ServerTokens::default(),
            folder,
            takers: Vec::new(),
            judge: None,
        }
    }

    pub(crate) fn token(mut self, token: &str) -> Self {
        self.tokens = self.tokens.with("agents", Role::Operate, token);
        self
    }

    pub(crate) fn taker(mut self, taker: Arc<dyn TurnTaker>) -> Self {
        self.takers.push(taker);
        self
    }

    pub(crate) fn judge(mut self, judge: Arc<dyn RoundJudge>) -> Self {
        self.judge = Some(judge);
        self
    }

    /// Reuses the folder of an earlier server.
    pub(crate) fn after(mut self, before: &Arc<tempfile::TempDir>) -> Self {
        self.folder = Arc::clone(before);
        self
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) async fn start(self) -> TestServer {
        let store =
            SqliteStore::open(&self.folder.path().join("rawko.db"), SqliteOptions::default()).unwrap();
        let troubles = Arc::new(Troubles::default());
        let observer = Arc::clone(&troubles) as Arc<dyn Observer>;
        let host = Host::builder().store(Arc::new(store)).observer(observer).start().await.unwrap();
        let text = format!("turns:\n  heartbeatSeconds: 60\n{}", indent(&self.settings));
        let text = if self.settings.contains("heartbeatSeconds") {
            format!("turns:\n{}", indent(&self.settings))
        } else {
            text
        };
        let (settings, findings) =
            Settings::of_source(&SourceFile::new("config.yaml", text), &Environment::of_process());
        assert!(findings.is_empty(), "{findings:?}");
        let (settings, problems) = TurnSettings::read(&settings, self.folder.path());
        assert!(problems.is_empty(), "{problems:?}");
        let log = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&log);
        let options = ServeOptions {
            judge: self.judge,
            settings,
            tokens: self.tokens.clone(),
            takers: self.takers,
            clock: Arc::new(SystemClock),
            log: Arc::new(move |entry: &LogEntry| sink.lock().unwrap().push(entry.clone())),
            own_agents: true,
        };
        let serving = Arc::new(ServingChannels::start(host.clone(), options).await.unwrap());
        let channels = Some(Arc::clone(&serving));
        let app = AppOptions { channels, tokens: self.tokens, ..AppOptions::new(Arc::new(host.clone())) };
        let server = HttpServer::start(TcpListener::bind("127.0.0.1:0").await.unwrap(), app).unwrap();
        TestServer { serving, server, host, log, troubles, folder: self.folder }
    }
}

fn indent(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}

impl TestServer {
    /// Creates a channel with these agents, connected and assigned in this order; their first messages are consumed.
    pub(crate) async fn channel(&self, name: &str, agents: &[&str]) -> Vec<Client> {
        self.serving.channels().create(name, Default::default()).await.unwrap();
        let mut clients = Vec::new();
        for agent in agents {
            let mut client = self.agent(agent).await;
            self.serving.assign(name, agent, "kim").await.unwrap();
            client.expect("assigned").await;
            clients.push(client);
        }
        clients
    }

    /// Connects and registers an agent.
    pub(crate) async fn agent(&self, name: &str) -> Client {
        let mut client = self.connect().await;
        client.say(json!({"type": "register", "protocol": 1, "agent": name, "observe": false})).await;
        client.session = client.expect("registered").await["session"].as_str().unwrap().to_owned();
        client
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.server.address()
    }

    pub(crate) async fn connect(&self) -> Client {
        let address = self.address();
        let (socket, _) =
            tokio_tungstenite::connect_async(format!("ws://{address}/v1/agents")).await.unwrap();
        Client { socket, session: String::new() }
    }

    /// Waits until the channel satisfies the condition.
    pub(crate) async fn until(&self, channel: &str, wanted: impl Fn(&rawko_turns::Channel) -> bool) {
        let mut watch = self.serving.channels().watch(channel).await.unwrap();
        let seen = tokio::time::timeout(PATIENCE, watch.wait_for(|glance| wanted(&glance.channel)));
        assert!(seen.await.is_ok(), "the channel stays {:#?}", watch.borrow().channel);
    }

    pub(crate) async fn state(&self, channel: &str, agent: &str) -> &'static str {
        let glance = self.serving.channels().look(channel).await.unwrap();
        glance.channel.state_of(&agent.into()).as_str()
    }

    pub(crate) async fn texts(&self, channel: &str) -> Vec<String> {
        let messages = self.serving.channels().messages(channel, 0, 10_000).await.unwrap();
        messages.into_iter().map(|message| format!("{}: {}", message.author.name(), message.text)).collect()
    }

    /// Every member's instance agrees with the channel, immediately or once it has processed its events.
    pub(crate) async fn members_are_in_step(&self, channel: &str) {
        let glance = self.serving.channels().look(channel).await.unwrap();
        let mut changes = self.host.changes();
        for (agent, member) in &glance.channel.members {
            let agree = async {
                while self.member_state(channel, agent.as_str()) != member.state.as_str() {
                    changes.changed().await.unwrap();
                }
            };
            let agreed = tokio::time::timeout(PATIENCE, agree).await;
            assert!(
                agreed.is_ok(),
                "{agent} is {:?} in the queue and {} itself",
                member.state,
                self.member_state(channel, agent.as_str())
            );
        }
    }

    fn member_state(&self, channel: &str, agent: &str) -> String {
        let reader = self.host.reader();
        let row = reader.find(&member_instance(channel, agent)).unwrap();
        let restored = reader.snapshot(&row, None).unwrap();
        restored.snapshot.context_map(&restored.chart).get("state").as_str().unwrap().to_owned()
    }

    /// Stops the server; its folder is kept.
    pub(crate) async fn stop(self) -> Arc<tempfile::TempDir> {
        self.server.close().await;
        self.serving.close().await;
        self.host.close().await;
        self.folder
    }
}

pub(crate) struct Client {
    pub(crate) socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    pub(crate) session: String,
}

impl Client {
    pub(crate) async fn say(&mut self, message: Value) {
        self.socket.send(Message::Text(message.to_string().into())).await.unwrap();
    }

    pub(crate) async fn say_text(&mut self, text: impl Into<String>) {
        self.socket.send(Message::Text(text.into().into())).await.unwrap();
    }

    /// Returns the next message; `None` at the end of the connection.
    pub(crate) async fn hear(&mut self) -> Option<Value> {
        loop {
            let next = tokio::time::timeout(PATIENCE, self.socket.next()).await.unwrap();
            match next? {
                Ok(Message::Text(text)) => return Some(serde_json::from_str(&text).unwrap()),
                Ok(Message::Close(_)) | Err(_) => return None,
                Ok(_) => {}
            }
        }
    }

    /// Returns the next message of this type, skipping others.
    pub(crate) async fn expect(&mut self, wanted: &str) -> Value {
        loop {
            let message =
                self.hear().await.unwrap_or_else(|| panic!("the connection ended before `{wanted}`"));
            if message["type"] == wanted {
                return message;
            }
        }
    }

    /// Returns the code of the next error.
    pub(crate) async fn refused(&mut self) -> String {
        self.expect("error").await["code"].as_str().unwrap().to_owned()
    }

    /// Returns the code of the error that ends the connection.
    pub(crate) async fn ended(&mut self) -> String {
        let mut last = String::from("nothing");
        while let Some(message) = self.hear().await {
            if message["fatal"] == true {
                last = message["code"].as_str().unwrap().to_owned();
            }
        }
        last
    }

    pub(crate) async fn post(&mut self, channel: &str, text: &str) {
        self.say(json!({"type": "message", "channel": channel, "text": text})).await;
    }
}
