//! One connection to an MCP server, until it is lost. It does not reconnect: the supervisor opens a new one.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use reqwest::header::{HeaderName, HeaderValue};
use rmcp::model::{CallToolRequestParams, JsonObject, ProtocolVersion, SubscriptionFilter, Tool};
use rmcp::service::{ClientInitializeError, RunningService};
use rmcp::transport::common::client_side_sse::SseRetryPolicy;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{AuthClient, StreamableHttpClientTransport};
use rmcp::{ClientLifecycleMode, ClientServiceExt, RoleClient};
use tokio::time::timeout;

use rawko_process::{Profile, WatchedCall};

use super::asking::Askers;
use super::calls::{AbortTaskOnDrop, McpCall};
use super::config::{McpConfig, McpTransport};
use super::fault::{McpFault, challenge_of, handshake_in_words, unauthorized};
use super::http::HttpClient;
use super::listener::ServerListener;
use super::oauth::authorized;
use super::reach::reachable_server;
use super::sampling::sampler_of;
use super::settings::McpSettings;
use crate::process::{AgentLaunch, AgentProcess};
use crate::program::in_time;

pub(super) struct McpConnection {
    service: RunningService<RoleClient, ServerListener>,
    askers: Arc<Askers>,
    /// Listens for changes of the tools; ends on drop.
    watch: Option<AbortTaskOnDrop>,
    /// Killed with its child processes on drop. `None` over HTTP.
    child: Option<AgentProcess>,
    is_lost: AtomicBool,
}

/// The reason why no connection was opened.
#[derive(Debug)]
pub(super) enum ConnectError {
    /// The person has to log in first.
    Unauthorized(String),
    Failed(String),
}

impl ConnectError {
    pub(super) fn into_words(self) -> String {
        match self {
            ConnectError::Unauthorized(why) | ConnectError::Failed(why) => why,
        }
    }
}

/// The reason of one attempt.
enum AttemptError {
    /// The server answered something else than it was asked.
    WrongAnswer(String),
    Error(ConnectError),
}

impl AttemptError {
    fn into_error(self) -> ConnectError {
        match self {
            AttemptError::WrongAnswer(why) => ConnectError::Failed(why),
            AttemptError::Error(error) => error,
        }
    }
}

impl From<ConnectError> for AttemptError {
    fn from(error: ConnectError) -> Self {
        AttemptError::Error(error)
    }
}

impl From<String> for AttemptError {
    fn from(why: String) -> Self {
        AttemptError::Error(ConnectError::Failed(why))
    }
}

/// How a connection begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Handshake {
    /// Asks for the newest revision; a server that refuses it is initialized with the one before. One that does not
    /// answer at all delays its first start by ten seconds.
    #[default]
    Newest,
    /// Initializes at once: the server does not understand the question for the newest revision.
    Older,
}

impl Handshake {
    fn lifecycle(self) -> ClientLifecycleMode {
        match self {
            Handshake::Newest => ClientLifecycleMode::Auto {
                preferred_versions: vec![ProtocolVersion::V_2026_07_28],
                legacy_version: Some(ProtocolVersion::V_2025_11_25),
            },
            Handshake::Older => ClientLifecycleMode::Initialize,
        }
    }
}

/// Returns true if a server answered, but not the question: it may know the older handshake only.
fn is_wrong_answer(error: &ClientInitializeError) -> bool {
    matches!(
        error,
        ClientInitializeError::ExpectedInitResponse(_)
            | ClientInitializeError::ExpectedInitResult(_)
            | ClientInitializeError::ConflictInitResponseId(..)
            | ClientInitializeError::UncorrelatedErrorResponse { .. }
    )
}

impl McpConnection {
    /// Starts the program or connects to the URL, and performs the handshake. `is_stale` is set when the list of tools
    /// changes.
    pub(super) async fn open(
        config: &McpConfig,
        settings: &McpSettings,
        (profile, is_stale): (Profile, Arc<AtomicBool>),
        handshake: Handshake,
    ) -> Result<Self, ConnectError> {
        match Self::begin(config, settings, (profile, Arc::clone(&is_stale)), handshake).await {
            Err(AttemptError::WrongAnswer(_)) => {
                let again = Self::begin(config, settings, (profile, is_stale), Handshake::Older).await;
                again.map_err(AttemptError::into_error)
            }
            opened => opened.map_err(AttemptError::into_error),
        }
    }

