//! One connection to an MCP server, until it is lost. It does not reconnect: the supervisor opens a new one.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use reqwest::header::{HeaderName, HeaderValue};
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig, Implementation, JsonObject, Tool,
};
use rmcp::service::{ClientInitializeError, NotificationContext, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::common::client_side_sse::SseRetryPolicy;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientHandler, RoleClient, ServiceExt};
use tokio::time::timeout;

use rawko_process::{Egress, EgressRefusal, Profile};

use super::config::{McpConfig, McpTransport};
use super::fault::{Fault, handshake_in_words};
use super::http::HttpClient;
use super::settings::McpSettings;
use crate::process::{Child, Launch, in_time};

pub(super) struct Connection {
    service: RunningService<RoleClient, Listener>,
    /// Killed with its child processes on drop. `None` over HTTP.
    child: Option<Child>,
    is_lost: AtomicBool,
}

/// Checks the host of a server against the hosts that may be reached. A private address is one that the person configured;
/// connections go to the checked addresses.
async fn reachable(url: &str, egress: &Egress) -> Result<(String, Vec<SocketAddr>), String> {
    let parsed = reqwest::Url::parse(url).map_err(|error| format!("`{url}` is not a valid URL: {error}"))?;
    let (Some(host), Some(port)) = (parsed.host_str(), parsed.port_or_known_default()) else {
        return Err(format!("`{url}` names no host"));
    };
    let bare = host.trim_matches(['[', ']']);
    let listed = egress.hosts.is_none().then(|| bare.to_owned());
    let egress = Egress { private: egress.private.iter().cloned().chain(listed).collect(), ..egress.clone() };
    let addresses = match egress.resolve(host, port).await {
        Ok(addresses) => addresses,
        // A proxy of the system may know it.
        Err(EgressRefusal::Unknown { .. }) => Vec::new(),
        Err(refusal) => return Err(format!("{refusal} (`tools.web` in .rawko/config.yaml)")),
    };
    Ok((host.to_owned(), addresses))
}

/// Receives notifications of the server.
struct Listener {
    is_stale: Arc<AtomicBool>,
}

impl ClientHandler for Listener {
    fn get_info(&self) -> ClientConfig {
        let rawko = Implementation::new("rawko", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), rawko)
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.is_stale.store(true, Ordering::Release);
    }
}

impl Connection {
    /// Starts the program or connects to the URL, and performs the handshake. `is_stale` is set when the list of tools
    /// changes.
    pub(super) async fn open(
        config: &McpConfig,
        settings: &McpSettings,
        (profile, is_stale): (Profile, Arc<AtomicBool>),
    ) -> Result<Self, String> {
        let listener = Listener { is_stale };
        match &config.transport {
            McpTransport::Stdio { command, args, env, cwd } => {
                let cwd = cwd.as_ref().map_or_else(|| settings.root.clone(), |cwd| settings.root.join(cwd));
                let launch = Launch {
                    program: command.clone(),
                    args: args.clone(),
                    cwd,
                    env: env.clone(),
                    profile,
                    confinement: settings.confinement.clone(),
                };
                Self::over_stdio(listener, &launch, settings).await
            }
            McpTransport::Http { url, headers } => Self::over_http(listener, url, headers, settings).await,
            McpTransport::Unusable { why } => Err(why.clone()),
        }
    }

    async fn over_stdio(listener: Listener, launch: &Launch, settings: &McpSettings) -> Result<Self, String> {
        let (child, stdin, stdout) = launch.start(&settings.environment).await?;
        match timeout(settings.start_timeout, listener.serve((stdout, stdin))).await {
            Ok(Ok(service)) => Ok(Self { service, child: Some(child), is_lost: AtomicBool::new(false) }),
            // The end of the output arrives before the exit status.
            Ok(Err(
                ClientInitializeError::ConnectionClosed(_) | ClientInitializeError::TransportError { .. },
            )) => {
                let _ = timeout(settings.start_timeout, child.ended()).await;
                Err(child.ending_in_words().await)
            }
            Ok(Err(error)) => {
                Err(format!("{}; {}", handshake_in_words(&error), child.ending_in_words().await))
            }
            Err(_) => {
                let within = in_time(settings.start_timeout);
                Err(format!("it did not answer within {within}; {}", child.ending_in_words().await))
            }
        }
    }

    async fn over_http(
        listener: Listener,
        url: &str,
        headers: &[(String, String)],
        settings: &McpSettings,
    ) -> Result<Self, String> {
        let mut config =
            StreamableHttpClientTransportConfig::with_uri(url).custom_headers(header_map(headers)?);
        config.retry_config = Arc::new(FewRetries);
        let client = HttpClient::new(&reachable(url, &settings.egress).await?)?;
        let transport = StreamableHttpClientTransport::with_client(client, config);
        match timeout(settings.start_timeout, listener.serve(transport)).await {
            Ok(Ok(service)) => Ok(Self { service, child: None, is_lost: AtomicBool::new(false) }),
            Ok(Err(error)) => Err(handshake_in_words(&error)),
            Err(_) => Err(format!("it did not answer within {}", in_time(settings.start_timeout))),
        }
    }

    /// Returns true if calls can still succeed.
    pub(super) fn is_open(&self) -> bool {
        !self.is_lost.load(Ordering::Acquire)
            && !self.service.is_closed()
            && !self.service.peer().is_transport_closed()
            && !self.child.as_ref().is_some_and(Child::has_ended)
    }

    /// Returns the server's own name.
    pub(super) fn implementation(&self) -> Option<String> {
        let info = self.service.peer().peer_info()?;
        let version = &info.protocol_version;
        let server = info.server_info.as_ref()?;
        Some(format!("{} {} (MCP {version})", server.name, server.version))
    }

    pub(super) async fn tools(&self, within: Duration) -> Result<Vec<Tool>, Fault> {
        match timeout(within, self.service.peer().list_all_tools()).await {
            Ok(Ok(tools)) => Ok(tools),
            Ok(Err(error)) => Err(self.fault(&error)),
            Err(_) => Err(Fault::TimedOut),
        }
    }

    /// Dropping the future, or a timeout, sends a cancellation to the server.
    pub(super) async fn call(
        &self,
        tool: &str,
        arguments: JsonObject,
        within: Duration,
    ) -> Result<CallToolResult, Fault> {
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        match timeout(within, self.service.call_tool(params)).await {
            Ok(Ok(result)) => Ok(result),
            Ok(Err(error)) => Err(self.fault(&error)),
            Err(_) => Err(Fault::TimedOut),
        }
    }

    fn fault(&self, error: &rmcp::ServiceError) -> Fault {
        let fault = Fault::of(error);
        if let Fault::Lost { .. } = fault {
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
        if let Some(child) = &self.child {
            child.end().await;
        }
    }

    pub(super) fn pid(&self) -> Option<i32> {
        self.child.as_ref().map(Child::pid)
    }
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