    async fn begin(
        config: &McpConfig,
        settings: &McpSettings,
        (profile, is_stale): (Profile, Arc<AtomicBool>),
        handshake: Handshake,
    ) -> Result<Self, AttemptError> {
        let root = reqwest::Url::from_directory_path(&settings.root).map(String::from).unwrap_or_default();
        let sampler = sampler_of(&config.name, settings.sampling.as_ref());
        let listener = ServerListener { is_stale, askers: Arc::default(), root, sampler };
        match &config.transport {
            McpTransport::Stdio { command, args, env, cwd } => {
                let cwd = cwd.as_ref().map_or_else(|| settings.root.clone(), |cwd| settings.root.join(cwd));
                let launch = AgentLaunch {
                    program: command.clone(),
                    args: args.clone(),
                    cwd,
                    env: env.clone(),
                    profile,
                    confinement: settings.confinement.clone(),
                };
                Self::over_stdio(listener, &launch, settings, handshake).await
            }
            McpTransport::Http { url, headers } => {
                Self::over_http(listener, config, (url, headers), settings, handshake).await
            }
            McpTransport::Unusable { why } => Err(why.clone().into()),
        }
    }

    async fn over_stdio(
        listener: ServerListener,
        launch: &AgentLaunch,
        settings: &McpSettings,
        handshake: Handshake,
    ) -> Result<Self, AttemptError> {
        let (mut child, stdin, stdout) = launch.start(&settings.environment).await?;
        let _start = child.watch_calls();
        let askers = Arc::clone(&listener.askers);
        let serving = listener.serve_with_lifecycle((stdout, stdin), handshake.lifecycle());
        match timeout(settings.start_timeout, serving).await {
            Ok(Ok(service)) => Ok(Self::new(service, askers, Some(child))),
            // The end of the output arrives before the exit status.
            Ok(Err(
                ClientInitializeError::ConnectionClosed(_) | ClientInitializeError::TransportError { .. },
            )) => {
                let _ = timeout(settings.start_timeout, child.ended()).await;
                Err(child.ending_in_words().await.into())
            }
            Ok(Err(error)) => {
                let why = format!("{}; {}", handshake_in_words(&error), child.ending_in_words().await);
                Err(if is_wrong_answer(&error) { AttemptError::WrongAnswer(why) } else { why.into() })
            }
            Err(_) => {
                let within = in_time(settings.start_timeout);
                Err(format!("it did not answer within {within}; {}", child.ending_in_words().await).into())
            }
        }
    }

    async fn over_http(
        listener: ServerListener,
        config: &McpConfig,
        (url, headers): (&str, &[(String, String)]),
        settings: &McpSettings,
        handshake: Handshake,
    ) -> Result<Self, AttemptError> {
        let mut transport =
            StreamableHttpClientTransportConfig::with_uri(url).custom_headers(header_map(headers)?);
        transport.retry_config = Arc::new(FewRetries);
        let client = HttpClient::new(&reachable_server(url, &settings.egress).await?)?;
        let askers = Arc::clone(&listener.askers);
        let has_own = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
        // A header of the file stands for the authorization.
        let served = if has_own {
            let transport = StreamableHttpClientTransport::with_client(client, transport);
            timeout(settings.start_timeout, listener.serve_with_lifecycle(transport, handshake.lifecycle()))
                .await
        } else {
            let manager = authorized(url, &config.oauth, settings).await?;
            let client = AuthClient::new(client, manager);
            let transport = StreamableHttpClientTransport::with_client(client, transport);
            timeout(settings.start_timeout, listener.serve_with_lifecycle(transport, handshake.lifecycle()))
                .await
        };
        match served {
            Ok(Ok(service)) => Ok(Self::new(service, askers, None)),
            Ok(Err(error)) => match challenge_of(&error) {
                Some(challenge) => {
                    Err(ConnectError::Unauthorized(unauthorized(config, settings, &challenge)).into())
                }
                None if is_wrong_answer(&error) => Err(AttemptError::WrongAnswer(handshake_in_words(&error))),
                None => Err(handshake_in_words(&error).into()),
            },
            Err(_) => Err(format!("it did not answer within {}", in_time(settings.start_timeout)).into()),
        }
    }

    fn new(
        service: RunningService<RoleClient, ServerListener>,
        askers: Arc<Askers>,
        child: Option<AgentProcess>,
    ) -> Self {
        Self { watch: watch_tools(&service), service, askers, child, is_lost: AtomicBool::new(false) }
    }

    /// Returns true if calls can still succeed.
    pub(super) fn is_open(&self) -> bool {
        !self.is_lost.load(Ordering::Acquire)
            && !self.service.is_closed()
            && !self.service.peer().is_transport_closed()
            && !self.child.as_ref().is_some_and(AgentProcess::has_ended)
    }

    /// Returns the handshake to use when this server is started again.
    pub(super) fn handshake(&self) -> Handshake {
        let version = self.service.peer().peer_info().map(|info| info.protocol_version.clone());
        match version {
            Some(version) if version != ProtocolVersion::V_2026_07_28 => Handshake::Older,
            Some(_) | None => Handshake::Newest,
        }
    }

    /// Returns the server's own name.
    pub(super) fn implementation(&self) -> Option<String> {
        let info = self.service.peer().peer_info()?;
        let version = &info.protocol_version;
        let server = info.server_info.as_ref()?;
        Some(format!("{} {} (MCP {version})", server.name, server.version))
    }

    pub(super) async fn tools(&self, within: Duration) -> Result<Vec<Tool>, McpFault> {
        match timeout(within, self.service.peer().list_all_tools()).await {
            Ok(Ok(tools)) => Ok(tools),
            Ok(Err(error)) => Err(self.fault(&error)),
            Err(_) => Err(McpFault::TimedOut),
        }
    }

    /// Starts a call. Dropping it sends a cancellation to the server.
    pub(super) fn call(&self, tool: &str, arguments: JsonObject) -> McpCall {
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let listener = self.service.service();
        let sampler = listener.sampler.clone();
        McpCall::start(self.service.peer().clone(), params, (&self.askers, sampler), listener.roots())
    }

    pub(super) fn fault(&self, error: &rmcp::ServiceError) -> McpFault {
        let fault = McpFault::of(error);
        if let McpFault::Lost { .. } = fault {
            self.is_lost.store(true, Ordering::Release);
        }
        fault
    }

    /// Describes the loss, including the exit status of the program if known.
    pub(super) async fn loss_in_words(&self, why: &str) -> String {
        match &self.child {
            Some(child) => {
                let _ = timeout(Duration::from_millis(500), child.ended()).await;
                child.ending_in_words().await
            }
            None => why.to_owned(),
        }
    }

    /// Closes the connection gracefully: closes stdin, then sends a termination signal, then kills.
    pub(super) async fn close(&self) {
        self.is_lost.store(true, Ordering::Release);
        self.service.cancellation_token().cancel();
        if let Some(watch) = &self.watch {
            watch.0.abort();
        }
        if let Some(child) = &self.child {
            child.end().await;
        }
    }

    /// Begins a call: files of authority that a program creates in it are set aside. `None` over HTTP.
    pub(super) async fn watched(&self) -> Option<WatchedCall> {
        match &self.child {
            Some(child) => child.watched_call().await,
            None => None,
        }
    }

    pub(super) fn pid(&self) -> Option<i32> {
        self.child.as_ref().map(AgentProcess::pid)
    }
}

/// Subscribes to changes of the tools. Servers of older revisions report them without.
fn watch_tools(service: &RunningService<RoleClient, ServerListener>) -> Option<AbortTaskOnDrop> {
    let peer = service.peer().clone();
    let info = peer.peer_info()?;
    if info.protocol_version != ProtocolVersion::V_2026_07_28 {
        return None;
    }
    let reports = info.capabilities.tools.as_ref().and_then(|tools| tools.list_changed).unwrap_or(false);
    let is_stale = Arc::clone(&service.service().is_stale);
    let watch = async move {
        let filter = SubscriptionFilter::builder().tools_list_changed().build();
        let Ok(mut subscription) = peer.listen(filter).await else { return };
        while let Ok(Some(_)) = subscription.next().await {
            is_stale.store(true, Ordering::Release);
        }
    };
    reports.then(|| AbortTaskOnDrop(tokio::spawn(watch)))
}

fn header_map(headers: &[(String, String)]) -> Result<HashMap<HeaderName, HeaderValue>, String> {
    let header = |(name, value): &(String, String)| {
        let unusable = || format!("`{name}` is not a valid header");
        Ok((name.parse().map_err(|_| unusable())?, value.parse().map_err(|_| unusable())?))
    };
    headers.iter().map(header).collect()
}

/// A broken stream is reopened a few times; then the pending call fails. The library's default retries forever, so that
/// a call would hang until its timeout.
#[derive(Debug)]
struct FewRetries;

impl SseRetryPolicy for FewRetries {
    fn retry(&self, times: usize) -> Option<Duration> {
        let pauses_ms = [100, 400, 1600];
        pauses_ms.get(times).map(|ms| Duration::from_millis(*ms))
    }
}
